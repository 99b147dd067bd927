"""Markdown -> documents that each fit into one message.

A provider's limit is bytes of the serialised request, so a part is measured by the provider's own ``measure``, not
counted in characters. Code blocks, tables and lists stay whole where one part can hold them. A larger one is cut: code
between its lines, staying code of the same language; a table between its rows, its head told again; a list between
its items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import assert_never

from returns.decisions.cutting import cut_before, longest_prefix
from returns.decisions.document import Code, Document, Image, Link, Node, Paragraph, Rule, Text
from returns.decisions.fingerprint import visible
from returns.decisions.grouping import Block
from returns.decisions.markdown import blocks

Measure = Callable[[Document], int]

EMPTY: Document = ((Text(""),),)


def render(markdown: str, *, measure: Measure, limit_bytes: int) -> tuple[Document, ...]:
    """The documents that tell ``markdown``, in order; never none.

    ``measure`` gives the bytes of the request that would carry a document: it grows with the document, and no
    character costs less than a byte. Raises ``ValueError`` if ``limit_bytes`` cannot hold one character.
    """
    renderer = _Renderer(blocks(markdown), measure, limit_bytes)
    parts: list[Document] = []
    while renderer.waiting:
        parts.extend(renderer.take())
    return tuple(parts) or (EMPTY,)


class _Renderer:
    """Takes parts from the blocks that wait. Remembers how much fitted last time, which is the best first guess."""

    def __init__(self, found: list[Block], measure: Measure, limit: int) -> None:
        self.waiting = found[::-1]
        self._measure = measure
        self._limit = limit
        self._blocks = 1
        self._nodes = 1
        self._rows = 1
        self._characters = max(1, limit // 2)

    def take(self) -> list[Document]:
        """The next parts; none if a block had to be taken apart first."""
        while self.waiting and not any(self.waiting[-1].paragraphs):
            self.waiting.pop()
        count = self._how_many()
        if count:
            taken = [self.waiting.pop() for _ in range(count)]
            return [_trimmed(list(chain.from_iterable(block.paragraphs for block in taken)))]
        return self._cut() if self.waiting else []

    def _fits(self, paragraphs: Sequence[Paragraph]) -> bool:
        characters = 0
        for paragraph in paragraphs:
            for node in paragraph:
                characters += _length(node)
                if characters > self._limit:
                    return False
        return self._measure(tuple(paragraphs)) <= self._limit

    def _how_many(self) -> int:
        """How many of the next blocks fit into a part together. Looks only a little further than that."""
        paragraphs: list[Paragraph] = []
        ends = [0]

        def fit_together(count: int) -> bool:
            while len(ends) <= count:
                paragraphs.extend(self.waiting[-len(ends)].paragraphs)
                ends.append(len(paragraphs))
            return self._fits(paragraphs[: ends[count]])

        count = longest_prefix(len(self.waiting), fit_together, self._blocks)
        self._blocks = max(1, count)
        return count

    def _cut(self) -> list[Document]:
        """The next block is larger than a part: take it apart, or give back what of it fits."""
        block = self.waiting.pop()
        if block.head and (parts := self._cut_table(block)):
            return parts
        first, *others = block.paragraphs
        if others:
            self.waiting.extend(reversed(_pieces(block)))
            return []
        head, rest = self._split(first)
        if any(not _is_blank(node) for node in rest):
            self.waiting.append(Block((rest,)))
        return [(head,)]

    def _cut_table(self, table: Block) -> list[Document]:
        """All parts of a table but its last, which waits; none if not even the head and one row fit.

        Each part asks only for what it may hold, not for the whole rest: the work is linear in the rows.
        """
        head, rows = table.paragraphs[: table.head], table.paragraphs[table.head :]
        parts: list[Document] = []
        done = 0
        while fitting := self._how_many_rows(head, rows, done):
            if done + fitting == len(rows):
                break
            parts.append((*head, *rows[done : done + fitting]))
            done += fitting
        if parts:
            self.waiting.append(Block((*head, *rows[done:]), table.head))
        return parts

    def _how_many_rows(self, head: Document, rows: Document, start: int) -> int:
        """How many of the rows from ``start`` on fit into a part under the head."""
        count = longest_prefix(len(rows) - start, lambda n: self._fits((*head, *rows[start : start + n])), self._rows)
        self._rows = max(1, count)
        return count

    def _split(self, paragraph: Paragraph) -> tuple[Paragraph, Paragraph]:
        """The longest beginning that fits, and the rest. Raises ``ValueError`` if not one character fits."""
        count = longest_prefix(len(paragraph), lambda n: self._fits([paragraph[:n]]), self._nodes)
        self._nodes = max(1, count)
        if count == len(paragraph):
            return paragraph, ()
        head, rest = self._split_node(paragraph[:count], paragraph[count])
        if not head and not count:
            raise ValueError("the provider's limit does not hold a single character")
        return (*paragraph[:count], *head), (*rest, *paragraph[count + 1 :])

    def _split_node(self, before: Paragraph, node: Node) -> tuple[Paragraph, Paragraph]:
        """What of ``node`` still fits after ``before``, and the rest of it."""
        match node:
            case Code():
                return self._split_code(node)
            case Text(text):
                return self._split_text(before, text)
            case Link() if not before:  # larger than a part: told as text
                return self._split_text(before, visible(((node,),)))
            case Link() | Rule() | Image():
                return (), (node,)
            case _:
                assert_never(node)

    def _split_text(self, before: Paragraph, text: str) -> tuple[Paragraph, Paragraph]:
        longest = self._longest(text, lambda head: (*before, Text(head)))
        if not longest:
            return (), (Text(text),)
        at = cut_before(text, longest)
        return (Text(text[:at]),), (Text(text[at:]),) if at < len(text) else ()

    def _split_code(self, code: Code) -> tuple[Paragraph, Paragraph]:
        text = code.text
        longest = self._longest(text, lambda head: (Code(code.language, head),))
        if not longest:
            return (), (code,)
        line_end = text.rfind("\n", 0, longest + 1)
        head, rest = text[: max(0, line_end)], text[line_end + 1 :]
        if not head.strip():
            at = cut_before(text, longest)
            head, rest = text[:at], text[at:]
        return (Code(code.language, head),), (Code(code.language, rest),) if rest.strip() else ()

    def _longest(self, text: str, paragraph: Callable[[str], Paragraph]) -> int:
        """How many characters fit."""
        longest = longest_prefix(len(text), lambda n: self._fits([paragraph(text[:n])]), self._characters)
        self._characters = max(1, longest)
        return longest


def _pieces(block: Block) -> list[Block]:
    """What a block falls into that no part can hold: its pieces, or its paragraphs."""
    starts = block.pieces if len(block.pieces) > 1 else range(len(block.paragraphs))
    ends = (*starts[1:], len(block.paragraphs))
    return [Block(block.paragraphs[start:end]) for start, end in zip(starts, ends, strict=True)]


def _length(node: Node) -> int:
    match node:
        case Text(text) | Code(_, text):
            return len(text)
        case Link(text, href):
            return len(text) + len(href)
        case Rule() | Image():
            return 0
        case _:
            assert_never(node)


def _is_blank(node: Node) -> bool:
    return isinstance(node, Text) and not node.text.strip()


def _trimmed(paragraphs: list[Paragraph]) -> Document:
    while paragraphs and not paragraphs[-1]:
        paragraphs.pop()
    return tuple(paragraphs)
