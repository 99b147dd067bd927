"""``make soak``: five minutes of kill -9 on each database; the counts as text, and as JSON with ``--json``."""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.soak.counts import Counts
from tests.soak.databases import DATABASES, opened
from tests.soak.durable import Trials, acknowledged_is_durable
from tests.soak.run import soak
from tests.soak.town import Town

DURABLE_S = 60.0
"""Trials of acknowledged events run at most so long."""


def show(town: Town, phase: str) -> None:
    """One line that rewrites itself, on a terminal only."""
    if sys.stderr.isatty():
        counts = town.counts
        said = (
            f"{phase}; asked {len(town.asked)}, kills {counts.kills}, messages {len(town.lark.sends(committed=True))}"
        )
        sys.stderr.write(f"\r\033[K{counts.database}: {said}")
        sys.stderr.flush()


async def killed(seed: int, seconds: float, database: str) -> Counts:
    """A soak of one database."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, opened(database) as url:
        counts = await soak(
            Path(folder), seed=seed, seconds=seconds, database=database, database_url=url, progress=show
        )
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    print(counts.text(), flush=True)
    return counts


async def durable(seed: int, seconds: float, database: str) -> Trials:
    """Whether what was acknowledged is durable, on one database."""
    with tempfile.TemporaryDirectory(prefix="durable-") as folder, opened(database) as url:
        trials = await acknowledged_is_durable(
            Path(folder), seed=seed, seconds=seconds, database=database, database_url=url
        )
    print(trials.text(), flush=True)
    return trials


async def main() -> int:
    """0 when nothing was duplicated, nothing lost and nothing disagreed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="of killing, on each database")
    parser.add_argument("--seed", type=int, default=None, help="of the moments of kills and faults")
    parser.add_argument("--database", choices=[*DATABASES, "both"], default="both")
    parser.add_argument("--json", type=Path, default=None, help="write the counts here too")
    chosen = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    databases = DATABASES if chosen.database == "both" else (chosen.database,)
    runs = [await killed(seed, chosen.seconds, database) for database in databases]
    held = [await durable(seed, min(DURABLE_S, chosen.seconds), database) for database in databases]
    if chosen.json is not None:
        counted = {"soak": [asdict(run) for run in runs], "durable": [asdict(trials) for trials in held]}
        chosen.json.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
    wrong = any(run.wrong or run.duplicated or run.lost for run in runs) or any(trials.missing for trials in held)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
