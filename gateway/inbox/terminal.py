"""Text for terminals: made safe, measured in columns, set into tables.

What people and peers wrote may hold control sequences and characters that change the direction of text; a terminal gets
none of them. Chinese, Japanese and Korean characters and most emoji are two columns wide (Unicode Standard Annex 11).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

ELLIPSIS = "…"
GAP = "  "
DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
SPACES = frozenset("\t\n\r\v\f\u2028\u2029\x85")


def safe(text: str) -> str:
    """``text`` on one line, without anything that a terminal would obey."""
    kept = (" " if c in SPACES else c for c in text if c in SPACES or unicodedata.category(c) not in DROPPED)
    return " ".join("".join(kept).split())


def width(text: str) -> int:
    """Columns of a safe text."""
    return sum(_width(c) for c in text)


def fit(text: str, columns: int) -> str:
    """``text`` cut to at most ``columns``, with an ellipsis where something is left out."""
    if width(text) <= columns:
        return text
    kept, used = "", width(ELLIPSIS)
    for c in text:
        used += _width(c)
        if used > columns:
            break
        kept += c
    return kept + ELLIPSIS if columns > 0 else ""


def pad(text: str, columns: int) -> str:
    """``text`` filled up with spaces to ``columns``."""
    return text + " " * max(0, columns - width(text))


@dataclass(frozen=True, slots=True)
class Cell:
    """A safe text and its colour, as ``click.style`` names colours."""

    text: str
    colour: str | None = None


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], columns: int | None) -> list[list[Cell]]:
    """The lines of a table, each as its cells with the gaps in them; the last column takes what is left of ``columns``.

    None cuts nothing.
    """
    lines = [[Cell(title) for title in head], *[list(row) for row in rows]]
    widths = [max(width(line[index].text) for line in lines) for index in range(len(head) - 1)]
    left = None if columns is None else max(10, columns - sum(widths) - len(GAP) * len(widths))
    return [[*_padded(line[:-1], widths), _last(line[-1], left)] for line in lines]


def _padded(cells: Sequence[Cell], widths: Sequence[int]) -> list[Cell]:
    return [Cell(pad(cell.text, size) + GAP, cell.colour) for cell, size in zip(cells, widths, strict=True)]


def _last(cell: Cell, columns: int | None) -> Cell:
    return cell if columns is None else Cell(fit(cell.text, columns), cell.colour)


def _width(c: str) -> int:
    if unicodedata.combining(c) or unicodedata.category(c) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(c) in {"W", "F"} else 1
