"""Lists, cursors and waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manager.service.peer_inbox import PeerInbox
from returns.ports import Transactions, Wakeup
from tests.support.handover import House, house


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def test_pages_are_oldest_first_and_whole(home: House) -> None:
    atlas = await home.peer("atlas")
    expected = []
    for number in range(7):
        expected.append(await home.handed("atlas", question=f"q{number}"))
        if number % 2:
            home.clock.at -= 1  # two are stored in the same millisecond
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await atlas.list(f"?limit=2{cursor}")).body
        seen += [item["request_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        assert len(page["items"]) == 2
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == expected


async def test_a_cursor_belongs_to_its_caller_and_filter(home: House) -> None:
    atlas, boris = await home.peer("atlas"), await home.peer("boris")
    for _ in range(3):
        await home.handed("atlas")
        await home.handed("boris")
    cursor = (await atlas.list("?limit=1")).body["next_cursor"]
    assert (await atlas.list(f"?limit=1&cursor={cursor}")).status == 200
    for side, query in (
        (boris, f"?cursor={cursor}"),
        (atlas, f"?state=all&cursor={cursor}"),
        (atlas, f"?cursor={cursor[:-2]}"),
        (atlas, "?cursor=x"),
    ):
        answer = await side.list(query)
        assert (answer.status, answer.code) == (400, "invalid_cursor")


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("?limit=0", "invalid_limit", "limit"),
        ("?limit=101", "invalid_limit", "limit"),
        ("?limit=x", "invalid_limit", "limit"),
        ("?state=closed", "invalid_request", "state"),
        ("?wait_s=31", "invalid_request", "wait_s"),
        ("?wait_s=-1", "invalid_request", "wait_s"),
        ("?wait_s=1.5", "invalid_request", "wait_s"),
        ("?wait_s=", "invalid_request", "wait_s"),
    ],
)
async def test_bad_queries(home: House, query: str, code: str, field: str) -> None:
    atlas = await home.peer("atlas")
    answer = await atlas.list(query)
    assert (answer.status, answer.code, answer.field) == (400, code, field)


class Watched:
    """Real transactions that say when somebody waits for a commit."""

    def __init__(self, transactions: Transactions) -> None:
        self.run, self.read = transactions.run, transactions.read
        self._transactions = transactions
        self.waits = asyncio.Semaphore(0)

    def subscribe(self, topic: str) -> Wakeup:
        wakeup = self._transactions.subscribe(topic)
        wait, waits = wakeup.wait, self.waits

        class Bell:
            async def wait(self, timeout_s: float | None) -> bool:
                waits.release()
                return await wait(timeout_s)

        return Bell()


async def test_waiting_ends_with_the_commit_of_ones_own(home: House) -> None:
    await home.peer("atlas")
    await home.peer("boris")
    watched = Watched(home.transactions)
    inbox = PeerInbox(watched, home.clock, home.new_id, home.telling)
    atlas = await inbox.authenticate("lsp_atlas")
    async with asyncio.timeout(25), asyncio.TaskGroup() as group:
        waiting = group.create_task(inbox.page(atlas.peer_id, only_open=True, after=None, limit=9, wait_s=30))
        await watched.waits.acquire()  # it looked, found nothing and waits
        await home.handed("boris")
        await watched.waits.acquire()  # it was woken, looked again, and another's request did not end its waiting
        request = await home.handed("atlas")
        (held,) = await waiting
    assert held.view.request_id == request


async def test_waiting_ends_with_its_time(home: House) -> None:
    atlas = await home.peer("atlas")
    assert (await atlas.list("?wait_s=1")).body == {"items": [], "next_cursor": None}


async def test_waiting_does_not_wait_where_there_is_something(home: House) -> None:
    atlas = await home.peer("atlas")
    await home.handed("atlas")
    async with asyncio.timeout(20):
        assert len((await atlas.list("?wait_s=30")).body["items"]) == 1


async def test_each_sees_its_own(home: House) -> None:
    atlas, boris = await home.peer("atlas"), await home.peer("boris")
    first, second = await home.handed("atlas"), await home.handed("boris")
    assert [item["request_id"] for item in (await atlas.list("?state=all")).body["items"]] == [first]
    assert [item["request_id"] for item in (await boris.list("?state=all")).body["items"]] == [second]


async def test_chinese_comes_back_as_it_went(home: House) -> None:
    atlas = await home.peer("数据库")
    question = "让 数据库 查一下慢查询 🐢 «ß» \u202eabc"
    request = await home.handed("数据库", question=question, language="zh")
    assert "已转给 数据库 处理" in (await home.told(request))[0][1]
    read = (await atlas.read(request)).body
    assert read["brief"]["messages"][0]["text"] == question
    await atlas.accept(request)
    await atlas.post(request, "result", outcome="resolved", text="慢在 `索引` 🐢")
    assert (await home.told(request))[1][1] == "数据库 的答复：\n\n慢在 `索引` 🐢"
    assert (await atlas.read(request)).body["result"]["text"] == "慢在 `索引` 🐢"
