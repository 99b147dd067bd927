"""The directory of peers. A removed peer keeps its row, so that the past still has names; its name and token are free.

A token is stored as its SHA-256 only; it is found by that digest, so comparing takes no secret's time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, cast

from sqlalchemy import ColumnElement, Connection, bindparam, func, insert, select, update

from manager.decisions.decision import Audience, PeerCard
from manager.decisions.naming import fold
from manager.decisions.routing import Candidate, visible_to
from manager.decisions.work import Work
from manager.ids import PeerId
from manager.ledger.inserting import insert_new
from manager.ledger.tables import peer_phrases, peers, requests, revisions
from returns.ids import Millis
from returns.ledger.prepared import Prepared, Row

REMOVED: Final = "removed"
"""The state of a peer's row that is kept only so that the past has names."""

_RESPONSIBILITY = "responsibility"
_EXAMPLE = "example"

_EVERYONE: Final = Prepared(select(peers).where(peers.c.state != REMOVED).order_by(peers.c.folded_name))
_ALL_PHRASES: Final = select(peer_phrases).order_by(
    peer_phrases.c.peer_id, peer_phrases.c.kind, peer_phrases.c.position
)
_PHRASES: Final = Prepared(_ALL_PHRASES)
_PHRASES_OF: Final = Prepared(_ALL_PHRASES.where(peer_phrases.c.peer_id == bindparam("peer")))


class PeerState(Enum):
    """Whether a peer takes requests."""

    ACTIVE = "active"
    """It gets what is routed to it."""
    STOPPED = "stopped"
    """It gets nothing new, and may conclude what it holds."""


class Mode(Enum):
    """How a peer runs: declared, never inferred."""

    MANAGED_RUNTIME = "managed_runtime"
    """The gateway starts its turns."""
    ATTACHED_HOST = "attached_host"
    """It comes by itself."""


class Presence(Enum):
    """What the peer last said of itself."""

    UNKNOWN = "unknown"
    """Nothing yet."""
    AVAILABLE = "available"
    """It takes work now."""
    BUSY = "busy"
    """It is there, and at work."""
    AWAY = "away"
    """It is not there; what is stored waits."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer as it is registered."""

    peer_id: PeerId
    name: str
    mode: Mode
    state: PeerState
    audience: Audience
    goal: str | None
    endpoint: str | None
    host_surface: str | None
    presence: Presence
    presence_at: Millis | None
    capacity: int | None
    executor_endpoint_id: str | None
    created_at: Millis
    responsibilities: tuple[str, ...]
    examples: tuple[str, ...]

    @property
    def candidate(self) -> Candidate:
        """The peer as routing looks at it."""
        return Candidate(
            peer_id=self.peer_id,
            name=self.name,
            audience=self.audience,
            active=self.state is PeerState.ACTIVE,
            presence=self.presence.value,
            phrases=(*self.responsibilities, *self.examples),
        )


