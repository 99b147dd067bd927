"""The inbox's questions on a real database: asked by the standard library and by the transaction port alike."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import Connection, insert, select

from gateway.inbox import questions
from gateway.inbox.asking import asking
from gateway.inbox.file_reading import NoInbox, reading
from gateway.inbox.reading import (
    STATUSES,
    Ask,
    Listing,
    get_item,
    list_events,
    list_requests,
    show_request,
)
from manager.decisions.inbound import Envelope
from manager.ledger import events, tables
from manager.ledger.facts import record
from providers.storage.connections import reading_engine
from providers.storage.sync import open_sqlite
from returns.delivery import Error, State, Verification
from returns.ids import AppName, Millis, ReturnId, SubjectId
from returns.ledger.facts import Fact
from returns.ledger.facts import record as record_return
from tests.support.inbox import ASKED, PRIVATE_THINGS, answer, ask, filled, set_axes


@contextmanager
def by_library(path: Path) -> Iterator[Ask]:
    with reading(path) as ask:
        yield ask


@contextmanager
def by_port(path: Path) -> Iterator[Ask]:
    with reading_engine(path).connect() as connection, connection.begin():
        yield asking(connection)


Way: TypeAlias = Callable[[Path], AbstractContextManager[Ask]]
WAYS = pytest.mark.parametrize("way", [by_library, by_port])


def write(path: Path, work: Callable[[Connection], object]) -> object:
    with open_sqlite(path) as transactions:
        return transactions.run(work)


@WAYS
def test_an_item_is_exactly_as_documented(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 1)
    write(path, lambda c: answer(c, "r_0", State.DELIVERED, verification=Verification.RECONCILED))
    write(path, lambda c: set_axes(c, "r_0", work="resolved"))
    with way(path) as ask_it:
        (item,) = list_requests(ask_it, Listing(), None, 20).items
    assert {key: item[key] for key in list(item)[:11]} == {
        "request_id": "r_0",
        "conversation": "c_1",
        "question": "Where is the parser?",
        "asked_at": "2025-10-09T08:53:20.000Z",
        "receiver": None,
        "assignment": "unassigned",
        "assessment": "pending",
        "work": "resolved",
        "delivery": {
            "status": "delivered",
            "error": None,
            "verification": "reconciled",
            "parts": 1,
            "delivered_parts": 1,
            "attempts": 1,
            "delivered_at": "2025-10-09T08:53:30.500Z",
        },
        "needs_operator": False,
        "next": "Nothing: the answer was read back and is proved.",
    }
    assert item["needs_operator"] is False
    json.dumps(item)


@WAYS
def test_without_an_answer_the_delivery_is_absent(tmp_path: Path, way: Way) -> None:
    with way(filled(tmp_path, 1)) as ask_it:
        (item,) = list_requests(ask_it, Listing(), None, 20).items
    assert item["delivery"] == {
        "status": "absent",
        "error": None,
        "verification": None,
        "parts": 0,
        "delivered_parts": 0,
        "attempts": 0,
        "delivered_at": None,
    }
    assert item["next"] == "It waits for the asker's answer, or for what it was put off for."


@WAYS
def test_the_receiver_is_told_by_name(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 1)

    def work(connection: Connection) -> None:
        connection.execute(
            insert(tables.peers).values(
                peer_id="p_1",
                name="Kim",
                folded_name="kim",
                mode="attached_host",
                state="active",
                audience="shared",
                presence="unknown",
                token_digest="x",
                created_at=0,
            )
        )
        set_axes(connection, "r_0", receiver="p_1", assignment="stored")

    write(path, work)
    with way(path) as ask_it:
        (item,) = list_requests(ask_it, Listing(), None, 20).items
    assert (item["receiver"], item["next"]) == ("Kim", "It waits for Kim to take it up.")


@WAYS
def test_newest_first_by_pages_without_gap_or_repeat(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 7)
    seen: list[object] = []
    position: str | None = None
    sizes: list[int] = []
    with way(path) as ask_it:
        while True:
            page = list_requests(ask_it, Listing(), position, 3)
            seen += [item["request_id"] for item in page.items]
            sizes.append(len(page.items))
            position = page.next_position
            if position is None:
                break
    assert seen == [f"r_{number}" for number in range(6, -1, -1)]
    assert sizes == [3, 3, 1]


@WAYS
def test_a_full_last_page_has_no_next(tmp_path: Path, way: Way) -> None:
    with way(filled(tmp_path, 3)) as ask_it:
        assert list_requests(ask_it, Listing(), None, 3).next_position is None


ENDS = {
    State.QUEUED: None,
    State.SENDING: None,
    State.RETRY_PENDING: Error.PROVIDER_OFFLINE,
    State.VERIFICATION_REQUIRED: Error.PROVIDER_LOCATOR_UNAVAILABLE,
    State.DELIVERED: None,
    State.EXPLICIT_UNVERIFIED: Error.NO_MATCH_FOUND,
    State.UNDELIVERABLE: Error.CONTENT_REFUSED,
    State.SUPERSEDED: None,
}


@WAYS
def test_every_status_finds_its_own_and_only_those(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 2 * len(ENDS) + 2)

    def work(connection: Connection) -> None:
        for number, (state, error) in enumerate([*ENDS.items()] * 2):
            answer(connection, f"r_{number}", state, error)

    write(path, work)
    with way(path) as ask_it:
        for status in STATUSES:
            first = list_requests(ask_it, Listing(status), None, 1)
            second = list_requests(ask_it, Listing(status), first.next_position, 5)
            found = [*first.items, *second.items]
            assert len(found) == 2
            assert {item["delivery"]["status"] for item in found} == {status}
            assert [item["needs_operator"] for item in found] == [
                status in {"explicit_unverified", "undeliverable"}
            ] * 2


@WAYS
def test_what_was_cancelled_needs_nobody(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 1)
    write(path, lambda c: answer(c, "r_0", State.UNDELIVERABLE, Error.ORIGINAL_ROUTE_UNAVAILABLE))
    with way(path) as ask_it:
        assert list_requests(ask_it, Listing(), None, 9).items[0]["needs_operator"] is True
    write(path, lambda c: set_axes(c, "r_0", work="cancelled"))
    with way(path) as ask_it:
        (item,) = list_requests(ask_it, Listing(), None, 9).items
    assert (item["needs_operator"], item["next"]) == (False, "Nothing: it was cancelled.")


@WAYS
def test_a_new_revision_shows_its_own_delivery(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 1)
    write(path, lambda c: answer(c, "r_0", State.DELIVERED))

    def correct(connection: Connection) -> None:
        row = dict(connection.execute(select(tables.revisions)).mappings().one())
        body = dict(connection.execute(select(tables.revision_bodies)).mappings().one())
        connection.execute(insert(tables.revisions).values(**{**row, "revision": 2}))
        connection.execute(insert(tables.revision_bodies).values(**{**body, "revision": 2, "question": "And now?"}))
        connection.execute(tables.requests.update().values(revision=2, unanswered=1))

    write(path, correct)
    with way(path) as ask_it:
        (item,) = list_requests(ask_it, Listing(), None, 20).items
        assert (item["question"], item["delivery"]["status"], item["revision"]) == ("And now?", "absent", 2)
        assert list_requests(ask_it, Listing("delivered"), None, 20).items == []
        assert len(list_requests(ask_it, Listing("absent"), None, 20).items) == 1


@WAYS
def test_children_only_when_asked_for_and_the_lineage(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 3)

    def adopt(connection: Connection) -> None:
        for child, parent in (("r_1", "r_0"), ("r_2", "r_1")):
            connection.execute(
                tables.requests.update().where(tables.requests.c.request_id == child).values(parent_id=parent)
            )

    write(path, adopt)
    with way(path) as ask_it:
        assert [item["request_id"] for item in list_requests(ask_it, Listing(), None, 9).items] == ["r_0"]
        assert len(list_requests(ask_it, Listing(children=True), None, 9).items) == 3
        middle = show_request(ask_it, "r_1")
        last = show_request(ask_it, "r_2")
    assert middle is not None
    assert last is not None
    assert middle["lineage"] == {"parent": "r_0", "ancestors": ["r_0"], "children": ["r_2"], "depth": 0}
    assert last["lineage"]["ancestors"] == ["r_0", "r_1"]


@WAYS
def test_the_timeline_has_every_fact_in_order(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 1)

    def work(connection: Connection) -> None:
        request = ask(connection, 9)
        for at, name in ((100, "decided"), (300, "resolved")):
            record(connection, request, 1, Millis(ASKED + at), name, {"by": "steward"})
        return_id = ReturnId("ret_1")
        for at, name, position in ((200, Fact.ATTEMPT, 0), (300, Fact.RETURN_QUEUED, None), (250, Fact.DELIVERED, 1)):
            record_return(
                connection, SubjectId(request), return_id, position, Millis(ASKED + at), name, {"replaces": "x"}
            )

    write(path, work)
    with way(path) as ask_it:
        shown = show_request(ask_it, "r_9")
    assert shown is not None
    timeline = shown["timeline"]
    assert [fact["fact"] for fact in timeline] == [
        "received",
        "decided",
        "attempt",
        "resolved",
        "return_queued",
        "delivered",  # behind what its own room recorded before it, whatever the clock said
    ]
    assert timeline[1] == {
        "at": "2025-10-09T08:53:20.100Z",
        "fact": "decided",
        "detail": {"by": "steward", "revision": 1},
    }
    assert timeline[2]["detail"] == {"replaces": "x", "return": "ret_1", "part": 1}
    assert "part" not in timeline[4]["detail"]


@WAYS
def test_nothing_private_comes_out(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 1)
    write(path, lambda c: ask(c, 5, question="private question", private=True))
    write(path, lambda c: answer(c, "r_5", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
    with way(path) as ask_it:
        said = json.dumps([list_requests(ask_it, Listing(), None, 9).items, show_request(ask_it, "r_5")])
        item = get_item(ask_it, "r_5")
        rows = json.dumps(ask_it(questions.ONE, {"request": "r_5"}))
    assert item is not None
    assert item["question"] == "(private)"
    assert not [thing for thing in PRIVATE_THINGS if thing in said + rows]


@WAYS
def test_a_long_question_is_cut_by_characters(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 0)
    write(path, lambda c: ask(c, 1, question="问😀" * 300))
    with way(path) as ask_it:
        (item,) = list_requests(ask_it, Listing(), None, 9).items
    assert item["question"] == "问😀" * 100


@WAYS
def test_no_such_request(tmp_path: Path, way: Way) -> None:
    with way(filled(tmp_path, 1)) as ask_it:
        assert show_request(ask_it, "r_999") is None
        assert get_item(ask_it, "' OR 1=1 --") is None


@WAYS
def test_events_that_were_set_aside(tmp_path: Path, way: Way) -> None:
    path = filled(tmp_path, 0)

    def work(connection: Connection) -> None:
        for number in range(3):
            envelope = Envelope(AppName("default"), f"secret-{number}", "im.x_v1", None, Millis(ASKED), "d" * 64)
            events.store(connection, envelope, events.EventState.PARKED, "no message_id", Millis(ASKED + number))

    write(path, work)
    with way(path) as ask_it:
        page = list_events(ask_it, "parked", None, 2)
        rest = list_events(ask_it, "parked", page.next_position, 2)
        assert list_events(ask_it, "alarm", None, 2).items == []
    assert [event["received_at"][-4:-1] for event in [*page.items, *rest.items]] == ["002", "001", "000"]
    assert page.items[0] == {
        "event": 3,
        "app": "default",
        "type": "im.x_v1",
        "state": "parked",
        "reason": "no message_id",
        "created_at": "2025-10-09T08:53:20.000Z",
        "received_at": "2025-10-09T08:53:20.002Z",
        "request_id": None,
    }


def plan(path: Path, question: str, parameters: Mapping[str, object]) -> str:
    connection = sqlite3.connect(path)
    rows: Sequence[tuple[object, ...]] = connection.execute(f"EXPLAIN QUERY PLAN {question}", parameters).fetchall()
    connection.close()
    return "\n".join(str(row[3]) for row in rows)


@pytest.mark.parametrize("question", [questions.NEWEST, questions.ABSENT, questions.BY_STATUS])
def test_the_cost_of_a_page_does_not_follow_what_is_stored(tmp_path: Path, question: str) -> None:
    steps = plan(filled(tmp_path, 1), question, {"before": 9, "children": 0, "limit": 2, "status": "delivered"})
    scans = [line for line in steps.splitlines() if line.startswith("SCAN ")]
    of_page = {"SCAN picked", "SCAN asked", "SCAN of_peers", "SCAN together", "SCAN a", "SCAN CONSTANT ROW"}
    of_page.add("SCAN earlier")  # the notices that one unproved notice replaced, one after the other
    assert not [line for line in scans if line not in of_page], steps
    used = {
        questions.NEWEST: "SEARCH r USING INTEGER PRIMARY KEY (rowid<?)",
        questions.ABSENT: "SEARCH r USING COVERING INDEX requests_unanswered (unanswered=? AND seq<?)",
        questions.BY_STATUS: "SEARCH a USING INDEX answers_by_status (status=? AND place<?)",
    }
    assert used[question] in steps, steps


KILLED = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint=0")
connection.execute("UPDATE requests SET late = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE requests SET late = 0")
print("written", flush=True)
sys.stdin.readline()
"""


