"""Parts that one message could be just as well: with the same content, in the same place, not proved."""

from __future__ import annotations

from enum import Enum
from typing import Final

from sqlalchemy import Connection, bindparam, or_, select

from returns.delivery import Error, State
from returns.ledger.locators import Source
from returns.ledger.parts import Part
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import part_locators, parts, return_routes
from returns.ports import Reading

_UNPROVED = (State.SENDING, State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED)

_RIVALS: Final = Prepared(
    select(
        parts.c.placement,
        parts.c.state,
        parts.c.error,
        return_routes.c.reply_to,
        return_routes.c.thread_id,
        part_locators.c.part_id.label("located"),
        part_locators.c.source,
    )
    .join(return_routes, return_routes.c.return_id == parts.c.return_id)
    .outerjoin(part_locators, part_locators.c.part_id == parts.c.part_id)
    .where(
        parts.c.chat_key == bindparam("chat"),
        parts.c.fingerprint == bindparam("fingerprint"),
        parts.c.part_id != bindparam("part"),
        parts.c.state.in_([bindparam(f"state_{number}", state.value) for number, state in enumerate(_UNPROVED)]),
        or_(return_routes.c.thread_id == bindparam("thread"), return_routes.c.thread_id.is_(None)),
    )
)


class Rivals(Enum):
    """Whether a message that could be a part could be another part's just as well."""

    NONE = "none"
    OPEN = "open"
    """They are being sent, or where they are is said already and read next: that tells more."""
    UNPROVED = "unproved"
    """Of one of them nothing more will be known by itself."""


def rivals_of(connection: Connection, part: Part, message: Reading) -> Rivals:
    """How the other unproved parts stand that were attempted with the same content and that the message could be.

    Whenever that was: an answer that could not be proved may have arrived all the same, also where a wrong message is
    kept in its place, and the moment of an attempt is by a clock that may have been wrong.
    """
    others = _others(connection, part, message)
    if not others:
        return Rivals.NONE
    return Rivals.OPEN if all(_is_open(other) for other in others) else Rivals.UNPROVED


def is_being_sent(connection: Connection, part: Part, message: Reading) -> bool:
    """Whether an equal part is being sent whose message it could be: the provider's own answer will say so."""
    return any(State(other["state"]) is State.SENDING for other in _others(connection, part, message))


def _others(connection: Connection, part: Part, message: Reading) -> list[Row]:
    asked = {
        "chat": part.chat_key,
        "fingerprint": part.fingerprint,
        "part": part.part_id,
        "thread": message.locator.thread_id,
    }
    found = _RIVALS.rows(connection, asked)
    return [other for other in found if _could_be(other, message) and not _is_recalled(other)]


def _is_open(other: Row) -> bool:
    state = State(other["state"])
    return state is State.SENDING or (state is State.VERIFICATION_REQUIRED and other["located"] is not None)


def _is_recalled(other: Row) -> bool:
    """Whether the provider itself said which message it was, and that one was recalled: it is no other one."""
    return other["error"] == Error.PROVIDER_MESSAGE_RECALLED.value and other["source"] == Source.DIRECT.value


def _could_be(other: Row, message: Reading) -> bool:
    """Whether the message stands where that part's would: in its thread, or anywhere as a reply to its question.

    What was sent outside threads stands in one all the same where it was begun on the question, or on the answer.
    """
    if other["thread_id"] is not None:
        return True  # it is the message's, as was asked
    parent = other["reply_to"] if other["placement"] == "reply" else None
    return message.parent_id == parent
