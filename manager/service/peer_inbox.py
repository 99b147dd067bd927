"""The peer's side: reading what it holds, waiting for more, and writing, each write once for each idempotency key.

A stopped peer gets nothing new and hands nothing on, but it reads, presents, assesses and concludes what it holds:
an owed answer must not be lost because its peer was stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from manager.decisions import peer_writes as rules
from manager.decisions.lineage import Bound, bound
from manager.decisions.peer_writes import STATUS, Appear, Code, HandOn, Refused, Write
from manager.decisions.routing import visible_to
from manager.decisions.work import Work
from manager.ids import PeerId, RequestId
from manager.ledger import holdings, idempotency, peers, requests, revisions
from manager.ledger.facts import record
from manager.ledger.holdings import Held
from manager.ledger.peers import Peer, PeerState, Presence
from manager.ledger.requests import RequestView
from manager.ledger.revisions import RevisionBody, RevisionView
from manager.service.peer_writes import NOT_YOURS, Body, Late, RevisionWriter, Unrendered
from manager.service.rendering_desks import RenderingDesks
from manager.service.telling import Telling
from returns.decisions.document import Document
from returns.ids import Millis
from returns.ledger.wakeups import REQUESTS, announce
from returns.ports import Clock, Transactions

BOUNDS: dict[Bound, tuple[Code, str]] = {
    Bound.ONESELF: (Code.CYCLE, "A peer does not delegate to itself."),
    Bound.LINEAGE: (Code.CYCLE, "That peer is part of the chain that led to this request."),
    Bound.DEPTH: (Code.CYCLE, "The chain of delegations is long enough; conclude this part yourself."),
    Bound.FAN_OUT: (Code.SLOW_DOWN, "This request has many open children; wait until some are concluded."),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """The status and the JSON of a write, the same whenever its key is used again."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A request as its receiver, or the one who delegated it, reads it."""

    held: Held
    body: RevisionBody
    previous: tuple[tuple[RevisionView, RevisionBody], ...]
    cancel_requested: bool


