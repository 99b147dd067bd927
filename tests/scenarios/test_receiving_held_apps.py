"""Held events of several apps: none waits for what another app's Lark does not say."""

from __future__ import annotations

import asyncio
from pathlib import Path

from manager.ids import OpenId
from manager.ledger import tables
from manager.service.receiving import Acceptance
from returns.ids import AppName, ChatId
from tests.support.turns import APP, OTHER_APP, STEWARD, FakeReader, World, message, world


class Asked(FakeReader):
    """Nobody knows itself at first; then each app's answers are as the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = {APP: None, OTHER_APP: None}
        self.asks = 0
        self.under_way = 0
        self.hanging: asyncio.Event | None = None
        """What the other app's answer waits for."""
        self.in_vain = 0
        """So many times the other app is asked in vain."""

    async def own_id(self, app: AppName) -> OpenId | None:
        if app != OTHER_APP:
            return self.ids[app]
        self.asks += 1
        self.under_way += 1
        try:
            if self.hanging is not None:
                await self.hanging.wait()
            return self.ids[app] if self.asks > self.in_vain else None
        finally:
            self.under_way -= 1


async def hold(it: World, reader: Asked, *words: str, app: AppName = OTHER_APP) -> None:
    for each in words:
        said = message(f"@_user_1 {each}", app=app, chat_id=ChatId(f"oc_{app}"))
        assert await it.accept(said) is Acceptance.HELD
    reader.asks = 0


async def states(it: World, app: AppName) -> list[str]:
    return [row["state"] for row in await it.rows(tables.events, app=app)]


async def test_an_app_that_hangs_keeps_no_other_apps_events_waiting(tmp_path: Path) -> None:
    reader = Asked()
    async with world(tmp_path, reader=reader) as it:
        await hold(it, reader, "one", "two", "three")
        await hold(it, reader, "the good one", app=APP)
        reader.ids = {APP: STEWARD, OTHER_APP: STEWARD}
        reader.hanging = asyncio.Event()
        async with it.running(held=True):
            await it.until_idle(1)
            await it.until(lambda: _asked(reader))
            assert it.runtime.questions == ["the good one"]
            assert await states(it, OTHER_APP) == ["held"] * 3
            assert (reader.asks, reader.under_way) == (1, 1)  # its first ask has not even ended
            reader.hanging.set()
            await it.until_idle(4)
        assert it.runtime.questions[1:] == ["one", "two", "three"]
        assert reader.asks == 1


async def test_an_app_that_does_not_know_itself_is_asked_once_for_all_its_events(tmp_path: Path) -> None:
    reader = Asked()
    async with world(tmp_path, reader=reader) as it:
        await hold(it, reader, "one", "two", "three")
        reader.ids[OTHER_APP] = STEWARD
        reader.in_vain = 1
        async with it.running(held=True):
            await it.until_idle(3)
        assert it.runtime.questions == ["one", "two", "three"]
        assert reader.asks == 2  # the first pass left all of them held, the second one released them


async def _asked(reader: Asked) -> bool:
    return reader.asks > 0
