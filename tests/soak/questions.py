"""What is asked, and how one sees whose answer a message is: every question has a number that its answer repeats."""

from __future__ import annotations

import os
import random
import re
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from providers.lark_double.model import Message

CLASSES = 2_000
LONG_LINES = 1_000
_NUMBER = re.compile(r"(?:Engine|story )(\d{4})")
PEOPLE = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (
    ("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "2026-01-02T03:04:05Z"),
)}  # fmt: skip


class Kind(Enum):
    """Who answers, and how much."""

    OWN = "own"
    """The steward itself."""
    PEER = "peer"
    """A peer, in one message."""
    LONG = "long"
    """A peer, in several messages."""


@dataclass
class Question:
    """One asked question."""

    number: int
    kind: Kind
    message: Message

    @property
    def message_id(self) -> str:
        return self.message.message_id


def words(kind: Kind, number: int) -> str:
    """The question's text."""
    if kind is Kind.OWN:
        return f"where is the class Engine{number:04d} defined?"
    return f"ask scribe to tell {'the long ' if kind is Kind.LONG else 'the '}story {number:04d}"


def drawn(dice: random.Random) -> Kind:
    """Who answers the next question."""
    return dice.choices((Kind.OWN, Kind.PEER, Kind.LONG), (70, 24, 6))[0]


def told(text: str) -> str:
    """What the peer says to a question with this text."""
    number = number_of(text)
    if "long story" not in text:
        return f"This is story {number:04d}."
    return "\n".join(
        f"story {number:04d}, line {line:04d}: 每一行都要到达，一次，且仅一次。" for line in range(LONG_LINES)
    )


def number_of(text: str) -> int | None:
    """The number that a question or an answer speaks of."""
    found = _NUMBER.search(text)
    return None if found is None else int(found[1])


def make_workspace(folder: Path) -> Path:
    """A repository with a class for every question."""
    folder.mkdir()
    for first in range(0, CLASSES, 100):
        body = "".join(f"class Engine{number:04d}:\n    speed = {number}\n\n\n" for number in range(first, first + 100))
        (folder / f"engines_{first:04d}.py").write_text(body, encoding="utf-8")
    environment = {**os.environ, **PEOPLE, "GIT_CONFIG_GLOBAL": os.devnull}
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Add the engines"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True, env=environment)
    return folder
