"""Markdown -> documents that each fit into one message.

A provider's limit is bytes of the serialised request, so a part is measured by the provider's own ``measure``, not
counted in characters. Code blocks and tables stay whole where one part can hold them; a larger one is cut between its
lines, and code stays code of the same language on both sides of the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from returns.decisions.cutting import cut_before, longest_prefix
from returns.decisions.document import Code, Document, Link, Node, Paragraph, Text
from returns.decisions.fingerprint import visible
from returns.decisions.markdown import Block, blocks

Fits = Callable[[Sequence[Paragraph]], bool]

EMPTY: Document = ((Text(""),),)


def render(markdown: str, *, measure: Callable[[Document], int], limit_bytes: int) -> tuple[Document, ...]:
    """The documents that tell ``markdown``, in order; never none.

    ``measure`` gives the bytes of the request that would carry a document and must grow with it. Raises ``ValueError``
    if ``limit_bytes`` cannot hold one character.
    """

    def fits(paragraphs: Sequence[Paragraph]) -> bool:
        return measure(tuple(paragraphs)) <= limit_bytes

    parts: list[Document] = []
    waiting = list(reversed(blocks(markdown)))
    while waiting:
        part = _fill(waiting, fits)
        if part:
            parts.append(part)
    return tuple(parts) or (EMPTY,)


def _fill(waiting: list[Block], fits: Fits) -> Document:
    """Take from the end of ``waiting`` what fits into one part; what is too large for any is cut."""
    while waiting and not any(waiting[-1].paragraphs):
        waiting.pop()
    count = _how_many(waiting, fits)
    if count:
        taken = [waiting.pop() for _ in range(count)]
        return _trimmed(list(chain.from_iterable(block.paragraphs for block in taken)))
    if not waiting:
        return ()
    return _cut(waiting, fits)


def _how_many(waiting: list[Block], fits: Fits) -> int:
    """How many of the next blocks fit into a part together. Looks only a little further than that."""
    paragraphs: list[Paragraph] = []
    ends = [0]

    def fit_together(count: int) -> bool:
        while len(ends) <= count:
            paragraphs.extend(waiting[-len(ends)].paragraphs)
            ends.append(len(paragraphs))
        return fits(paragraphs[: ends[count]])

    return longest_prefix(len(waiting), fit_together)


def _trimmed(paragraphs: list[Paragraph]) -> Document:
    while paragraphs and not paragraphs[-1]:
        paragraphs.pop()
    return tuple(paragraphs)


def _cut(waiting: list[Block], fits: Fits) -> Document:
    """The next block is larger than a part: split it, or give back its first lines as a part of their own."""
    first, *others = waiting.pop().paragraphs
    if others:
        waiting.extend(Block((paragraph,)) for paragraph in reversed([first, *others]))
        return ()
    head, rest = _split(first, fits)
    if visible((rest,)).strip():
        waiting.append(Block((rest,)))
    return (head,)


def _split(paragraph: Paragraph, fits: Fits) -> tuple[Paragraph, Paragraph]:
    """The longest beginning that fits, and the rest. Raises ``ValueError`` if not one character fits."""
    count = longest_prefix(len(paragraph), lambda n: fits([paragraph[:n]]))
    if count == len(paragraph):
        return paragraph, ()
    node = paragraph[count]
    head, rest = _split_node(paragraph[:count], node, fits)
    if not head:
        if count == 0:
            raise ValueError("the provider's limit does not hold a single character")
        return paragraph[:count], paragraph[count:]
    return (*paragraph[:count], *head), (*rest, *paragraph[count + 1 :])


def _split_node(before: Paragraph, node: Node, fits: Fits) -> tuple[Paragraph, Paragraph]:
    """What of ``node`` still fits after ``before``, and the rest of it."""
    if isinstance(node, Code):
        return _split_code(node, fits)
    if isinstance(node, Link):
        if before:  # a part of its own may hold it
            return (), (node,)
        node = Text(visible(((node,),)))
    if not isinstance(node, Text):
        return (), (node,)
    text = node.text
    longest = longest_prefix(len(text), lambda n: fits([(*before, Text(text[:n]))]))
    if not longest:
        return (), (node,)
    at = cut_before(text, longest)
    rest = text[at:]
    return (Text(text[:at]),), (Text(rest),) if rest else ()


def _split_code(code: Code, fits: Fits) -> tuple[Paragraph, Paragraph]:
    text = code.text
    longest = longest_prefix(len(text), lambda n: fits([(Code(code.language, text[:n]),)]))
    if not longest:
        return (), (code,)
    line_end = text.rfind("\n", 0, longest + 1)
    head, rest = text[:line_end], text[line_end + 1 :]
    if line_end <= 0 or not head.strip():
        at = cut_before(text, longest)
        head, rest = text[:at], text[at:]
    return (Code(code.language, head),), (Code(code.language, rest),) if rest.strip() else ()
