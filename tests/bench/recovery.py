"""A killed gateway with 10,000 parts pending: from its next start to the first send, and to its full pace."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from providers.lark_double.server import LarkDouble
from returns.decisions.fingerprint import fingerprint, visible
from tests.bench.report import Figure
from tests.bench.waiting import until
from tests.support.gateway_process import GatewayProcess, GatewaySettings
from tests.support.history import CHATS, DOCUMENT, filled
from tests.support.storage import migrated

PENDING = 10_000
MANY = 500
FAST = {"readback_delay_s": 0.1, "app_per_second": 50_000, "app_per_minute": 100_000, "chat_per_second": 50_000}
AIM = 1.5
WITHIN_S = 120


def _make_pending(path: Path, places: list[tuple[str, str]]) -> None:
    """The answers of the history are not sent yet, and lead into real chats."""
    with closing(sqlite3.connect(path)) as file:
        file.execute(
            "UPDATE parts SET state = 'queued', lane = 'send', attempts = 0, fence = 0, verification = NULL, "
            "delivered_at = NULL, first_attempt_at = NULL, last_attempt_at = NULL, give_up_at = NULL, fingerprint = ?",
            (fingerprint(visible(DOCUMENT)),),
        )
        file.execute("UPDATE answers SET status = 'queued', verification = NULL, delivered_parts = 0, attempts = 0")
        file.execute("DELETE FROM part_locators")
        for number, (chat, question) in enumerate(places):
            file.execute(
                "UPDATE return_routes SET chat_id = ?, reply_to = ? WHERE chat_id = ?",
                (chat, question, f"oc_h{1000 + number}"),
            )
        file.commit()


async def _sends(lark: LarkDouble, more_than: int) -> float:
    """When Lark had so many sends."""

    async def seen() -> bool:
        return len(lark.sends()) > more_than

    await until(seen, 0.01, WITHIN_S)
    return time.perf_counter()


async def _started_empty(folder: Path, lark: LarkDouble) -> float:
    """Seconds from the start of a gateway without anything to do until it answers."""
    settings = GatewaySettings(folder, lark.url, returns=FAST)
    process = GatewayProcess(settings)
    settings.write()
    await process.start()
    await process.stop()
    started = time.perf_counter()
    await process.start()
    took = time.perf_counter() - started
    await process.stop()
    return took


async def measure() -> list[Figure]:
    """Kill it in the middle of its sending, start it again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with LarkDouble.start() as lark:
            settings = GatewaySettings(folder / "full", lark.url, returns=FAST)
            app = lark.app(settings.app_id, settings.app_secret, settings.encrypt_key, settings.verification_token)
            lark.world.knobs.limits = False
            chats = [lark.create_chat(f"chat {number}", ["lin"], [app.app_id]) for number in range(CHATS)]
            places = [(chat.chat_id, lark.say(chat, "lin", "where is it?").message_id) for chat in chats]
            (folder / "empty").mkdir()
            empty = await _started_empty(folder / "empty", lark)
            settings.data_dir.mkdir(parents=True)
            path = migrated(settings.data_dir)
            filled(path, PENDING)
            _make_pending(path, places)
            settings.write()
            process = GatewayProcess(settings)
            await process.begin()
            await _sends(lark, 200)
            await process.kill()
            before = len(lark.sends())
            started = time.perf_counter()
            await process.begin()
            first = await _sends(lark, before) - started
            many = await _sends(lark, before + MANY) - started
            later = await _sends(lark, before + 2 * MANY) - started
            await process.kill()
            twice = [uuid for uuid in (entry.uuid for entry in lark.sends()) if uuid is not None]
    assert len(twice) == len(set(twice)), "something was sent twice"
    pace, next_pace = MANY / (many - first), MANY / (later - many)
    return [
        Figure(
            f"recovery of a gateway that was killed with {PENDING:,} parts pending: start to first send",
            first,
            "s",
            "start of a gateway with nothing to do, until it answers",
            empty,
            first / empty,
            f"≤ {AIM:g}",
            first / empty <= AIM,
        ),
        Figure(
            f"pace of its first {MANY} sends after that",
            pace,
            "/s",
            f"of the next {MANY}",
            next_pace,
            pace / next_pace,
            "≥ 0.5",
            pace / next_pace >= 0.5,
        ),
    ]


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure)
