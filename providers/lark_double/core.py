"""The parts of a double, put together. The rest of ``LarkDouble`` is what can be done with them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from providers.lark_double.background import Background
from providers.lark_double.changes import Changes
from providers.lark_double.clock import DoubleClock
from providers.lark_double.events import Event, envelope, events_of
from providers.lark_double.faults import Faults
from providers.lark_double.gate import Gate
from providers.lark_double.happenings import Happening
from providers.lark_double.idempotency import Idempotency
from providers.lark_double.ids import NewId, new_id
from providers.lark_double.journal import Journal
from providers.lark_double.limits import Limits
from providers.lark_double.model import App, Chat, Knobs, Message
from providers.lark_double.pipeline import Pipeline
from providers.lark_double.pusher import Push, Pusher
from providers.lark_double.tokens import Tokens
from providers.lark_double.wire import Json, mapping
from providers.lark_double.world import World

ChatRef: TypeAlias = str | Chat
"""A chat, its id, or its name."""

MessageRef: TypeAlias = str | Message
"""A message, or its id."""

AppRef: TypeAlias = str | App
"""An app, or its id."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """How pushed events differ from what Lark would send; paths are dotted (``event.message.mentions``)."""

    drop: tuple[str, ...] = ()
    put: Json = field(default_factory=dict[str, object])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    silent: bool = False
    """Nothing is pushed at all: the event is lost."""


class Core:
    """State, clock and workers of one double."""

    def __init__(self, clock: DoubleClock | None = None, make_id: NewId = new_id) -> None:
        self.clock = clock or DoubleClock()
        self.knobs = Knobs()
        self.changes = Changes()
        self.new_id = make_id
        self.world = World(self.clock, make_id, self.knobs, self.changes)
        self.tokens = Tokens(self.clock, make_id)
        self.faults = Faults(make_id, self.changes)
        self.journal = Journal()
        self.limits = Limits(self.clock, self.knobs)
        self.background = Background()
        self.pusher = Pusher(self.world, self.background.spawn)
        idempotency = Idempotency(self.clock, self.knobs)
        gate = Gate(self.world, self.tokens)
        self.pipeline = Pipeline(self.world, gate, self.limits, idempotency, self.faults, self.journal)
        self.world.listeners.append(self._tell)
        self._alteration = Alteration()

    def push(self, event: Event, event_id: str | None = None) -> Push:
        """Push an event to its app, as altered by the act that caused it."""
        payload = envelope(self.world, event, event_id or self.new_id(""))
        altered = self._alteration
        for path in altered.drop:
            _drop(payload, path)
        for path, value in altered.put.items():
            _put(payload, path, value)
        return self.pusher.push(event.app_id, payload, event.message_id, altered.headers)

    @contextmanager
    def altering(self, alteration: Alteration) -> Generator[None]:
        """Events of what happens inside are altered; nothing may be awaited inside."""
        before, self._alteration = self._alteration, alteration
        try:
            yield
        finally:
            self._alteration = before

    def chat_of(self, ref: ChatRef) -> Chat:
        """The chat, or ``Unknown``."""
        return ref if isinstance(ref, Chat) else self.world.chat(ref)

    def message_of(self, ref: MessageRef) -> Message:
        """The message, or ``Unknown``."""
        return ref if isinstance(ref, Message) else self.world.message(ref)

    def app_of(self, ref: AppRef) -> App:
        """The app, or ``Unknown``."""
        return ref if isinstance(ref, App) else self.world.app(ref)

    def _tell(self, happening: Happening) -> None:
        if self._alteration.silent:
            return
        for event in events_of(self.world, happening):
            self.push(event)


def _holder(payload: Json, path: str) -> tuple[Json, str]:
    *parents, last = path.split(".")
    here = payload
    for name in parents:
        inner = mapping(here.get(name))
        if inner is None:
            inner = here[name] = dict[str, object]()
        here = inner
    return here, last


def _drop(payload: Json, path: str) -> None:
    here, last = _holder(payload, path)
    here.pop(last, None)


def _put(payload: Json, path: str, value: object) -> None:
    here, last = _holder(payload, path)
    here[last] = value
