"""One row an answered subject: what the inbox shows, recomputed in the transaction of each move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, bindparam, insert, select, update

from returns.delivery import Error, State, Verification, needs_operator, worst
from returns.ids import Millis, ReturnId, SubjectId
from returns.ledger.prepared import Prepared
from returns.ledger.tables import answers, parts

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
_OPEN: Final = Prepared(insert(answers), ("subject_id", *_COLUMNS))
_REPLACE: Final = Prepared(update(answers).where(answers.c.subject_id == bindparam("subject")), _COLUMNS)
_REFRESH: Final = Prepared(
    update(answers).where(answers.c.subject_id == bindparam("subject"), answers.c.return_id == bindparam("latest")),
    _SUMMARY,
)
_PARTS: Final = Prepared(
    select(
        parts.c.state,
        parts.c.error,
        parts.c.verification,
        parts.c.attempts,
        parts.c.needs_configuration,
        parts.c.delivered_at,
    )
    .where(parts.c.return_id == bindparam("return_id"))
    .order_by(parts.c.position)
)


@dataclass(frozen=True, slots=True)
class Summary:
    """An answer of several parts, told as one."""

    status: State
    error: Error | None
    verification: Verification | None
    parts: int
    delivered_parts: int
    attempts: int
    delivered_at: Millis | None
    needs_operator: bool


def open_answer(connection: Connection, subject: SubjectId, return_id: ReturnId, revision: int, now: Millis) -> None:
    """Make the return the subject's answer, unless one of a later revision is it already."""
    current = _LATEST.first(connection, {"subject": subject})
    if current is not None and cast("int", current["revision"]) > revision:
        return
    values = {"return_id": return_id, "revision": revision, **_columns(_summary(connection, return_id), now)}
    if current is None:
        _OPEN.run(connection, {"subject_id": subject, **values})
    else:
        _REPLACE.run(connection, {"subject": subject, **values})


def refresh(connection: Connection, subject: SubjectId, return_id: ReturnId, now: Millis) -> None:
    """Recompute the subject's row, if this return is its answer."""
    values = _columns(_summary(connection, return_id), now)
    _REFRESH.run(connection, {"subject": subject, "latest": return_id, **values})


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
    rows = _PARTS.rows(connection, {"return_id": return_id})
    states = [State(row["state"]) for row in rows]
    status = worst(states)
    error = rows[states.index(status)]["error"]
    delivered = states.count(State.DELIVERED)
    return Summary(
        status=status,
        error=Error(error) if error is not None else None,
        verification=_verification(cast("str | None", row["verification"]) for row in rows),
        parts=len(rows),
        delivered_parts=delivered,
        attempts=sum(cast("int", row["attempts"]) for row in rows),
        delivered_at=max(cast("Millis", row["delivered_at"]) for row in rows) if delivered == len(rows) else None,
        needs_operator=any(
            needs_operator(state, needs_configuration=bool(row["needs_configuration"]))
            for state, row in zip(states, rows, strict=True)
        ),
    )


def _verification(of_parts: Iterable[str | None]) -> Verification | None:
    """Reconciled as soon as one part was; direct if what is proved so far all was."""
    ways = {Verification(way) for way in of_parts if way is not None}
    if not ways:
        return None
    return Verification.RECONCILED if Verification.RECONCILED in ways else Verification.DIRECT
