"""A gateway at work when the world around it fails, and when it is told to stop: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import signal
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from providers.lark_double.model import Message
from tests.support.disk import small_disk
from tests.support.world import World, world

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

QUESTION = "where is the class Engine defined?"
REPUSH_S = 15
"""When Lark first pushes an event again (https://open.feishu.cn/document/server-docs/event-subscription-guide/overview)."""
TURNS_WITHIN_S = 60


async def ready(here: World) -> tuple[int, dict[str, Any]]:
    async with httpx.AsyncClient(base_url=here.gateway.settings.url, trust_env=False, timeout=10) as http:
        assert (await http.get("/healthz")).status_code == 200, "alive, whatever it depends on"
        answer = await http.get("/readyz")
        return answer.status_code, answer.json()["checks"]


async def ready_until(here: World, look: Callable[[int, dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(TURNS_WITHIN_S):
        while True:
            status, checks = await ready(here)
            if look(status, checks):
                return checks
            await asyncio.sleep(0.2)


def failed(checks: dict[str, Any]) -> set[str]:
    return {name for name, check in checks.items() if check["status"] == "failed"}


async def pushed(here: World, message: Message, attempts: int = 1) -> list[int | None]:
    """The statuses of the first ``attempts`` pushes of a message."""
    (push,) = here.lark.pushes(message_id=message.message_id)
    await here.lark.wait_pushed(push, attempts=attempts, timeout_s=20)
    return [attempt.status for attempt in push.attempts]


def stored_events(here: World) -> int:
    """How many events the database holds."""
    connection = sqlite3.connect(here.gateway.settings.data_dir / "steward.db")
    with closing(connection):
        return connection.execute("SELECT count(*) FROM events").fetchone()[0]


async def test_a_disk_that_fills_up_while_serving(tmp_path: Path) -> None:
    """503 and no row; with room again the same event, pushed again, is answered once."""
    with small_disk(tmp_path / "data", 8_192) as disk:
        async with world(tmp_path) as here:
            first = here.ask(QUESTION)
            await here.settled()
            events = stored_events(here)
            disk.fill()
            second = here.ask(QUESTION)
            assert await pushed(here, second) == [503]
            assert stored_events(here) == events
            checks = await ready_until(here, lambda status, _: status == 503)
            assert "database" in failed(checks)
            disk.make_room()
            await ready_until(here, lambda status, _: status == 200)
            here.lark.advance(REPUSH_S)
            assert await pushed(here, second, 2) == [503, 200]
            items = await here.settled(2)
            assert [item["delivery"]["status"] for item in items] == ["delivered", "delivered"]
            assert [len(here.lark.replies(each)) for each in (first, second)] == [1, 1]
            assert "Traceback" not in here.gateway.output()


async def test_a_disk_that_fills_up_while_an_answer_is_on_its_way(tmp_path: Path) -> None:
    """What Lark said to the send cannot be stored for a while: it is kept, and stored when there is room."""
    with small_disk(tmp_path / "data", 8_192) as disk:
        async with world(tmp_path) as here:
            sending = here.lark.fault("hold_after", "reply", times=1)
            question = here.ask(QUESTION)
            await here.lark.wait_held(sending.fault_id, timeout_s=20)
            disk.fill()
            here.lark.release(sending)
            await ready_until(here, lambda status, checks: status == 503 and "database" in failed(checks))
            disk.make_room()
            (item,) = await here.settled()
            assert item["delivery"]["status"] == "delivered"
            assert len(here.lark.replies(question)) == 1
            assert len(here.lark.sends(here.chat)) == 1


async def test_a_database_that_is_taken_away_and_brought_back(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.ask(QUESTION)
        await here.settled()
        database = here.gateway.settings.data_dir / "steward.db"
        database.rename(database.with_name("elsewhere"))
        second = here.ask(QUESTION)
        assert await pushed(here, second) == [503]
        checks = await ready_until(here, lambda status, _: status == 503)
        assert "database" in failed(checks)
        async with here.gateway.operator() as http:
            assert (await http.get("/inbox")).status_code in {200, 503}
        assert not database.exists(), "a new empty database was made under a running gateway"
        database.with_name("elsewhere").rename(database)
        await ready_until(here, lambda status, _: status == 200)
        here.lark.advance(REPUSH_S)
        assert await pushed(here, second, 2) == [503, 200]
        items = await here.settled(2)
        assert [item["delivery"]["status"] for item in items] == ["delivered", "delivered"]


async def test_a_database_that_is_removed(tmp_path: Path) -> None:
    """Never a 200 for a row that nobody will find; after a restart the event is taken."""
    async with world(tmp_path) as here:
        for each in here.gateway.settings.data_dir.glob("steward.db*"):
            each.unlink()
        question = here.ask(QUESTION)
        assert await pushed(here, question) == [503]
        checks = await ready_until(here, lambda status, _: status == 503)
        assert "database" in failed(checks)
        assert await here.gateway.stop() == 0
        await here.gateway.start()
        here.lark.advance(REPUSH_S)
        assert await pushed(here, question, 2) == [503, 200]
        (item,) = await here.settled()
        assert item["delivery"]["status"] == "delivered"


async def test_lark_away_and_back(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        await ready_until(here, lambda status, _: status == 200)
        await here.lark.go_offline()
        checks = await ready_until(here, lambda status, _: status == 503)
        assert failed(checks) == {"lark.default"}
        assert checks["database"]["status"] == "ok"
        assert "Lark does not answer" in checks["lark.default"]["message"]
        await here.lark.go_online()
        await ready_until(here, lambda status, _: status == 200)
        here.ask(QUESTION)
        (item,) = await here.settled()
        assert item["delivery"]["status"] == "delivered"


async def test_a_start_without_lark(tmp_path: Path) -> None:
    """It starts, says that it is not ready, and takes up its work when Lark is there."""
    async with world(tmp_path) as here:
        assert await here.gateway.stop() == 0
        await here.lark.go_offline()
        await here.gateway.start()
        checks = await ready_until(here, lambda status, _: status == 503)
        assert failed(checks) == {"lark.default"}
        assert "Lark cannot be reached for app default" in here.gateway.output()
        await here.lark.go_online()
        question = here.ask(QUESTION)
        assert await pushed(here, question) == [200]
        (item,) = await here.settled()
        assert item["delivery"]["status"] == "delivered"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_in_the_middle_of_everything(tmp_path: Path, number: signal.Signals) -> None:
    """A turn, a send, a peer that waits, a body that never comes: it ends within seconds, and all is taken up again."""
    async with world(tmp_path, returns={"http_timeout_s": 6}) as here:
        peer = await here.add_peer("scribe")
        sending = here.lark.fault("hold_after", "reply", times=1)
        sent = here.ask(QUESTION)
        await here.lark.wait_held(sending.fault_id, timeout_s=20)
        elsewhere = here.lark.create_chat("elsewhere", ["lin"], [here.app.app_id])
        reading = here.lark.fault("hold_before", "get", times=1)
        asked = here.lark.say(elsewhere, "lin", QUESTION, mention=[here.app.app_id])
        await here.lark.wait_held(reading.fault_id, timeout_s=20)
        waiting = asyncio.create_task(peer.http.get("/api/v1/peer/requests", params={"state": "open", "wait_s": 30}))
        with socket.create_connection(("127.0.0.1", here.gateway.settings.port)) as half:
            half.sendall(b"POST /lark/events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            await asyncio.sleep(0.5)  # so that all of it is under way; nothing depends on it
            async with asyncio.timeout(15):
                assert await here.gateway.stop(number) == 0
        answer = await waiting
        assert (answer.status_code, answer.json()) == (200, {"items": [], "next_cursor": None})
        assert "Traceback" not in here.gateway.output()
        assert (here.gateway.settings.data_dir / "gateway.lock").read_bytes() == b""
        here.lark.release(sending)
        here.lark.release(reading)
        here.lark.clear_faults()
        await here.gateway.start()
        items = await here.settled(2)
        found = {item["conversation"]: item["delivery"] for item in items}
        assert sorted(delivery["verification"] for delivery in found.values()) == ["direct", "reconciled"]
        assert [len(here.lark.replies(each)) for each in (sent, asked)] == [1, 1]
        await peer.http.aclose()


async def test_stopped_before_it_is_up(tmp_path: Path) -> None:
    """Whenever the signal comes, the process ends and leaves the folder free."""
    async with world(tmp_path) as here:
        for delay_s in (0.2, 0.8, 1.2, 1.6, 2.0):
            await here.gateway.stop()
            await here.gateway.begin()
            await asyncio.sleep(delay_s)
            assert await here.gateway.stop() in {0, -signal.SIGTERM}
            assert "Traceback" not in here.gateway.output()
        await here.gateway.start()
        here.ask(QUESTION)
        (item,) = await here.settled()
        assert item["delivery"]["status"] == "delivered"
