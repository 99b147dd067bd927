"""The end of the server, for requests that only wait."""

from __future__ import annotations

import asyncio

import pytest

from gateway.http.closing import Closing


async def test_what_comes_in_time_is_given() -> None:
    assert await Closing().unless(asyncio.sleep(0, "found")) == "found"


async def test_a_wait_ends_with_the_server() -> None:
    closing = Closing()
    forever = asyncio.Event()
    ended: list[bool] = []

    async def wait() -> str:
        try:
            await forever.wait()
        finally:
            ended.append(True)
        return "found"

    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(closing.unless(wait())) for _ in range(3)]
        await asyncio.sleep(0)
        closing.begin()
    assert [task.result() for task in waiting] == [None, None, None]
    assert ended == [True] * 3


async def test_a_wait_that_begins_after_the_end_is_over_at_once() -> None:
    closing = Closing()
    closing.begin()
    async with asyncio.timeout(5):
        assert await closing.unless(asyncio.Event().wait()) is None


async def test_errors_and_time_limits_of_the_work_pass_through() -> None:
    async def late() -> None:
        raise TimeoutError("its own")

    closing = Closing()
    with pytest.raises(TimeoutError, match="its own"):
        await closing.unless(late())
    waiting = asyncio.create_task(closing.unless(asyncio.Event().wait()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
