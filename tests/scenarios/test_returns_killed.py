"""Killed before and after every single effect, then started again: visible once or with a person, never twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.returns import House, house, restart, running, visible_of

EFFECTS = 14


class _Killer:
    """Ends the pump's task at its n-th effect."""

    def __init__(self, home: House, at: int, *, after: bool) -> None:
        self.count, self.at, self.after = 0, at, after
        self.killed = asyncio.Event()
        for owner, names in ((home.transactions, ["run"]), (home.provider, ["prepare", "send", "read", "list_window"])):
            for name in names:
                setattr(owner, name, self._wrapped(getattr(owner, name)))

    def _wrapped(self, real: object) -> object:
        async def effect(*arguments: object) -> object:
            mine, self.count = self.count, self.count + 1
            if mine == self.at and not self.after:
                await self._die()
            result = await real(*arguments)
            if mine == self.at and self.after:
                await self._die()
            return result

        return effect

    async def _die(self) -> None:
        self.killed.set()
        await asyncio.Event().wait()  # nothing of this life goes on


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("lose", [False, True], ids=["direct", "lost"])
@pytest.mark.parametrize("at", range(EFFECTS))
async def test_killed_at_every_effect(tmp_path: Path, at: int, *, after: bool, lose: bool) -> None:
    async with house(tmp_path) as home:
        subject = await home.put("one", "two")
        home.provider.faults = ["lose"] if lose else []
        run, provider = home.transactions.run, home.provider
        methods = {name: getattr(provider, name) for name in ("prepare", "send", "read", "list_window")}
        killer = _Killer(home, at, after=after)
        async with running(home):
            for _ in range(20_000):
                if killer.killed.is_set():
                    break
                if not home.busy:  # a clock that moves while a part is held ends its lease
                    home.clock.move(100)
                home.pump._wakeup.ring()
                await asyncio.sleep(0.0005)
            else:
                raise AssertionError(f"there are only {killer.count} effects")
        home.transactions.run = run
        for name, method in methods.items():
            setattr(provider, name, method)
        async with running(home, await restart(home)):
            row = await home.settle(subject)
        told = [visible_of([message.document]) for message in provider.messages]
        assert told in (["one"], ["one", "two"], [])
        assert len(provider.sends) <= 2
        if row.status == "delivered":
            assert told == ["one", "two"]
            assert (row.attempts, row.delivered_parts) == (2, 2)
        else:
            assert (row.status, row.error) == ("explicit_unverified", "no_match_found")
            assert row.needs_operator
            assert len(told) == row.delivered_parts  # what is visible is proved, what is not was never sent
