"""The tenant's token: one fetch for all, renewed early without a wait, dropped when it is not accepted."""

from __future__ import annotations

import asyncio

import aiohttp
import httpx
import pytest

from providers.lark.answers import Answer, NoAnswer, read_answer
from providers.lark.tokens import Token, TokenSource
from returns.ports import Refusal, Refused
from tests.support.lark import MovedClock, no_sleep, refused, token_answer

MINUTE = 60_000


def answered(response: httpx.Response) -> Answer:
    return read_answer(response.status_code, response.headers, response.content)


class Endpoint:
    """Lark's token endpoint, answering in turn; the last answer repeats."""

    def __init__(self, *answers: httpx.Response | type[Exception]) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.open = asyncio.Event()
        self.open.set()
        self.entered = asyncio.Event()

    async def fetch(self) -> Answer | NoAnswer:
        self.asked += 1
        self.entered.set()
        await self.open.wait()
        one = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return NoAnswer(one) if isinstance(one, type) else answered(one)


def source(endpoint: Endpoint, clock: MovedClock | None = None) -> TokenSource:
    return TokenSource(endpoint.fetch, clock or MovedClock(), no_sleep)


async def value(tokens: TokenSource) -> str:
    token = await tokens.get()
    assert isinstance(token, Token)
    return token.value


async def test_one_fetch_serves_everybody() -> None:
    endpoint = Endpoint(token_answer())
    endpoint.open.clear()
    tokens = source(endpoint)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(tokens.get()) for _ in range(100)]
        await endpoint.entered.wait()
        endpoint.open.set()
    assert endpoint.asked == 1
    assert {one.result().value for one in waiting if isinstance(one.result(), Token)} == {"t-1"}


async def test_everybody_shares_one_failure() -> None:
    endpoint = Endpoint(refused(10014, 200))
    endpoint.open.clear()
    tokens = source(endpoint)
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(tokens.get()) for _ in range(50)]
        await endpoint.entered.wait()
        endpoint.open.set()
    assert endpoint.asked == 1
    assert {one.result() for one in waiting} == {Refused(Refusal.CONFIGURATION, 10014)}


async def test_a_cancelled_fetcher_leaves_it_to_the_next() -> None:
    endpoint = Endpoint(token_answer())
    endpoint.open.clear()
    tokens = source(endpoint)
    first = asyncio.create_task(tokens.get())
    await endpoint.entered.wait()
    second = asyncio.create_task(tokens.get())
    await asyncio.sleep(0)
    first.cancel()
    endpoint.open.set()
    assert isinstance(await second, Token)
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_the_token_is_kept_until_thirty_minutes_are_left() -> None:
    clock, endpoint = MovedClock(), Endpoint(token_answer("t-1"), token_answer("t-2"))
    tokens = source(endpoint, clock)
    assert await value(tokens) == "t-1"
    clock.move(90 * MINUTE - 1)
    assert (await value(tokens), endpoint.asked) == ("t-1", 1)
    clock.move(1)
    assert (await value(tokens), endpoint.asked) == ("t-2", 2)


async def test_an_early_renewal_keeps_nobody_else_waiting() -> None:
    clock, endpoint = MovedClock(), Endpoint(token_answer("t-1"), token_answer("t-2"))
    tokens = source(endpoint, clock)
    await tokens.get()
    clock.move(95 * MINUTE)
    endpoint.open.clear()
    endpoint.entered.clear()
    renewing = asyncio.create_task(tokens.get())
    await endpoint.entered.wait()
    assert [await value(tokens) for _ in range(10)] == ["t-1"] * 10
    endpoint.open.set()
    renewed = await renewing
    assert isinstance(renewed, Token)
    assert (renewed.value, endpoint.asked) == ("t-2", 2)


