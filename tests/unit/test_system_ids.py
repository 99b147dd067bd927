"""Ids that nobody can guess, many at a time."""

from __future__ import annotations

import re
import threading

from gateway.system import Ids, new_id


def test_they_look_like_any_other_id() -> None:
    form = re.compile(r"r_[0-9a-f]{20}")
    ids = Ids()
    assert all(form.fullmatch(each) for each in (new_id("r"), *(ids.new("r") for _ in range(250))))


def test_none_comes_twice_from_several_threads() -> None:
    ids, found = Ids(), [[] for _ in range(4)]

    def draw(into: list[str]) -> None:
        into.extend(ids.new("r") for _ in range(2_000))

    threads = [threading.Thread(target=draw, args=(into,)) for into in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each for into in found for each in into}) == 8_000


def test_two_sources_never_meet() -> None:
    one, other = Ids(), Ids()
    assert {one.new("r") for _ in range(300)}.isdisjoint(other.new("r") for _ in range(300))
