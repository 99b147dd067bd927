"""Is this incoming message one of ours? Asked by the mind when an event arrives."""

from __future__ import annotations

from typing import Final, cast

from sqlalchemy import Connection, bindparam, select

from returns.decisions.keys import chat_key
from returns.delivery import State
from returns.ids import AppName, ChatId, MessageId, SubjectId
from returns.ledger.prepared import Prepared
from returns.ledger.tables import part_locators, parts

_UNDER_WAY = (State.SENDING.value, State.VERIFICATION_REQUIRED.value)

_SUBJECT: Final = Prepared(
    select(parts.c.subject_id)
    .join(part_locators, part_locators.c.part_id == parts.c.part_id)
    .where(part_locators.c.app == bindparam("app"), part_locators.c.message_id == bindparam("message"))
)
_UNSETTLED: Final = Prepared(
    select(parts.c.part_id).where(
        parts.c.chat_key == bindparam("chat"),
        parts.c.fingerprint == bindparam("fingerprint"),
        parts.c.state.in_([bindparam(f"state_{number}", state) for number, state in enumerate(_UNDER_WAY)]),
    )
)


def owns_message(connection: Connection, app: AppName, message_id: MessageId) -> bool:
    """Whether a part is known to be this message."""
    return subject_of_message(connection, app, message_id) is not None


def subject_of_message(connection: Connection, app: AppName, message_id: MessageId) -> SubjectId | None:
    """The subject that this message of ours told about; None if it is not known to be ours."""
    row = _SUBJECT.first(connection, {"app": app, "message": message_id})
    return None if row is None else SubjectId(cast("str", row["subject_id"]))


def has_unsettled_content(connection: Connection, app: AppName, chat_id: ChatId, fingerprint: str) -> bool:
    """Whether a part with this content was sent to the chat and is not settled, so that the message may be its echo."""
    asked = {"chat": chat_key(app, chat_id), "fingerprint": fingerprint}
    return _UNSETTLED.first(connection, asked) is not None
