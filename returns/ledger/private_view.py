"""Where a subject's returns are and what they say: for an operator who asked to see it, which is recorded. Private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select

from returns.decisions.bodies import from_json
from returns.decisions.fingerprint import visible
from returns.ids import ChatId, MessageId, Millis, ReturnId, SubjectId, ThreadId
from returns.ledger.disproved import of_part
from returns.ledger.tables import part_bodies, part_candidates, part_locators, parts, return_routes

MOST_PARTS: Final = 500


@dataclass(frozen=True, slots=True)
class CandidateSeen:
    """A message that could be the part. Private."""

    number: int
    message_id: MessageId
    sent_at: Millis


@dataclass(frozen=True, slots=True)
class PartSeen:
    """One part. Private."""

    return_id: ReturnId
    position: int
    state: str
    chat_id: ChatId
    thread_id: ThreadId | None
    message_id: MessageId | None
    text: str | None
    """None where it is not kept any more."""
    candidates: tuple[CandidateSeen, ...]
    disproved: tuple[MessageId, ...] = ()
    """What it was said to be, and is not."""


def parts_seen(connection: Connection, subject: SubjectId) -> tuple[PartSeen, ...]:
    """The parts of all returns of a subject, in their order; at most ``MOST_PARTS``."""
    query = (
        select(
            parts.c.part_id,
            parts.c.return_id,
            parts.c.position,
            parts.c.state,
            return_routes.c.chat_id,
            return_routes.c.thread_id,
            part_locators.c.message_id,
            part_bodies.c.document,
        )
        .join(return_routes, return_routes.c.return_id == parts.c.return_id)
        .outerjoin(part_locators, part_locators.c.part_id == parts.c.part_id)
        .outerjoin(part_bodies, part_bodies.c.part_id == parts.c.part_id)
        .where(parts.c.subject_id == subject)
        .order_by(parts.c.return_seq, parts.c.position)
        .limit(MOST_PARTS)
    )
    return tuple(
        PartSeen(
            return_id=ReturnId(row.return_id),
            position=row.position,
            state=row.state,
            chat_id=ChatId(row.chat_id),
            thread_id=row.thread_id,
            message_id=row.message_id,
            text=None if row.document is None else visible(from_json(row.document)),
            candidates=_candidates(connection, row.part_id),
            disproved=of_part(connection, row.part_id),
        )
        for row in connection.execute(query)
    )


def _candidates(connection: Connection, part_id: str) -> tuple[CandidateSeen, ...]:
    query = select(part_candidates).where(part_candidates.c.part_id == part_id).order_by(part_candidates.c.number)
    return tuple(
        CandidateSeen(row.number, MessageId(row.message_id), Millis(row.sent_at)) for row in connection.execute(query)
    )
