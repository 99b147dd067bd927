"""What the way back needs from others.

``Transactions`` is fulfilled by ``providers.storage``, ``DeliveryProvider`` by ``providers.lark``, ``Authority`` by
``manager``, ``Clock`` by the composition. Nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection

from returns.decisions.document import Document
from returns.ids import AppName, ChatId, ChatKey, IdempotencyKey, MessageId, Millis, SubjectId, ThreadId

A = TypeVar("A")
T = TypeVar("T")


class Clock(Protocol):
    """The one source of the time."""

    def now(self) -> Millis:
        """The present moment."""
        ...


class Wakeup(Protocol):
    """Hears that something of one topic was committed since it was last waited for."""

    async def wait(self, timeout_s: float | None) -> bool:
        """Return True as soon as a commit announced the topic, False after ``timeout_s`` seconds."""
        ...

    def ring(self) -> None:
        """Wake the waiter without a commit."""
        ...


@dataclass(frozen=True, slots=True)
class Together(Generic[A, T]):
    """A closure for one item that can do the same for several at once, for less.

    Those that wait with an equal ``perform`` may be performed by one call of it, in one transaction; it gives one
    result for each item, in their order. When it raises, nothing of it is kept and each item is performed alone.
    """

    item: A
    perform: Callable[[Connection, Sequence[A]], Sequence[T]]

    def __call__(self, connection: Connection) -> T:
        """Perform the item alone."""
        return self.perform(connection, (self.item,))[0]


class Transactions(Protocol):
    """Durable transactions over one database.

    A closure has database effects only, may run more than once, and is not undone because its waiter was cancelled.
    """

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in a writing transaction and return once it is durable.

        Raises what ``work`` raised (its effects are rolled back, those of others are not), or ``StorageUnavailable``;
        of that kind ``CommitUnknown``, where it may be kept. ``work`` may be a ``Together``.
        """
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` on a reading connection that sees one consistent state."""
        ...

    def subscribe(self, topic: str) -> Wakeup:
        """A wakeup for a topic that ledgers announce (see ``returns.ledger.wakeups``)."""
        ...


class StorageUnavailable(Exception):
    """The database could not be reached or could not commit; nothing of the closure is kept. Try again later."""

    code = "unavailable"


class CommitUnknown(StorageUnavailable):
    """The connection was lost during COMMIT and what became of it could not be looked up: all of it is kept, or none.

    Whoever goes on reads first: every move is guarded by the state that it leaves, so that doing it again is harmless.
    """


@dataclass(frozen=True, slots=True)
class Route:
    """Where an answer goes: written once, when the question is received. Private."""

    app: AppName
    chat_id: ChatId
    thread_id: ThreadId | None
    reply_to: MessageId | None
    """The message to reply to; None is a plain message in the chat (never in a thread)."""


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a sent message is. Private."""

    message_id: MessageId
    chat_id: ChatId
    thread_id: ThreadId | None


class Refusal(Enum):
    """Why the provider definitely did not accept."""

    OFFLINE = "offline"
    """The request never left: name lookup, connect, TLS, proxy or pool failed before it was written."""
    RATE_LIMITED = "rate_limited"
    """A limit of the provider, per app or per chat."""
    STALE_TOKEN = "stale_token"
    """The token was not accepted; a fresh one may be."""
    CONFIGURATION = "configuration"
    """Scope, credentials or app state: only an operator can cure it."""
    NOT_ALLOWED = "not_allowed"
    """Muted, blocked, out of the app's availability."""
    CONTENT = "content"
    """Too long, malformed, sensitive or refused by audit."""
    ROUTE_GONE = "route_gone"
    """The bot is not in the chat, the chat or the thread is gone."""
    QUESTION_RECALLED = "question_recalled"
    """The message to reply to was recalled."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider accepted the message and said where it is."""

    locator: Locator
    log_id: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The provider definitely did not accept."""

    refusal: Refusal
    code: int | None = None
    retry_after_ms: int | None = None
    log_id: str | None = None
    chat_only: bool = False
    """A limit of the one chat, not of the app."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have been accepted: a timeout, a reset, a 5xx, no id, no code, still being sent."""

    reason: str
    code: int | None = None
    log_id: str | None = None


SendOutcome: TypeAlias = Accepted | Refused | Unknown


@dataclass(frozen=True, slots=True)
class Reading:
    """A message as the provider shows it now."""

    locator: Locator
    parent_id: MessageId | None
    ours: bool
    """Sent by this app itself."""
    recalled: bool
    sent_at: Millis
    visible: str
    """What a person reads, to be compared by ``returns.decisions.fingerprint``."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The provider says that there is no such message: it was deleted."""


@dataclass(frozen=True, slots=True)
class NotPermitted:
    """Reading is forbidden (a scope, the bot is outside): nothing is known."""

    code: int | None = None


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Reading failed (offline, limited, broken answer): nothing is known."""

    retry_after_ms: int | None = None


ReadOutcome: TypeAlias = Reading | Missing | NotPermitted | Unreachable


@dataclass(frozen=True, slots=True)
class WindowPage:
    """One page of a chat's or a thread's history."""

    readings: tuple[Reading, ...]
    next_cursor: str | None
    """None on the last page: the window was then read completely."""
    ahead_ms: int = 0
    """So much earlier than asked the page begins, because our clock is known to be ahead of the provider's."""


WindowOutcome: TypeAlias = WindowPage | NotPermitted | Unreachable


@dataclass(frozen=True, slots=True)
class Ready:
    """A send can start at once: the token is at hand."""


MayLeave: TypeAlias = Callable[[], bool]
"""Whether a send that was not begun yet may still begin."""


class DeliveryProvider(Protocol):
    """The provider's side of a delivery. No method raises for what the provider does; cancellation passes through."""

    @property
    def limit_bytes(self) -> int:
        """The largest ``measure`` that one message may have."""
        ...

    def measure(self, document: Document) -> int:
        """Bytes of the serialised request that would carry ``document``. Pure."""
        ...

    async def prepare(self, app: AppName) -> Ready | Refused:
        """Have the token at hand, so that an attempt is not committed before a send is possible."""
        ...

    async def send(
        self, route: Route, document: Document, key: IdempotencyKey, may_leave: MayLeave | None = None
    ) -> SendOutcome:
        """Send one message, once. Never repeats anything by itself.

        ``may_leave`` is asked right before the first byte; at False nothing leaves, and the refusal is ``OFFLINE``.
        """
        ...

    async def read(self, app: AppName, locator: Locator) -> ReadOutcome:
        """Read one message back."""
        ...

    async def list_window(self, route: Route, since: Millis, cursor: str | None) -> WindowOutcome:
        """A page of the route's chat (or thread) with what was sent at or after ``since``, which is by our clock.

        What the provider says of moments is by its own clock: see ``WindowPage.ahead_ms``.
        """
        ...


class Api(Enum):
    """What the provider counts on its own, per app."""

    SENDS = "sends"
    """Messages sent."""
    READS = "reads"
    """Messages read one by one."""
    LISTS = "lists"
    """Pages of a history."""


@dataclass(frozen=True, slots=True)
class Call:
    """What one call counts as."""

    app: AppName
    api: Api
    chat: ChatKey | None = None
    """The chat that a message goes to."""


@dataclass(frozen=True, slots=True)
class Permit:
    """One call may be made now; it is counted from here on."""

    call: Call
    start: Millis
    """By the clock of the pacing."""
    number: int = 0
    """Tells the permits of one pacing apart."""


@dataclass(frozen=True, slots=True)
class Wait:
    """No call now; ask again after so many ms."""

    ms: int


class Pacing(Protocol):
    """Keeps all calls of an app within the provider's limits, whoever makes them.

    ``take`` raises ``StorageUnavailable`` when the database cannot be had; nothing else does: a call whose end is not
    told counts for a while longer.
    """

    def room(self, app: AppName, api: Api) -> int | Wait:
        """About how many calls may start now; a hint that costs nothing."""
        ...

    async def take(self, calls: Sequence[Call]) -> Sequence[Permit | Wait]:
        """For each call, in order: a permit, which counts it, or how long to wait."""
        ...

    async def end(self, permit: Permit) -> None:
        """The call ended just now, in whatever way."""
        ...

    async def give_back(self, permit: Permit) -> None:
        """The call was not made."""
        ...

    async def pause(self, app: AppName, api: Api, wait_ms: int) -> None:
        """The provider said that the app is over a limit: nobody calls it before."""
        ...


class Verdict(Enum):
    """May this be told along this route, now?"""

    ALLOWED = "allowed"
    REVOKED = "revoked"
    """A grant was revoked or expired, or the peer whose answer it is was removed."""
    ROUTE_GONE = "route_gone"
    """The bot was removed or the chat disbanded."""
    QUESTION_RECALLED = "question_recalled"
    """The question was recalled, and the policy is to say nothing."""


Elsewhere: TypeAlias = Callable[[Connection], frozenset[AppName]]
"""The apps that are left to other gateways at this moment: those speak for them, and this one does not."""


class Authority(Protocol):
    """Asked inside the attempt's and the verification's transaction."""

    def verdict(self, connection: Connection, subject: SubjectId, revision: int) -> Verdict:
        """Whether the answer to this revision of the subject may still be told along its route."""
        ...

    def question_recalled(self, connection: Connection, subject: SubjectId, revision: int, now: Millis) -> None:
        """The question is gone, as the provider or an earlier verdict said: told in the transaction that records it."""
        ...
