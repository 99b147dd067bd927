"""The three axes: every state by every event, and what a write may do in every standing."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum

import pytest

from manager.decisions import assessment, assignment, peer_writes, work
from manager.decisions.assessment import Assessment, AssessmentEvent
from manager.decisions.assignment import Assignment, AssignmentEvent
from manager.decisions.axes import IllegalMove
from manager.decisions.peer_writes import Assess, Code, Outcome, Refused, Standing
from manager.decisions.work import Work, WorkEvent
from manager.ids import RequestId

LEGAL = {
    ("unassigned", "assign"): "assigned",
    ("assigned", "store"): "stored",
    ("stored", "present"): "presented",
    ("presented", "present"): "presented",
    ("pending", "accept"): "accepted",
    ("pending", "accept_partly"): "partially_accepted",
    ("pending", "defer"): "deferred",
    ("pending", "reject"): "rejected",
    ("deferred", "accept"): "accepted",
    ("deferred", "accept_partly"): "partially_accepted",
    ("deferred", "defer"): "deferred",
    ("deferred", "reject"): "rejected",
    ("open", "resolve"): "resolved",
    ("open", "decline"): "declined",
    ("open", "cancel"): "cancelled",
    ("open", "withdraw"): "cancelled",
    ("resolved", "withdraw"): "cancelled",
    ("declined", "withdraw"): "cancelled",
}

AXES = [
    (assignment.move, Assignment, AssignmentEvent),
    (assessment.move, Assessment, AssessmentEvent),
    (work.move, Work, WorkEvent),
]


def every_pair() -> list:
    return [(move, state, event) for move, states, events in AXES for state, event in itertools.product(states, events)]


@pytest.mark.parametrize(("move", "state", "event"), every_pair())
def test_every_state_by_every_event(move: Callable[[Enum, Enum], Enum], state: Enum, event: Enum) -> None:
    expected = LEGAL.get((state.value, event.value))
    if expected is not None:
        assert move(state, event).value == expected
        return
    with pytest.raises(IllegalMove) as caught:
        move(state, event)
    assert (caught.value.state, caught.value.event, caught.value.code) == (state, event, "illegal_move")


def test_the_names_are_the_contracts() -> None:
    assert [state.value for state in Assignment] == ["unassigned", "assigned", "stored", "presented"]
    assert {state.value for state in Assessment} == {
        "pending", "accepted", "partially_accepted", "deferred", "rejected",
    }  # fmt: skip
    assert {state.value for state in Work} == {"open", "resolved", "declined", "cancelled"}


def refusal(check: Callable[..., object], *arguments: object) -> Code | None:
    try:
        check(*arguments)
    except Refused as refused:
        return refused.code
    return None


STANDINGS = [Standing(*values) for values in itertools.product(Assignment, Assessment, Work, (False, True))]


@pytest.mark.parametrize("standing", STANDINGS)
def test_what_a_result_needs(standing: Standing) -> None:
    for outcome in Outcome:
        code = refusal(peer_writes.check_conclude, standing, outcome)
        if standing.assignment is not Assignment.PRESENTED:
            assert code is Code.NOT_PRESENTED
        elif standing.work is Work.CANCELLED or standing.has_result:
            assert code is Code.ALREADY_FINAL
        elif standing.assessment is Assessment.PENDING or (
            outcome is Outcome.RESOLVED and standing.assessment in {Assessment.DEFERRED, Assessment.REJECTED}
        ):
            assert code is Code.NOT_ASSESSED
        elif standing.work is Work.OPEN or standing.assessment is Assessment.REJECTED:
            assert code is None
        else:
            assert code is Code.ALREADY_FINAL


@pytest.mark.parametrize("standing", STANDINGS)
def test_what_the_others_need(standing: Standing) -> None:
    presented = standing.assignment is Assignment.PRESENTED
    is_open = standing.work is Work.OPEN
    assert (refusal(peer_writes.check_present, standing) is None) == is_open
    progress = refusal(peer_writes.check_progress, standing)
    assert progress is (Code.NOT_PRESENTED if not presented else None if is_open else Code.ALREADY_FINAL)
    changeable = standing.assessment in {Assessment.PENDING, Assessment.DEFERRED}
    for event in AssessmentEvent:
        code = refusal(peer_writes.check_assess, standing, event)
        if not presented:
            assert code is Code.NOT_PRESENTED
        else:
            assert code is (None if changeable and is_open else Code.ALREADY_FINAL)


def test_every_code_has_a_status_and_a_stable_name() -> None:
    assert set(peer_writes.STATUS) == set(Code)
    assert {code.value for code in Code if peer_writes.STATUS[code] == 409} == {
        "idempotency_conflict", "revision_conflict", "stale_attempt", "binding_held", "not_presented", "not_assessed",
        "cycle", "already_final",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        (Assessment.ACCEPTED, []),
        (Assessment.PARTIALLY_ACCEPTED, ["accepted_scope", "remaining"]),
        (Assessment.DEFERRED, ["reason", "resume_condition", "owner"]),
        (Assessment.REJECTED, ["reason"]),
    ],
)
def test_what_an_assessment_must_say(said: Assessment, missing: list[str]) -> None:
    filled: dict[str, str] = {}
    for field in missing:
        with pytest.raises(Refused) as caught:
            peer_writes.assessment_event(Assess(RequestId("r"), 1, said, **filled, **{field: " "}))
        assert (caught.value.code, caught.value.field) == (Code.INVALID_REQUEST, field)
        filled[field] = "something"
    event = peer_writes.assessment_event(Assess(RequestId("r"), 1, said, **filled))
    assert assessment.move(Assessment.PENDING, event) is said


def test_nobody_says_pending() -> None:
    with pytest.raises(Refused):
        peer_writes.assessment_event(Assess(RequestId("r"), 1, Assessment.PENDING))


@pytest.mark.parametrize(
    ("holder", "said_at", "away", "executor", "held"),
    [
        (None, None, False, "b", False),
        ("a", 1_000, False, "a", False),
        ("a", 1_000, False, None, False),
        ("a", 1_000, True, "b", False),
        ("a", None, False, "b", False),
        ("a", 1_000, False, "b", True),
        ("a", 1_000 - 119_999, False, "b", True),
        ("a", 1_000 - 120_000, False, "b", False),
    ],
)
def test_a_binding(holder: str | None, said_at: int | None, away: bool, executor: str | None, held: bool) -> None:
    assert peer_writes.held_by_another(holder=holder, said_at=said_at, away=away, executor=executor, now=1_000) is held
