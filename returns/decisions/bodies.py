"""A document as JSON text and back, for the ledger."""

from __future__ import annotations

import json
from typing import assert_never, cast

from returns.decisions.document import Code, Document, Image, Link, Node, Rule, Text


def to_json(document: Document) -> str:
    """The document as compact JSON: a list of paragraphs, each a list of ``[kind, …]``."""
    nodes = [[_pack(node) for node in paragraph] for paragraph in document]
    return json.dumps(nodes, ensure_ascii=False, separators=(",", ":"))


def from_json(body: str) -> Document:
    """The inverse of ``to_json``. Raises ``ValueError`` for anything else."""
    paragraphs = cast("list[list[list[str]]]", json.loads(body))
    return tuple(tuple(_unpack(words) for words in paragraph) for paragraph in paragraphs)


def _pack(node: Node) -> list[str]:
    match node:
        case Text(text):
            return ["text", text]
        case Link(text, href):
            return ["link", text, href]
        case Code(language, text):
            return ["code", language, text]
        case Rule():
            return ["rule"]
        case Image(key):
            return ["image", key]
        case _:
            assert_never(node)


def _unpack(words: list[str]) -> Node:
    match words:
        case ["text", text]:
            return Text(text)
        case ["link", text, href]:
            return Link(text, href)
        case ["code", language, text]:
            return Code(language, text)
        case ["rule"]:
            return Rule()
        case ["image", key]:
            return Image(key)
        case _:
            raise ValueError(f"a stored body has a node of unknown kind {words[:1]!r}")
