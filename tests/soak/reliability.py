"""``python -m tests.soak.reliability``: put what was measured into ``docs/reliability.md``.

A place in the page is ``<!-- measured: NAME -->`` … ``<!-- end -->``; what stands between is replaced. Places that
nothing here knows are left as they are.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.soak import matrix

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
RESULTS = Path(__file__).with_name("results.json")
BENCH = Path(__file__).parents[1] / "bench" / "results.md"
_PLACE = re.compile(r"(<!-- measured: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

ROWS = (
    ("seconds of killing", "seconds"),
    ("seed", "seed"),
    ("kills", "kills"),
    ("of these while starting", "kills_while_starting"),
    ("starts that got ready", "starts_that_got_ready"),
    ("faults of Lark that struck", "faults"),
    ("questions asked", "asked"),
    ("acknowledged to Lark", "acknowledged"),
    ("answered", "answered"),
    ("waiting for an operator", "waiting"),
    ("never taken: Lark stopped pushing before any 200", "never_taken"),
    ("parts", "parts"),
    ("messages at Lark", "messages"),
    ("**duplicated**", "duplicated"),
    ("**lost**", "lost"),
    ("inbox and Lark disagree", "wrong"),
    ("seconds until all was settled", "settled_in_s"),
)


def soak_table(runs: list[dict[str, Any]]) -> str:
    """The runs side by side."""
    lines = [f"| | {' | '.join(run['database'] for run in runs)} |", f"|---{'|---' * len(runs)}|"]
    lines += [f"| {name} | {' | '.join(_value(run[key]) for run in runs)} |" for name, key in ROWS]
    return "\n".join(lines)


def durable_table(runs: list[dict[str, Any]]) -> str:
    """Acknowledged events, side by side."""
    lines = [
        "| | kills | events pushed | acknowledged | of these in the ledger | missing |",
        "|---|---|---|---|---|---|",
    ]
    for run in runs:
        cells = (run["trials"], run["pushed"], run["acknowledged"], run["durable"], run["missing"])
        lines.append(f"| {run['database']} | {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


def _value(value: object) -> str:
    if isinstance(value, dict):
        total = sum(value.values())
        return str(total) if len(value) > 3 or not value else ", ".join(f"{n} `{what}`" for what, n in value.items())
    return str(len(value)) if isinstance(value, list) else f"{value:g}"


def filled(page: str, measured: dict[str, str]) -> str:
    """The page with what was measured in its places."""
    return _PLACE.sub(
        lambda place: place[1] + measured[place[2]] + "\n" + place[3] if place[2] in measured else place[0], page
    )


def _bench_table() -> str:
    return "\n".join(line for line in BENCH.read_text(encoding="utf-8").splitlines() if line.startswith("|"))


def measured() -> dict[str, str]:
    """Everything that is measured here, by place."""
    found = {"fault-matrix": matrix.table(matrix.read()), "bench": _bench_table()}
    if RESULTS.exists():
        counted = json.loads(RESULTS.read_text(encoding="utf-8"))
        found |= {"soak": soak_table(counted["soak"]), "durable": durable_table(counted["durable"])}
    return found


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), measured()), encoding="utf-8")
