"""What retention asks and forgets of the way back: the texts of settled parts, never a part, a locator or a fact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, bindparam, delete, select

from returns.delivery import SETTLED, State
from returns.ids import Millis, SubjectId
from returns.ledger.prepared import Prepared
from returns.ledger.tables import answers, part_bodies, parts, return_facts

_PENDING: Final = tuple(state.value for state in State if state not in SETTLED)
_IS_PENDING: Final = Prepared(
    select(parts.c.part_id)
    .where(
        parts.c.subject_id == bindparam("subject"),
        parts.c.state.in_([bindparam(f"state_{number}", state) for number, state in enumerate(_PENDING)]),
    )
    .limit(1)
)
_ANSWER: Final = Prepared(select(answers.c.needs_operator).where(answers.c.subject_id == bindparam("subject")))
_LAST: Final = Prepared(
    select(return_facts.c.at)
    .where(return_facts.c.subject_id == bindparam("subject"))
    .order_by(return_facts.c.seq.desc())
    .limit(1)
)
_TEXTS: Final = Prepared(
    select(part_bodies.c.part_id)
    .join(parts, parts.c.part_id == part_bodies.c.part_id)
    .where(parts.c.subject_id == bindparam("subject"))
    .limit(bindparam("most"))
)
_FORGET: Final = Prepared(delete(part_bodies).where(part_bodies.c.part_id == bindparam("part")))


@dataclass(frozen=True, slots=True)
class Told:
    """What there is of a subject's returns."""

    pending: bool
    """A part of it is not settled: it may still be sent or read."""
    needs_operator: bool
    last_fact_at: Millis | None


def standing(connection: Connection, subject: SubjectId) -> Told:
    """Where a subject's returns stand."""
    asked = {"subject": subject}
    answer, last = _ANSWER.first(connection, asked), _LAST.first(connection, asked)
    return Told(
        pending=_IS_PENDING.first(connection, asked) is not None,
        needs_operator=answer is not None and bool(answer["needs_operator"]),
        last_fact_at=None if last is None else Millis(cast("int", last["at"])),
    )


def forget_texts(connection: Connection, subject: SubjectId, most: int) -> int:
    """Forget what a subject's parts said, at most ``most`` of them; how many. The caller knows that all are settled."""
    found = _TEXTS.rows(connection, {"subject": subject, "most": most})
    return sum(_FORGET.run(connection, {"part": row["part_id"]}) for row in found)
