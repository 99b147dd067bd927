"""What the stored grants say of listening in a conversation, and who gave them."""

from __future__ import annotations

from sqlalchemy import Connection, or_, select

from manager.decisions.admission import Converse
from manager.ids import ConversationId
from manager.ledger.grants import CONVERSE, may_converse
from manager.ledger.grants import Converse as Stored
from manager.ledger.tables import grants
from returns.ids import AppName, Millis

BY_POLICY = "policy"
"""``granted_by`` of what the configured policy admitted: it holds as long as the policy says the same."""


def converse(connection: Connection, app: AppName, conversation: ConversationId, now: Millis) -> Converse:
    """Whether the steward may listen there, and by whose word."""
    match may_converse(connection, conversation, now):
        case Stored.NONE:
            return Converse.NONE
        case Stored.REVOKED:
            return Converse.REVOKED
        case Stored.GRANTED:
            by_owner = _granted_by_owner(connection, app, conversation, now)
            return Converse.OWNER if by_owner else Converse.POLICY


def _granted_by_owner(connection: Connection, app: AppName, conversation: ConversationId, now: Millis) -> bool:
    chat, _, _ = conversation.partition(".")
    query = select(grants.c.grant_id).where(
        grants.c.effect == CONVERSE,
        grants.c.resource.in_((conversation, chat)),
        grants.c.principal == f"steward:{app}",
        grants.c.granted_by != BY_POLICY,
        grants.c.revoked_at.is_(None),
        or_(grants.c.expires_at.is_(None), grants.c.expires_at > now),
    )
    return connection.execute(query.limit(1)).first() is not None
