"""Turns: queued in the order of their questions, claimed one a conversation, held by a lease with a fence.

Whatever a holder writes is guarded by its fence: once another one has claimed the turn, or the question was recalled,
nothing of the former holder's is kept. All queries start from ``pending``, so that their cost follows what waits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, select, update

from manager.decisions.shares import Claimant, Shares
from manager.decisions.turn import TurnEvent, TurnState, move
from manager.ids import ConversationId, RequestId, TurnId
from manager.ledger import conversations
from manager.ledger.facts import record
from manager.ledger.tables import turns
from manager.ledger.turn_statements import (
    CANCEL,
    CLAIM,
    END,
    HOLDS,
    NEXT,
    NO_RECEIPT,
    QUEUE,
    RELEASE,
    RENEW,
    RUNNING,
    RUNNING_NOW,
    claim_due_but,
    still_running,
)
from returns.ids import AppName, MessageId, Millis
from returns.ledger.prepared import Row, listed, size_for
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
    QUEUE.defer(connection, row)
    announce(connection, TURNS)


def queue_again(
    connection: Connection, request: RequestId, standing: int, revision: int, turn_id: TurnId, now: Millis
) -> bool:
    """Queue a turn for ``revision`` at the place that the one of the earlier revision ``standing`` had.

    False when that one is not there. A receipt that was left is not left again.
    """
    row = connection.execute(select(turns).where(turns.c.request_id == request, turns.c.revision == standing)).first()
    if row is None:
        return False
    new = NewTurn(
        turn_id=turn_id,
        conversation_id=ConversationId(row.conversation_id),
        request_id=request,
        revision=revision,
        position=Millis(row.position),
        event_seq=row.event_seq,
        receipt=row.receipt is None,
        parent=row.parent_message_id,
    )
    queue(connection, new, now)
    return True


def claim_due(
    connection: Connection,
    *,
    owner: str,
    now: Millis,
    lease_ms: int,
    limit: int,
    places: int,
    apps: Collection[AppName] = (),
    elsewhere: Collection[AppName] = (),
) -> tuple[ClaimedTurn, ...]:
    """Claim at most ``limit`` turns: the first of each conversation in which none is running.

    Of the ``places`` that this gateway has, no chat, none of its ``apps`` and nothing that is tried again takes all.
    Those of the apps that are ``elsewhere`` are left to other gateways.
    """
    if limit <= 0:
        return ()
    shares = _shares(connection, owner, now, places, apps)
    claimed: list[ClaimedTurn] = []
    more = True
    while more and len(claimed) < limit:
        due = [
            (_claimed(row), _claimant(row))
            for row in _due_but(connection, shares, now, limit - len(claimed), elsewhere)
        ]
        taken = 0
        chats: set[str] = set()
        for turn, claimant in due:
            # One a chat at a time: the next one of it may be the next one of its conversation.
            if claimant.chat in chats or not shares.admits(claimant):
                continue
            chats.add(claimant.chat)
            if _claim(connection, turn, owner, now, lease_ms):
                shares = shares.with_one(claimant)
                claimed.append(turn)
                taken += 1
        more = 0 < taken < len(due)
    return tuple(claimed)


def _shares(connection: Connection, owner: str, now: Millis, places: int, apps: Collection[AppName]) -> Shares:
    own: list[Claimant] = []
    others: list[Claimant] = []
    for row in RUNNING_NOW.rows(connection, {"now": now}):
        (own if row["lease_owner"] == owner else others).append(_claimant(row, claims=1))
    return Shares(places, frozenset(apps), tuple(own), tuple(others))


def _due_but(
    connection: Connection, shares: Shares, now: Millis, most: int, elsewhere: Collection[AppName]
) -> Sequence[Row]:
    full, closed = shares.full_chats(), shares.full_apps() | frozenset(elsewhere)
    asked = {"now": now, "most": most, **listed("full", full), **listed("apps", closed)}
    query = claim_due_but(size_for(len(full)), size_for(len(closed)), fresh=shares.again_is_full())
    return query.rows(connection, asked)


def left_due(connection: Connection, now: Millis, elsewhere: Collection[AppName] = ()) -> bool:
    """Whether a turn is due that nobody claimed: others have their share, or another gateway is in its conversation."""
    asked = {"now": now, "most": 1, **listed("apps", elsewhere)}
    return claim_due_but(0, size_for(len(elsewhere))).first(connection, asked) is not None


def chat_of(conversation: ConversationId) -> str:
    """The shown name of a conversation's chat."""
    return conversation.partition(".")[0]


def _claimant(row: Row, claims: int = 0) -> Claimant:
    """What a turn that is due, or has run for one of its ``claims``, counts for."""
    chat = chat_of(ConversationId(cast("str", row["conversation_id"])))
    return Claimant(chat, AppName(cast("str", row["app"])), cast("int", row["fence"]) > claims)


