"""``python -m tests.exploration [CRASHES [PAUSES [FAULTS]]]``: every interleaving within the full bounds, printed."""

from __future__ import annotations

import logging
import sys
import time

from tests.exploration.behaviours import BEHAVIOURS
from tests.exploration.explorer import Bounds, Explorer

FULL = (2, 1, 1)


def main() -> None:
    """Explore each behaviour; raises at the first thing that must not be."""
    given = [int(word) for word in sys.argv[1:]]
    crashes, pauses, faults = (*given, *FULL[len(given) :])
    logging.disable(logging.CRITICAL)
    print(f"one part, two pumps, {crashes} crashes, {pauses} pauses, {faults} faults")
    states = transitions = 0
    for behaviour in BEHAVIOURS:
        began = time.monotonic()
        report = Explorer(behaviour, Bounds(crashes=crashes, pauses=pauses), faults=faults).explore()
        states, transitions = states + report.states, transitions + report.transitions
        took = time.monotonic() - began
        ends = ", ".join(sorted(report.ends))
        print(f"{report.behaviour:30} {report.states:9,} states {report.transitions:9,} steps {took:6.1f} s  {ends}")
    print(f"{'all':30} {states:9,} states {transitions:9,} steps")


if __name__ == "__main__":
    main()
