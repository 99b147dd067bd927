"""Idempotency keys: a write and its answer are kept in the transaction that carries the write out.

The key is claimed first. Where two transactions run side by side, the second claim waits for the first transaction's
end, and then finds the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from sqlalchemy import Connection, bindparam, delete, select, update

from manager.ledger.inserting import insert_new
from manager.ledger.tables import idempotency_keys
from returns.ids import Millis
from returns.ledger.prepared import Prepared

KEPT_MS: Final = 7 * 24 * 3_600_000

_OVER: Final = Prepared(
    select(idempotency_keys.c.caller, idempotency_keys.c.key)
    .where(idempotency_keys.c.created_at <= bindparam("until"))
    .order_by(idempotency_keys.c.created_at)
    .limit(bindparam("most"))
)
_FORGET: Final = Prepared(
    delete(idempotency_keys).where(
        idempotency_keys.c.caller == bindparam("caller"),
        idempotency_keys.c.key == bindparam("key"),
        idempotency_keys.c.created_at <= bindparam("until"),  # it may have been taken again
    )
)


@dataclass(frozen=True, slots=True)
class Stored:
    """The first answer."""

    status: int
    answer: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """The key was used for another request."""


Claim: TypeAlias = Stored | Conflict | None


def claim(connection: Connection, caller: str, key: str, digest: str, now: Millis) -> Claim:
    """Take the key: None means that the caller goes on and must ``settle``; else what the key was used for."""
    mine = (idempotency_keys.c.caller == caller, idempotency_keys.c.key == key)
    connection.execute(delete(idempotency_keys).where(*mine, idempotency_keys.c.created_at <= now - KEPT_MS))
    row = {"caller": caller, "key": key, "request_digest": digest, "status": 0, "answer": "", "created_at": now}
    if insert_new(connection, idempotency_keys, [row]) == 1:
        return None
    found = connection.execute(
        select(idempotency_keys.c.request_digest, idempotency_keys.c.status, idempotency_keys.c.answer).where(*mine)
    ).one()
    if found.request_digest != digest:
        return Conflict()
    return Stored(cast("int", found.status), cast("str", found.answer))


def settle(connection: Connection, caller: str, key: str, status: int, answer: str) -> None:
    """Keep the answer of a claimed key."""
    connection.execute(
        update(idempotency_keys)
        .where(idempotency_keys.c.caller == caller, idempotency_keys.c.key == key)
        .values(status=status, answer=answer)
    )


def purge(connection: Connection, now: Millis, most: int) -> int:
    """Forget at most ``most`` keys whose time is over; how many."""
    gone = 0
    for row in _OVER.rows(connection, {"until": now - KEPT_MS, "most": most}):
        gone += _FORGET.run(connection, {**row, "until": now - KEPT_MS})
    return gone
