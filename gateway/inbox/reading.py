"""Lists, one request with its timeline, events: asked through any function that answers SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gateway.inbox import questions
from gateway.inbox.items import ABSENT, Json, Row, candidate, event, fact, item, number, return_fact, text
from gateway.inbox.path_ids import may_be_request
from returns.delivery import State
from returns.ids import Millis

Ask: TypeAlias = Callable[[str, Mapping[str, object]], Sequence[Row]]
"""Answers one SQL text with named parameters; all rows at once."""

STATUSES = (*(state.value for state in State), ABSENT)
"""What a list can be filtered by."""

EVENT_STATES = ("parked", "late", "alarm")
"""The events that were set aside."""

BEGINNING = (1 << 63) - 1
MOST_FACTS = 5_000
MOST_CHILDREN = 1_000
MOST_ANCESTORS = 100
MOST_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class Listing:
    """What is listed: a delivery status (empty: all), with or without requests of one peer to another."""

    status: str = ""
    children: bool = False
    needs_operator_at: Millis | None = None
    """Only what waits for an operator and is not snoozed at this moment, whatever its status."""

    @property
    def key(self) -> str:
        """What a cursor of this list is bound to."""
        status = self.status if self.needs_operator_at is None else "needs_operator"
        return f"inbox:{status}:{int(self.children)}"


@dataclass(frozen=True, slots=True)
class Page:
    """Items, newest first, and the position of the next page."""

    items: list[Json]
    next_position: str | None


def list_requests(ask: Ask, listing: Listing, position: str | None, limit: int, *, chinese: bool = False) -> Page:
    """A page of requests, after ``position``."""
    before = BEGINNING if position is None else int(position)
    parameters: dict[str, object] = {"before": before, "children": int(listing.children), "limit": limit + 1}
    if listing.needs_operator_at is not None:
        parameters["now"] = listing.needs_operator_at
    elif listing.status and listing.status != ABSENT:
        parameters["status"] = listing.status
    rows = ask(_question(listing), parameters)
    return Page([item(row, chinese=chinese) for row in rows[:limit]], _position(rows, limit))


def list_events(ask: Ask, state: str, position: str | None, limit: int) -> Page:
    """A page of the events of one state, after ``position``."""
    before = BEGINNING if position is None else int(position)
    rows = ask(questions.SET_ASIDE, {"state": state, "before": before, "limit": limit + 1})
    return Page([event(row) for row in rows[:limit]], _position(rows, limit))


def get_item(ask: Ask, request: str, *, chinese: bool = False) -> Json | None:
    """One request as the list shows it, or None."""
    rows = ask(questions.ONE, {"request": request})
    return item(rows[0], chinese=chinese) if rows else None


def show_request(ask: Ask, request: str, *, chinese: bool = False) -> Json | None:
    """One request with its timeline and its lineage, or None."""
    if not may_be_request(request):
        return None
    rows = ask(questions.ONE, {"request": request})
    if not rows:
        return None
    row = rows[0]
    shown = item(row, chinese=chinese)
    shown["intent"] = row["intent"]
    shown["from"] = text(row["sender"]) or "steward"
    shown["lineage"] = {
        "parent": row["parent_id"],
        "ancestors": _ancestors(ask, text(row["parent_id"])),
        "children": [
            child["request_id"] for child in ask(questions.CHILDREN, {"request": request, "limit": MOST_CHILDREN})
        ],
        "depth": row["depth"],
    }
    shown["candidates"] = candidates(ask, request)
    shown["timeline"] = timeline(ask, request)
    return shown


def candidates(ask: Ask, request: str) -> list[Json]:
    """The messages of which reading cannot tell whether they are the answer, numbered as ``found`` takes them."""
    rows = ask(questions.CANDIDATES, {"request": request, "limit": MOST_CANDIDATES})
    return [candidate(row, private=bool(row["private"])) for row in rows]


def timeline(ask: Ask, request: str) -> list[Json]:
    """Every fact of a request, in order; each room's own order is kept whatever the clock did."""
    parameters = {"request": request, "limit": MOST_FACTS}
    ours, theirs = ask(questions.FACTS, parameters), ask(questions.RETURN_FACTS, parameters)
    merged: list[Json] = []
    left = right = 0
    while left < len(ours) or right < len(theirs):
        if right == len(theirs) or (left < len(ours) and number(ours[left]["at"]) <= number(theirs[right]["at"])):
            merged.append(fact(ours[left]))
            left += 1
        else:
            merged.append(return_fact(theirs[right]))
            right += 1
    return merged


def _question(listing: Listing) -> str:
    if listing.needs_operator_at is not None:
        return questions.NEEDS_OPERATOR
    if not listing.status:
        return questions.NEWEST
    return questions.ABSENT if listing.status == ABSENT else questions.BY_STATUS


def _position(rows: Sequence[Row], limit: int) -> str | None:
    return str(rows[limit - 1]["seq"]) if len(rows) > limit else None


def _ancestors(ask: Ask, parent: str | None) -> list[str]:
    """From the root down to the parent."""
    found: list[str] = []
    while parent is not None and len(found) < MOST_ANCESTORS:
        found.append(parent)
        rows = ask(questions.PARENT, {"request": parent})
        parent = text(rows[0]["parent_id"]) if rows else None
    return found[::-1]
