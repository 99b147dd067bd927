"""Much that is over: questions that were asked, answered and proved, written straight into the tables.

Portable SQL, and quick: a hundred thousand in a few seconds. Each question has its event with three keys, a turn, a
request with its texts, a return of one delivered part with its locator, and the facts of both rooms.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Boolean, Column, Connection, Table, create_engine

from manager.ids import RequestId
from manager.ledger import tables as mind
from returns.decisions.bodies import to_json
from returns.decisions.document import Document, Text
from returns.ids import Millis
from returns.ledger import tables as way_back

CHATS: Final = 500
DAY_MS: Final = 86_400_000
ASKED: Final = 1_600_000_000_000
"""When the first was asked; the others follow by a second each."""

PEER: Final = "p_history"
BRIEF: Final = (
    '{"purpose": "where is it?", "messages": [], "constraints": [], "rejected": [], "evidence": [], "questions": [], '
    '"owed": [], "omissions": []}'
)
DOCUMENT: Final[Document] = ((Text("It is in returns/delivery.py:42@1a2b3c4, as a table."),),)

_I = "(1000000000 + i)"
_AT = f"({ASKED} + i * 1000)"
_CHAT = f"(1000 + i - {CHATS} * (i / {CHATS}))"
_REQUEST, _RETURN, _PART = f"'r_h' || {_I}", f"'ret_h' || {_I}", f"'p_h' || {_I}"
_CONVERSATION = f"'c_h' || {_CHAT}"
_KEY = f"'chat_h' || {_CHAT}"

Values = Mapping[str, str]


def _questions(first_event: str) -> list[tuple[Table, Values]]:
    """The rows of each question, as expressions of its number ``i``."""
    event = f"({first_event} + i)"
    keys = [
        (
            mind.event_keys,
            {"app": "'default'", "key": f"'{kind}:h' || {_I}", "seq": event, "body_digest": "'d'", "at": _AT},
        )
        for kind in ("event", "message", "content")
    ]
    facts = [
        (mind.facts, {"request_id": _REQUEST, "revision": "1", "at": _AT, "fact": f"'{fact}'", "detail": "'{}'"})
        for fact in ("received", "turn_started", "investigated", "resolved")
    ]
    return_facts = [
        (
            way_back.return_facts,
            {
                "subject_id": _REQUEST,
                "return_id": _RETURN,
                "position": "0",
                "at": _AT,
                "fact": f"'{fact}'",
                "detail": "'{}'",
            },
        )
        for fact in ("return_queued", "attempt", "accepted", "located", "delivered")
    ]
    messages = [
        (
            mind.messages,
            {
                "conversation_id": _CONVERSATION,
                "request_id": _REQUEST,
                "author": f"'{author}'",
                "text": "'where is the transition table of delivery?'",
                "at": _AT,
            },
        )
        for author in ("asker", "steward")
    ]
    return [
        (
            mind.events,
            {
                "seq": event,
                "app": "'default'",
                "event_id": f"'ev_h' || {_I}",
                "event_type": "'im.message.receive_v1'",
                "state": "'accepted'",
                "created_at": _AT,
                "received_at": _AT,
                "request_id": _REQUEST,
                "body_digest": "'d'",
            },
        ),
        *keys,
        (
            mind.requests,
            {
                "request_id": _REQUEST,
                "conversation_id": _CONVERSATION,
                "app": "'default'",
                "private": "false",
                "audience": "'shared'",
                "revision": "1",
                "asked_at": _AT,
                "language": "'en'",
                "texts": "1",
                "unanswered": "NULL",
            },
        ),
        (
            mind.revisions,
            {
                "request_id": _REQUEST,
                "revision": "1",
                "receiver": f"CASE WHEN i = 2 * (i / 2) THEN '{PEER}' END",
                "assignment": "CASE WHEN i = 2 * (i / 2) THEN 'presented' ELSE 'unassigned' END",
                "assessment": "CASE WHEN i = 2 * (i / 2) THEN 'accepted' ELSE 'pending' END",
                "work": "'resolved'",
                "created_at": _AT,
                "stored_at": f"CASE WHEN i = 2 * (i / 2) THEN {_AT} END",
            },
        ),
        (
            mind.revision_bodies,
            {"request_id": _REQUEST, "revision": "1", "question": "'where is it?'", "brief": f"'{BRIEF}'"},
        ),
        (
            mind.question_routes,
            {
                "request_id": _REQUEST,
                "revision": "1",
                "app": "'default'",
                "chat_id": f"'oc_h' || {_CHAT}",
                "message_id": f"'om_q' || {_I}",
                "sender_open_id": "'ou_anna'",
                "content_digest": "'d'",
            },
        ),
        (
            mind.turns,
            {
                "turn_id": f"'u_h' || {_I}",
                "conversation_id": _CONVERSATION,
                "request_id": _REQUEST,
                "revision": "1",
                "state": "'done'",
                "position": _AT,
                "event_seq": event,
                "attempts": "1",
                "due_at": _AT,
                "fence": "1",
                "receipt": "'done'",
            },
        ),
        *messages,
        *facts,
        (
            way_back.returns,
            {
                "return_id": _RETURN,
                "subject_id": _REQUEST,
                "revision": "1",
                "kind": "'answer'",
                "app": "'default'",
                "chat_key": _KEY,
                "parts": "1",
                "created_at": _AT,
            },
        ),
        (
            way_back.return_routes,
            {"return_id": _RETURN, "chat_id": f"'oc_h' || {_CHAT}", "reply_to": f"'om_q' || {_I}"},
        ),
        (
            way_back.parts,
            {
                "part_id": _PART,
                "return_id": _RETURN,
                "return_seq": "i",
                "position": "0",
                "subject_id": _REQUEST,
                "app": "'default'",
                "chat_key": _KEY,
                "state": "'delivered'",
                "verification": "'direct'",
                "due_at": _AT,
                "attempts": "1",
                "first_attempt_at": _AT,
                "last_attempt_at": _AT,
                "fence": "2",
                "idempotency_key": f"'ls-h' || {_I}",
                "route_digest": "'d'",
                "body_digest": "'d'",
                "fingerprint": f"'f' || {_I}",
                "delivered_at": _AT,
                "updated_at": _AT,
            },
        ),
        (way_back.part_bodies, {"part_id": _PART, "document": f"'{to_json(DOCUMENT)}'"}),
        (
            way_back.part_locators,
            {
                "part_id": _PART,
                "app": "'default'",
                "message_id": f"'om_a' || {_I}",
                "chat_id": f"'oc_h' || {_CHAT}",
                "source": "'direct'",
                "at": _AT,
            },
        ),
        (
            way_back.answers,
            {
                "subject_id": _REQUEST,
                "return_id": _RETURN,
                "revision": "1",
                "status": "'delivered'",
                "verification": "'direct'",
                "parts": "1",
                "delivered_parts": "1",
                "attempts": "1",
                "delivered_at": _AT,
                "needs_operator": "false",
                "updated_at": _AT,
                "place": "".join(("(SELECT seq FROM requests WHERE request_id = ", _REQUEST, ")")),
            },
        ),
        *return_facts,
    ]


_PLACES: Final[list[tuple[Table, Values]]] = [
    (
        mind.chats,
        {
            "chat_ref": f"'c_h' || {_CHAT}",
            "app": "'default'",
            "chat_id": f"'oc_h' || {_CHAT}",
            "private": "false",
            "external": "false",
            "state": "'active'",
            "created_at": str(ASKED),
        },
    ),
    (
        mind.conversations,
        {
            "conversation_id": _CONVERSATION,
            "chat_ref": f"'c_h' || {_CHAT}",
            "thread_id": "''",
            "answered_at": str(ASKED),
            "created_at": str(ASKED),
        },
    ),
    (
        mind.grants,
        {
            "grant_id": f"'g_h' || {_CHAT}",
            "principal": "'steward:default'",
            "resource": _CONVERSATION,
            "effect": "'converse'",
            "audience": "'shared'",
            "granted_by": "'policy'",
            "created_at": str(ASKED),
        },
    ),
]
_PEER: Final[list[tuple[Table, Values]]] = [
    (
        mind.peers,
        {
            "peer_id": f"'{PEER}'",
            "name": "'historian'",
            "folded_name": "'historian'",
            "mode": "'attached_host'",
            "state": "'active'",
            "audience": "'shared'",
            "presence": "'unknown'",
            "token_digest": "'none'",
            "created_at": str(ASKED),
        },
    )
]


def fill(connection: Connection, count: int) -> None:
    """Write ``count`` answered questions into empty tables."""
    for table, values in _PEER:
        _write(connection, table, values, 1)
    for table, values in _PLACES:
        _write(connection, table, values, CHATS)
    for table, values in _questions("0"):
        _write(connection, table, values, count)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT setval(pg_get_serial_sequence('events', 'seq'), max(seq)) FROM events")


def request(number: int) -> RequestId:
    """The id of a question, counted from 1."""
    return RequestId(f"r_h{1000000000 + number}")


def last_asked(count: int) -> Millis:
    """When the last of ``count`` questions was asked."""
    return Millis(ASKED + count * 1000)


def filled(path: Path, count: int) -> None:
    """Write ``count`` answered questions into a migrated SQLite file, without waiting for the disk."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        for setting in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-400000", "locking_mode=EXCLUSIVE"):
            connection.exec_driver_sql(f"PRAGMA {setting}")
        fill(connection, count)
        connection.commit()
    engine.dispose()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode=WAL")


def _write(connection: Connection, table: Table, values: Values, count: int) -> None:
    given = {**{column.name: _default(column) for column in table.columns if _must_be_given(column)}, **values}
    names, expressions = ", ".join(given), ", ".join(given.values())
    into = f"INSERT INTO {table.name} ({names})"
    numbers = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <", str(count), ")")
    connection.exec_driver_sql(" ".join((into, *numbers, "SELECT", expressions, "FROM n")))


def _must_be_given(column: Column) -> bool:
    return not column.nullable and column.default is not None


def _default(column: Column) -> str:
    value = column.default.arg
    if isinstance(column.type, Boolean):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f"'{value}'"
