"""Every interleaving of two pumps over one part, for each thing that a provider or a database can do.

The bounds here are small, so that the suite stays short; ``python -m tests.exploration`` goes as far as the numbers of
states allow.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from returns import delivery
from returns.decisions import matching
from returns.delivery import Event, State
from returns.ledger import locators
from tests.exploration.behaviours import ALWAYS, BEHAVIOURS
from tests.exploration.explorer import Explorer
from tests.exploration.states import Behaviour, Bounds, Report, Violation

KILLED = Bounds(crashes=1, pauses=0)
PAUSED = Bounds(crashes=0, pauses=1)
PAUSED_TOO = ("accepts", "accepts and loses the answer", "never accepts and times out", "limits")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def named(name: str) -> Behaviour:
    return next(each for each in BEHAVIOURS if each.name == name)


def told(report: Report) -> None:
    print(f"{report.behaviour}: {report.states} states, {report.transitions} transitions, {dict(report.ends)}")


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda each: each.name)
def test_killed_anywhere(behaviour: Behaviour) -> None:
    report = Explorer(behaviour, KILLED, faults=1).explore()
    told(report)
    assert set(report.ends) | {ALWAYS} == behaviour.ends | {ALWAYS}


def test_in_a_thread() -> None:
    behaviour = named("accepts and loses the answer")
    report = Explorer(behaviour, KILLED, thread=True, faults=1).explore()
    told(report)
    assert set(report.ends) | {ALWAYS} == behaviour.ends | {ALWAYS}


@pytest.mark.parametrize("name", PAUSED_TOO)
def test_paused_anywhere_for_any_time(name: str) -> None:
    report = Explorer(named(name), PAUSED, faults=1).explore()
    told(report)
    assert set(report.ends) | {ALWAYS} == named(name).ends | {ALWAYS}


class TestWrongDesignsAreCaught:
    """An exploration that cannot fail proves nothing."""

    def caught(self, name: str, bounds: Bounds = KILLED) -> str:
        with pytest.raises(Violation) as caught:
            Explorer(named(name), bounds, faults=1).explore()
        assert "begins" in str(caught.value), "it shows the way"
        return caught.value.oracle

    @pytest.mark.parametrize(
        ("event", "name"),
        [
            (Event.UNKNOWN, "accepts and loses the answer"),
            (Event.LEASE_LOST, "accepts"),
        ],
    )
    def test_an_unknown_send_is_sent_again(self, monkeypatch: pytest.MonkeyPatch, event: Event, name: str) -> None:
        _table(monkeypatch, {(State.SENDING, event): State.RETRY_PENDING})
        assert self.caught(name) in {"duplicate", "truth"}

    def test_not_found_is_taken_for_not_sent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _table(monkeypatch, {(State.VERIFICATION_REQUIRED, Event.NO_MATCH): State.RETRY_PENDING})
        assert self.caught("accepts after the search") in {"duplicate", "truth"}

    def test_verified_by_the_id_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(matching, "differences", lambda *_compared: ())
        assert self.caught("lies when read") == "truth"

    def test_a_search_goes_on_over_a_locator_that_came_late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The exploration found this one: the search then said that there was nothing."""
        move = locators.move

        def as_before(*given: Any, changes: dict[str, object], **more: Any) -> bool:
            return move(*given, changes={name: value for name, value in changes.items() if name != "fence"}, **more)

        monkeypatch.setattr(locators, "move", as_before)
        assert self.caught("accepts", PAUSED) == "truth"

    def test_nothing_is_ever_looked_at_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _table(monkeypatch, {(State.SENDING, Event.LEASE_LOST): State.SENDING})
        assert self.caught("accepts") == "liveness"


def _table(monkeypatch: pytest.MonkeyPatch, changes: dict[tuple[State, Event], State]) -> None:
    monkeypatch.setattr(delivery, "TRANSITIONS", MappingProxyType({**delivery.TRANSITIONS, **changes}))
