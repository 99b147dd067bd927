"""An ``md`` node of a post, split into plain ones as Lark does; lists and quotes become text.

How exactly Lark splits is not documented; this is near enough to show that an ``md`` node never reads back as one.
"""

from __future__ import annotations

import re

from providers.lark_double.wire import Json

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```\s*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
_AT = re.compile(r"(@_user_\d+|@_all)")
_EMPHASIS = re.compile(r"\*{1,3}(?=\S)(.+?)(?<=\S)\*{1,3}|~{1,2}(?=\S)(.+?)(?<=\S)~{1,2}")


def split_markdown(words: str) -> list[list[Json]]:
    """Paragraphs of ``text``, ``a``, ``at``, ``code_block`` and ``hr`` nodes."""
    paragraphs: list[list[Json]] = []
    position = 0
    for fence in _FENCE.finditer(words):
        paragraphs.extend(_lines(words[position : fence.start()]))
        paragraphs.append([{"tag": "code_block", "language": fence[1], "text": fence[2].removesuffix("\n")}])
        position = fence.end()
    paragraphs.extend(_lines(words[position:]))
    return paragraphs


def _lines(words: str) -> list[list[Json]]:
    return [
        [{"tag": "hr"}] if line.strip() == "---" else _spans(line) for line in words.strip("\n").split("\n") if line
    ]


def _spans(line: str) -> list[Json]:
    nodes: list[Json] = []
    position = 0
    for link in _LINK.finditer(line):
        nodes.extend(_words(line[position : link.start()]))
        nodes.append({"tag": "a", "text": link[1], "href": link[2]})
        position = link.end()
    return nodes + _words(line[position:])


def _words(words: str) -> list[Json]:
    bare = _EMPHASIS.sub(lambda found: found[1] or found[2], words)
    return [
        {"tag": "at", "user_id": piece} if _AT.fullmatch(piece) else {"tag": "text", "text": piece}
        for piece in _AT.split(bare)
        if piece
    ]
