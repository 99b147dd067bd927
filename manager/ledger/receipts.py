"""Receipts: which questions still want one, who leaves it, and what became of it.

Where several gateways share the work, one takes a receipt before it leaves it, by a key beside those of events; what it
took and did not settle in time is anybody's again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import Connection, and_, bindparam, exists, literal, select, update

from manager.ids import ConversationId, RequestId, TurnId
from manager.ledger.events import key
from manager.ledger.facts import record
from manager.ledger.inserting import insert_new
from manager.ledger.tables import event_keys, question_routes, turns
from returns.ids import AppName, MessageId, Millis
from returns.ledger.prepared import Prepared, listed, names, size_for

TAKEN_MS: Final = 20_000
"""All tries of one receipt fit in."""

_KIND: Final = "receipt"
_taken: Final = exists().where(
    event_keys.c.app == question_routes.c.app,
    event_keys.c.key == literal(f"{_KIND}:") + turns.c.turn_id,
    event_keys.c.at > bindparam("since"),
)

_WANTED: Final = (
    select(
        turns.c.turn_id,
        turns.c.conversation_id,
        turns.c.request_id,
        turns.c.revision,
        question_routes.c.app,
        question_routes.c.message_id,
    )
    .join(
        question_routes,
        and_(question_routes.c.request_id == turns.c.request_id, question_routes.c.revision == turns.c.revision),
    )
    .where(turns.c.receipt == "wanted", ~_taken)
    .order_by(turns.c.event_seq)
    .limit(bindparam("most"))
)
_SETTLE: Final = Prepared(
    update(turns)
    .where(turns.c.turn_id == bindparam("turn"), turns.c.receipt == "wanted")
    .values(receipt=bindparam("outcome"))
)


@dataclass(frozen=True, slots=True)
class WantedReceipt:
    """A question that wants a receipt. ``message_id`` is private."""

    turn_id: TurnId
    conversation_id: ConversationId
    request_id: RequestId
    revision: int
    app: AppName
    message_id: MessageId


@lru_cache(maxsize=8)
def _wanted_but(elsewhere: int) -> Prepared:
    """``_WANTED`` without those of so many apps."""
    left = question_routes.c.app.not_in(names("elsewhere", elsewhere))
    return Prepared(_WANTED.where(left) if elsewhere else _WANTED)


def wanted(
    connection: Connection, now: Millis, limit: int, elsewhere: Collection[AppName] = ()
) -> tuple[WantedReceipt, ...]:
    """Questions that want a receipt and that nobody took lately, oldest first, but of apps that are ``elsewhere``."""
    query = _wanted_but(size_for(len(elsewhere)))
    asked = {"most": limit, "since": now - TAKEN_MS, **listed("elsewhere", elsewhere)}
    return tuple(
        WantedReceipt(
            TurnId(cast("str", row["turn_id"])),
            ConversationId(cast("str", row["conversation_id"])),
            RequestId(cast("str", row["request_id"])),
            cast("int", row["revision"]),
            AppName(cast("str", row["app"])),
            MessageId(cast("str", row["message_id"])),
        )
        for row in query.rows(connection, asked)
    )


def take(connection: Connection, receipt: WantedReceipt, owner: str, now: Millis) -> bool:
    """Take a receipt for ``owner``; False when another one has it."""
    name = key(_KIND, receipt.turn_id)
    row = {"app": receipt.app, "key": name, "seq": 0, "body_digest": owner, "at": now}
    if insert_new(connection, event_keys, [row]) == 1:
        return True
    again = connection.execute(
        update(event_keys)
        .where(event_keys.c.app == receipt.app, event_keys.c.key == name, event_keys.c.at <= now - TAKEN_MS)
        .values(body_digest=owner, at=now)
    )
    return again.rowcount == 1


def settle(connection: Connection, receipt: WantedReceipt, *, left: bool, now: Millis) -> None:
    """Note whether the receipt was left; the first word counts."""
    if _SETTLE.run(connection, {"turn": receipt.turn_id, "outcome": "done" if left else "failed"}) == 1:
        record(connection, receipt.request_id, receipt.revision, now, "receipt", {"left": left})


def drop(connection: Connection, receipt: WantedReceipt) -> None:
    """No receipt is wanted after all."""
    _SETTLE.run(connection, {"turn": receipt.turn_id, "outcome": None})
