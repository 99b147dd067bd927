"""What attempts to break the way back found: nothing is sent twice, proved by another's message, or stopped long."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from manager.decisions.operators import Found, Resend
from providers.lark.client import LarkClient
from providers.lark.config import LarkApp
from providers.lark.delivery import LarkDelivery
from returns.decisions.document import Document
from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName, ChatId, ChatKey, IdempotencyKey, MessageId
from returns.ledger.locators import Source, learn
from returns.ports import Accepted, Api, Call, Locator, Permit, Refusal, Refused, Route, Unknown, Verdict, Wait
from returns.service.shared_pacing import SharedPacing
from tests.support.operators import Desk, desk
from tests.support.returns import FakeProvider, ManualClock, refused, route, running, text, visible_of
from tests.support.storage import transactions as opened_transactions

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def shown(home: Desk, request: str) -> list[str]:
    """What the asker sees under the question."""
    return [visible_of([each.document]) for each in home.provider.messages if each.parent_id == f"om_q{request}"]


async def never_accepted(home: Desk, *words: str) -> str:
    """An answer that ended without proof."""
    home.provider.faults.append(Unknown("timeout"))
    request = await home.answered(*words)
    row = await home.settle(request)
    assert (row.status, row.error) == ("explicit_unverified", "no_match_found")
    return request


async def resend(home: Desk, request: str) -> None:
    """An operator looked, saw nothing, and says so; whatever comes of it has come."""
    await home.outcome(await home.act(request, Resend("I looked: it is not there")))
    await home.settle(request)


class Stopped:
    """The transactions of a gateway that stands still (SIGSTOP, a sleeping machine) once its attempt is committed."""

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self.committed = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def run(self, work: Callable[[object], object]) -> object:
        result = await self._inner.run(work)
        if type(result).__name__ == "Attempt" and not self.committed.is_set():
            self.committed.set()
            await self.goes_on.wait()
        return result

    async def read(self, work: Callable[[object], object]) -> object:
        return await self._inner.read(work)

    def subscribe(self, topic: str) -> object:
        return self._inner.subscribe(topic)


async def _forever(_seconds: float) -> None:
    await asyncio.Event().wait()


def stop_between_attempt_and_send(home: Desk) -> Stopped:
    """Let the desk's own pump stand still after its next attempt; nor does it renew its lease."""
    tools = home.pump._tools
    stopped = Stopped(tools.transactions)
    object.__setattr__(tools, "transactions", stopped)
    object.__setattr__(tools, "sleep", _forever)
    return stopped


async def test_a_stopped_gateway_sends_what_was_resent_meanwhile(tmp_path: Path) -> None:
    """Its lease ended long ago, another gateway settled the part, an operator had it sent anew: then it goes on."""
    async with desk(tmp_path) as home:
        stopped = stop_between_attempt_and_send(home)
        request = await home.answered("one")
        await asyncio.wait_for(stopped.committed.wait(), 5)
        home.clock.move(home.policy.lease_ms + 1)
        async with running(home, home.new_pump("two")):
            assert (await home.settle(request)).error == "no_match_found"
            await resend(home, request)
            assert shown(home, request) == ["one"]
            stopped.goes_on.set()
            await _sends(home, 2)
        assert shown(home, request) == ["one"]


async def test_a_stopped_gateway_tells_what_may_no_longer_be_told(tmp_path: Path) -> None:
    """The right to tell it was revoked while it stood still, and its lease is over: it sends all the same."""
    async with desk(tmp_path) as home:
        stopped = stop_between_attempt_and_send(home)
        request = await home.answered("one")
        await asyncio.wait_for(stopped.committed.wait(), 5)
        home.clock.move(8 * HOUR_MS)
        home.authority.verdicts[request] = Verdict.REVOKED
        stopped.goes_on.set()
        await _sends(home, 1)
        assert shown(home, request) == []


async def _sends(home: Desk, count: int) -> None:
    """Give a send that should not be made the time to be made."""
    for _ in range(200):
        if len(home.provider.sends) > count - 1 and not home.pump._sending:
            return
        await asyncio.sleep(0.005)


async def test_what_turned_up_before_its_resend_went_out_is_sent_again(tmp_path: Path) -> None:
    """The new return still waits (offline) when the old part's own late answer comes and is proved: it goes out."""
    async with desk(tmp_path) as home:
        request = await never_accepted(home, "one")
        home.provider.prepare_faults += [refused(Refusal.OFFLINE)] * 2
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        message = home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        late = Locator(MessageId(message.message_id), ChatId(message.chat_id), None)
        old, new = await home.parts(request)
        assert new.attempts == 0
        await home.transactions.run(lambda c: learn(c, old.part_id, late, Source.DIRECT, home.clock.now()))

        async def proved() -> bool:
            return (await home.parts(request))[0].state == "delivered"

        await home.until(proved, step_ms=1)
        assert (await home.parts(request))[1].attempts == 0
        await home.settle(request)
        assert shown(home, request) == ["one"]


