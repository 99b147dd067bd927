"""A message as plain nodes: what is sent is what a person reads.

A document is a tuple of paragraphs, a paragraph a tuple of nodes. Code blocks, rules and images stand in a paragraph of
their own. There is no markup in any text: a provider must show each string as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Words, shown exactly as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """Words that lead somewhere."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code; ``language`` may be empty."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that the provider already holds."""

    key: str


Node: TypeAlias = Text | Link | Code | Rule | Image
Paragraph: TypeAlias = tuple[Node, ...]
Document: TypeAlias = tuple[Paragraph, ...]
