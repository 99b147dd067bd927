"""Whether an answer or a notice reached nobody: asked when its question is gone."""

from __future__ import annotations

from enum import Enum

from sqlalchemy import Connection, or_, select

from returns.delivery import NOT_SENT, WAITING, State
from returns.ids import SubjectId
from returns.ledger.outbox import ReturnKind
from returns.ledger.tables import parts, returns

_NOT_TOLD = WAITING | NOT_SENT
"""States in which a part was definitely not accepted."""


def is_untold(connection: Connection, subject: SubjectId, revision: int) -> bool:
    """Whether there is an answer to this revision of which nothing was told, and nothing may have been."""
    states = _states(connection, subject, revision)
    return bool(states) and states <= _NOT_TOLD


def was_told(connection: Connection, subject: SubjectId, revision: int) -> bool:
    """Whether a part of an answer to this revision is proved to have been told."""
    return State.DELIVERED in _states(connection, subject, revision)


class Notice(Enum):
    """What became of the newest notice of a revision."""

    NONE = "none"
    """There is none, or nothing of it was accepted."""
    UNSURE = "unsure"
    """It may have been told, in part or as a whole."""
    TOLD = "told"
    """That is proved."""


def last_notice(connection: Connection, subject: SubjectId, revision: int) -> Notice:
    """What became of the newest notice of this revision."""
    last = (
        select(returns.c.return_id)
        .where(
            returns.c.subject_id == subject,
            returns.c.revision == revision,
            returns.c.kind == ReturnKind.NOTICE.value,
        )
        .order_by(returns.c.seq.desc())
        .limit(1)
    )
    found = connection.execute(select(parts.c.state).where(parts.c.return_id == last.scalar_subquery())).scalars()
    states = {State(state) for state in found}
    if states <= _NOT_TOLD:
        return Notice.NONE
    return Notice.TOLD if states == {State.DELIVERED} else Notice.UNSURE


def _states(connection: Connection, subject: SubjectId, revision: int) -> frozenset[State]:
    found = connection.execute(
        select(parts.c.state)
        .distinct()
        .join(returns, returns.c.return_id == parts.c.return_id)
        .where(
            returns.c.subject_id == subject, returns.c.revision == revision, returns.c.kind == ReturnKind.ANSWER.value
        )
    ).scalars()
    return frozenset(State(state) for state in found)


def was_begun(connection: Connection, subject: SubjectId, revision: int) -> bool:
    """Whether an answer to this revision was attempted, or ordered anew: it is told to its end, and not once more."""
    found = connection.execute(
        select(parts.c.part_id)
        .join(returns, returns.c.return_id == parts.c.return_id)
        .where(
            returns.c.subject_id == subject,
            returns.c.revision == revision,
            returns.c.kind == ReturnKind.ANSWER.value,
            or_(parts.c.attempts > 0, returns.c.replaces.is_not(None)),
        )
        .limit(1)
    ).first()
    return found is not None
