"""What git prints of commits, read into values. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from manager.ports import Commit
from providers.hosttools.paths import shown
from providers.hosttools.text import prose

FORMAT: Final = "--format=/commit%x00%H%x00%an%x00%at%x00%s%x00%b%x00"
"""A tracked path never begins with a slash, and a message has no NUL: both ends of a record are certain."""

_MARK: Final = b"/commit"
_FIELDS: Final = 5
_SUBJECT_CHARS: Final = 300
_BODY_CHARS: Final = 4000
_FILES: Final = 200
_FIELD_BYTES: Final = 16_384


def parse(output: bytes, *, workspace: str, allows: Callable[[str], bool]) -> list[Commit]:
    """The complete commits in what ``git log -z --name-only`` printed with ``FORMAT``."""
    tokens = output.split(b"\0")
    commits: list[Commit] = []
    position = 0
    while position < len(tokens):
        if tokens[position].lstrip(b"\n") != _MARK:
            position += 1
            continue
        fields = tokens[position + 1 : position + 1 + _FIELDS]
        position += 1 + _FIELDS
        first = position
        while position < len(tokens) and tokens[position].lstrip(b"\n") != _MARK:
            position += 1
        if len(fields) == _FIELDS:
            commits.append(_commit(workspace, fields, _files(tokens[first:position], allows)))
    return commits


def moment(seconds: str) -> str:
    """Seconds since 1970 as UTC, ISO 8601; what is no such number, or out of the calendar, is the beginning."""
    try:
        at = datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        at = datetime.fromtimestamp(0, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _files(tokens: list[bytes], allows: Callable[[str], bool]) -> tuple[str, ...]:
    names: list[str] = []
    for number, token in enumerate(tokens):
        name = token[1:] if number <= 1 and token.startswith(b"\n") else token
        if name and len(names) < _FILES:
            names.append(shown(name))
    return tuple(name for name in names if allows(name))


def _commit(workspace: str, fields: list[bytes], files: tuple[str, ...]) -> Commit:
    revision, author, at, subject, body = (field[:_FIELD_BYTES].decode("utf-8", "replace") for field in fields)
    return Commit(
        workspace=workspace,
        revision=revision,
        author=prose(author)[:_SUBJECT_CHARS] or "?",
        at=moment(at),
        subject=prose(subject)[:_SUBJECT_CHARS],
        body=prose(body).strip()[:_BODY_CHARS],
        files=files,
    )
