"""Markdown that says what it is given and nothing else: text of files and commits never becomes markup. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_SPECIAL: Final = re.compile(r"([\\`*\[\]<>~|]|(?<!\w)_|_(?!\w)|^\s{0,3}(?:#{1,6}|[-+=]|\d+[.)])(?=\s))", re.MULTILINE)
_LANGUAGES: Final = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "ts": "typescript",
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "java": "java",
    "sh": "bash",
    "bash": "bash",
    "sql": "sql",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
    "json": "json",
    "html": "html",
    "css": "css",
    "c": "c",
    "h": "c",
    "cpp": "cpp",
    "rb": "ruby",
    "md": "markdown",
    "kt": "kotlin",
    "swift": "swift",
}


def plain(text: str) -> str:
    """``text`` so that it reads as it is, on one line."""
    return _SPECIAL.sub(_escape, " ".join(text.split()))


def paragraphs(text: str) -> str:
    """A message of several lines, so that it reads as it is."""
    return "\n".join(_SPECIAL.sub(_escape, line.rstrip()) for line in text.strip().split("\n"))


def _escape(found: re.Match[str]) -> str:
    text = found.group()
    stripped = text.lstrip()
    if stripped[:1].isdigit():
        return f"{text[:-1]}\\{text[-1]}"
    return text[: len(text) - len(stripped)] + "\\" + stripped


def code(text: str) -> str:
    """``text`` as a code span, whatever backticks it has."""
    one = " ".join(text.split())
    if not one:
        return ""
    ticks = "`" * (_longest_run(one) + 1)
    pad = " " if one.startswith("`") or one.endswith("`") else ""
    return f"{ticks}{pad}{one}{pad}{ticks}"


def fence(lines: Sequence[str], path: str) -> str:
    """``lines`` as a code block whose fence is longer than any in them."""
    ticks = "`" * max(3, max((_longest_run(line) for line in lines), default=0) + 1)
    language = _LANGUAGES.get(path.rpartition(".")[2].casefold(), "")
    return "\n".join([f"{ticks}{language}", *lines, ticks])


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
