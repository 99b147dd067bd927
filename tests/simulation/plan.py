"""A history before it runs: what is to be told, by whom, and everything that goes wrong. It is data, and goes to JSON.

Everything is named by where it happens and not by when it was drawn, so that a stored plan keeps its meaning while the
code under test changes: the second send of a part, the third commit of a worker's life, the moment 40 s after the
start.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

APP = "default"


@dataclass
class PlannedReturn:
    """An answer or a notice."""

    subject: str
    chat: str
    texts: list[str]
    thread: str | None = None
    question: str = "om_q"
    at_ms: int = 0
    revision: int = 1
    kind: str = "answer"
    supersedes: bool = False
    """Answers of earlier revisions of which nothing was attempted are replaced in the same transaction."""


@dataclass
class Deeds:
    """What the provider does with a part. A list is used up one by one; after it, it does its best."""

    sends: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    hidden_ms: int = 0
    """The message cannot be read for so long after it was accepted."""
    unlisted_ms: int = 0
    """The message is in no list for so long."""
    recalled_after_ms: int | None = None
    deleted_after_ms: int | None = None


@dataclass
class Stop:
    """A worker's life is killed or paused at a point of it: the ``nth`` time (from 0) that it comes there."""

    slot: int
    life: int
    """0 is the slot's first life, 1 the one after its first death."""
    point: str
    """Such as ``run.after``; ``any`` counts all of them."""
    nth: int
    what: str
    """``kill:MS``: the next life starts so much later. ``pause:MS``."""


@dataclass
class Happening:
    """Something that happens at a moment: see ``History._happens``; any other word is a verdict of the authority."""

    at_ms: int
    what: str
    about: str = ""
    """A slot's number, a chat or thread, a question, a subject or a part, as the happening needs it."""
    ms: int = 0


@dataclass
class Commit:
    """A COMMIT of a worker whose outcome is not told, the ``nth`` of all."""

    nth: int
    kept: bool
    unknown: bool
    """The caller gets ``CommitUnknown``, else ``StorageUnavailable``."""


@dataclass
class Plan:
    """One history."""

    seed: int
    returns: list[PlannedReturn]
    deeds: dict[str, Deeds] = field(default_factory=dict)
    """By part, such as ``0.1``: return 0, position 1."""
    pages: list[str] = field(default_factory=list)
    prepares: list[str] = field(default_factory=list)
    slots: int = 1
    starts_ms: list[int] = field(default_factory=lambda: [0])
    stops: list[Stop] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    twice: int = 0
    """Each so-many-th closure of a worker runs twice; 0 is none."""
    dedup_ms: int = 3_600_000
    page_size: int = 50
    latency_ms: int = 20
    delay: float = 0.2
    """How often a scheduling point takes longer than nothing."""
    slow_reads: float = 0.2
    """The same of the points of a pass: while it reads, more may happen that the next one sees together."""
    deaf: bool = False
    """A worker does not hear of another one's commits."""
    shared_pace: bool = False
    """Workers are paced by the database, all together; else each by itself."""
    recalled_question: str = "say_nothing"
    longest_wait_s: float = 60.0
    calm_at_ms: int = 60_000
    """From here on nothing goes wrong any more."""

    def to_json(self) -> str:
        """As a file that a person can read."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Back from a file."""
        raw: dict[str, Any] = json.loads(text)
        raw["returns"] = [PlannedReturn(**each) for each in raw["returns"]]
        raw["deeds"] = {name: Deeds(**each) for name, each in raw["deeds"].items()}
        raw["stops"] = [Stop(**each) for each in raw["stops"]]
        raw["happenings"] = [Happening(**each) for each in raw["happenings"]]
        raw["commits"] = [Commit(**each) for each in raw["commits"]]
        return Plan(**raw)
