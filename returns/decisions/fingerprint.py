"""What a person reads, and a digest of it.

Providers rewrite what they are given: Lark adds styles to text nodes and leaves out what it does not know. What was
sent and what is read back are therefore compared by what a person reads, normalised.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import assert_never

from returns.decisions.document import Code, Document, Image, Link, Node, Rule, Text

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but LF and tab, and lone surrogates."""


def clean(text: str) -> str:
    """``text`` with LF line ends and without control characters (but LF and tab) and lone surrogates."""
    return _NOT_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def normalise(text: str) -> str:
    """The form that is compared: cleaned, NFC, without trailing spaces and without empty lines."""
    composed = unicodedata.normalize("NFC", clean(text))
    lines = (line.rstrip() for line in composed.split("\n"))
    return "\n".join(line for line in lines if line)


def fingerprint(visible: str) -> str:
    """SHA-256, in hex, of the normalised text."""
    return hashlib.sha256(normalise(visible).encode()).hexdigest()


def visible(document: Document) -> str:
    """What a person reads: one line a paragraph; a link is its text and, where that differs, its address."""
    return "\n".join("".join(_visible(node) for node in paragraph) for paragraph in document)


def _visible(node: Node) -> str:
    match node:
        case Text(text):
            return text
        case Link(text, href):
            return _visible_link(clean(text), clean(href))
        case Code(_, text):
            return text
        case Rule():
            return "---"
        case Image():
            return "[image]"
        case _:
            assert_never(node)


def _visible_link(text: str, href: str) -> str:
    return text if not href or text == href else f"{text} ({href})"
