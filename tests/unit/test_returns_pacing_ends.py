"""A3: the provider counts a call anywhere between its start and its end; no window of its ever sees too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from returns.decisions.pacing import IN_FLIGHT_MS, SECOND_MS, Pace, Window

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


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, IN_FLIGHT_MS), st.floats(0, 1)), max_size=60),
    st.integers(1, 5),
)
def test_calls_side_by_side_are_never_too_many(calls: list[tuple[int, int, float]], limit: int) -> None:
    """Calls overlap: each starts as soon as it may, whatever the others are doing."""
    pace = Pace({"chat": ((limit, SECOND_MS),)})
    now = 0
    counted: list[int] = []
    under_way: list[tuple[int, int]] = []
    for pause, took, share in calls:
        now += pause
        while True:
            for end, start in sorted(under_way):
                if end <= now:
                    pace.end(CHAT, start, end)
                    under_way.remove((end, start))
            wait = pace.take(CHAT, now)
            if not wait:
                break
            now = min([now + wait, *(end for end, _ in under_way if end > now)])
        counted.append(now + round(took * share))
        under_way.append((now + took, now))
    for at in counted:
        assert sum(at <= other < at + SECOND_MS for other in counted) <= limit


def test_one_that_runs_is_counted_as_long_as_it_may_be_on_its_way() -> None:
    window = Window(1, SECOND_MS)
    window.take(0)
    assert window.wait_ms(IN_FLIGHT_MS - 1) == SECOND_MS
    assert window.wait_ms(IN_FLIGHT_MS + SECOND_MS - 1) == 1
    assert window.wait_ms(IN_FLIGHT_MS + SECOND_MS) == 0


def test_one_that_hangs_stops_no_others_but_its_end_counts() -> None:
    window = Window(1, SECOND_MS)
    window.take(0)
    later = 6 * IN_FLIGHT_MS
    assert window.wait_ms(later) == 0
    window.end(0, later)
    assert window.wait_ms(later) == SECOND_MS


def test_an_end_is_no_second_call() -> None:
    window = Window(2, SECOND_MS)
    window.take(0)
    window.end(0, 10)
    assert window.wait_ms(10) == 0
    assert window.room(10) == 1


def test_one_that_was_not_made_is_not_counted() -> None:
    window = Window(1, SECOND_MS)
    window.take(0)
    window.withdraw(0)
    assert window.wait_ms(1) == 0


def test_a_clock_that_went_back_during_a_call_opens_nothing_early() -> None:
    window = Window(1, SECOND_MS)
    window.take(10_000)
    window.end(10_000, 9_000)
    assert window.wait_ms(9_000) == SECOND_MS
    assert window.wait_ms(9_000 + SECOND_MS) == 0


def test_the_provider_s_own_wait_is_kept_to_and_the_longest_counts() -> None:
    pace = Pace({"app": ((5, SECOND_MS),)})
    pace.pause(("app", "a"), 3_000, 0)
    pace.pause(("app", "a"), 1_000, 0)
    assert pace.take([("app", "a")], 0) == 3_000
    assert pace.room(("app", "a"), 2_999) == 0
    assert pace.closed("app", 2_999) == {"a": 1}
    assert pace.take([("app", "b")], 0) == 0
    assert pace.take([("app", "a")], 3_000) == 0


def test_a_clock_that_went_back_makes_no_wait_longer() -> None:
    pace = Pace({"app": ((5, SECOND_MS),)})
    pace.pause(("app", "a"), 3_000, 1_000_000)
    assert pace.take([("app", "a")], 500_000) == 3_000
    assert pace.take([("app", "a")], 503_000) == 0


def test_names_that_fell_idle_are_forgotten() -> None:
    pace = Pace({"chat": ((5, SECOND_MS),)})
    for number in range(5_000):
        pace.take([("chat", f"c{number}")], number * 100)
        pace.end([("chat", f"c{number}")], number * 100, number * 100)
    assert len(pace._windows) <= 600
