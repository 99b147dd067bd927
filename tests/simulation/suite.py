"""Running many histories, and telling of the first one that fails."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.database import Database
from tests.simulation.history import Result, run
from tests.simulation.mutants import Mutant
from tests.simulation.plan import Plan
from tests.simulation.seeds import plan_of

REGRESSIONS = Path(__file__).parent / "regressions"
TRACE_LINES = 400


@dataclass
class Tally:
    """What many histories came to."""

    histories: int = 0
    steps: int = 0
    states: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[int, str]] = field(default_factory=list)
    """Seeds, each with what its oracles said."""

    def add(self, other: Tally) -> None:
        """Count another's as well."""
        self.histories += other.histories
        self.steps += other.steps
        self.states += other.states
        self.failed += other.failed


@contextmanager
def open_database() -> Generator[Database]:
    """A database for many histories, in silence: workers that suffer have much to log."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    database = Database()
    try:
        yield database
    finally:
        database.close()
        logging.disable(before)


def run_seeds(seeds: Iterable[int], *, most_failures: int = 1) -> Tally:
    """Run the histories of seeds, until so many have failed."""
    tally = Tally()
    with open_database() as database:
        for seed in seeds:
            result = run(plan_of(seed), database)
            tally.histories += 1
            tally.steps += result.steps
            tally.states += result.states
            if result.problems:
                tally.failed.append((seed, "; ".join(f"{each.oracle}: {each.text}" for each in result.problems[:3])))
                if len(tally.failed) >= most_failures:
                    break
    return tally


def check_seeds(first: int, count: int) -> None:
    """Every history must satisfy every oracle. Raises ``AssertionError`` with the trace of one that does not."""
    tally = run_seeds(range(first, first + count))
    if tally.failed:
        raise AssertionError(told(plan_of(tally.failed[0][0])))
    assert tally.states["delivered"] > count / 2, tally.states  # they do something
    assert tally.states["explicit_unverified"], tally.states


def told(plan: Plan) -> str:
    """What became of a plan, for a person."""
    with open_database() as database:
        result = run(plan, database, trace=True)
    lines = [f"{each.oracle}: {each.text}" for each in result.problems] or ["no oracle has anything to say"]
    trace = result.trace[-TRACE_LINES:]
    again = f"again: python -m tests.simulation --seed {plan.seed}"
    return "\n".join([f"seed {plan.seed}", *lines, again, plan.to_json(), *trace])


def first_caught(mutant: Mutant, seeds: Iterable[int]) -> tuple[int, Result] | None:
    """The first of the seeds whose history an oracle stops under a wrong design."""
    with open_database() as database, mutant.wrong():
        for seed in seeds:
            result = run(plan_of(seed), database)
            if result.problems:
                return seed, result
    return None


def shrunk(plan: Plan, database: Database) -> Plan:
    """The plan without all that its failure does not need; the first oracle that speaks stays the same."""
    problems = run(plan, database).problems
    if not problems:
        return plan
    oracle = problems[0].oracle

    def fails(changed: Plan) -> bool:
        found = run(changed, database).problems
        return bool(found) and found[0].oracle == oracle

    smaller = True
    while smaller:
        smaller = False
        for drop in _drops(plan):
            changed = deepcopy(plan)
            drop(changed)
            if changed != plan and fails(changed):
                plan, smaller = changed, True
                break
    return plan


def _drops(plan: Plan) -> list[Callable[[Plan], None]]:
    """Ways to make a plan smaller. A return keeps its number, for the names of its parts: only the last one goes."""
    drops: list[Callable[[Plan], None]] = []
    for name in ("stops", "happenings", "commits", "pages", "prepares"):
        drops += [lambda p, name=name, at=at: getattr(p, name).pop(at) for at in range(len(getattr(plan, name)))]
    drops += [lambda p, name=name: p.deeds.pop(name) for name in plan.deeds]
    if len(plan.returns) > 1:
        drops.append(lambda p: p.returns.pop())
    for at, each in enumerate(plan.returns):
        if len(each.texts) > 1:
            drops.append(lambda p, at=at: p.returns[at].texts.pop())
        drops.append(lambda p, at=at: setattr(p.returns[at], "at_ms", 0))
    plain = {"twice": 0, "latency_ms": 0, "delay": 0.0, "deaf": False, "page_size": 50, "slots": 1}
    drops += [lambda p, name=name, value=value: setattr(p, name, value) for name, value in plain.items()]
    return drops
