"""What the gateway itself costs: CPU time an answer, question pushed to delivery proved; memory when idle."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import psutil

from providers.lark_double.server import LarkDouble
from tests.bench.report import Figure
from tests.support.gateway_process import GatewayProcess, GatewaySettings
from tests.support.world import make_repository

CHATS = 40
ANSWERS_A_CHAT = 5
WITHIN_S = 180
CPU_AIM_MS = 50
MEMORY_AIM_MB = 120
FAST = {"readback_delay_s": 0.1, "app_per_second": 5000, "app_per_minute": 100000, "chat_per_second": 1000}


def _settings(folder: Path, lark: LarkDouble, workspace: Path | None = None) -> GatewaySettings:
    settings = GatewaySettings(folder, lark.url, workspace=workspace, returns=FAST)
    settings.write()
    return settings


def _register(lark: LarkDouble, settings: GatewaySettings, url: str) -> str:
    app = lark.app(settings.app_id, settings.app_secret, settings.encrypt_key, settings.verification_token)
    lark.set_webhook(app, f"{url}/lark/events")
    lark.world.knobs.limits = False
    return app.app_id


async def cpu_an_answer() -> Figure:
    """CPU milliseconds of the gateway's process for each answer, all threads."""
    with tempfile.TemporaryDirectory() as name:
        async with LarkDouble.start() as lark:
            settings = _settings(Path(name), lark)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *["-m", "tests.bench.answering_gateway", str(settings.config)],
                stdout=asyncio.subprocess.PIPE,
            )
            try:
                assert process.stdout is not None
                app_id = _register(lark, settings, (await process.stdout.readline()).decode().strip())
                return await _measured(lark, app_id, psutil.Process(process.pid))
            finally:
                process.terminate()
                await process.wait()


async def _measured(lark: LarkDouble, app_id: str, gateway: psutil.Process) -> Figure:
    chats = [lark.create_chat(f"chat {number}", ["lin"], [app_id]) for number in range(CHATS)]
    await _round(lark, app_id, chats[:5])
    before = sum(gateway.cpu_times()[:2])
    for _ in range(ANSWERS_A_CHAT):
        await _round(lark, app_id, chats)
    spent_ms = (sum(gateway.cpu_times()[:2]) - before) * 1000 / (CHATS * ANSWERS_A_CHAT)
    return Figure(
        "CPU of the gateway for one answer, question pushed to delivery proved, a runtime that costs nothing",
        spent_ms,
        "ms",
        aim=f"< {CPU_AIM_MS} ms",
        met=spent_ms < CPU_AIM_MS,
    )


async def _round(lark: LarkDouble, app_id: str, chats: list) -> None:
    """One question in each chat, until each answer was read back."""
    reads = {chat.chat_id: len(lark.reads(chat)) for chat in chats}
    for chat in chats:
        lark.say(chat, "lin", "where is the transition table of delivery?", mention=[app_id])

    def proved() -> bool:
        """The question was read once more, and the answer read back."""
        done = [sum(each.status == 200 for each in lark.reads(chat)[reads[chat.chat_id] :]) >= 2 for chat in chats]
        return all(done)

    await lark.wait_for(proved, WITHIN_S, "all answers")


async def idle_memory() -> Figure:
    """Resident memory of ``lark-steward serve`` that has nothing to do."""
    with tempfile.TemporaryDirectory() as name:
        async with LarkDouble.start() as lark:
            settings = _settings(Path(name), lark, make_repository(Path(name) / "project"))
            _register(lark, settings, settings.url)
            async with GatewayProcess(settings) as gateway:
                await asyncio.sleep(2)
                megabytes = psutil.Process(gateway.pid).memory_info().rss / 2**20
    return Figure(
        "resident memory of an idle gateway",
        megabytes,
        "MB",
        aim=f"< {MEMORY_AIM_MB} MB",
        met=megabytes < MEMORY_AIM_MB,
    )


async def measure() -> list[Figure]:
    """Both."""
    return [await cpu_an_answer(), await idle_memory()]
