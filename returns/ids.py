"""The names that the way back uses. All are opaque; those marked private appear in no output."""

from __future__ import annotations

from typing import NewType

AppName = NewType("AppName", str)
"""The configured name of an app (``default``), never its provider's id."""

SubjectId = NewType("SubjectId", str)
"""What a return answers: the request's id, as its owner gave it."""

ReturnId = NewType("ReturnId", str)
PartId = NewType("PartId", str)
ChatKey = NewType("ChatKey", str)
"""A digest of app and chat: orders and paces a chat without naming it."""

ChatId = NewType("ChatId", str)
"""Private: the provider's id of a chat."""

ThreadId = NewType("ThreadId", str)
"""Private: the provider's id of a thread."""

MessageId = NewType("MessageId", str)
"""Private: the provider's id of a message; the locator."""

IdempotencyKey = NewType("IdempotencyKey", str)
"""What the provider deduplicates a send by; at most 50 characters, one a part."""

Millis = NewType("Millis", int)
"""A moment: milliseconds since 1970, UTC."""
