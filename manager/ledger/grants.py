"""Grants: who may do what, where, for whom; stored facts, checked when the effect happens.

A ``converse`` grant lets the steward of an app (principal ``steward:<app>``) listen and tell in a conversation. Its
resource is the conversation as the inbox shows it: ``c_…`` for a chat with all its threads, ``c_….t_…`` for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, cast

from sqlalchemy import Connection, and_, bindparam, insert, or_, select, update
from sqlalchemy.sql import Select

from manager.decisions.decision import Audience
from manager.ids import ConversationId, GrantId
from manager.ledger import conversations
from manager.ledger.tables import grants
from returns.ids import AppName, Millis
from returns.ledger.prepared import Prepared, Row

CONVERSE = "converse"
_STEWARD = "steward:"

_ADD: Final = Prepared(
    insert(grants),
    ("grant_id", "principal", "resource", "effect", "audience", "granted_by", "created_at", "expires_at"),
)
_COVERING: Final = Prepared(
    select(grants).where(
        grants.c.effect == CONVERSE, grants.c.resource.in_([bindparam("conversation"), bindparam("chat")])
    )
)


@dataclass(frozen=True, slots=True)
class Grant:
    """One stored grant."""

    grant_id: GrantId
    principal: str
    resource: str
    effect: str
    audience: str
    granted_by: str
    created_at: Millis
    expires_at: Millis | None
    revoked_at: Millis | None
    revoke_reason: str | None

    def active(self, now: Millis) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class Converse(Enum):
    """May the steward listen and tell in a conversation?"""

    GRANTED = "granted"
    """There is an active grant for the conversation or its chat."""
    NONE = "none"
    """Nobody ever decided; policy may admit it."""
    REVOKED = "revoked"
    """A grant was revoked or ran out; only an owner's new grant changes that."""


class Revocation(Enum):
    """What came of a revocation."""

    REVOKED = "revoked"
    """It holds no longer."""
    ALREADY = "already"
    """It was revoked before; the first time and reason stay."""
    UNKNOWN = "unknown"
    """There is no such grant."""


def add(
    connection: Connection,
    *,
    grant_id: GrantId,
    principal: str,
    resource: str,
    effect: str,
    audience: Audience,
    granted_by: str,
    now: Millis,
    expires_at: Millis | None = None,
) -> None:
    """Store a grant."""
    _ADD.run(
        connection,
        {
            "grant_id": grant_id,
            "principal": principal,
            "resource": resource,
            "effect": effect,
            "audience": audience.value,
            "granted_by": granted_by,
            "created_at": now,
            "expires_at": expires_at,
        },
    )


def admit(
    connection: Connection,
    *,
    app: AppName,
    conversation_id: ConversationId,
    audience: Audience,
    granted_by: str,
    grant_id: GrantId,
    now: Millis,
) -> None:
    """Store that policy admits a conversation, once: where any grant ever spoke of it, nothing is written."""
    principal = f"{_STEWARD}{app}"
    conversations.lock(connection, conversation_id)  # another gateway may be admitting it
    asked = {"conversation": conversation_id, "chat": _covering(conversation_id)[-1]}
    if all(row["principal"] != principal for row in _COVERING.rows(connection, asked)):
        add(
            connection,
            grant_id=grant_id,
            principal=principal,
            resource=conversation_id,
            effect=CONVERSE,
            audience=audience,
            granted_by=granted_by,
            now=now,
        )


def may_converse(connection: Connection, conversation_id: ConversationId, now: Millis) -> Converse:
    """Whether the steward may listen and tell in a conversation at ``now``.

    An active grant of the conversation itself counts unless its chat was revoked after it was given; without one, a
    revoked grant of the conversation wins over the chat's.
    """
    rows = _COVERING.rows(connection, {"conversation": conversation_id, "chat": _covering(conversation_id)[-1]})
    found = [grant for grant in map(_grant, rows) if grant.principal.startswith(_STEWARD)]
    own = [grant for grant in found if grant.resource == conversation_id]
    chat = [grant for grant in found if grant.resource != conversation_id]
    state, closed_at = _judge(chat, now)
    if state is Converse.REVOKED:
        own = [grant for grant in own if grant.created_at > closed_at]
    own_state, _ = _judge(own, now)
    return state if own_state is Converse.NONE else own_state


def revoke(connection: Connection, grant_id: GrantId, *, reason: str, now: Millis) -> Revocation:
    """End a grant, keeping why."""
    revoked = connection.execute(
        update(grants)
        .where(grants.c.grant_id == grant_id, grants.c.revoked_at.is_(None))
        .values(revoked_at=now, revoke_reason=reason)
    )
    if revoked.rowcount == 1:
        return Revocation.REVOKED
    known = connection.execute(select(grants.c.grant_id).where(grants.c.grant_id == grant_id)).first()
    return Revocation.UNKNOWN if known is None else Revocation.ALREADY


def page(
    connection: Connection, now: Millis, *, every: bool = False, after: tuple[Millis, str] | None = None, limit: int
) -> tuple[Grant, ...]:
    """Grants, oldest first, at most ``limit``; only active ones unless ``every``."""
    query: Select[tuple[object, ...]] = select(grants).order_by(grants.c.created_at, grants.c.grant_id).limit(limit)
    if not every:
        query = query.where(
            grants.c.revoked_at.is_(None), or_(grants.c.expires_at.is_(None), grants.c.expires_at > now)
        )
    if after is not None:
        at, grant_id = after
        query = query.where(
            or_(grants.c.created_at > at, and_(grants.c.created_at == at, grants.c.grant_id > grant_id))
        )
    return tuple(_grant(cast("Row", row)) for row in connection.execute(query).mappings())


def _covering(conversation_id: ConversationId) -> tuple[str, ...]:
    chat, dot, _ = conversation_id.partition(".")
    return (conversation_id, chat) if dot else (conversation_id,)


def _judge(found: list[Grant], now: Millis) -> tuple[Converse, Millis]:
    if not found:
        return Converse.NONE, Millis(0)
    if any(grant.active(now) for grant in found):
        return Converse.GRANTED, Millis(0)
    ends = [end for grant in found for end in (grant.revoked_at, grant.expires_at) if end is not None and end <= now]
    return Converse.REVOKED, max(ends, default=Millis(0))


def _grant(get: Row) -> Grant:
    return Grant(
        grant_id=GrantId(cast("str", get["grant_id"])),
        principal=cast("str", get["principal"]),
        resource=cast("str", get["resource"]),
        effect=cast("str", get["effect"]),
        audience=cast("str", get["audience"]),
        granted_by=cast("str", get["granted_by"]),
        created_at=cast("Millis", get["created_at"]),
        expires_at=cast("Millis | None", get["expires_at"]),
        revoked_at=cast("Millis | None", get["revoked_at"]),
        revoke_reason=cast("str | None", get["revoke_reason"]),
    )
