"""A3: the provider counts a call anywhere between its start and its end; no window of its ever sees too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from returns.decisions.pacing import SECOND_MS, Pace, Window

CHAT = (("chat", "x"),)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 1500), st.floats(0, 1)), max_size=60), st.integers(1, 5))
def test_calls_one_after_the_other_are_never_too_many(calls: list[tuple[int, int, float]], limit: int) -> None:
    """``calls``: the pause before each, how long it takes, and when in it the provider counts it."""
    pace = Pace({"chat": ((limit, SECOND_MS),)})
    now = 0
    counted: list[int] = []
    for pause, took, share in calls:
        now += pause
        while wait := pace.take(CHAT, now):
            now += wait
        counted.append(now + round(took * share))
        pace.end(CHAT, now, now + took)
        now += took
    for at in counted:
        assert sum(at <= other < at + SECOND_MS for other in counted) <= limit


def test_one_that_took_longer_than_the_window_still_counts() -> None:
    window = Window(1, SECOND_MS)
    window.take(0)
    assert window.wait_ms(5_000) == 0
    window.end(0, 5_000)
    assert window.wait_ms(5_000) == SECOND_MS


def test_an_end_is_no_second_call() -> None:
    window = Window(2, SECOND_MS)
    window.take(0)
    window.end(0, 10)
    assert window.wait_ms(10) == 0


def test_a_clock_that_went_back_during_a_call_opens_nothing_early() -> None:
    window = Window(1, SECOND_MS)
    window.take(10_000)
    window.end(10_000, 9_000)
    assert window.wait_ms(9_000) == SECOND_MS
    assert window.wait_ms(9_000 + SECOND_MS) == 0
