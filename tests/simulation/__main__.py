"""``python -m tests.simulation``: many histories over all cores, or one of them with everything that happened in it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from tests.simulation.mutants import MUTANTS, SOUND
from tests.simulation.plan import Plan
from tests.simulation.seeds import plan_of
from tests.simulation.suite import REGRESSIONS, Tally, first_caught, open_database, run_seeds, shrunk, told

CHUNK = 100
MOST_FAILURES = 20


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 if an oracle spoke."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--histories", type=int, default=100_000, help="how many (default: 100000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--seed", type=int, help="run this one and print its plan and its trace")
    parser.add_argument("--plan", type=Path, help="the same for a stored plan")
    parser.add_argument("--shrink", action="store_true", help="with --seed or --plan: make it smaller, and store it")
    parser.add_argument("--mutants", action="store_true", help="the first seed that catches each wrong design")
    options = parser.parse_args(arguments)
    if options.mutants:
        return _mutants()
    if options.seed is not None or options.plan is not None:
        plan = plan_of(options.seed) if options.plan is None else Plan.from_json(options.plan.read_text())
        return _one(plan, shrink=options.shrink)
    return _many(options.first, options.histories, max(1, options.jobs))


def _one(plan: Plan, *, shrink: bool) -> int:
    if shrink:
        with open_database() as database:
            plan = shrunk(plan, database)
        _store(plan)
    text = told(plan)
    print(text)
    return 0 if "no oracle has anything to say" in text else 1


def _store(plan: Plan) -> Path:
    path = REGRESSIONS / f"seed_{plan.seed}.json"
    path.write_text(plan.to_json() + "\n")
    return path


def _mutants() -> int:
    missed = 0
    for mutant in (*MUTANTS, SOUND):
        began = time.monotonic()
        caught = first_caught(mutant, range(2_000 if mutant is not SOUND else 200))
        took = time.monotonic() - began
        said = f"seed {caught[0]:5}  {caught[1].problems[0].oracle}" if caught else "not caught"
        missed += (caught is None) is (mutant is not SOUND)
        print(f"{mutant.name:45} {said:24} {took:6.1f} s", flush=True)
    return 1 if missed else 0


def _many(first: int, count: int, jobs: int) -> int:
    chunks = [range(at, min(at + CHUNK, first + count)) for at in range(first, first + count, CHUNK)]
    tally, began, told_at = Tally(), time.monotonic(), 0.0
    with ProcessPoolExecutor(jobs) as pool:
        waiting: set[Future[Tally]] = set()
        left = iter(chunks)
        while True:
            while len(waiting) < jobs * 2 and (chunk := next(left, None)) is not None:
                waiting.add(pool.submit(run_seeds, chunk, most_failures=MOST_FAILURES))
            if not waiting or len(tally.failed) >= MOST_FAILURES:
                break
            done, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                _tell_failed(future.result())
                tally.add(future.result())
            if time.monotonic() - told_at >= 1.0:
                told_at = time.monotonic()
                _tell(tally, count, told_at - began)
        pool.shutdown(cancel_futures=True)
    _tell(tally, count, time.monotonic() - began, last=True)
    return 1 if tally.failed else 0


def _tell_failed(tally: Tally) -> None:
    """At once: a long run may be interrupted."""
    for seed, problem in tally.failed:
        print(f"\nseed {seed}: {problem}")
        print(
            f"  plan: {_store(plan_of(seed))}\n  again: python -m tests.simulation --seed {seed} [--shrink]", flush=True
        )


def _tell(tally: Tally, count: int, took: float, *, last: bool = False) -> None:
    rate = tally.histories / took if took else 0.0
    left = (count - tally.histories) / rate if rate else 0.0
    line = f"{tally.histories:,} of {count:,} histories, {rate:.0f} a second, {len(tally.failed)} failed"
    if last:
        states = ", ".join(f"{state} {number:,}" for state, number in tally.states.most_common())
        print(f"\r{line}, {took:.0f} s, {tally.steps:,} steps; parts: {states}")
    elif sys.stdout.isatty():
        print(f"\r{line}, about {left:.0f} s left ", end="", flush=True)
    elif int(took) % 10 == 0:
        print(f"{line}, about {left:.0f} s left", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