async def test_what_an_earlier_return_proved_is_sent_again_by_a_second_resend(tmp_path: Path) -> None:
    """The old part's own late answer came and was proved; the return that replaced it never arrived."""
    async with desk(tmp_path) as home:
        request = await never_accepted(home, "one")
        home.provider.faults.append(Unknown("timeout"))
        await resend(home, request)
        message = home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        late = Locator(MessageId(message.message_id), ChatId(message.chat_id), None)
        old, _ = await home.parts(request)
        await home.transactions.run(lambda c: learn(c, old.part_id, late, Source.DIRECT, home.clock.now()))

        async def proved() -> bool:
            return (await home.parts(request))[0].state == "delivered"

        await home.until(proved, step_ms=1)
        if (await home.answer(request)).status == "explicit_unverified":
            await resend(home, request)
        assert shown(home, request) == ["one"]


async def test_a_wrong_message_that_was_named_lets_a_waiting_resend_send_without_a_look(tmp_path: Path) -> None:
    """``resend`` waits for its look; ``found`` with a wrong message ends that look, and counts as "it is not there"."""
    async with desk(tmp_path) as home:
        request = await never_accepted(home, "one")
        home.provider.say(route(reply_to=f"om_q{request}"), text("one"))  # it turned up; the look would find it
        wrong = home.provider.say(route(reply_to="om_else"), text("another"), ours=False)
        waiting = await home.act(request, Resend("not there"))
        await home.act(request, Found(wrong.message_id))
        await home.outcome(waiting)
        await home.settle(request)
        assert shown(home, request) == ["one"]


class NamesAnother(FakeProvider):
    """Its first answer names a message of another chat."""

    async def send(
        self, route: Route, document: Document, key: str, may_leave: Callable[[], bool] = lambda: True
    ) -> Accepted | Refused | Unknown:
        outcome = await super().send(route, document, key, may_leave)
        if isinstance(outcome, Accepted) and len(self.sends) == 1:
            other = self.say(Route(route.app, ChatId("oc_other"), None, None), text("hello"))
            return Accepted(Locator(MessageId(other.message_id), ChatId("oc_other"), None))
        return outcome


def name_another(home: Desk) -> None:
    home.provider.__class__ = NamesAnother


async def test_resend_looks_only_at_the_message_that_the_send_named(tmp_path: Path) -> None:
    """The message stands in the chat as it was sent; only the id in the send's answer was another's."""
    async with desk(tmp_path) as home:
        name_another(home)
        request = await home.answered("one")
        assert (await home.settle(request)).error == "provider_delivery_mismatch"
        assert shown(home, request) == ["one"]
        await resend(home, request)
        assert shown(home, request) == ["one"]


async def by_the_provider(home: Desk, where: Route) -> str:
    """The send's own answer names another message; the answer stands in the thread."""
    name_another(home)
    return await home.put("same", to=where)


async def by_an_operator(home: Desk, where: Route) -> str:
    """The answer arrived out of sight, and an operator names a wrong message; then it comes into sight."""
    home.provider.faults.append("lose")
    first = await _asked(home, where)
    home.provider.messages[-1].hidden_until = home.clock.now() + MINUTE_MS
    assert (await home.settle(first)).error == "no_match_found"
    wrong = home.provider.say(route(reply_to="om_else"), text("another"), ours=False)
    await home.outcome(await home.act(first, Found(wrong.message_id)))
    home.clock.move(MINUTE_MS)
    return first


async def _asked(home: Desk, where: Route) -> str:
    request = await home.question()
    await home.put("same", subject=request, to=where)

    def sent() -> bool:
        return bool(home.provider.messages)

    await home.until(sent, step_ms=1)
    return request


@pytest.mark.parametrize("named", [by_the_provider, by_an_operator])
async def test_an_answer_that_never_arrived_is_proved_by_anothers_message(
    tmp_path: Path, named: Callable[[Desk, Route], Awaitable[str]]
) -> None:
    """Two questions of a thread have the same answer. The first one's message belongs to nobody, because a wrong one
    is kept in its place; the second answer was never accepted, finds that message, and is called delivered."""
    async with desk(tmp_path) as home:
        where = route(thread="omt_1")
        first = await named(home, where)
        assert (await home.settle(first)).error == "provider_delivery_mismatch"
        home.provider.faults.append(Unknown("timeout"))
        second = await home.put("same", to=where)
        row = await home.settle(second)
        assert len([each for each in home.provider.messages if each.thread_id == "omt_1"]) == 1
        assert row.status != "delivered"