class PeerInbox:
    """What peers may do."""

    __slots__ = ("_clock", "_desks", "_new_id", "_telling", "_transactions")

    def __init__(
        self, transactions: Transactions, clock: Clock, new_id: Callable[[str], str], telling: Telling
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._new_id = new_id
        self._telling = telling
        self._desks = RenderingDesks(telling.documents)

    async def authenticate(self, token: str) -> Peer | None:
        """The peer whose token this is."""
        digest = peers.token_digest(token)
        return await self._transactions.read(lambda connection: peers.by_token(connection, digest))

    async def page(
        self, peer: PeerId, *, only_open: bool, after: tuple[Millis, int] | None, limit: int, wait_s: int = 0
    ) -> tuple[Held, ...]:
        """At most ``limit`` requests of the peer; waits up to ``wait_s`` seconds for the first one to be committed."""

        def look(connection: Connection) -> tuple[Held, ...]:
            return holdings.page(connection, peer, only_open=only_open, after=after, limit=limit)

        wakeup = self._transactions.subscribe(REQUESTS)  # before the first look, so that no commit falls between
        found = await self._transactions.read(look)
        if found or wait_s == 0:
            return found
        try:
            async with asyncio.timeout(wait_s):
                while not found:
                    await wakeup.wait(None)
                    found = await self._transactions.read(look)
        except TimeoutError:
            return ()
        return found

    async def read(self, peer: PeerId, request_id: RequestId) -> Reading | None:
        """One request of the peer's, or one that it delegated."""
        return await self._transactions.read(lambda connection: _read(connection, peer, request_id))

    async def write(self, peer: Peer, key: str, digest: str, write: Write) -> Reply:
        """Carry out a write once: the same key and digest give the first answer, another digest a conflict.

        A result that will be told is rendered, which may take seconds, only when a transaction found that it would be
        taken: what is refused or finished is answered at once, and the repetitions that wait for their turn are
        answered by what the first of them stored.
        """
        found = await self._try(peer, key, digest, write, None)
        if isinstance(found, Reply):
            return found
        desk = self._desks.of(peer.peer_id)
        waited = desk.turn.locked()
        async with desk.turn:
            if waited:  # what it waited for may have decided it
                found = await self._try(peer, key, digest, write, None)
            while not isinstance(found, Reply):
                answer = await desk.documents(found)
                found = await self._try(peer, key, digest, write, answer)
            return found

    async def _try(
        self, peer: Peer, key: str, digest: str, write: Write, answer: tuple[Document, ...] | None
    ) -> Reply | str:
        """What became of a write; or the Markdown whose ``answer`` it needs, and then nothing is kept."""

        def work(connection: Connection) -> Reply:
            now = self._clock.now()
            claimed = idempotency.claim(connection, peer.peer_id, key, digest, now)
            match claimed:
                case idempotency.Stored(status, body):
                    return Reply(status, body)
                case idempotency.Conflict():
                    message = "This Idempotency-Key was used for another request; use a new one."
                    return _refusal(Refused(Code.IDEMPOTENCY_CONFLICT, message))
                case None:
                    reply = self._attempt(connection, peer.peer_id, write, answer, now)
                    idempotency.settle(connection, peer.peer_id, key, reply.status, reply.body)
                    return reply

        try:
            return await self._transactions.run(work)
        except Unrendered as unrendered:
            return unrendered.markdown

    def _attempt(
        self, connection: Connection, peer_id: PeerId, write: Write, answer: tuple[Document, ...] | None, now: Millis
    ) -> Reply:
        try:
            peer = _registered(connection, peer_id, lock=isinstance(write, Appear))
            match write:
                case HandOn():
                    return _reply(201, self._hand_on(connection, peer, write, now))
                case Appear():
                    return _reply(200, _appear(connection, peer, write, now))
                case _:
                    writer = RevisionWriter(connection, peer, self._telling, self._new_id, now, answer)
                    return _reply(200, writer.carry_out(write))
        except Refused as refused:
            return _refusal(refused)
        except Late as late:
            return _refusal(late.refused)

    def _hand_on(self, connection: Connection, peer: Peer, write: HandOn, now: Millis) -> Body:
        if peer.state is not PeerState.ACTIVE:
            raise Refused(Code.FORBIDDEN, "A stopped peer hands nothing on; conclude what you hold.")
        parent = _held_parent(connection, peer, write.parent)
        to = peers.by_name(connection, write.to)
        lineage = holdings.lineage(connection, parent.request_id)
        if to is None or not visible_to(to.candidate, parent.audience) or not peers.hold_active(connection, to.peer_id):
            raise Refused(Code.NOT_FOUND, "There is no active peer of that name.", "to")
        children = holdings.open_children(connection, parent.request_id)
        forbidden = bound(
            caller=peer.peer_id, to=to.peer_id, lineage=lineage, depth=parent.depth, open_children=children
        )
        if forbidden is not None:
            code, message = BOUNDS[forbidden]
            raise Refused(code, message, "to")
        child = RequestId(self._new_id("r"))
        view = requests.create_child(
            connection,
            request_id=child,
            parent=parent,
            from_peer=peer.peer_id,
            intent=write.intent,
            brief=write.brief,
            now=now,
        )
        revisions.assign_and_store(connection, view, to.peer_id, now)
        for fact in ("assigned", "stored"):
            record(connection, child, view.revision, now, fact, {"receiver": to.name, "from": peer.name})
        record(connection, parent.request_id, parent.revision, now, "delegated", {"child": child, "receiver": to.name})
        announce(connection, REQUESTS)
        return {"request_id": child, "revision": view.revision}


def _registered(connection: Connection, peer_id: PeerId, *, lock: bool) -> Peer:
    peer = peers.by_id(connection, peer_id, lock=lock)
    if peer is None:
        raise Refused(Code.UNAUTHENTICATED, "This peer is no longer registered.")
    return peer


def _read(connection: Connection, peer: PeerId, request_id: RequestId) -> Reading | None:
    held = holdings.one(connection, request_id, peer)
    if held is None:
        return None
    view = held.view
    previous = [
        (earlier, revisions.body(connection, request_id, earlier.revision))
        for earlier in revisions.earlier(connection, request_id, view.revision)
        if earlier.receiver == view.receiver
    ]
    return Reading(
        held=held,
        body=revisions.body(connection, request_id, view.revision),
        previous=tuple(previous),
        cancel_requested=requests.cancel_requested(connection, request_id, view.revision),
    )


def _held_parent(connection: Connection, peer: Peer, parent_id: RequestId) -> RequestView:
    parent = requests.current(connection, parent_id, lock=True)
    if parent is None or parent.newest.receiver != peer.peer_id:
        raise Refused(Code.NOT_FOUND, NOT_YOURS, "parent")
    if parent.newest.work is not Work.OPEN or requests.cancel_requested(connection, parent_id, parent.revision):
        raise Refused(Code.ALREADY_FINAL, "Nothing more is wanted of the parent.", "parent")
    return parent


def _appear(connection: Connection, peer: Peer, write: Appear, now: Millis) -> Body:
    taken = rules.held_by_another(
        holder=peer.executor_endpoint_id,
        said_at=peer.presence_at,
        away=peer.presence is Presence.AWAY,
        executor=write.executor,
        now=now,
    )
    if taken:
        message = f"{peer.executor_endpoint_id} is live for this peer; let it go away first, or wait two minutes."
        raise Refused(Code.BINDING_HELD, message, "executor_endpoint_id")
    presence = Presence(write.presence)
    executor = write.executor or peer.executor_endpoint_id
    peers.set_presence(
        connection,
        peer.peer_id,
        presence=presence,
        capacity=write.capacity,
        executor=executor,
        host_surface=write.host_surface,
        now=now,
    )
    return {
        "state": presence.value,
        "capacity": write.capacity,
        "executor_endpoint_id": executor,
        "host_surface": write.host_surface or peer.host_surface,
    }


def _reply(status: int, body: Body) -> Reply:
    return Reply(status, json.dumps(dict(body), ensure_ascii=False))


def _refusal(refused: Refused) -> Reply:
    error = {"code": refused.code.value, "message": refused.message, "field": refused.field}
    return _reply(STATUS[refused.code], {"error": error})
