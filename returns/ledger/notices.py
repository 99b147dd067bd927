"""What was told on the way: what an operator may look for and have told anew where there is no answer.

A notice that another one replaces is over. Lists ask the same in SQL of their own (``gateway.inbox.questions``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, cast

from sqlalchemy import Connection, bindparam, exists, select

from returns.delivery import Error, State, needs_operator, worst
from returns.ids import ReturnId, SubjectId
from returns.ledger.answer_now import AnswerNow
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import parts, returns

NOTICE: Final = "notice"

_replacing = returns.alias("replacing")
_PARTS: Final = Prepared(
    select(parts.c.return_id, parts.c.state, parts.c.error, parts.c.needs_configuration)
    .join(returns, returns.c.return_id == parts.c.return_id)
    .where(
        returns.c.subject_id == bindparam("subject"),
        returns.c.revision == bindparam("revision"),
        returns.c.kind == bindparam("kind", NOTICE),
        ~exists().where(_replacing.c.subject_id == returns.c.subject_id, _replacing.c.replaces == returns.c.return_id),
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
    rows = _PARTS.rows(connection, {"subject": subject, "revision": revision})
    return [
        _of(ReturnId(return_id), revision, list(of_return))
        for return_id, of_return in groupby(rows, lambda row: cast("str", row["return_id"]))
    ]


def _of(return_id: ReturnId, revision: int, of_return: Sequence[Row]) -> AnswerNow:
    states = [State(row["state"]) for row in of_return]
    status = worst(states)
    shown = of_return[states.index(status)]
    error = cast("str | None", shown["error"])
    return AnswerNow(
        return_id,
        revision,
        status,
        None if error is None else Error(error),
        kind=NOTICE,
        needs_configuration=bool(shown["needs_configuration"]),
    )
