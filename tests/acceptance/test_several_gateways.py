"""Three gateways of one app behind a load balancer: one is killed, one is paused, one loses its database.

The local Lark is the judge: it forgives nothing that is sent twice, and refuses who does not keep its limits.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from providers.lark_double.model import Chat
from tests.support import postgresql
from tests.support.gateways import LEASE_S, LIMIT_CODES, Gateways, gateways, until

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

QUESTION = "where is the class Engine defined?"
APP_PER_SECOND = 20
CHAT_PER_SECOND = 4

IN_TIME = """
    SELECT idempotency_key, return_seq, position FROM parts
    WHERE return_id NOT IN (SELECT return_id FROM return_facts WHERE detail LIKE '%lease_lost%')
"""
OVERTAKEN = """
    WITH began AS (
        SELECT t.conversation_id, t.position, t.event_seq, e.received_at,
               (SELECT min(at) FROM facts f WHERE f.request_id = t.request_id AND f.fact = 'turn_started') AS at
        FROM turns t JOIN events e ON e.seq = t.event_seq
    )
    SELECT one.event_seq FROM began one JOIN began two ON two.conversation_id = one.conversation_id
    WHERE (one.position, one.event_seq) < (two.position, two.event_seq)
      AND one.at > two.at AND one.received_at + 3000 < two.at
"""
"""Turns that began after a later question's, although they had arrived 3 s before that began: all gateways saw them."""


class Town:
    """Chats in which people go on asking."""

    def __init__(self, here: Gateways, chats: int) -> None:
        self.here = here
        people = ["lin", "mei"]
        self.chats: list[Chat] = [here.chat]
        self.chats += [here.lark.create_chat(f"team {n}", people, [here.app.app_id]) for n in range(1, chats)]

    async def ask(self, count: int) -> None:
        """Ask so many questions, some at the same moment, in all chats in turn."""
        for _ in range(count):
            number = len(self.here.asked)
            self.here.ask(QUESTION, self.chats[number % len(self.chats)])
            if number % 3 == 0:
                await asyncio.sleep(0.15)

    async def answered(self, through: int) -> list[dict[str, Any]]:
        """The inbox of one gateway once all that was asked is settled."""
        return await self.here.settled(self.here.each[through], len(self.here.asked))


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchall()  # pyright: ignore


def judge(here: Gateways, items: list[dict[str, Any]], url: str) -> None:
    """Every question has one answer, or waits for an operator where everybody sees it; nothing came twice or early."""
    replies = {message.message_id: here.lark.replies(message) for message in here.asked}
    assert max(len(seen) for seen in replies.values()) == 1, "a question was answered twice"
    missing = [message for message, seen in replies.items() if not seen]
    waiting = [item for item in items if item["needs_operator"]]
    assert len(items) == len(here.asked)
    assert len(missing) <= len(waiting)
    assert all(item["delivery"]["status"] == "delivered" or item["needs_operator"] for item in items)
    sends = here.lark.sends()
    assert Counter(entry.uuid for entry in sends).most_common(1)[0][1] == 1, "a part was sent twice"
    in_order(here, url)
    one_turn(url, len(here.asked))
    paced(here)


def in_order(here: Gateways, url: str) -> None:
    """Conversations stay ordered, among what has arrived, and each chat gets its parts in the order of their returns.

    What a gateway sent after its lease had run out came late, and is known by that.
    """
    place = {key: (seq, position) for key, seq, position in rows(url, IN_TIME)}
    for chat in {message.chat_id for message in here.asked}:
        sent = [place[entry.uuid] for entry in here.lark.sends(chat) if entry.uuid in place]
        assert sent == sorted(sent)
    assert rows(url, OVERTAKEN) == []


def one_turn(url: str, asked: int) -> None:
    """Each event led to one request with one turn, and each turn to one decision."""
    assert rows(url, "SELECT count(*), count(DISTINCT request_id) FROM turns") == [(asked, asked)]
    decided = "SELECT request_id FROM facts WHERE fact = 'decided' GROUP BY request_id HAVING count(*) <> 1"
    assert rows(url, decided) == []
    assert rows(url, "SELECT count(*) FROM turns WHERE pending = 1") == [(0,)]


def paced(here: Gateways) -> None:
    """Lark refused nothing for being too much, and no second saw more than was configured for all together."""
    assert [entry for entry in here.lark.journal.entries if entry.code in LIMIT_CODES] == []
    sent = sorted((entry.at, entry.chat_id) for entry in here.lark.sends())
    for number, (start, _) in enumerate(sent):
        within = [chat for at, chat in sent[number:] if at < start + 1_000]
        assert len(within) <= APP_PER_SECOND
        assert Counter(within).most_common(1)[0][1] <= CHAT_PER_SECOND


async def test_one_killed_one_paused_one_cut_off(tmp_path: Path, postgresql_server: postgresql.Server) -> None:
    pace = {"app_per_second": APP_PER_SECOND, "chat_per_second": CHAT_PER_SECOND}
    with postgresql_server.empty() as url:
        async with gateways(tmp_path, url, 3, returns=pace) as here:
            killed, paused, last = here.each
            here.balancer.copies = 2  # each event comes to two gateways at once
            town = Town(here, chats=3)
            await town.ask(8)
            await until(here.lark.sends)

            await killed.kill()
            await town.ask(4)
            os.kill(paused.pid, signal.SIGSTOP)
            await town.ask(6)
            await asyncio.sleep(LEASE_S * 1.5)  # longer than its lease
            await town.answered(through=2)  # by the one that is left

            os.kill(paused.pid, signal.SIGCONT)
            here.ways[2].cut()
            await town.ask(4)
            await town.answered(through=1)  # by the one that came back

            here.ways[2].mend()
            await town.ask(2)
            items = await town.answered(through=2)
            assert items == await here.inbox(paused) == await here.inbox(last)
            judge(here, items, url)
            assert min(count for target, count in here.balancer.passed_on.items() if target != killed.settings.url) > 0
