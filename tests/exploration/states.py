"""What an exploration is made of: behaviours, bounds, states, and how two states are told apart."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from sqlalchemy.dialects import sqlite

from tests.exploration.chat import Chat
from tests.exploration.worker import Place

Rows = tuple[tuple[Any, ...], ...]
"""Of one table."""


@dataclass(frozen=True)
class Behaviour:
    """What the provider and the database may do, beside doing their best."""

    name: str
    send: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    list: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    recalls: bool = False
    faults: int = 2
    """So often, at most."""
    revokes: bool = False
    """The authority is lost at some moment."""
    begins: str = ""
    """Where somebody begins a thread at some moment."""
    looks: int = 0
    """So often an operator asks to look again."""
    in_chat: bool = False
    """The policy is to answer in the chat when the question is gone."""
    ends: frozenset[str] = frozenset()
    """The states that must be among the ends."""


@dataclass(frozen=True)
class Bounds:
    """How far to go."""

    workers: int = 2
    crashes: int = 1
    pauses: int = 1
    """So often a worker stands still, as by SIGSTOP, for as long as anybody likes. The others take no time."""


@dataclass(frozen=True, slots=True)
class World:
    """One state."""

    now: int
    rows: tuple[Rows, ...]
    chat: Chat
    places: tuple[Place | None, ...]
    crashes: int
    pauses: int
    faults: int
    looks: int = 0
    revoked: bool = False


Happening = tuple[str, bool, Callable[[], World]]


class Violation(Exception):
    """Something that must not be; ``oracle`` says which of the four saw it."""

    def __init__(self, oracle: str, what: str) -> None:
        super().__init__(f"{oracle}: {what}")
        self.oracle = oracle


@dataclass
class Report:
    """What was explored."""

    behaviour: str
    states: int = 0
    transitions: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    most_sends: int = 0
    ways: dict[str, str] = field(default_factory=dict, repr=False)
    """One shortest way to each end."""


def sqlite_text(statement: Any) -> str:
    return str(statement.compile(dialect=sqlite.dialect()))


def hash_of(value: Any) -> Any:
    """A key that is small."""
    return hashlib.blake2b(repr(value).encode(), digest_size=16).digest()


def with_place(places: tuple[Place | None, ...], number: int, place: Place | None) -> tuple[Place | None, ...]:
    return (*places[:number], place, *places[number + 1 :])


def plain(value: Any) -> Iterator[Any]:
    """A gift as plain values."""
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        for each in fields(value):
            yield from plain(getattr(value, each.name))
    elif isinstance(value, Enum):
        yield value.value
    elif isinstance(value, (tuple, list, frozenset)):
        yield len(value)
        for each in value:
            yield from plain(each)
    elif isinstance(value, Exception):
        yield type(value).__name__
    else:
        yield value


def way(ways: dict[Any, tuple[Any, str]], key: Any) -> str:
    labels = []
    while key is not None:
        key, label = ways[key]
        labels.append(f"   {label}")
    return "\n".join(reversed(labels))


def all_can_end(ways: dict[Any, tuple[Any, str]], healthy: dict[Any, list[Any]], ended: set[Any]) -> None:
    """From every state there is a way to an end on which nothing more goes wrong."""
    good, waiting = set(ended), deque(ended)
    while waiting:
        for before in healthy.get(waiting.popleft(), ()):
            if before not in good:
                good.add(before)
                waiting.append(before)
    for key in ways:
        if key not in good:
            raise Violation("liveness", f"from here it never ends:\n{way(ways, key)}")
