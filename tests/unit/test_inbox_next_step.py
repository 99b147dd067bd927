"""What happens next: a sentence for every situation, in both languages."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import pytest

from gateway.inbox.next_step import CHINESE, Next, Situation, next_step, say
from manager.decisions.assessment import Assessment
from manager.decisions.assignment import Assignment
from manager.decisions.turn import TurnState
from manager.decisions.work import Work
from returns.delivery import Error, State

NOTICES = [State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE, State.RETRY_PENDING]

EVERY = [
    Situation(*values)
    for values in itertools.product(
        Assignment, Assessment, Work, [None, *State], [None, *Error], [None, *TurnState], [None, *NOTICES]
    )
]
EVERY += [
    replace(situation, waits=cause)
    for situation in EVERY
    for cause in ("chat_unknown", "app_not_configured")
    if situation.turn is TurnState.QUEUED and situation.delivery is None
]


def test_every_situation_has_a_next_step_and_every_step_a_situation() -> None:
    assert {next_step(situation) for situation in EVERY} == set(Next)


def test_every_step_is_said_in_both_languages() -> None:
    assert set(CHINESE) == set(Next)
    for step in Next:
        for chinese in (False, True):
            said = say(step, "r_1", "kim", chinese=chinese)
            assert said
            assert "{" not in said
            assert said[-1] in "。."
        assert ("{receiver}" in step.value) == ("{receiver}" in CHINESE[step])


@pytest.mark.parametrize("chinese", [False, True])
def test_a_command_is_said_whole(*, chinese: bool) -> None:
    commands = {
        command
        for step in Next
        for command in re.findall(
            r"manager-inbox \w+(?: r_1)?(?: REF| --reason …)?", say(step, "r_1", None, chinese=chinese)
        )
    }
    assert commands == {
        "manager-inbox verify r_1",
        "manager-inbox found r_1 REF",
        "manager-inbox resend r_1 --reason …",
        "manager-inbox cancel r_1 --reason …",
    }


def test_nothing_sounds_like_another_send_once_it_may_have_been_sent() -> None:
    unsure = [s for s in EVERY if s.delivery in {State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED}]
    steps = {next_step(situation) for situation in unsure}
    assert not steps & {Next.RETRY, Next.RETRY_LIMITED, Next.RETRY_OFFLINE, Next.SENDING_NEXT}


@pytest.mark.parametrize("state", [None, State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE, State.SUPERSEDED])
def test_nobody_is_sent_after_what_was_cancelled(state: State | None) -> None:
    situation = Situation(Assignment.UNASSIGNED, Assessment.PENDING, Work.CANCELLED, state, None, TurnState.DONE)
    assert next_step(situation) is Next.CANCELLED


def open_at(assignment: Assignment, assessment: Assessment, turn: TurnState | None = TurnState.DONE) -> Next:
    return next_step(Situation(assignment, assessment, Work.OPEN, None, None, turn))


def waiting(cause: str, turn: TurnState = TurnState.QUEUED) -> Next:
    return next_step(Situation(Assignment.UNASSIGNED, Assessment.PENDING, Work.OPEN, None, None, turn, waits=cause))


def told(state: State, error: Error | None = None) -> Next:
    return next_step(Situation(Assignment.UNASSIGNED, Assessment.PENDING, Work.RESOLVED, state, error, TurnState.DONE))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (open_at(Assignment.UNASSIGNED, Assessment.PENDING, TurnState.QUEUED), Next.TURN),
        (waiting("chat_unknown"), Next.CHAT_UNKNOWN),
        (waiting("app_not_configured"), Next.NO_APP),
        (waiting("a word of later"), Next.TURN),
        (waiting("chat_unknown", TurnState.RUNNING), Next.INVESTIGATING),
        (open_at(Assignment.UNASSIGNED, Assessment.PENDING, TurnState.RUNNING), Next.INVESTIGATING),
        (open_at(Assignment.UNASSIGNED, Assessment.PENDING), Next.ASKER),
        (open_at(Assignment.UNASSIGNED, Assessment.PENDING, TurnState.FAILED), Next.BROKEN),
        (open_at(Assignment.STORED, Assessment.PENDING), Next.TAKING_UP),
        (open_at(Assignment.PRESENTED, Assessment.PENDING), Next.ASSESSING),
        (open_at(Assignment.PRESENTED, Assessment.ACCEPTED), Next.WORKING),
        (open_at(Assignment.PRESENTED, Assessment.DEFERRED), Next.DEFERRED),
        (told(State.QUEUED), Next.SENDING_NEXT),
        (told(State.QUEUED, Error.EARLIER_PART_UNVERIFIED), Next.HELD_BACK),
        (told(State.SENDING), Next.UNDER_WAY),
        (told(State.RETRY_PENDING, Error.PROVIDER_REJECTED), Next.RETRY_REFUSED),
        (told(State.VERIFICATION_REQUIRED, Error.PROVIDER_LOCATOR_UNAVAILABLE), Next.SEARCHING),
        (told(State.VERIFICATION_REQUIRED, Error.PROVIDER_DELIVERY_UNVERIFIED), Next.READING),
        (told(State.DELIVERED), Next.PROVED),
        (told(State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND), Next.LOOK),
        (told(State.EXPLICIT_UNVERIFIED, Error.AMBIGUOUS_MATCH), Next.LOOK_SEVERAL),
        (told(State.UNDELIVERABLE, Error.ORIGINAL_ROUTE_UNAVAILABLE), Next.GONE),
        (told(State.UNDELIVERABLE, Error.CONTENT_REFUSED), Next.REFUSED),
        (told(State.SUPERSEDED), Next.REPLACED),
    ],
)
def test_the_usual_ones(found: Next, expected: Next) -> None:
    assert found is expected
