"""``python -m tests.exploration``: as far as the numbers of states allow, with what was reached printed.

``interleavings [CRASHES [PAUSES [FAULTS]]]`` explores every interleaving of two pumps over one part (by default with
two crashes, no pause and two faults, then with one crash, one pause and one fault); ``pairs`` ends a return, a turn
and an event at every pair of awaits.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.exploration.behaviours import BEHAVIOURS
from tests.exploration.explorer import Explorer
from tests.exploration.states import Bounds
from tests.exploration.test_exploration_nth_await import Delivery, pairs_of
from tests.exploration.test_exploration_nth_await_mind import RECEPTIONS, Turning

FULL = ((2, 0, 2), (1, 1, 1))
PROGRESS = 500


def interleavings(crashes: int, pauses: int, faults: int) -> None:
    """Explore each behaviour; raises at the first thing that must not be."""
    print(f"one part, two pumps, {crashes} crashes, {pauses} pauses, {faults} faults", flush=True)
    states = steps = 0
    for behaviour in BEHAVIOURS:
        began = time.monotonic()
        report = Explorer(behaviour, Bounds(crashes=crashes, pauses=pauses), faults=faults).explore()
        states, steps = states + report.states, steps + report.transitions
        took, ends = time.monotonic() - began, ", ".join(sorted(report.ends))
        name, reached = report.behaviour, f"{report.states:8,} states {report.transitions:8,} steps"
        print(f"{name:30} {reached} {took:6.1f} s  {ends}", flush=True)
    print(f"{'all':30} {states:8,} states {steps:8,} steps", flush=True)


def pairs() -> None:
    """End two lives at every pair of awaits; raises at the first run that goes wrong."""
    for name, run in (("a return", Delivery().run), ("a turn", Turning().run)):
        _each_pair(name, run, _judged_by_itself)
    for name, (make, judge) in RECEPTIONS.items():
        reception = make()
        _each_pair(f"an event ({name})", reception.run, lambda judge=judge, reception=reception: judge(reception))


def _each_pair(name: str, run: Callable[..., Any], judge: Callable[[], None]) -> None:
    found, began = pairs_of(run), time.monotonic()
    for count, pair in enumerate(found, 1):
        run(*pair)
        judge()
        if count % PROGRESS == 0:
            print(f"{name}: {count:,} of {len(found):,} pairs", file=sys.stderr, flush=True)
    print(f"{name}: {len(found):,} pairs, {time.monotonic() - began:.1f} s", flush=True)


def _judged_by_itself() -> None:
    """Its run raises when something is wrong."""


def main(words: list[str]) -> None:
    """What the words ask for; everything without any."""
    logging.disable(logging.CRITICAL)
    what, numbers = (words[0] if words else ""), [int(word) for word in words[1:]]
    if what in {"", "interleavings"}:
        for bounds in [(*numbers, *FULL[0][len(numbers) :])] if numbers else FULL:
            interleavings(*bounds)
    if what in {"", "pairs"}:
        pairs()


if __name__ == "__main__":
    main(sys.argv[1:])
