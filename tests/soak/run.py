"""One soak run from beginning to end."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path

from tests.soak import ledger
from tests.soak.counts import Counts
from tests.soak.judge import judge
from tests.soak.town import Town, town
from tests.soak.trouble import Killer, PatientPeer, ask_at_random, break_at_random, push_what_failed

A_SECOND = 2.0
SETTLE_WITHIN_S = 90.0
"""After the last kill everything has come to an end within this, plus a share of what was asked."""
SETTLE_A_QUESTION_S = 1.0
PUSH_AGAIN_S = 3.0
OPEN = {"absent", "queued", "sending", "retry_pending", "verification_required"}

Progress = Callable[[Town, str], None]


def silent(_town: Town, _phase: str) -> None:
    """No progress is shown."""


async def soak(
    folder: Path,
    *,
    seed: int,
    seconds: float,
    database: str = "sqlite",
    database_url: str = "",
    a_second: float = A_SECOND,
    progress: Progress = silent,
) -> Counts:
    """Ask, kill and break for ``seconds``; then let everything settle, and judge."""
    counts = Counts(database, seed, seconds)
    async with town(folder, counts, database_url) as here:
        began = time.monotonic()
        await here.start()
        start_s = time.monotonic() - began
        http = await here.peer("scribe")
        async with http:
            peer = PatientPeer(http)
            working = asyncio.create_task(peer.run())
            try:
                await _trouble(here, seconds, a_second, start_s, progress)
                await here.start()
                await _settle(here, progress)
                items = await here.items()
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
        engine = ledger.engine_of(database_url, here.gateway.settings.data_dir / "steward.db")
        try:
            parts, requests = ledger.read_parts(engine), ledger.read_requests(engine)
            judge(here, items, requests, parts, ledger.read_turns(engine))
        finally:
            engine.dispose()
        counts.wrong += [f"the peer was refused: {what}" for what in peer.refused]
    return counts


async def _trouble(here: Town, seconds: float, a_second: float, start_s: float, progress: Progress) -> None:
    until, seed = time.monotonic() + seconds, here.counts.seed
    async with asyncio.TaskGroup() as group:
        group.create_task(ask_at_random(here, a_second, until))
        group.create_task(Killer(here, random.Random(f"kill {seed}"), start_s).run(until))
        group.create_task(break_at_random(here, random.Random(f"break {seed}"), until))
        while time.monotonic() < until:
            progress(here, f"killing, {until - time.monotonic():.0f} s left")
            await asyncio.sleep(min(1.0, max(0.0, until - time.monotonic())))


async def _settle(here: Town, progress: Progress) -> None:
    """Wait until Lark pushes nothing any more and nothing in the inbox moves by itself, or the time is over."""
    began = pushed = time.monotonic()
    bound = SETTLE_WITHIN_S + SETTLE_A_QUESTION_S * len(here.asked)
    while time.monotonic() - began < bound:
        if time.monotonic() >= pushed:
            push_what_failed(here)
            pushed = time.monotonic() + PUSH_AGAIN_S
        items = await here.items()
        moving = [item for item in items.values() if item["delivery"]["status"] in OPEN]
        pushing = [push for push in here.lark.pushes() if push.state == "pending"]
        progress(here, f"settling, {len(moving)} open, {len(pushing)} to be pushed")
        if not moving and not pushing:
            break
        await asyncio.sleep(0.25)
    here.counts.settled_in_s = round(time.monotonic() - began, 1)
