"""Is this incoming message one of ours? Asked by the mind when an event arrives."""

from __future__ import annotations

from sqlalchemy import Connection, select

from returns.decisions.keys import chat_key
from returns.delivery import State
from returns.ids import AppName, ChatId, MessageId, SubjectId
from returns.ledger.lanes import SEND, VERIFY
from returns.ledger.tables import part_locators, parts

_UNDER_WAY = (State.SENDING.value, State.VERIFICATION_REQUIRED.value)


def owns_message(connection: Connection, app: AppName, message_id: MessageId) -> bool:
    """Whether a part is known to be this message."""
    return subject_of_message(connection, app, message_id) is not None


def subject_of_message(connection: Connection, app: AppName, message_id: MessageId) -> SubjectId | None:
    """The subject that this message of ours told about; None if it is not known to be ours."""
    subject = connection.execute(
        select(parts.c.subject_id)
        .join(part_locators, part_locators.c.part_id == parts.c.part_id)
        .where(part_locators.c.app == app, part_locators.c.message_id == message_id)
    ).scalar_one_or_none()
    return None if subject is None else SubjectId(subject)


def has_unsettled_content(connection: Connection, app: AppName, chat_id: ChatId, fingerprint: str) -> bool:
    """Whether a part with this content was sent to the chat and is not settled, so that the message may be its echo."""
    found = connection.execute(
        select(parts.c.part_id)
        .where(
            parts.c.lane.in_((SEND, VERIFY)),
            parts.c.chat_key == chat_key(app, chat_id),
            parts.c.fingerprint == fingerprint,
            parts.c.state.in_(_UNDER_WAY),
        )
        .limit(1)
    ).one_or_none()
    return found is not None
