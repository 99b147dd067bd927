"""Whether an answer reached nobody: asked when its question is gone."""

from __future__ import annotations

from sqlalchemy import Connection, select

from returns.delivery import State
from returns.ids import SubjectId
from returns.ledger.outbox import ReturnKind
from returns.ledger.tables import parts, returns

_NOT_TOLD = frozenset({State.QUEUED, State.RETRY_PENDING, State.SUPERSEDED, State.UNDELIVERABLE})
"""States in which a part was definitely not accepted."""


def is_untold(connection: Connection, subject: SubjectId, revision: int) -> bool:
    """Whether there is an answer to this revision of which nothing was told, and nothing may have been."""
    found = connection.execute(
        select(parts.c.state)
        .distinct()
        .join(returns, returns.c.return_id == parts.c.return_id)
        .where(
            returns.c.subject_id == subject,
            returns.c.revision == revision,
            returns.c.kind == ReturnKind.ANSWER.value,
        )
    ).scalars()
    states = {State(state) for state in found}
    return bool(states) and states <= _NOT_TOLD


def was_begun(connection: Connection, subject: SubjectId, revision: int) -> bool:
    """Whether a send of an answer to this revision was ever attempted: it is told to its end, and not once more."""
    found = connection.execute(
        select(parts.c.part_id)
        .join(returns, returns.c.return_id == parts.c.return_id)
        .where(
            returns.c.subject_id == subject,
            returns.c.revision == revision,
            returns.c.kind == ReturnKind.ANSWER.value,
            parts.c.attempts > 0,
        )
        .limit(1)
    ).first()
    return found is not None
