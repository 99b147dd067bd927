"""What was measured, as a table for people and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    what: str
    measured: float
    unit: str
    against: str = ""
    other: float | None = None
    ratio: float | None = None
    aim: str = ""
    met: bool | None = None


def write(figures: Sequence[Figure]) -> None:
    """Rewrite ``results.md`` and ``results.json``."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, CPython {platform.python_version()}"
    lines = [
        "# Measured",
        "",
        f"`make bench` on {machine}. Both sides of a ratio were measured in the same run.",
        "",
        "| what | measured | against | that | ratio | aim | met |",
        "|---|---|---|---|---|---|---|",
        *[_row(figure) for figure in figures],
        "",
    ]
    (HERE / "results.md").write_text("\n".join(lines), encoding="utf-8")
    shown = {"machine": machine, "figures": [asdict(figure) for figure in figures]}
    (HERE / "results.json").write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")


def _row(figure: Figure) -> str:
    other = "" if figure.other is None else f"{figure.other:,.5g} {figure.unit}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    met = "" if figure.met is None else ("yes" if figure.met else "**no**")
    return (
        f"| {figure.what} | {figure.measured:,.5g} {figure.unit} | {figure.against} | {other} | {ratio} "
        f"| {figure.aim} | {met} |"
    )
