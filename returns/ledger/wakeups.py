"""Topics that a commit announces.

A ledger function says what it committed by ``announce``; the transaction port rings the subscribers of the topic once
the commit is durable. A rolled-back closure may ring too: a wakeup is a hint to look, never a fact.
"""

from __future__ import annotations

from sqlalchemy import Connection

RETURNS = "returns"
"""A part was queued or moved, or an operator asked to look again."""

RETURNS_SETTLED = "returns_settled"
"""A part was settled: what was held because it might be our echo can be looked at."""

TURNS = "turns"
"""A turn was queued."""

REQUESTS = "requests"
"""A peer's request was stored or changed."""

KEY = "wakeups"


def announce(connection: Connection, topic: str) -> None:
    """Ring the topic's subscribers after this transaction's commit."""
    topics: set[str] = connection.info.setdefault(KEY, set())
    topics.add(topic)


def take(connection: Connection) -> frozenset[str]:
    """The topics announced on this connection since the last call; for the transaction port alone."""
    return frozenset(connection.info.pop(KEY, ()))
