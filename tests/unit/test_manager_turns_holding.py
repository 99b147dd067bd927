"""Work that is let go of ends, whenever that happens, and takes nobody else along."""

from __future__ import annotations

import asyncio

import pytest

from manager.service.holding import Hold


async def test_work_that_is_held_is_done() -> None:
    async def work() -> str:
        return "done"

    hold = Hold()
    assert await hold.during(work) == "done"
    hold.let_go()


async def test_let_go_before_it_begins() -> None:
    async def work() -> str:
        raise AssertionError

    hold = Hold()
    hold.let_go()
    assert await hold.during(work) is None


async def test_let_go_in_the_middle() -> None:
    ended = asyncio.Event()
    hold = Hold()

    async def work() -> str:
        hold.let_go()
        hold.let_go()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    assert await hold.during(work) is None
    assert ended.is_set()


async def test_a_cancellation_from_outside_passes_through() -> None:
    started = asyncio.Event()

    async def work() -> str:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.ensure_future(Hold().during(work))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
