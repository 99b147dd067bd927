"""A person's words stall everybody else."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import pytest

from tests.support.world import world

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


async def test_repeated_chinese_naming_stalls_the_event_loop(tmp_path: Path) -> None:
    """naming.py: "a hostile question costs no more than a long one"; design 3: conversations run side by side."""
    async with world(tmp_path) as here:
        chats = [here.lark.create_chat(f"c{n}", ["lin"], [here.app.app_id]) for n in range(8)]
        worst = 0.0
        stop = asyncio.Event()

        async def probe() -> None:
            nonlocal worst
            async with httpx.AsyncClient(base_url=here.gateway.settings.url, trust_env=False, timeout=60) as http:
                while not stop.is_set():
                    begun = time.monotonic()
                    await http.get("/healthz")
                    worst = max(worst, time.monotonic() - begun)
                    await asyncio.sleep(0.02)

        probing = asyncio.create_task(probe())
        for chat in chats:
            here.lark.say(chat, "lin", "让x " * 2000, mention=[here.app.app_id])
        await asyncio.sleep(1.0)
        begun = time.monotonic()
        question = here.ask("where is the class Engine defined?")
        push = here.lark.pushes(message_id=question.message_id)[0]
        await here.lark.wait_for(lambda: push.state == "delivered", 60, "200")
        took_200 = time.monotonic() - begun
        await here.lark.wait_for(lambda: here.lark.replies(question), 60, "answer")
        took = time.monotonic() - begun
        await asyncio.sleep(2)
        stop.set()
        await probing
        print(
            f"healthz worst {worst:.1f} s, 200 after {took_200:.1f} s, answer after {took:.1f} s, pushes {len(push.attempts)}"
        )
        assert worst < 1.0
        assert took_200 < 3.0
