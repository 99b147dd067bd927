"""Markdown as written -> blocks of plain nodes.

Text is told as it was written: headings, emphasis, lists, quotes and tables stay literal lines. Only what a plain node
shows better becomes one: a fenced block a ``Code``, ``[text](http…)`` a ``Link``, a lone ``---`` a ``Rule``.
``grouping`` says which lines stay together. Every pass is linear in the input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from returns.decisions.document import Code, Link, Node, Paragraph, Rule, Text
from returns.decisions.fingerprint import clean
from returns.decisions.grouping import Block, Kind, Line, grouped

MAX_HREF = 2000
"""Longer addresses stay literal text."""

_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.\-]{1,30}")
_RULE = re.compile(r" {0,3}--- *")
_DELIMITER = re.compile(r"[ \t]*\|[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?")
_ITEM = re.compile(
    r"[ \t]*(?:(?:[-*+•·]|\d{1,9}[.)])(?:[ \t]|$)|\d{1,3}、|[一二三四五六七八九十]{1,3}、|[（(]\d{1,3}[)）])"
)
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]+)\]\((https?://[A-Za-z0-9][^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)\)")
_HOST = re.compile(r"https?://[A-Za-z0-9](?:[A-Za-z0-9.\-]*[A-Za-z0-9])?(?::\d{1,5})?(?:[/?#].*)?")
_TICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class _Fence:
    """An opened fence."""

    mark: str
    length: int
    indent: int
    language: str


def blocks(markdown: str) -> list[Block]:
    """The blocks of ``markdown``, in order; an empty line is a block with an empty paragraph."""
    found: list[Line] = []
    lines = clean(markdown).split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        fence = _opened(line)
        if fence is None:
            found.append(Line(_kind(line), _indent(line), _paragraph(line)))
            continue
        code, at = _fenced(lines, at, fence)
        found.append(Line(Kind.OTHER, fence.indent, (Code(fence.language, code),) if code.strip() else ()))
    return grouped(found)


def _kind(line: str) -> Kind:
    if not line.strip():
        return Kind.BLANK
    if line.lstrip().startswith("|"):
        return Kind.DELIMITER if _DELIMITER.fullmatch(line) else Kind.ROW
    if _RULE.fullmatch(line):
        return Kind.OTHER
    return Kind.ITEM if _ITEM.match(line) else Kind.OTHER


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _opened(line: str) -> _Fence | None:
    match = _FENCE.fullmatch(line)
    if match is None:
        return None
    fence, info = match["fence"], match["info"]
    if fence[0] == "`" and "`" in info:
        return None
    language = _LANGUAGE.match(info.strip())
    return _Fence(fence[0], len(fence), len(match["indent"]), language[0] if language else "")


def _closes(line: str, fence: _Fence) -> bool:
    bare = line.strip()
    if len(bare) < fence.length or bare.strip(fence.mark):
        return False
    return len(line) - len(line.lstrip()) <= fence.indent + 3


def _fenced(lines: list[str], at: int, fence: _Fence) -> tuple[str, int]:
    """The code from line ``at`` on and the line after its fence; a fence that is never closed runs to the end."""
    start = at
    while at < len(lines) and not _closes(lines[at], fence):
        at += 1
    code = "\n".join(_outdented(line, fence.indent) for line in lines[start:at])
    return code, at + 1


def _outdented(line: str, indent: int) -> str:
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, blank) :]


def _paragraph(line: str) -> Paragraph:
    if not line.strip():
        return ()
    if _RULE.fullmatch(line):
        return (Rule(),)
    if "](" not in line:
        return (Text(line),)
    nodes: list[Node] = []
    for text, literal in _spans(line):
        nodes.extend([Text(text)] if literal else _linked(text))
    return tuple(_joined(nodes))


def _spans(line: str) -> list[tuple[str, bool]]:
    """The line cut into code spans, which are literal, and the rest."""
    runs = [match.span() for match in _TICKS.finditer(line)]
    by_length: dict[int, list[int]] = {}
    for start, end in reversed(runs):
        by_length.setdefault(end - start, []).append(start)
    spans: list[tuple[str, bool]] = []
    done = 0
    for start, end in runs:
        if start < done:
            continue
        closers = by_length[end - start]
        while closers and closers[-1] <= start:
            closers.pop()
        if not closers:
            continue
        stop = closers.pop() + end - start
        spans += [(line[done:start], False), (line[start:stop], True)]
        done = stop
    spans.append((line[done:], False))
    return [span for span in spans if span[0]]


def _linked(text: str) -> list[Node]:
    nodes: list[Node] = []
    done = 0
    for match in _LINK.finditer(text):
        href = match[2]
        if len(href) > MAX_HREF or not _HOST.fullmatch(href):
            continue
        nodes += [Text(text[done : match.start()]), Link(match[1], href)]
        done = match.end()
    nodes.append(Text(text[done:]))
    return [node for node in nodes if node != Text("")]


def _joined(nodes: list[Node]) -> list[Node]:
    """Neighbouring texts become one."""
    joined: list[Node] = []
    run: list[str] = []
    for node in nodes:
        if isinstance(node, Text):
            run.append(node.text)
            continue
        if run:
            joined.append(Text("".join(run)))
            run = []
        joined.append(node)
    if run:
        joined.append(Text("".join(run)))
    return joined