def _claimed(row: Row) -> ClaimedTurn:
    attempts = cast("int", row["attempts"])
    return ClaimedTurn(
        turn_id=TurnId(cast("str", row["turn_id"])),
        conversation_id=ConversationId(cast("str", row["conversation_id"])),
        request_id=RequestId(cast("str", row["request_id"])),
        revision=cast("int", row["revision"]),
        position=Millis(cast("int", row["position"])),
        event_seq=cast("int", row["event_seq"]),
        attempts=attempts + 1,
        resumed=attempts > 0,
        fence=cast("int", row["fence"]) + 1,
        parent=cast("MessageId | None", row["parent_message_id"]),
    )


def _claim(connection: Connection, turn: ClaimedTurn, owner: str, now: Millis, lease_ms: int) -> bool:
    if not conversations.try_lock(connection, turn.conversation_id):
        return False
    if RUNNING.first(connection, {"conversation": turn.conversation_id, "now": now}) is not None:
        return False
    claim = {
        "turn": turn.turn_id,
        "of_fence": turn.fence - 1,
        "of_revision": turn.revision,  # its holder may have taken up an edit since it was looked at
        "state": TurnState.RUNNING.value,
        "attempts": turn.attempts,
        "fence": turn.fence,
        "lease_owner": owner,
        "lease_until": now + lease_ms,
    }
    return CLAIM.run(connection, claim) == 1


def renew(connection: Connection, turn: TurnId, fence: int, lease_until: Millis) -> bool:
    """Hold on to a turn; False when it is lost."""
    return RENEW.run(connection, {"turn": turn, "of_fence": fence, "lease_until": lease_until}) == 1


def lost(connection: Connection, held: Collection[tuple[TurnId, int]]) -> frozenset[tuple[TurnId, int]]:
    """Which of the turns, each held with a fence, are not held with it any more."""
    if not held:
        return frozenset()
    rows = still_running(size_for(len(held))).rows(connection, listed("turn", [turn for turn, _ in held]))
    return frozenset(held) - {(TurnId(cast("str", row["turn_id"])), cast("int", row["fence"])) for row in rows}


def holds(connection: Connection, turn: TurnId, fence: int) -> bool:
    """Whether the holder of ``fence`` still holds the turn; locks it for the transaction."""
    return held_revision(connection, turn, fence) is not None


def held_revision(connection: Connection, turn: TurnId, fence: int) -> int | None:
    """The revision that a turn decides by now, if the holder of ``fence`` still holds it; locks it as ``holds``."""
    row = HOLDS.first(connection, {"turn": turn, "of_fence": fence})
    return None if row is None else cast("int", row["revision"])


def finish(connection: Connection, turn: TurnId, fence: int, event: TurnEvent) -> bool:
    """End a held turn; False when it is lost. Rings, because its conversation goes on."""
    return _leave(connection, turn, fence, move(TurnState.RUNNING, event), None)


def release(connection: Connection, turn: TurnId, fence: int, due_at: Millis) -> bool:
    """Give a held turn back for another attempt at ``due_at``; False when it is lost."""
    return _leave(connection, turn, fence, move(TurnState.RUNNING, TurnEvent.RELEASED), due_at)


def give_back(connection: Connection, turn: ClaimedTurn, due_at: Millis) -> bool:
    """Give a held turn back until ``due_at`` as if it had not been claimed; False when it is lost."""
    given = release(connection, turn.turn_id, turn.fence, due_at)
    if given:
        connection.execute(update(turns).where(turns.c.turn_id == turn.turn_id).values(attempts=turn.attempts - 1))
    return given


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


def give_up(connection: Connection, owner: str, now: Millis) -> int:
    """At the orderly end of one of several gateways: its turns are anybody's at once, as if not claimed; how many."""
    given = connection.execute(
        update(turns)
        .where(turns.c.pending == 1, turns.c.state == TurnState.RUNNING.value, turns.c.lease_owner == owner)
        .values(
            state=move(TurnState.RUNNING, TurnEvent.RELEASED).value,
            attempts=turns.c.attempts - 1,
            due_at=now,
            lease_owner=None,
            lease_until=None,
        )
    )
    announce(connection, TURNS)
    return given.rowcount


def next_due(connection: Connection, now: Millis) -> Millis | None:
    """The next moment after ``now`` at which a turn becomes due or a lease ends."""
    found = (moment for query in NEXT for moment in query.only(connection, {"now": now}).values())
    moments = [cast("int", moment) for moment in found if moment is not None]
    return Millis(min(moments)) if moments else None


def note_started(connection: Connection, turn: ClaimedTurn, now: Millis) -> None:
    """Put the start of a turn, or its being taken up again, into the timeline."""
    fact = "turn_resumed" if turn.resumed else "turn_started"
    record(connection, turn.request_id, turn.revision, now, fact, {"attempt": turn.attempts})


def _leave(connection: Connection, turn: TurnId, fence: int, state: TurnState, due_at: Millis | None) -> bool:
    held = {"turn": turn, "of_fence": fence, "left": state.value}
    if due_at is not None:
        left = RELEASE.run(connection, {**held, "due": due_at})
    else:
        left = (CANCEL if state is TurnState.CANCELLED else END).run(connection, held)
    announce(connection, TURNS)
    return left == 1