def token_digest(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def add(
    connection: Connection,
    *,
    peer_id: PeerId,
    name: str,
    mode: Mode,
    audience: Audience,
    goal: str | None,
    responsibilities: Sequence[str],
    examples: Sequence[str],
    digest: str,
    now: Millis,
) -> bool:
    """Register a peer; False, and nothing written, when the name is taken (in whatever case)."""
    row = {
        "peer_id": peer_id,
        "name": name,
        "folded_name": fold(name),
        "mode": mode.value,
        "state": PeerState.ACTIVE.value,
        "audience": audience.value,
        "goal": goal,
        "presence": Presence.UNKNOWN.value,
        "token_digest": digest,
        "created_at": now,
    }
    if insert_new(connection, peers, [row]) == 0:
        return False
    kinds = ((_RESPONSIBILITY, responsibilities), (_EXAMPLE, examples))
    rows = [
        {"peer_id": peer_id, "kind": kind, "position": position, "text": text}
        for kind, texts in kinds
        for position, text in enumerate(texts)
    ]
    if rows:
        connection.execute(insert(peer_phrases), rows)
    return True


def by_token(connection: Connection, digest: str) -> Peer | None:
    """The peer whose token has that digest."""
    return _one(connection, peers.c.token_digest == digest)


def by_name(connection: Connection, name: str) -> Peer | None:
    """The peer of that name, whatever its case."""
    return _one(connection, peers.c.folded_name == fold(name))


def by_id(connection: Connection, peer_id: PeerId, *, lock: bool = False) -> Peer | None:
    """The peer, or None if it was removed; ``lock`` keeps other writers out."""
    return _one(connection, peers.c.peer_id == peer_id, lock=lock)


def hold_active(connection: Connection, peer_id: PeerId) -> bool:
    """Whether the peer takes requests; if so, it is neither stopped nor removed before the transaction ends."""
    query = select(peers.c.peer_id).where(peers.c.peer_id == peer_id, peers.c.state == PeerState.ACTIVE.value)
    return connection.execute(query.with_for_update(read=True)).first() is not None


def name_of(connection: Connection, peer_id: PeerId) -> str | None:
    """A peer's name, of a removed one too."""
    return connection.execute(select(peers.c.name).where(peers.c.peer_id == peer_id)).scalar()


def everyone(connection: Connection) -> tuple[Peer, ...]:
    """All peers that are not removed, by name."""
    found = _EVERYONE.rows(connection, {})
    phrases = _phrases(connection, None)
    return tuple(_peer(row, phrases) for row in found)


def candidates(connection: Connection) -> tuple[Candidate, ...]:
    """All peers, as routing looks at them."""
    return tuple(peer.candidate for peer in everyone(connection))


def cards(connection: Connection, audience: Audience) -> tuple[PeerCard, ...]:
    """The peers that an audience may see, stopped ones too."""
    return tuple(
        PeerCard(peer.name, peer.responsibilities, peer.examples, peer.state is PeerState.STOPPED)
        for peer in everyone(connection)
        if visible_to(peer.candidate, audience)
    )


def set_state(connection: Connection, peer_id: PeerId, state: PeerState) -> None:
    """Stop or start a peer."""
    connection.execute(update(peers).where(peers.c.peer_id == peer_id).values(state=state.value))


def set_presence(
    connection: Connection,
    peer_id: PeerId,
    *,
    presence: Presence,
    capacity: int | None,
    executor: str | None,
    host_surface: str | None,
    now: Millis,
) -> None:
    """Keep what the peer says of itself; a ``host_surface`` that it does not name stays."""
    values: dict[str, object] = {
        "presence": presence.value,
        "presence_at": now,
        "capacity": capacity,
        "executor_endpoint_id": executor,
    }
    if host_surface is not None:
        values["host_surface"] = host_surface
    connection.execute(update(peers).where(peers.c.peer_id == peer_id).values(values))


def open_requests(connection: Connection, peer_id: PeerId) -> int:
    """How many requests the peer holds whose revision that stands is open."""
    query = (
        select(func.count())
        .select_from(revisions.join(requests, requests.c.request_id == revisions.c.request_id))
        .where(
            revisions.c.receiver == peer_id,
            revisions.c.work == Work.OPEN.value,
            revisions.c.revision == requests.c.revision,
        )
    )
    return connection.execute(query).scalar() or 0


def remove(connection: Connection, peer_id: PeerId) -> None:
    """Take a peer out of the directory: its token opens nothing any more, its name may be given again."""
    gone = f"{REMOVED}:{peer_id}"
    connection.execute(
        update(peers).where(peers.c.peer_id == peer_id).values(state=REMOVED, folded_name=gone, token_digest=gone)
    )


def _one(connection: Connection, condition: ColumnElement[bool], *, lock: bool = False) -> Peer | None:
    query = select(peers).where(condition, peers.c.state != REMOVED)
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        return None
    return _peer(cast("Row", row), _phrases(connection, PeerId(cast("str", row["peer_id"]))))


def _phrases(connection: Connection, peer_id: PeerId | None) -> Mapping[tuple[str, str], list[str]]:
    rows = _PHRASES.rows(connection, {}) if peer_id is None else _PHRASES_OF.rows(connection, {"peer": peer_id})
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        found.setdefault((cast("str", row["peer_id"]), cast("str", row["kind"])), []).append(cast("str", row["text"]))
    return found


def _peer(get: Row, phrases: Mapping[tuple[str, str], list[str]]) -> Peer:
    peer_id = PeerId(cast("str", get["peer_id"]))
    return Peer(
        peer_id=peer_id,
        name=cast("str", get["name"]),
        mode=Mode(get["mode"]),
        state=PeerState(get["state"]),
        audience=Audience(get["audience"]),
        goal=cast("str | None", get["goal"]),
        endpoint=cast("str | None", get["endpoint"]),
        host_surface=cast("str | None", get["host_surface"]),
        presence=Presence(get["presence"]),
        presence_at=cast("Millis | None", get["presence_at"]),
        capacity=cast("int | None", get["capacity"]),
        executor_endpoint_id=cast("str | None", get["executor_endpoint_id"]),
        created_at=cast("Millis", get["created_at"]),
        responsibilities=tuple(phrases.get((peer_id, _RESPONSIBILITY), ())),
        examples=tuple(phrases.get((peer_id, _EXAMPLE), ())),
    )
