"""The turn's table, every state by every event, and the bounds around it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions.decision import Answer, Ask, Decline, Defer, Delegate
from manager.decisions.lateness import is_control, is_late
from manager.decisions.moments import iso
from manager.decisions.turn import (
    FINAL,
    MAX_ATTEMPTS,
    MAX_CLAIMS,
    RETRY_MAX_MS,
    TRANSITIONS,
    IllegalTurnMove,
    TurnEvent,
    TurnState,
    is_exhausted,
    may_retry,
    move,
    retry_delay_ms,
    sources,
)
from manager.decisions.turn_sentences import SENTENCES, Sentence, said_late, say
from returns.ids import Millis

Q, R, D, F, C = TurnState.QUEUED, TurnState.RUNNING, TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED
TABLE = {
    TurnEvent.CLAIMED: {Q: R, R: R},
    TurnEvent.RELEASED: {R: Q},
    TurnEvent.DECIDED: {R: D},
    TurnEvent.GAVE_UP: {R: F},
    TurnEvent.WITHDRAWN: {Q: C, R: C},
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(TurnState, TurnEvent)))
def test_every_state_by_every_event(state: TurnState, event: TurnEvent) -> None:
    after = TABLE[event].get(state)
    if after is None:
        with pytest.raises(IllegalTurnMove) as refused:
            move(state, event)
        assert (refused.value.state, refused.value.event) == (state, event)
    else:
        assert move(state, event) is after
    assert (state in sources(event)) == (after is not None)


def test_nothing_leaves_a_final_state_and_every_state_is_reached() -> None:
    assert {state for state, _ in TRANSITIONS} == set(TurnState) - FINAL
    assert set(TRANSITIONS.values()) == set(TurnState)


def test_attempts_are_bounded() -> None:
    assert [may_retry(attempts) for attempts in range(1, 5)] == [True, True, False, False]
    assert not is_exhausted(MAX_CLAIMS)
    assert is_exhausted(MAX_CLAIMS + 1)
    assert MAX_ATTEMPTS <= MAX_CLAIMS


@given(st.integers(0, 10**6))
def test_pauses_grow_and_stay_bounded(attempts: int) -> None:
    assert 0 < retry_delay_ms(attempts) <= retry_delay_ms(attempts + 1) <= RETRY_MAX_MS


@given(st.integers(0, 2**42), st.integers(0, 2**42), st.integers(1, 10**8))
def test_late_is_older_than_the_limit(created: int, received: int, limit: int) -> None:
    assert is_late(Millis(created), Millis(received), limit) == (received - created > limit)
    assert not is_late(None, Millis(received), limit)


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("stop", True),
        (" Restart! ", True),
        ("/stop", True),
        ("/STATUS", True),
        ("停止。", True),
        ("stop it", False),
        ("status", False),
        ("", False),
    ],
)
def test_control_words_stand_alone(text: str, yes: bool) -> None:
    assert is_control(text) is yes


def test_every_sentence_is_there_in_both_languages() -> None:
    assert set(SENTENCES) == set(itertools.product(Sentence, ("en", "zh")))
    for sentence, language in SENTENCES:
        assert "{" not in say(sentence, language, attempts=3, seconds=9)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_lateness_is_said_by_every_decision_but_a_handover(language: str) -> None:
    late = say(Sentence.LATE, language)
    for decision in (Answer("x"), Ask("x"), Decline("x"), Defer("x", "o", "c")):
        said = said_late(decision, language)
        assert type(said) is type(decision)
        assert late in str(said)
    assert said_late(Delegate("a", "b"), language) == Delegate("a", "b")


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (-5, "1970-01-01T00:00:00.000Z"),
        (10**18, "9999-12-31T23:59:59.000Z"),
    ],
)
def test_moments_as_text(at: int, text: str) -> None:
    assert iso(Millis(at)) == text
