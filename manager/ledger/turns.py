"""Turns: queued in the order of their questions, claimed one a conversation, held by a lease with a fence.

Whatever a holder writes is guarded by its fence: once another one has claimed the turn, or the question was recalled,
nothing of the former holder's is kept. All queries start from ``pending``, so that their cost follows what waits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from manager.decisions.turn import FINAL, TurnEvent, TurnState, move, sources
from manager.ids import ConversationId, RequestId, TurnId
from manager.ledger.facts import record
from manager.ledger.tables import conversations, turns
from manager.ledger.turn_statements import DUE, NEXT_LEASE, NEXT_QUEUED, NO_RECEIPT, QUEUE
from returns.ids import MessageId, Millis
from returns.ledger.wakeups import TURNS, announce


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to be queued. ``parent`` is private."""

    turn_id: TurnId
    conversation_id: ConversationId
    request_id: RequestId
    revision: int
    position: Millis
    event_seq: int
    receipt: bool
    parent: MessageId | None


@dataclass(frozen=True, slots=True)
class ClaimedTurn:
    """A turn that is held. ``parent`` is private."""

    turn_id: TurnId
    conversation_id: ConversationId
    request_id: RequestId
    revision: int
    position: Millis
    event_seq: int
    attempts: int
    """Claims so far, this one included."""
    resumed: bool
    """An earlier holder did not finish it."""
    fence: int
    parent: MessageId | None


def queue(connection: Connection, new: NewTurn, now: Millis) -> None:
    """Queue a turn and ring for it."""
    row = {
        "turn_id": new.turn_id,
        "conversation_id": new.conversation_id,
        "request_id": new.request_id,
        "revision": new.revision,
        "state": TurnState.QUEUED.value,
        "pending": 1,
        "position": new.position,
        "event_seq": new.event_seq,
        "due_at": now,
        "receipt": "wanted" if new.receipt else None,
        "parent_message_id": new.parent,
    }
    QUEUE.run(connection, row)
    announce(connection, TURNS)


def claim_due(connection: Connection, *, owner: str, now: Millis, lease_ms: int, limit: int) -> tuple[ClaimedTurn, ...]:
    """Claim at most ``limit`` turns: the first of each conversation in which none is running."""
    if limit <= 0:
        return ()
    found = [
        ClaimedTurn(
            turn_id=TurnId(row.turn_id),
            conversation_id=ConversationId(row.conversation_id),
            request_id=RequestId(row.request_id),
            revision=row.revision,
            position=Millis(row.position),
            event_seq=row.event_seq,
            attempts=row.attempts + 1,
            resumed=row.attempts > 0,
            fence=row.fence + 1,
            parent=None if row.parent_message_id is None else MessageId(row.parent_message_id),
        )
        for row in connection.execute(DUE, {"now": now, "most": limit})
    ]
    return tuple(turn for turn in found if _claim(connection, turn, owner, now, lease_ms))


def _claim(connection: Connection, turn: ClaimedTurn, owner: str, now: Millis, lease_ms: int) -> bool:
    # Where several gateways claim at once, the conversation's row keeps them apart.
    connection.execute(
        select(conversations.c.conversation_id)
        .where(conversations.c.conversation_id == turn.conversation_id)
        .with_for_update()
    )
    running = select(turns.c.turn_id).where(
        turns.c.pending == 1,
        turns.c.conversation_id == turn.conversation_id,
        turns.c.state == TurnState.RUNNING.value,
        turns.c.lease_until > now,
    )
    if connection.execute(running).first() is not None:
        return False
    result = connection.execute(
        update(turns)
        .where(
            turns.c.turn_id == turn.turn_id,
            turns.c.fence == turn.fence - 1,
            turns.c.state.in_([state.value for state in sources(TurnEvent.CLAIMED)]),
        )
        .values(
            state=TurnState.RUNNING.value,
            attempts=turn.attempts,
            fence=turn.fence,
            lease_owner=owner,
            lease_until=now + lease_ms,
        )
    )
    return result.rowcount == 1


def renew(connection: Connection, turn: TurnId, fence: int, lease_until: Millis) -> bool:
    """Hold on to a turn; False when it is lost."""
    result = connection.execute(
        update(turns)
        .where(turns.c.turn_id == turn, turns.c.fence == fence, turns.c.state == TurnState.RUNNING.value)
        .values(lease_until=lease_until)
    )
    return result.rowcount == 1