@pytest.mark.parametrize("ahead_ms", [3 * MINUTE_MS, HOUR_MS])
async def test_a_clock_that_is_ahead_hides_the_message_from_every_look(tmp_path: Path, ahead_ms: int) -> None:
    """The window begins two minutes before the attempt by our clock: the message is older by the provider's."""
    async with desk(tmp_path) as home:
        theirs = ManualClock(home.clock.now() - ahead_ms)
        ours = home.clock.move

        def move(ms: int) -> None:
            ours(ms)
            theirs.move(ms)

        home.clock.move = move
        home.provider.clock = theirs
        home.provider.faults.append("lose")
        request = await home.answered("one")
        row = await home.settle(request)
        if row.status != "delivered":
            await resend(home, request)
        assert shown(home, request) == ["one"]


async def paced(folder: Path, before: Callable[[SharedPacing, Callable[[int], None]], Awaitable[None]]) -> int:
    """How long a call waits after the database's clock was set back by an hour; ``before`` is what happened earlier."""
    async with opened_transactions(folder) as transactions:
        clock, theirs = ManualClock(), ManualClock()
        pacing = SharedPacing(transactions, ReturnsPolicy(), clock, "one", database_clock=lambda _c: theirs.now())

        def move(ms: int) -> None:
            clock.move(ms)
            theirs.move(ms)

        await before(pacing, move)
        theirs.move(-HOUR_MS)
        waited = 0
        while waited < 2 * HOUR_MS:
            answer = (await pacing.take([CALL]))[0]
            if not isinstance(answer, Wait):
                break
            move(answer.ms)
            waited += answer.ms
        return waited


CALL = Call(AppName("default"), Api.SENDS, ChatKey("a chat"))


async def calls(pacing: SharedPacing, move: Callable[[int], None]) -> None:
    """A chat got as many messages as it may in a second."""
    for _ in range(ReturnsPolicy().chat_per_second):
        permit = (await pacing.take([CALL]))[0]
        assert isinstance(permit, Permit)
        await pacing.end(permit)
        move(10)


async def limit(pacing: SharedPacing, move: Callable[[int], None]) -> None:
    """The provider asked for a minute's rest."""
    await pacing.pause(CALL.app, CALL.api, MINUTE_MS)


@pytest.mark.parametrize("before", [calls, limit])
async def test_a_database_clock_that_was_set_back_stops_all_sends_until_it_catches_up(
    tmp_path: Path, before: Callable[[SharedPacing, Callable[[int], None]], Awaitable[None]]
) -> None:
    assert await paced(tmp_path, before) <= ReturnsPolicy().retry_max_ms


LIMITED = b'{"code":230020}'
"""Lark's answer that a chat gets too much."""


async def _answer_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, told: asyncio.Event) -> None:
    """Answer the first send, and a little later once more; every other request gets one answer."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            token = b"tenant_access_token" in head
            writer.write(_http(TOKEN if token else ACCEPTED))
            if not token and not told.is_set():
                await asyncio.sleep(0.05)
                writer.write(_http(LIMITED))
                told.set()
            await writer.drain()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


TOKEN = b'{"code":0,"tenant_access_token":"t-1","expire":7200}'
ACCEPTED = b'{"code":0,"data":{"message_id":"om_1","chat_id":"oc_1"}}'


def _http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def test_an_answer_that_came_unasked_is_taken_for_that_of_the_next_send() -> None:
    """A second answer to an earlier request waits in a connection that is kept alive, and refuses what is sent next."""
    told = asyncio.Event()
    talking: list[asyncio.Task[object]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.append(asyncio.current_task())
        await _answer_twice(reader, writer, told)

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    app = LarkApp(AppName("default"), "cli_own", "secret", f"http://127.0.0.1:{port}")
    async with server, LarkClient([app], ManualClock(), 5.0) as client:
        delivery = LarkDelivery(client)
        first = await delivery.send(route(), text("one"), IdempotencyKey("key-1"))
        assert isinstance(first, Accepted)
        await asyncio.wait_for(told.wait(), 5)
        await asyncio.sleep(0.2)
        assert not isinstance(await delivery.send(route(), text("two"), IdempotencyKey("key-2")), Refused)
    await asyncio.gather(*talking)


async def test_the_parts_behind_one_that_turned_up_are_sent(tmp_path: Path) -> None:
    """The first of two was not found and is sent anew with the second; then it is there: only the second goes out."""
    async with desk(tmp_path) as home:
        request = await never_accepted(home, "one", "two")
        home.provider.prepare_faults += [refused(Refusal.OFFLINE)] * 2
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        message = home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        late = Locator(MessageId(message.message_id), ChatId(message.chat_id), None)
        old = (await home.parts(request))[0]
        await home.transactions.run(lambda c: learn(c, old.part_id, late, Source.DIRECT, home.clock.now()))
        row = await home.settle(request)
        assert (row.status, row.parts, row.delivered_parts) == ("delivered", 2, 2)
        assert shown(home, request) == ["one", "two"]
        states = [(part.state, part.attempts) for part in await home.parts(request)]
        assert states == [("delivered", 1), ("superseded", 0), ("superseded", 0), ("delivered", 1)]
