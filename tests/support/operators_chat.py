"""A chat for long histories of one answer: what goes wrong in it, and what the asker sees in the end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, select

from manager.ids import RequestId
from manager.ledger.tables import question_routes
from manager.service.recalling import take_back_revision
from returns.decisions.document import Document
from returns.decisions.fingerprint import visible
from returns.ids import AppName, Millis, SubjectId
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    NotPermitted,
    Reading,
    Ready,
    Refusal,
    Refused,
    Route,
    Unknown,
    Unreachable,
    Verdict,
)
from tests.support.returns import FakeAuthority, FakeProvider, Sent, question, refused

NEVER = 2**60


@dataclass(frozen=True, slots=True)
class Late:
    """The request is on its way until the event is set, and arrives then; ``lost``: nobody hears that it did."""

    until: asyncio.Event
    lost: bool


@dataclass
class Chat(FakeProvider):
    """Answers nothing to a question that is gone, hides new messages from searches, and counts what may have arrived.

    Besides the faults of ``FakeProvider`` it knows ``Late``.
    """

    gone: set[str] = field(default_factory=set)
    """Questions that were taken back."""
    hiding: bool = False
    """New messages are hidden."""
    offline: bool = False
    arrived: Counter[str] = field(default_factory=Counter)
    """By key: requests that were not definitely refused. More than one could be more than one message."""

    async def prepare(self, app: AppName) -> Ready | Refused:
        return refused(Refusal.OFFLINE) if self.offline else await super().prepare(app)

    async def send(
        self, route: Route, document: Document, key: str, may_leave: Callable[[], bool] = lambda: True
    ) -> Accepted | Refused | Unknown:
        if not may_leave():
            return refused(Refusal.OFFLINE)
        if self.faults and isinstance(self.faults[0], Late):
            late = self.faults.pop(0)
            await self._block(late.until)
            self.faults.insert(0, "lose" if late.lost else None)
        if route.reply_to in self.gone:
            self.sends.append((route, document, key))
            return refused(Refusal.QUESTION_RECALLED)
        outcome = await super().send(route, document, key)
        self.arrived[key] += not isinstance(outcome, Refused)
        return outcome

    async def read(self, app: AppName, at: Locator) -> Reading | Missing | NotPermitted | Unreachable:
        found = await super().read(app, at)
        if not isinstance(found, (Reading, Missing)) or not at.message_id.startswith(("om_q", "om_c")):
            return found
        return replace(question(at), recalled=at.message_id in self.gone)

    def _accept(self, route: Route, document: Document, key: str) -> Sent:
        message = super()._accept(route, document, key)
        message.hidden_until = NEVER if self.hiding else 0
        return message

    def show(self, *, hidden: bool) -> None:
        """Searches see everything, or nothing of what is there and comes."""
        self.hiding = hidden
        for message in self.messages:
            message.hidden_until = NEVER if hidden else 0

    def heal(self) -> None:
        """Everything works again. What is held is let go by whoever holds it."""
        self.show(hidden=False)
        self.offline = False
        for faults in (self.faults, self.read_faults, self.list_faults):
            faults.clear()

    def message_of(self, key: str) -> Sent | None:
        """The message that was sent under this key."""
        return self._keys.get(key)

    def told(self) -> Counter[tuple[str | None, str]]:
        """What the asker sees: how often which words answer which message."""
        return Counter((message.parent_id, visible(message.document)) for message in self.messages if message.ours)


class SaysRecalled(FakeAuthority):
    """As the steward's: nothing is told to a question that was taken back."""

    def __init__(self, new_id: Callable[[str], str]) -> None:
        super().__init__()
        self._new_id = new_id

    def verdict(self, connection: Connection, subject: SubjectId, revision: int) -> Verdict:
        asked = question_routes
        recalled = connection.execute(
            select(asked.c.recalled_at).where(asked.c.request_id == subject, asked.c.revision == revision)
        ).scalar_one()
        return Verdict.ALLOWED if recalled is None else Verdict.QUESTION_RECALLED

    def question_recalled(self, connection: Connection, subject: SubjectId, revision: int, now: Millis) -> None:
        take_back_revision(connection, self._new_id, RequestId(subject), revision, now, say_nothing=True)
