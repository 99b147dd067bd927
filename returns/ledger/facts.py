"""The timeline's part: what happened to a return, in order. Nothing private goes in.

Whatever moves a part stands in one of its facts (see ``returns.ledger.moves``), so that the facts alone give the parts'
public columns again: ``returns.decisions.replay`` folds them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

from sqlalchemy import Connection, insert

from returns.ids import Millis, ReturnId, SubjectId
from returns.ledger.prepared import Prepared
from returns.ledger.tables import return_facts

Detail: TypeAlias = Mapping[str, str | int | bool | None]

_RECORD: Final = Prepared(insert(return_facts), ("subject_id", "return_id", "position", "at", "fact", "detail"))


class Fact(Enum):
    """The names of facts, as the timeline shows them."""

    RETURN_QUEUED = "return_queued"
    """A return was committed, with its number of parts."""
    ATTEMPT = "attempt"
    """A send was committed; it starts right after."""
    ACCEPTED = "accepted"
    """The provider accepted it and said where it is."""
    REFUSED = "refused"
    """The provider definitely did not accept, or no token could be had."""
    UNKNOWN = "unknown"
    """Whether it was accepted is not known."""
    LOCATED = "located"
    """It became known where the message is."""
    READ_BACK = "read_back"
    """The located message was read, or could not be."""
    SEARCHED = "searched"
    """The history was searched, or could not be."""
    DELIVERED = "delivered"
    """Proved."""
    UNVERIFIED = "unverified"
    """It cannot be proved either way."""
    UNDELIVERABLE = "undeliverable"
    """It was not delivered and will not be."""
    SUPERSEDED = "superseded"
    """Replaced before any attempt, or cancelled and, if it was attempted, definitely refused."""
    LOOK_AGAIN = "look_again"
    """An operator asked for another look."""
    RESENT = "resent"
    """An operator had the rest of an answer sent anew, by a return that replaces this one."""
    STANDS_AGAIN = "answer_stands_again"
    """The answer of a later revision was taken back, and this one is the subject's answer again."""
    MOVED = "moved"
    """The part went on, and nothing else was told of it."""
    FAULT = "fault"
    """Handling the part failed by a fault of ours; it is tried again later."""


def record(
    connection: Connection,
    subject: SubjectId,
    return_id: ReturnId,
    position: int | None,
    at: Millis,
    fact: Fact,
    detail: Detail | None = None,
) -> None:
    """Add one fact of a return or of its part ``position``."""
    _RECORD.defer(
        connection,
        {
            "subject_id": subject,
            "return_id": return_id,
            "position": position,
            "at": at,
            "fact": fact.value,
            "detail": json.dumps({key: value for key, value in (detail or {}).items() if value is not None}),
        },
    )