def test_a_database_is_read_after_its_writer_was_killed(tmp_path: Path) -> None:
    path = filled(tmp_path, 2)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with reading(path) as ask_it:
        assert [item["late"] for item in list_requests(ask_it, Listing(), None, 9).items] == [True, True]


def test_a_database_is_read_while_another_process_writes(tmp_path: Path) -> None:
    path = filled(tmp_path, 2)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE requests SET late = 1")
    with reading(path) as ask_it:
        assert [item["late"] for item in list_requests(ask_it, Listing(), None, 9).items] == [False, False]
    writer.execute("ROLLBACK")
    writer.close()


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoInbox, match=r"no database at .* yet"), reading(tmp_path / "steward.db"):
        pass
    (tmp_path / "other.db").write_bytes(b"no database" * 1000)
    with pytest.raises(NoInbox, match="cannot be read"), reading(tmp_path / "other.db") as ask_it:
        list_requests(ask_it, Listing(), None, 1)
    sqlite3.connect(tmp_path / "old.db").execute("CREATE TABLE requests (seq INTEGER)").connection.close()
    with pytest.raises(NoInbox, match="another version"), reading(tmp_path / "old.db") as ask_it:
        list_requests(ask_it, Listing(), None, 1)


def test_reading_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(NoInbox, match="readonly"), reading(filled(tmp_path, 1)) as ask_it:
        ask_it("DELETE FROM requests", {})
