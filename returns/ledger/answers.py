"""One row an answered subject: what the inbox shows, recomputed in the transaction of each move.

An answer is made of the parts of its latest return and, where that replaces an earlier one, of the parts of that one
which were proved before: the return that replaces carries the unproved part and those after it. What of it repeats a
part that turned out to be there after all is shown as that.
"""

from __future__ import annotations

from typing import Final, cast

from sqlalchemy import Connection, bindparam, insert, select, update

from returns.decisions.answering import Standing, Summary, of_answer, summarise
from returns.delivery import Error, State, Verification
from returns.ids import Millis, ReturnId, SubjectId
from returns.ledger.facts import Fact, record
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import answers, parts, returns

_SUMMARY = (
    "status",
    "error",
    "verification",
    "parts",
    "delivered_parts",
    "attempts",
    "delivered_at",
    "needs_operator",
    "updated_at",
)
_COLUMNS = ("return_id", "revision", *_SUMMARY)
_LATEST: Final = Prepared(
    select(answers.c.return_id, answers.c.revision).where(answers.c.subject_id == bindparam("subject"))
)
_OF_REVISION: Final = Prepared(
    select(returns.c.return_id)
    .where(
        returns.c.subject_id == bindparam("subject"),
        returns.c.revision == bindparam("revision"),
        returns.c.kind == "answer",
    )
    .order_by(returns.c.seq.desc())
)
_OPEN: Final = Prepared(insert(answers), ("subject_id", "place", *_COLUMNS))
_REPLACE: Final = Prepared(update(answers).where(answers.c.subject_id == bindparam("subject")), _COLUMNS)
_REFRESH: Final = Prepared(
    update(answers).where(answers.c.subject_id == bindparam("subject"), answers.c.return_id == bindparam("latest")),
    _SUMMARY,
)
STANDING: Final = (
    parts.c.state,
    parts.c.error,
    parts.c.verification,
    parts.c.attempts,
    parts.c.needs_configuration,
    parts.c.delivered_at,
)
"""The columns of ``standing_of``."""

_PARTS: Final = Prepared(
    select(*STANDING, returns.c.replaces)
    .join(returns, returns.c.return_id == parts.c.return_id)
    .where(parts.c.return_id == bindparam("return_id"))
    .order_by(parts.c.position)
)


def open_answer(
    connection: Connection,
    subject: SubjectId,
    return_id: ReturnId,
    revision: int,
    now: Millis,
    *,
    place: int | None = None,
) -> None:
    """Make the return the subject's answer, unless one of a later revision is it already; the first place stays."""
    current = _LATEST.first(connection, {"subject": subject})
    if current is not None and cast("int", current["revision"]) > revision:
        return
    values = {"return_id": return_id, "revision": revision, **_columns(_summary(connection, return_id), now)}
    if current is None:
        _OPEN.run(connection, {"subject_id": subject, "place": place, **values})
    else:
        _REPLACE.run(connection, {"subject": subject, **values})


def stand_again(connection: Connection, subject: SubjectId, revision: int, now: Millis) -> bool:
    """Make the last answer to an earlier revision the subject's answer again; False where there is none.

    What was superseded as a whole is none.
    """
    for row in _OF_REVISION.rows(connection, {"subject": subject, "revision": revision}):
        return_id = ReturnId(cast("str", row["return_id"]))
        told = of_answer(list(_chain(connection, return_id).values()))
        if any(part.state is not State.SUPERSEDED for part in told):
            _stand(connection, subject, return_id, revision, summarise(told), now)
            return True
    return False


def _stand(
    connection: Connection, subject: SubjectId, return_id: ReturnId, revision: int, summary: Summary, now: Millis
) -> None:
    if _LATEST.only(connection, {"subject": subject})["return_id"] == return_id:
        return
    values = {"return_id": return_id, "revision": revision, **_columns(summary, now)}
    _REPLACE.run(connection, {"subject": subject, **values})
    record(connection, subject, return_id, None, now, Fact.STANDS_AGAIN, {"revision": revision})


def refresh(connection: Connection, subject: SubjectId, return_id: ReturnId, now: Millis) -> None:
    """Recompute the subject's row, if this return is its answer or one that the answer replaces."""
    values = _columns(_summary(connection, return_id), now)
    if _REFRESH.run(connection, {"subject": subject, "latest": return_id, **values}) == 1:
        return
    current = _LATEST.first(connection, {"subject": subject})
    if current is None:
        return
    latest = ReturnId(cast("str", current["return_id"]))
    chain = _chain(connection, latest)
    if return_id in chain:
        values = _columns(summarise(of_answer(list(chain.values()))), now)
        _REFRESH.run(connection, {"subject": subject, "latest": latest, **values})


def _columns(summary: Summary, now: Millis) -> dict[str, object]:
    return {
        "status": summary.status.value,
        "error": summary.error.value if summary.error else None,
        "verification": summary.verification.value if summary.verification else None,
        "parts": summary.parts,
        "delivered_parts": summary.delivered_parts,
        "attempts": summary.attempts,
        "delivered_at": summary.delivered_at,
        "needs_operator": summary.needs_operator,
        "updated_at": now,
    }


def _summary(connection: Connection, return_id: ReturnId) -> Summary:
    """Of the return's parts, and of those that stay of the returns that it replaces."""
    return summarise(of_answer(list(_chain(connection, return_id).values())))


def _chain(connection: Connection, return_id: ReturnId) -> dict[ReturnId, list[Standing]]:
    """The parts of the return and of those that it replaces, one after the other, the oldest first."""
    found: list[tuple[ReturnId, list[Standing]]] = []
    at: ReturnId | None = return_id
    while at is not None:
        rows = _PARTS.rows(connection, {"return_id": at})
        found.append((at, [standing_of(row) for row in rows]))
        at = cast("ReturnId | None", rows[0]["replaces"])
    return dict(reversed(found))


def standing_of(row: Row) -> Standing:
    """A part as everybody may see it, of its ``STANDING``."""
    error, verification = row["error"], row["verification"]
    return Standing(
        state=State(row["state"]),
        error=None if error is None else Error(error),
        verification=None if verification is None else Verification(verification),
        attempts=cast("int", row["attempts"]),
        needs_configuration=bool(row["needs_configuration"]),
        delivered_at=cast("Millis | None", row["delivered_at"]),
    )
