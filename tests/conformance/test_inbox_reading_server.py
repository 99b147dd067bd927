"""The inbox's questions on PostgreSQL: by the driver alone and by the port, the same JSON as from an SQLite file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Connection

from gateway.inbox.asking import asking
from gateway.inbox.file_reading import NoInbox
from gateway.inbox.file_reading import reading as reading_file
from gateway.inbox.reading import EVENT_STATES, STATUSES, Ask, Listing, list_events, list_requests, show_request
from gateway.inbox.server_reading import InboxUnavailable
from gateway.inbox.server_reading import reading as reading_server
from gateway.settings_database import PostgresServer
from manager.decisions.inbound import Envelope
from manager.ledger import events
from manager.ledger.facts import record
from providers.storage.schema import create_all
from providers.storage.sync import open_database
from returns.delivery import Error, State, Verification
from returns.ids import AppName, Millis
from tests.support import postgresql
from tests.support.inbox import ASKED, answer, ask, set_axes

ROOT = Path(__file__).parents[2]
WRONG = "wrong-passw0rd"


@pytest.fixture
def url(postgresql_server: postgresql.Server) -> Iterator[str]:
    with postgresql_server.migrated() as found:
        yield found


def fill(connection: Connection) -> None:
    """Requests in many situations, and events that were set aside."""
    for number in range(6):
        ask(connection, number, question=f"Where is 解析器 {number} % :limit?", private=number == 5)
    answer(connection, "r_0", State.DELIVERED, verification=Verification.RECONCILED)
    set_axes(connection, "r_0", work="resolved")
    answer(connection, "r_1", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND)
    answer(connection, "r_2", State.UNDELIVERABLE, Error.CONTENT_REFUSED)
    answer(connection, "r_3", State.QUEUED)
    record(connection, "r_0", 1, ASKED, "progress", {"text": "进展 :request", "characters": 3, "late": False})
    for number, state in enumerate(EVENT_STATES):
        envelope = Envelope(AppName("default"), f"ev_{number}", "im.message.receive_v1", "t", ASKED, "d" * 64)
        events.store(connection, envelope, events.EventState(state), "event.message", Millis(ASKED + number))


def all_of_it(ask_it: Ask) -> str:
    """Everything that the inbox can say."""
    said: list[object] = []
    for status in ("", *STATUSES):
        for children in (False, True):
            page = list_requests(ask_it, Listing(status, children), None, 2)
            said.append([page.items, page.next_position])
            if page.next_position is not None:
                said.append(list_requests(ask_it, Listing(status, children), page.next_position, 2).items)
    said.append(list_requests(ask_it, Listing(needs_operator_at=ASKED), None, 10).items)
    said += [show_request(ask_it, f"r_{number}") for number in range(7)]
    said += [list_events(ask_it, state, None, 1).items for state in EVENT_STATES]
    return json.dumps(said, ensure_ascii=False, indent=1)


def test_three_ways_say_the_same(tmp_path: Path, url: str) -> None:
    file = tmp_path / "steward.db"
    create_all(file)
    for address in (url, f"sqlite:///{file}"):
        with open_database(address) as transactions:
            transactions.run(fill)
    with reading_file(file) as ask_it:
        by_file = all_of_it(ask_it)
    with reading_server(PostgresServer(url)) as ask_it:
        by_driver = all_of_it(ask_it)
    with open_database(url) as transactions:
        by_port = transactions.read(lambda connection: all_of_it(asking(connection)))
    assert by_driver == by_port == by_file
    assert "解析器" in by_file


def test_it_cannot_write(url: str) -> None:
    with (
        pytest.raises(InboxUnavailable),
        reading_server(PostgresServer(url)) as ask_it,
    ):
        ask_it("DELETE FROM facts", {})


def test_it_sees_one_state(url: str) -> None:
    with open_database(url) as transactions, reading_server(PostgresServer(url)) as ask_it:
        assert list_requests(ask_it, Listing(), None, 20).items == []
        transactions.run(fill)
        assert list_requests(ask_it, Listing(), None, 20).items == []


def broken(url: str) -> dict[str, PostgresServer]:
    port = int(url.rpartition(":")[2].partition("/")[0])
    return {
        "password": PostgresServer(url.replace(postgresql.PASSWORD, WRONG)),
        "no such database": PostgresServer(f"{url}_missing"),
        "cannot be reached": PostgresServer(url.replace(f":{port}/", ":1/")),
    }


@pytest.mark.parametrize("why", ["password", "no such database", "cannot be reached"])
def test_what_is_wrong_is_said_without_what_is_secret(url: str, why: str) -> None:
    server = broken(url)[why]
    with pytest.raises(InboxUnavailable, match=why) as caught, reading_server(server):
        raise AssertionError("it was read")
    said = str(caught.value)
    assert caught.value.code == "unavailable"
    assert WRONG not in said
    assert postgresql.PASSWORD not in said


def test_a_database_without_tables(postgresql_server: postgresql.Server) -> None:
    with (
        postgresql_server.empty() as url,
        pytest.raises(NoInbox, match="start `lark-steward serve` once") as caught,
        reading_server(PostgresServer(url)) as ask_it,
    ):
        list_requests(ask_it, Listing(), None, 20)
    assert caught.value.code == "no_database"


def test_a_role_that_may_only_read_is_enough(postgresql_server: postgresql.Server, url: str) -> None:
    with open_database(url) as transactions:
        transactions.run(fill)
    name = url.rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'reading-only'")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        try:
            server = PostgresServer(postgresql_server.url(name, user="reader", password="reading-only"))
            with reading_server(server) as ask_it:
                assert len(list_requests(ask_it, Listing(), None, 20).items) == 6
        finally:
            connection.execute(sql.SQL("DROP OWNED BY reader"))
            connection.execute("DROP ROLE reader")


def command(url: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = (
        "import sys\n"
        "from gateway.cli.main import inbox_main\n"
        "try:\n    inbox_main()\nfinally:\n"
        "    heavy = {'sqlalchemy', 'alembic', 'pydantic', 'aiohttp', 'httpx'}\n"
        "    print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "LARK_STEWARD__GATEWAY__DATABASE_URL": url,
    }
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=folder,
    )


def test_the_command_imports_nothing_heavy(tmp_path: Path, url: str) -> None:
    with open_database(url) as transactions:
        transactions.run(fill)
    ran = command(url, tmp_path, "list", "--json")
    assert (ran.returncode, ran.stderr) == (0, "[]\n")
    assert [item["request_id"] for item in json.loads(ran.stdout)["items"]] == [f"r_{n}" for n in range(5, -1, -1)]


def test_the_command_says_what_is_wrong(tmp_path: Path, url: str) -> None:
    ran = command(broken(url)["password"].url, tmp_path, "show", "r_0", "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["error"]["code"] == "unavailable"
    assert "check database_url" in ran.stderr
    assert WRONG not in ran.stdout + ran.stderr