def lost(connection: Connection, held: Collection[tuple[TurnId, int]]) -> frozenset[tuple[TurnId, int]]:
    """Which of the turns, each held with a fence, are not held with it any more."""
    if not held:
        return frozenset()
    query = select(turns.c.turn_id, turns.c.fence).where(
        turns.c.turn_id.in_([turn for turn, _ in held]), turns.c.state == TurnState.RUNNING.value
    )
    return frozenset(held) - {(TurnId(row.turn_id), row.fence) for row in connection.execute(query)}


def holds(connection: Connection, turn: TurnId, fence: int) -> bool:
    """Whether the holder of ``fence`` still holds the turn; locks it for the transaction."""
    query = select(turns.c.turn_id).where(
        turns.c.turn_id == turn, turns.c.fence == fence, turns.c.state == TurnState.RUNNING.value
    )
    return connection.execute(query.with_for_update()).first() is not None


def finish(connection: Connection, turn: TurnId, fence: int, event: TurnEvent) -> bool:
    """End a held turn; False when it is lost. Rings, because its conversation goes on."""
    return _leave(connection, turn, fence, move(TurnState.RUNNING, event), None)


def release(connection: Connection, turn: TurnId, fence: int, due_at: Millis) -> bool:
    """Give a held turn back for another attempt at ``due_at``; False when it is lost."""
    return _leave(connection, turn, fence, move(TurnState.RUNNING, TurnEvent.RELEASED), due_at)


def take_up_revision(connection: Connection, turn: TurnId, fence: int, revision: int) -> bool:
    """Let a held turn decide a newer revision of its request (its question was edited); False when it is lost."""
    result = connection.execute(
        update(turns)
        .where(turns.c.turn_id == turn, turns.c.fence == fence, turns.c.state == TurnState.RUNNING.value)
        .values(revision=revision)
    )
    return result.rowcount == 1


def withdraw(
    connection: Connection, request: RequestId, *, revision: int | None = None, before: int | None = None
) -> int:
    """Cancel what is pending for one revision of a request, or for those before another; how many turns."""
    query = update(turns).where(turns.c.pending == 1, turns.c.request_id == request)
    if revision is not None:
        query = query.where(turns.c.revision == revision)
    if before is not None:
        query = query.where(turns.c.revision < before)
    values = {"state": TurnState.CANCELLED.value, "pending": None, "lease_until": None, "receipt": NO_RECEIPT}
    gone = connection.execute(query.values(**values)).rowcount
    if gone:
        announce(connection, TURNS)
    return gone


def release_all(connection: Connection, now: Millis) -> None:
    """At the start of the only gateway of a database: nobody holds anything, and every held turn goes on at once."""
    held = select(turns.c.turn_id, turns.c.request_id, turns.c.revision).where(
        turns.c.pending == 1, turns.c.state == TurnState.RUNNING.value
    )
    for row in connection.execute(held).all():
        connection.execute(
            update(turns)
            .where(turns.c.turn_id == row.turn_id)
            .values(
                state=move(TurnState.RUNNING, TurnEvent.RELEASED).value,
                due_at=now,
                lease_owner=None,
                lease_until=None,
            )
        )
    announce(connection, TURNS)


def next_due(connection: Connection, now: Millis) -> Millis | None:
    """The next moment after ``now`` at which a turn becomes due or a lease ends."""
    found = (connection.execute(query, {"now": now}).scalar() for query in (NEXT_QUEUED, NEXT_LEASE))
    moments = [moment for moment in found if moment is not None]
    return Millis(min(moments)) if moments else None


def note_started(connection: Connection, turn: ClaimedTurn, now: Millis) -> None:
    """Put the start of a turn, or its being taken up again, into the timeline."""
    fact = "turn_resumed" if turn.resumed else "turn_started"
    record(connection, turn.request_id, turn.revision, now, fact, {"attempt": turn.attempts})


def _leave(connection: Connection, turn: TurnId, fence: int, state: TurnState, due_at: Millis | None) -> bool:
    values: dict[str, object] = {"state": state.value, "lease_owner": None, "lease_until": None}
    if state in FINAL:
        values["pending"] = None
    if state is TurnState.CANCELLED:
        values["receipt"] = NO_RECEIPT
    if due_at is not None:
        values["due_at"] = due_at
    result = connection.execute(
        update(turns)
        .where(turns.c.turn_id == turn, turns.c.fence == fence, turns.c.state == TurnState.RUNNING.value)
        .values(**values)
    )
    announce(connection, TURNS)
    return result.rowcount == 1
