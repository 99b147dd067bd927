"""The facts that operators leave in the timeline: who, what it stood at, what came of it."""

from __future__ import annotations

from typing import TypeAlias

from sqlalchemy import Connection

from manager.decisions.operators import Kind, Outcome
from manager.ledger.facts import record
from manager.ledger.requests import RequestView
from returns.ids import Millis
from returns.ledger.answer_now import AnswerNow
from returns.ledger.notices import NOTICE

Detail: TypeAlias = dict[str, str | int | bool | None]


def note_act(
    connection: Connection,
    view: RequestView,
    kind: Kind,
    who: str,
    before: str | None,
    outcome: Outcome | None,
    detail: Detail,
    now: Millis,
) -> None:
    """Record an act that begins at ``before``, or, without that, the end of one that had to wait."""
    fact = f"operator_{kind.value}" if before is not None else f"operator_{kind.value}_done"
    told: Detail = {"who": who, "before": before, "outcome": outcome.value if outcome else None, **detail}
    shown = {name: value for name, value in told.items() if value is not None}
    record(connection, view.request_id, view.revision, now, fact, shown)


def standing(view: RequestView, answer: AnswerNow | None) -> str:
    """Work and delivery, in one word each; the notice's delivery where there is no answer."""
    delivery = "absent" if answer is None else answer.status.value
    if answer is not None and answer.kind == NOTICE:
        delivery = f"notice {delivery}"
    error = "" if answer is None or answer.error is None else f" ({answer.error.value})"
    return f"{view.newest.work.value}, {delivery}{error}"