async def test_an_early_renewal_that_fails_leaves_the_token_and_waits_before_the_next() -> None:
    clock = MovedClock()
    endpoint = Endpoint(token_answer("t-1"), refused(99991400, 429), token_answer("t-2"))
    tokens = source(endpoint, clock)
    await tokens.get()
    clock.move(95 * MINUTE)
    assert (await value(tokens), endpoint.asked) == ("t-1", 2)
    assert (await value(tokens), endpoint.asked) == ("t-1", 2)
    clock.move(30_000)
    assert (await value(tokens), endpoint.asked) == ("t-2", 3)


async def test_a_token_is_not_used_at_its_very_end() -> None:
    clock, endpoint = MovedClock(), Endpoint(token_answer("t-1"), aiohttp.ClientConnectorError)
    tokens = source(endpoint, clock)
    await tokens.get()
    clock.move(120 * MINUTE - 10_000)
    assert await tokens.get() == Refused(Refusal.OFFLINE)


async def test_a_short_life_is_not_asked_for_again_at_once() -> None:
    clock, endpoint = MovedClock(), Endpoint(token_answer("t-1", 600), token_answer("t-2", 600))
    tokens = source(endpoint, clock)
    await tokens.get()
    clock.move(4 * MINUTE)
    assert (await value(tokens), endpoint.asked) == ("t-1", 1)
    clock.move(1 * MINUTE)
    assert await value(tokens) == "t-2"


async def test_invalidation_drops_only_the_token_that_was_not_accepted() -> None:
    endpoint = Endpoint(token_answer("t-1"), token_answer("t-2"))
    tokens = source(endpoint)
    old = await tokens.get()
    assert isinstance(old, Token)
    tokens.invalidate(old)
    assert await value(tokens) == "t-2"
    tokens.invalidate(old)  # the answer to an old send comes late
    assert (await value(tokens), endpoint.asked) == ("t-2", 2)


@pytest.mark.parametrize(
    "broken",
    [aiohttp.ClientConnectorError, aiohttp.SocketTimeoutError, httpx.Response(502, text="<html>"), refused(2200, 200)],
)
async def test_a_broken_answer_is_asked_for_again(broken: httpx.Response | type[Exception]) -> None:
    endpoint = Endpoint(broken, token_answer())
    assert (await value(source(endpoint)), endpoint.asked) == ("t-1", 2)


async def test_three_broken_answers_are_offline() -> None:
    endpoint = Endpoint(aiohttp.SocketTimeoutError)
    assert (await source(endpoint).get(), endpoint.asked) == (Refused(Refusal.OFFLINE), 3)


@pytest.mark.parametrize("code", [10003, 10014, 10015, 99991543, 20002, 424242])
async def test_wrong_credentials_are_not_asked_for_again(code: int) -> None:
    endpoint = Endpoint(refused(code, 200))
    outcome = await source(endpoint).get()
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.code, endpoint.asked) == (Refusal.CONFIGURATION, code, 1)


async def test_a_limit_is_told_with_its_wait() -> None:
    limited = refused(99991400, 429, **{"x-ogw-ratelimit-reset": "4"})
    outcome = await source(Endpoint(limited)).get()
    assert outcome == Refused(Refusal.RATE_LIMITED, 99991400, 4_000)


@pytest.mark.parametrize("expire", [None, "7200", 0, -1, True, 7200.5])
async def test_a_token_without_a_sensible_end_is_none(expire: object) -> None:
    assert await source(Endpoint(token_answer("t-1", expire))).get() == Refused(Refusal.OFFLINE)


@pytest.mark.parametrize("text", ["", "t 1", "t-1\r\nX-Evil: 1", "标记"])
async def test_a_token_that_is_no_header_is_none(text: str) -> None:
    assert await source(Endpoint(token_answer(text))).get() == Refused(Refusal.OFFLINE)


def test_a_token_is_not_shown() -> None:
    token = Token("t-secret", MovedClock().now(), MovedClock().now())
    assert "t-secret" not in repr(token)
