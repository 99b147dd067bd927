"""Which lines belong together: the rows of a table, the items of a list with what is indented under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from returns.decisions.document import Paragraph


class Kind(Enum):
    """What a line is to its neighbours."""

    ROW = "row"
    """Of a table."""
    DELIMITER = "delimiter"
    """Between the head of a table and its rows."""
    ITEM = "item"
    """The first line of a list's item."""
    BLANK = "blank"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or a whole block of code, as what it will be told."""

    kind: Kind
    indent: int
    """Columns before its first character."""
    paragraph: Paragraph


@dataclass(frozen=True, slots=True)
class Block:
    """Paragraphs that stay in one part where they fit: a line, a block of code, a table, a list."""

    paragraphs: tuple[Paragraph, ...]
    head: int = 0
    """So many paragraphs at its beginning are told again wherever it has to be cut."""
    pieces: tuple[int, ...] = ()
    """Where its pieces begin, which stay whole where the block itself does not fit; none means at each paragraph."""


_ROWS = (Kind.ROW, Kind.DELIMITER)


def grouped(lines: Sequence[Line]) -> list[Block]:
    """The lines as blocks, in order; linear in their number."""
    found: list[Block] = []
    at = 0
    while at < len(lines):
        end = _end(lines, at)
        found.append(_block(lines[at:end]))
        at = end
    return found


def _end(lines: Sequence[Line], start: int) -> int:
    """The line behind the block that begins at ``start``."""
    if lines[start].kind in _ROWS:
        return _end_of_table(lines, start)
    if lines[start].kind is Kind.ITEM:
        return _end_of_list(lines, start)
    return start + 1


def _end_of_table(lines: Sequence[Line], start: int) -> int:
    end = start
    while end < len(lines) and lines[end].kind in _ROWS:
        end += 1
    return end


def _end_of_list(lines: Sequence[Line], start: int) -> int:
    """Behind the last item and what is indented under it; empty lines in between belong to the list."""
    end = at = start + 1
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.kind is Kind.BLANK:
            continue
        if line.kind is not Kind.ITEM and line.indent <= lines[start].indent:
            break
        end = at
    return end


def _block(lines: Sequence[Line]) -> Block:
    paragraphs = tuple(line.paragraph for line in lines)
    match lines[0].kind:
        case Kind.ROW if len(lines) > 1 and lines[1].kind is Kind.DELIMITER:
            return Block(paragraphs, head=2)
        case Kind.ITEM:
            outermost = [
                number
                for number, line in enumerate(lines)
                if line.kind is Kind.ITEM and line.indent <= lines[0].indent + 1
            ]
            return Block(paragraphs, pieces=tuple(outermost))
        case _:
            return Block(paragraphs)
