"""What the stored grants say of listening in a conversation, and who gave them."""

from __future__ import annotations

from typing import Final, cast

from sqlalchemy import Connection, bindparam, select

from manager.decisions.admission import Converse
from manager.ids import ConversationId
from manager.ledger.grants import CONVERSE, may_converse
from manager.ledger.grants import Converse as Stored
from manager.ledger.tables import grants
from returns.ids import AppName, Millis
from returns.ledger.prepared import Prepared

BY_POLICY = "policy"
"""``granted_by`` of what the configured policy admitted: it holds as long as the policy says the same."""

_SPOKEN_OF: Final = Prepared(
    select(grants.c.principal, grants.c.granted_by, grants.c.expires_at, grants.c.revoked_at).where(
        grants.c.effect == CONVERSE,
        grants.c.resource.in_([bindparam("conversation"), bindparam("chat")]),
    )
)


def converse(connection: Connection, app: AppName, conversation: ConversationId, now: Millis) -> Converse:
    """Whether the steward may listen there, and by whose word."""
    chat, _, _ = conversation.partition(".")
    found = _SPOKEN_OF.rows(connection, {"conversation": conversation, "chat": chat})
    if not found:
        return Converse.NONE
    # Only where something ended does it matter what came first.
    if any(row["revoked_at"] is not None or row["expires_at"] is not None for row in found):
        stored = may_converse(connection, conversation, now)
        if stored is not Stored.GRANTED:
            return Converse.REVOKED if stored is Stored.REVOKED else Converse.NONE
    by_owner = any(
        row["principal"] == f"steward:{app}"
        and row["granted_by"] != BY_POLICY
        and row["revoked_at"] is None
        and (row["expires_at"] is None or cast("int", row["expires_at"]) > now)
        for row in found
    )
    return Converse.OWNER if by_owner else Converse.POLICY
