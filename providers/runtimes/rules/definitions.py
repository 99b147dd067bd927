"""Lines that define something, in the languages that people write. Patterns, not parsers. Pure."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

Tests: TypeAlias = tuple[tuple[re.Pattern[str], float], ...]

_STRONG: Final = 100.0
_ASSIGNED: Final = 80.0
_INNER: Final = 50.0
_NAMED: Final = 30.0
HEADING: Final = 40.0
_MENTION: Final = 10.0
_WEAK: Final = 4.0

_ANY_DEFINITION: Final = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|static|final|abstract|async|pub(?:\([^)]*\))?)\s+)*"
    r"(?:def|class|function\*?|func|fn|struct|enum|trait|interface|type|const|let|var|object|record|module)\s+(?:\([^)]*\)\s*)?(\w+)"
    r"|^([A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)|^#{1,6}\s+(.+)|^\s*\[+([\w.\"-]+)\]+\s*$"
)


def definitions(name: str, *, ignore_case: bool) -> Tests:
    """Patterns of lines that define ``name``, the surest first, each with its score."""
    word = f"(?i:{re.escape(name)})" if ignore_case else re.escape(name)
    return (
        (
            re.compile(
                r"^\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|extern|inline|declare"
                r"|pub(?:\([^)]*\))?)\s+)*"
                r"(?:def|class|function\*?|func|fn|struct|enum|trait|interface|namespace|type|const|object|record|union|protocol|macro_rules!|mod|module)"
                rf"\s+(?:\([^)]*\)\s*)?{word}(?!\w)"
            ),
            _STRONG,
        ),
        (
            re.compile(
                rf"^\s*#\s*define\s+{word}\b|^\s*create\s+(?:table|view|index)\s+(?:if\s+not\s+exists\s+)?\W?{word}\b",
                re.IGNORECASE,
            ),
            _STRONG,
        ),
        (
            re.compile(
                rf"^(?:export\s+)?(?:const\s+|let\s+|var\s+|val\s+)?[\"']?{word}[\"']?\s*(?::[^=]+)?(?:=(?![=>])|:=)"
            ),
            _ASSIGNED,
        ),
        (
            re.compile(rf"^(?:[\w<>\[\],*&:]+\s+)+\*?{word}\s*\([^;]*$|^{word}\s*\(\)\s*\{{?|^{word}\s*:(?!:)"),
            _ASSIGNED,
        ),
        (
            re.compile(
                rf"^\s+(?:const\s+|let\s+|var\s+|val\s+|self\.|this\.)?[\"']?{word}[\"']?\s*(?::[^=(]+)?(?:=(?![=>])|:=)"
            ),
            _INNER,
        ),
        (re.compile(rf"^\s+[\"']?{word}[\"']?\s*:(?=\s)"), _NAMED),
        (re.compile(rf"^#{{1,6}}\s.*(?<!\w){word}(?!\w)|^\s*\[+[\"']?{word}[\"']?\]+"), HEADING),
    )


def score_of(text: str, tests: Tests) -> float:
    """How surely a line that names something defines it; ``HEADING`` and more is a definition."""
    for pattern, score in tests:
        if pattern.search(text):
            return score
    if is_import(text):
        return _WEAK
    if text.lstrip().startswith(("#", "//", "*", '"""', "--", ";")):
        return _WEAK + 2.0
    return _MENTION


def is_import(text: str) -> bool:
    """Whether the line only brings a name in from elsewhere."""
    return re.match(r"\s*(?:(?:import|from|use|using|require|#include)\b|export\s*\{)", text) is not None


def begins_word(word: str, text: str) -> bool:
    """Whether a word, or a part of a name, begins with ``word``: ``table`` in ``makeTable``, not in ``stable``."""
    pattern = rf"(?<![A-Za-z]){re.escape(word)}|(?<=[a-z0-9]){re.escape(word[:1].upper() + word[1:])}"
    return re.search(pattern, text) is not None or re.search(rf"(?i)(?<![a-z]){re.escape(word)}", text) is not None


def defines(text: str, words: set[str]) -> bool:
    """Whether the line defines something whose name has one of ``words``."""
    found = _ANY_DEFINITION.search(text)
    name = next((group for group in found.groups() if group), "") if found else ""
    return any(begins_word(word, name) for word in words)
