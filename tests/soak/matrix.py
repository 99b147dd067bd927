"""The fault matrix: what becomes of one answer, for each fault of Lark and each moment at which the gateway is killed.

``python -m tests.soak.matrix`` runs every cell (about five minutes) and rewrites ``matrix.json``;
``python -m tests.soak.reliability`` puts it into ``docs/reliability.md``.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from providers.lark_double.changes import NotSeen
from tests.soak.faults import OFFLINE, SLOW, TROUBLES, Trouble, trouble
from tests.soak.matrix_process import TooSlow, process_cells
from tests.soak.matrix_pump import before_bytes_cells, offline_cells
from tests.soak.outcomes import How, Moment, Outcome, comes

FILE = Path(__file__).with_name("matrix.json")

TRIES = 4

Row = dict[str, Outcome | None]
Matrix = dict[str, Row]
"""By fault, then by the name of the moment; None where the moment never comes."""


async def cells(moment: Moment, names: list[str]) -> dict[str, Outcome]:
    """The cells of one moment, by fault; once more where the machine was too busy to catch the moment."""
    troubles = [trouble(name) for name in names]
    for _ in range(TRIES - 1):
        try:
            return await _cells(moment, troubles)
        except (TooSlow, TimeoutError, NotSeen):
            sys.stderr.write(f"{moment.value}: not caught, once more\n")
    return await _cells(moment, troubles)


async def _cells(moment: Moment, troubles: list[Trouble]) -> dict[str, Outcome]:
    with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
        if moment is Moment.BEFORE_BYTES:
            return await before_bytes_cells(Path(folder), troubles)
        return await process_cells(Path(folder), moment, troubles)


async def offline() -> Row:
    """The row of being offline, by moment."""
    with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
        found = await offline_cells(Path(folder))
    return {moment.name: found.get(moment) for moment in Moment}


async def whole() -> Matrix:
    """Every cell, the undisturbed ones first: they say which moments come."""
    found: Matrix = {each.name: {} for each in TROUBLES}
    for moment in Moment:
        undisturbed = {name: row.get(Moment.NEVER.name) for name, row in found.items()}
        names = [name for name, cell in undisturbed.items() if cell is None or comes(moment, cell)]
        quick, slow = [name for name in names if name not in SLOW], [name for name in names if name in SLOW]
        half = (len(quick) + 1) // 2
        for group in (quick[:half], quick[half:], slow):
            for name, outcome in (await cells(moment, group) if group else {}).items():
                found[name][moment.name] = outcome
        for row in found.values():
            row.setdefault(moment.name, None)
        sys.stderr.write(f"{moment.value}: {len(names)} faults\n")
    found[OFFLINE] = await offline()
    return found


def read() -> Matrix:
    """The committed matrix."""
    stored: Mapping[str, Mapping[str, dict | None]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        fault: {moment: None if cell is None else Outcome(**cell) for moment, cell in row.items()}
        for fault, row in stored.items()
    }


def write(matrix: Matrix) -> None:
    """Keep the matrix."""
    plain = {
        fault: {moment: None if cell is None else asdict(cell) for moment, cell in row.items()}
        for fault, row in matrix.items()
    }
    FILE.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


def table(matrix: Matrix) -> str:
    """The matrix in Markdown."""
    lines = [
        f"| fault of Lark | {' | '.join(moment.value for moment in Moment)} |",
        f"|---{'|---' * len(Moment)}|",
    ]
    for fault, row in matrix.items():
        shown = [_cell(row.get(moment.name)) for moment in Moment]
        lines.append(f"| {fault} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "–"
    return outcome.text() + ("¹" if outcome.how == How.PUMP.value else "")


if __name__ == "__main__":
    write(asyncio.run(whole()))
