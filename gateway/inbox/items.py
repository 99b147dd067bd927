"""Rows of the database as the inbox's JSON: the documented names, nothing private."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias, cast

from gateway.inbox.next_step import Situation, next_step, say
from manager.decisions.assessment import Assessment
from manager.decisions.assignment import Assignment
from manager.decisions.moments import iso
from manager.decisions.turn import TurnState
from manager.decisions.work import Work
from returns.decisions.bodies import from_json
from returns.decisions.fingerprint import visible
from returns.delivery import Error, State
from returns.ids import Millis

Row: TypeAlias = Mapping[str, object]
Json: TypeAlias = dict[str, object]

HIDDEN_QUESTION = "(private)"
PRUNED_QUESTION = "(no longer kept)"
FIRST_WORDS = 80
ABSENT = "absent"
NO_ANSWER: Json = {
    "status": ABSENT,
    "error": None,
    "verification": None,
    "parts": 0,
    "delivered_parts": 0,
    "attempts": 0,
    "delivered_at": None,
}


def item(row: Row, *, chinese: bool = False) -> Json:
    """A request as the list shows it."""
    receiver = text(row["receiver"])
    return {
        "request_id": row["request_id"],
        "conversation": row["conversation_id"],
        "question": _question(row),
        "asked_at": moment(row["asked_at"]),
        "receiver": receiver,
        "assignment": row["assignment"],
        "assessment": row["assessment"],
        "work": row["work"],
        "delivery": delivery(row),
        "needs_operator": bool(row["needs_operator"]) and row["work"] != Work.CANCELLED.value,
        "next": say(next_step(situation(row)), str(row["request_id"]), receiver, chinese=chinese),
        "revision": row["revision"],
        "late": bool(row["late"]),
        "parent": row["parent_id"],
        "snoozed_until": moment(row["snoozed_until"]),
        "notice": notice(row),
    }


def delivery(row: Row) -> Json:
    """The delivery of the answer, or that there is none yet."""
    if row["status"] is None:
        return dict(NO_ANSWER)
    return {
        "status": row["status"],
        "error": row["error"],
        "verification": row["verification"],
        "parts": row["parts"],
        "delivered_parts": row["delivered_parts"],
        "attempts": row["attempts"],
        "delivered_at": moment(row["delivered_at"]),
    }


def notice(row: Row) -> Json | None:
    """The newest thing told on the way that is not proved, and with which nothing more happens by itself."""
    status = row["notice_status"]
    return None if status is None else {"status": status, "error": row["notice_error"]}


def situation(row: Row) -> Situation:
    """Where the request stands, as values."""
    status, error, turn = text(row["status"]), text(row["error"]), text(row["turn"])
    unproved = text(row["notice_status"])
    return Situation(
        assignment=Assignment(row["assignment"]),
        assessment=Assessment(row["assessment"]),
        work=Work(row["work"]),
        delivery=State(status) if status else None,
        error=Error(error) if error else None,
        turn=TurnState(turn) if turn else None,
        waits=_cause(row["waits"]),
        notice=State(unproved) if unproved else None,
    )


def _cause(detail: object) -> str | None:
    """Why a turn waits, as its fact says."""
    return None if detail is None else text(cast("Json", json.loads(str(detail))).get("cause"))


def event(row: Row) -> Json:
    """An event that was set aside, and why."""
    return {
        "event": row["seq"],
        "app": row["app"],
        "type": row["event_type"],
        "state": row["state"],
        "reason": row["reason"],
        "created_at": moment(row["created_at"]),
        "received_at": moment(row["received_at"]),
        "request_id": row["request_id"],
    }


def fact(row: Row) -> Json:
    """A fact of the steward's part of the timeline."""
    return {
        "at": moment(row["at"]),
        "fact": row["fact"],
        "detail": {**_detail(row), "revision": row["revision"]},
    }


def return_fact(row: Row) -> Json:
    """A fact of the delivery's part of the timeline; parts are numbered from 1."""
    position = row["position"]
    part = {} if position is None else {"part": number(position) + 1}
    return {
        "at": moment(row["at"]),
        "fact": row["fact"],
        "detail": {**_detail(row), "return": row["return_id"], **part},
    }


def candidate(row: Row, *, private: bool) -> Json:
    """A message that could be the answer: our own words, by their beginning, and no id."""
    document = text(row["document"])
    words = "" if document is None else visible(from_json(document))[:FIRST_WORDS]
    return {
        "number": row["number"],
        "part": number(row["position"]) + 1,
        "sent_at": moment(row["sent_at"]),
        "text": HIDDEN_QUESTION if private else words,
    }


def moment(value: object) -> str | None:
    """Milliseconds as UTC, ISO 8601; None stays None."""
    return None if value is None else iso(Millis(number(value)))


def text(value: object) -> str | None:
    """A text column that may be empty."""
    return None if value is None else str(value)


def number(value: object) -> int:
    """A column of whole numbers."""
    return value if isinstance(value, int) else int(str(value))


def _question(row: Row) -> object:
    if row["private"]:
        return HIDDEN_QUESTION
    return row["question"] if row["pruned_at"] is None else PRUNED_QUESTION


def _detail(row: Row) -> Json:
    """What a fact tells; the moment of a snooze is told as a moment."""
    detail = cast("Json", json.loads(str(row["detail"])))
    return {**detail, "until": moment(detail["until"])} if "until" in detail else detail
