"""A machine that sleeps while it looks: what it saw before that says nothing of now."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from manager.decisions.operators import Resend
from returns.ports import Missing
from tests.support.operators import Desk, desk

FAR = 2**60
HOUR_MS = 3_600_000


def sleeps_after(home: Desk, method: str) -> asyncio.Event:
    """Let the next reading of the kind be told only when the event is set."""
    awake, real = asyncio.Event(), getattr(home.provider, method)

    async def read(*call: Any) -> object:
        setattr(home.provider, method, real)
        outcome = await real(*call)
        await home.provider._block(awake)
        return outcome

    setattr(home.provider, method, read)
    return awake


async def test_a_look_before_a_sleep_does_not_count_for_a_resend_after_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append("lose")
        request = await home.answered("one")
        await home.until(lambda: bool(home.provider.messages), step_ms=1)
        message = home.provider.messages[0]
        message.hidden_until = FAR
        assert (await home.settle(request)).error == "no_match_found"
        awake = sleeps_after(home, "list_window")
        carried = await home.act(request, Resend("not there"))
        await home.until(lambda: home.provider.blocked == 1, step_ms=1)
        message.hidden_until = 0
        home.clock.move(HOUR_MS)
        awake.set()
        row = await home.settle(request)
        assert (row.status, row.error) == ("delivered", None)
        assert (await home.outcome(carried), len(home.provider.messages)) == ("proved", 1)


@pytest.mark.parametrize("there", [True, False])
async def test_a_message_that_was_missing_before_a_sleep_is_read_again(tmp_path: Path, there: bool) -> None:
    async with desk(tmp_path) as home:
        home.provider.read_faults += [Missing()] * (20 if not there else 1)
        awake = sleeps_after(home, "read")
        request = await home.answered("one")
        await home.until(lambda: home.provider.blocked == 1, step_ms=100)
        home.clock.move(HOUR_MS)
        reads = home.provider.reads
        awake.set()
        row = await home.settle(request)
        assert row.status == ("delivered" if there else "explicit_unverified")
        assert home.provider.reads > reads
