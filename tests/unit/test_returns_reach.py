"""What waits for an app to be readable again is hurried once it is, and not by every good reading beside a bad one."""

from __future__ import annotations

from returns.ids import AppName, Millis
from returns.service.reach import HURRY_EVERY_MS, Reach

ONE, OTHER = AppName("one"), AppName("other")
NOW = Millis(1_000_000)


def test_a_good_reading_after_a_bad_one_hurries_what_waits() -> None:
    reach = Reach()
    assert not reach.regain(ONE, NOW)
    reach.lose(ONE)
    assert (reach.is_lost(ONE), reach.is_lost(OTHER)) == (True, False)
    assert reach.regain(ONE, NOW)
    assert not reach.is_lost(ONE)
    assert not reach.regain(ONE, NOW)


def test_bad_readings_between_good_ones_hurry_nothing_for_a_while() -> None:
    reach = Reach()
    hurried = []
    for at in range(NOW, NOW + 3 * HURRY_EVERY_MS, 1_000):
        reach.lose(ONE)
        if reach.regain(ONE, Millis(at)):
            hurried.append(at - NOW)
    assert hurried == [0, HURRY_EVERY_MS, 2 * HURRY_EVERY_MS]
    reach.lose(OTHER)
    assert reach.regain(OTHER, NOW)


def test_a_clock_that_was_set_back_delays_nothing() -> None:
    reach = Reach()
    reach.lose(ONE)
    assert reach.regain(ONE, NOW)
    reach.lose(ONE)
    assert reach.regain(ONE, Millis(NOW - 1))
