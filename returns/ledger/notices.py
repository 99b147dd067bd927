"""What was told on the way: what an operator may look for and have told anew where there is no answer.

A notice that another one replaces is over, and what that one repeats of it and is delivered is told (as of answers, see
``returns.ledger.answers``). Lists ask the same in SQL of their own (``gateway.inbox.questions``).
"""

from __future__ import annotations

from itertools import groupby
from typing import Final, cast

from sqlalchemy import Connection, bindparam, select

from returns.decisions.answering import Standing, of_answer, summarise
from returns.delivery import State, needs_operator
from returns.ids import ReturnId, SubjectId
from returns.ledger.answer_now import AnswerNow
from returns.ledger.answers import STANDING, standing_of
from returns.ledger.prepared import Prepared
from returns.ledger.tables import parts, returns

NOTICE: Final = "notice"

_PARTS: Final = Prepared(
    select(parts.c.return_id, returns.c.replaces, *STANDING)
    .join(returns, returns.c.return_id == parts.c.return_id)
    .where(
        returns.c.subject_id == bindparam("subject"),
        returns.c.revision == bindparam("revision"),
        returns.c.kind == bindparam("kind", NOTICE),
    )
    .order_by(parts.c.return_seq, parts.c.position)
)


def newest(connection: Connection, subject: SubjectId, revision: int) -> AnswerNow | None:
    """The notice of a revision that an operator acts upon.

    The newest that is not proved and with which nothing more happens by itself; else the newest that is being looked
    for; else the newest.
    """
    found = _all(connection, subject, revision)
    ended = [each for each in found if needs_operator(each.status, needs_configuration=each.needs_configuration)]
    looked_for = [each for each in found if each.status is State.VERIFICATION_REQUIRED]
    return next(reversed(ended or looked_for or found), None)


def by_id(connection: Connection, subject: SubjectId, revision: int, return_id: ReturnId | None) -> AnswerNow | None:
    """A notice of a revision, if there is such a one that no other replaces."""
    return next((each for each in _all(connection, subject, revision) if each.return_id == return_id), None)


def _all(connection: Connection, subject: SubjectId, revision: int) -> list[AnswerNow]:
    """The notices that no other replaces, the oldest first."""
    chains: dict[ReturnId, list[list[Standing]]] = {}
    rows = _PARTS.rows(connection, {"subject": subject, "revision": revision})
    for return_id, group in groupby(rows, lambda row: cast("str", row["return_id"])):
        of_return = list(group)
        replaced = cast("ReturnId | None", of_return[0]["replaces"])
        before = [] if replaced is None else chains.pop(replaced, [])
        chains[ReturnId(return_id)] = [*before, [standing_of(row) for row in of_return]]
    return [_of(return_id, revision, of_answer(chain)) for return_id, chain in chains.items()]


def _of(return_id: ReturnId, revision: int, told: list[Standing]) -> AnswerNow:
    now = summarise(told)
    shown = next(part for part in told if part.state is now.status)
    return AnswerNow(
        return_id,
        revision,
        now.status,
        now.error,
        kind=NOTICE,
        needs_configuration=shown.needs_configuration,
    )
