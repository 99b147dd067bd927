"""The names that the steward's mind uses. All are opaque."""

from __future__ import annotations

from typing import NewType

ConversationId = NewType("ConversationId", str)
"""``c_…`` for a chat, ``c_….t_…`` for a thread in it; shown, tells nothing of the provider's ids."""

RequestId = NewType("RequestId", str)
TurnId = NewType("TurnId", str)
PeerId = NewType("PeerId", str)
PeerName = NewType("PeerName", str)
GrantId = NewType("GrantId", str)
AttemptId = NewType("AttemptId", str)
OpenId = NewType("OpenId", str)
"""Private: the provider's id of a person or bot within one app."""
