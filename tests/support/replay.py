"""Folding the facts gives the tables: to be asked after any scenario."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from enum import Enum

from sqlalchemy import Connection, select

from manager.decisions import replay as request_replay
from manager.ledger.tables import facts, peers, requests, revisions
from returns.decisions import replay
from returns.ids import Millis, ReturnId, SubjectId
from returns.ledger.tables import answers, parts, return_facts, returns

PART_COLUMNS = (
    "state",
    "error",
    "verification",
    "attempts",
    "needs_configuration",
    "delivered_at",
    "placement",
    "first_attempt_at",
    "last_attempt_at",
)
ANSWER_COLUMNS = (
    "return_id",
    "revision",
    "status",
    "error",
    "verification",
    "parts",
    "delivered_parts",
    "attempts",
    "delivered_at",
    "needs_operator",
)
AXES = ("receiver", "assignment", "assessment", "work", "created_at", "stored_at")


def check_replay(connection: Connection) -> None:
    """Fold every fact of the database, of both rooms, and compare with the tables. Fails by ``AssertionError``."""
    check_returns(connection)
    check_requests(connection)


def check_returns(connection: Connection) -> None:
    """The way back's facts alone."""
    folded = replay.fold(return_facts_of(connection))
    assert parts_of(folded) == {
        (row.return_id, row.position): {name: getattr(row, name) for name in PART_COLUMNS}
        for row in connection.execute(select(parts))
    }
    assert {key: (seen.revision, seen.kind, seen.parts, seen.replaces) for key, seen in folded.returns.items()} == {
        row.return_id: (row.revision, row.kind, row.parts, row.replaces) for row in connection.execute(select(returns))
    }
    assert answers_of(folded) == {
        row.subject_id: {name: getattr(row, name) for name in ANSWER_COLUMNS}
        for row in connection.execute(select(answers))
    }


def check_requests(connection: Connection) -> None:
    """The steward's facts alone: the axes of every revision."""
    folded = request_replay.fold(request_facts_of(connection))
    names = {row.peer_id: row.name for row in connection.execute(select(peers))}
    for row in connection.execute(select(revisions)):
        seen = folded.revisions.pop((row.request_id, row.revision))
        told = {name: value.value if isinstance(value, Enum) else value for name, value in asdict(seen).items()}
        stands = {name: getattr(row, name) for name in AXES}
        stands["receiver"] = names.get(row.receiver, told["receiver"])
        assert {name: told[name] for name in AXES} == stands, (row.request_id, row.revision)
    assert not folded.revisions
    assert folded.standing == {row.request_id: row.revision for row in connection.execute(select(requests))}


def return_facts_of(connection: Connection) -> Iterable[replay.Recorded]:
    """The way back's facts in order."""
    for row in connection.execute(select(return_facts).order_by(return_facts.c.seq)):
        yield replay.Recorded(
            SubjectId(row.subject_id),
            ReturnId(row.return_id),
            row.position,
            Millis(row.at),
            row.fact,
            json.loads(row.detail),
        )


def request_facts_of(connection: Connection) -> Iterable[request_replay.Recorded]:
    """The steward's facts in order."""
    for row in connection.execute(select(facts).order_by(facts.c.seq)):
        yield request_replay.Recorded(row.request_id, row.revision, Millis(row.at), row.fact, json.loads(row.detail))


def parts_of(folded: replay.Replayed) -> dict[tuple[str, int], dict[str, object]]:
    """The folded parts as rows."""
    return {
        key: {
            **_plain(asdict(seen.standing)),
            "placement": seen.placement,
            "first_attempt_at": seen.first_attempt_at,
            "last_attempt_at": seen.last_attempt_at,
        }
        for key, seen in folded.parts.items()
    }


def answers_of(folded: replay.Replayed) -> dict[str, dict[str, object]]:
    """The folded answers as rows."""
    return {
        subject: {"return_id": seen.return_id, "revision": seen.revision, **_plain(asdict(seen.summary))}
        for subject, seen in folded.answers().items()
    }


def _plain(values: dict[str, object]) -> dict[str, object]:
    return {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}


def check_export(lines: Iterable[str]) -> None:
    """Load an exported file: the fold of its facts is what its tables say. Fails by ``AssertionError``."""
    head, *rows, end = (json.loads(line) for line in lines)
    assert (head["format"], head["version"]) == ("lark-steward-export", 1)
    tables: dict[str, list[dict[str, object]]] = {}
    for line in rows:
        tables.setdefault(line["table"], []).append(line["row"])
    assert end == {"end": True, "rows": {name: len(found) for name, found in tables.items()}}
    folded = replay.fold(
        replay.Recorded(
            SubjectId(row["subject_id"]),
            ReturnId(row["return_id"]),
            row["position"],
            Millis(row["at"]),
            row["fact"],
            row["detail"],
        )
        for row in tables.get("return_facts", [])
    )
    assert parts_of(folded) == {
        (row["return_id"], row["position"]): {name: row[name] for name in PART_COLUMNS}
        for row in tables.get("parts", [])
    }
    assert answers_of(folded) == {
        row["subject_id"]: {name: row[name] for name in ANSWER_COLUMNS} for row in tables.get("answers", [])
    }
    axes = request_replay.fold(
        request_replay.Recorded(row["request_id"], row["revision"], row["at"], row["fact"], row["detail"])
        for row in tables.get("facts", [])
    )
    assert {
        key: (seen.assignment.value, seen.assessment.value, seen.work.value) for key, seen in axes.revisions.items()
    } == {
        (row["request_id"], row["revision"]): (row["assignment"], row["assessment"], row["work"])
        for row in tables.get("revisions", [])
    }
