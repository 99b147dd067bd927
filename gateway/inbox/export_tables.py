"""What an export holds: the tables by their public columns. Nothing here is a message, an answer, anybody's
words or a provider's id (of facts see ``exported_details``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FORMAT: Final = "lark-steward-export"
VERSION: Final = 1

BOOLEANS: Final = frozenset({"private", "late", "needs_configuration", "needs_operator"})
"""Columns that one kind of database gives as numbers."""

DETAIL: Final = "detail"
"""The column that holds JSON."""

REQUESTS: Final = """
SELECT seq, request_id, conversation_id, app, private, audience, revision, asked_at, language, late, intent, parent_id,
       from_peer, depth
FROM requests WHERE seq > :after AND asked_at >= :since ORDER BY seq LIMIT :limit
"""
"""The next requests."""

PEERS: Final = "SELECT peer_id, name, mode, state, audience, created_at FROM peers ORDER BY created_at, peer_id"

_OF_PAGE: Final = "(SELECT request_id FROM requests WHERE seq >= :first AND seq <= :last AND asked_at >= :since)"
"""The requests of one page: ``first`` and ``last`` are sequence numbers, ``since`` a moment."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A table whose rows belong to requests."""

    name: str
    question: str
    """Of the requests of a page; with ``paged`` at most ``limit`` rows whose ``seq`` is after ``after``."""
    paged: bool = False


def _rows(name: str, columns: str, owner: str, order: str) -> Exported:
    return Exported(
        name, " ".join(("SELECT", columns, "FROM", name, "WHERE", owner, "IN", _OF_PAGE, "ORDER BY", order))
    )


def _facts(name: str, columns: str, owner: str) -> Exported:
    after = "AND seq > :after ORDER BY seq LIMIT :limit"
    asked = " ".join(("SELECT seq,", columns, "FROM", name, "WHERE", owner, "IN", _OF_PAGE, after))
    return Exported(name, asked, paged=True)


TABLES: Final = (
    _rows(
        "revisions",
        "request_id, revision, receiver, assignment, assessment, work, due_at, created_at, stored_at",
        "request_id",
        "request_id, revision",
    ),
    _rows("turns", "turn_id, request_id, revision, state, position, attempts", "request_id", "request_id, revision"),
    _rows("snoozes", "request_id, until, who", "request_id", "request_id"),
    _rows(
        "returns",
        "return_id, subject_id, revision, kind, replaces, app, parts, created_at",
        "subject_id",
        "seq",
    ),
    _rows(
        "parts",
        "return_id, position, subject_id, state, error, verification, needs_configuration, attempts, "
        "first_attempt_at, last_attempt_at, delivered_at, placement",
        "subject_id",
        "return_seq, position",
    ),
    _rows(
        "answers",
        "subject_id, return_id, revision, status, error, verification, parts, delivered_parts, attempts, "
        "delivered_at, needs_operator",
        "subject_id",
        "subject_id",
    ),
    _facts(
        "operator_commands",
        "command_id, request_id, kind, who, return_id, outcome, due_at, created_at, done_at",
        "request_id",
    ),
    _facts("facts", "request_id, revision, at, fact, detail", "request_id"),
    _facts("return_facts", "subject_id, return_id, position, at, fact, detail", "subject_id"),
)
