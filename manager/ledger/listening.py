"""What the stored grants say of listening in a conversation, and who gave them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from sqlalchemy import Connection, select

from manager.decisions.admission import Converse
from manager.ids import ConversationId
from manager.ledger.grants import CONVERSE, may_converse
from manager.ledger.grants import Converse as Stored
from manager.ledger.tables import grants
from returns.ids import AppName, Millis
from returns.ledger.prepared import Prepared, listed, names, size_for

BY_POLICY = "policy"
"""``granted_by`` of what the configured policy admitted: it holds as long as the policy says the same."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A grant that speaks of listening somewhere."""

    principal: str
    granted_by: str
    expires_at: Millis | None
    revoked_at: Millis | None


def converse(connection: Connection, app: AppName, conversation: ConversationId, now: Millis) -> Converse:
    """Whether the steward may listen there, and by whose word."""
    chat, _, _ = conversation.partition(".")
    found = spoken_of(connection, {conversation, chat})
    return judge(connection, app, conversation, [each for of_one in found.values() for each in of_one], now)


def spoken_of(connection: Connection, resources: Collection[str]) -> dict[str, list[Spoken]]:
    """The grants that speak of each of the resources."""
    found: dict[str, list[Spoken]] = {}
    if not resources:
        return found
    for row in _spoken(size_for(len(resources))).rows(connection, listed("resource", resources)):
        grant = Spoken(
            cast("str", row["principal"]),
            cast("str", row["granted_by"]),
            cast("Millis | None", row["expires_at"]),
            cast("Millis | None", row["revoked_at"]),
        )
        found.setdefault(cast("str", row["resource"]), []).append(grant)
    return found


def judge(
    connection: Connection, app: AppName, conversation: ConversationId, spoken: Collection[Spoken], now: Millis
) -> Converse:
    """What the grants say together: ``spoken`` are those of the conversation and of its chat."""
    if not spoken:
        return Converse.NONE
    # Only where something ended does it matter what came first.
    if any(each.revoked_at is not None or each.expires_at is not None for each in spoken):
        stored = may_converse(connection, conversation, now)
        if stored is not Stored.GRANTED:
            return Converse.REVOKED if stored is Stored.REVOKED else Converse.NONE
    by_owner = any(
        each.principal == f"steward:{app}"
        and each.granted_by != BY_POLICY
        and each.revoked_at is None
        and (each.expires_at is None or each.expires_at > now)
        for each in spoken
    )
    return Converse.OWNER if by_owner else Converse.POLICY


@lru_cache(maxsize=32)
def _spoken(count: int) -> Prepared:
    return Prepared(
        select(
            grants.c.resource, grants.c.principal, grants.c.granted_by, grants.c.expires_at, grants.c.revoked_at
        ).where(grants.c.effect == CONVERSE, grants.c.resource.in_(names("resource", count)))
    )
