"""The database is locked by another process at the worst moments."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from pathlib import Path

import httpx
import pytest

from tests.support.world import world

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


@contextlib.contextmanager
def locked(path: Path):
    con = sqlite3.connect(path, isolation_level=None, timeout=20)
    con.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        con.execute("ROLLBACK")
        con.close()


def db(here) -> Path:
    (found,) = [p for p in here.gateway.settings.data_dir.glob("*") if p.suffix in {".db", ".sqlite", ".sqlite3"}]
    return found


@pytest.mark.parametrize("moment", ["answer of the send", "before the event", "readback"])
@pytest.mark.parametrize("kill", [False, True])
async def test_locked(tmp_path: Path, moment: str, kill: bool) -> None:
    async with world(tmp_path) as here:
        if moment == "answer of the send":
            held = here.lark.fault("hold_after", "reply")
        elif moment == "readback":
            held = here.lark.fault("hold_before", "get", skip=1)
        else:
            held = None
        if held is None:
            with locked(db(here)):
                t = time.monotonic()
                question = here.ask("where is the class Engine defined?")
                push = here.lark.pushes(message_id=question.message_id)[0]
                await here.lark.wait_for(lambda: push.attempts and push.attempts[0].status is not None, 10, "an answer")
                took = time.monotonic() - t
                assert push.attempts[0].status == 503 and took < 2.9, (push.attempts[0], took)
                async with httpx.AsyncClient(base_url=here.gateway.settings.url, trust_env=False, timeout=10) as http:
                    assert (await http.get("/healthz")).status_code == 200
                await asyncio.sleep(8)
                if kill:
                    await here.gateway.kill()
            if kill:
                await here.gateway.start()
            again = await here.lark.wait_pushed(here.lark.push_again(push), timeout_s=20)
            assert again.state == "delivered"
        else:
            question = here.ask("where is the class Engine defined?")
            await here.lark.wait_held(held.fault_id, timeout_s=20)
            with locked(db(here)):
                here.lark.release(held)
                await asyncio.sleep(9)
                if kill:
                    await here.gateway.kill()
            if kill:
                await here.gateway.start()
        (item,) = await here.settled()
        print(moment, kill, item["delivery"])
        assert item["delivery"]["status"] == "delivered"
        assert len(here.lark.replies(question)) == 1
        assert len(here.lark.sends(here.chat)) == 1
