"""What the delivery port promises, held against the real adapter over a local Lark and the simulation's provider."""

from __future__ import annotations

import asyncio

import pytest

from returns.ids import MessageId, Millis
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    NotPermitted,
    Reading,
    Ready,
    Refusal,
    Refused,
    Unknown,
    Unreachable,
    WindowPage,
)
from tests.support.delivery_port import APP, PLACES, Stage, play, said, sent

pytestmark = pytest.mark.parametrize("kind", ["lark", "simulated"])

DEFINITE = [
    Refusal.STALE_TOKEN,
    Refusal.CONFIGURATION,
    Refusal.NOT_ALLOWED,
    Refusal.CONTENT,
    Refusal.ROUTE_GONE,
    Refusal.QUESTION_RECALLED,
]


async def accepted(stage: Stage, words: str = "hello", key: str = "key-1", place: str = "reply") -> Locator:
    outcome = await sent(stage, words, key, place)
    assert isinstance(outcome, Accepted), outcome
    return outcome.locator


async def read(stage: Stage, locator: Locator) -> Reading:
    reading = await stage.provider.read(APP, locator)
    assert isinstance(reading, Reading), reading
    return reading


async def window(stage: Stage, place: str = "reply", since: int | None = None) -> list[Reading]:
    found: list[Reading] = []
    cursor: str | None = None
    start = Millis(stage.now() - 60_000 if since is None else since)
    while True:
        page = await stage.provider.list_window(stage.route(place), start, cursor)
        assert isinstance(page, WindowPage), page
        found += page.readings
        cursor = page.next_cursor
        if cursor is None:
            return found


async def ours(stage: Stage, place: str = "reply") -> list[str]:
    return [one.visible for one in await window(stage, place) if one.ours]


@pytest.mark.parametrize("place", PLACES)
def test_what_is_accepted_reads_back_by_its_locator_and_in_the_history(kind: str, place: str) -> None:
    async def scenario(stage: Stage) -> None:
        before = stage.now()
        locator = await accepted(stage, "hello", place=place)
        route = stage.route(place)
        assert (locator.chat_id, locator.thread_id) == (route.chat_id, route.thread_id)
        reading = await read(stage, locator)
        listed = [one for one in await window(stage, place) if one.locator.message_id == locator.message_id]
        assert listed == [reading]
        assert (reading.locator, reading.ours, reading.recalled, reading.visible) == (locator, True, False, "hello")
        if place != "thread":  # inside a thread the parent may be its root
            assert reading.parent_id == route.reply_to
        assert before - 1_000 <= reading.sent_at <= stage.now()

    play(kind, scenario)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("deed", ["accept_and_lose", "no_id"])
def test_accepted_but_not_told_is_unknown_and_there_once(kind: str, deed: str, place: str) -> None:
    async def scenario(stage: Stage) -> None:
        stage.next_send(deed)
        assert isinstance(await sent(stage, place=place), Unknown)
        assert await ours(stage, place) == ["hello"]
        assert stage.shown() == ["hello"]

    play(kind, scenario)


def test_a_request_that_was_lost_is_unknown_and_not_there(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        stage.next_send("lose")
        assert isinstance(await sent(stage), Unknown)
        assert await ours(stage) == []

    play(kind, scenario)


@pytest.mark.parametrize("refusal", DEFINITE, ids=lambda refusal: refusal.value)
def test_a_refusal_is_definite(kind: str, refusal: Refusal) -> None:
    async def scenario(stage: Stage) -> None:
        stage.next_send(refusal.value)
        outcome = await sent(stage)
        assert isinstance(outcome, Refused)
        assert outcome.refusal is refusal
        assert stage.shown() == []
        await accepted(stage)  # the key was not used up
        assert stage.shown() == ["hello"]

    play(kind, scenario)


def test_a_limit_says_how_long(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        stage.next_send("limit")
        outcome = await sent(stage)
        assert isinstance(outcome, Refused)
        assert (outcome.refusal, outcome.retry_after_ms) == (Refusal.RATE_LIMITED, 7_000)
        assert stage.shown() == []

    play(kind, scenario)


def test_an_equal_key_is_one_message_for_an_hour(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        first = await accepted(stage)
        stage.advance(3_000_000)
        assert await accepted(stage) == first
        assert stage.shown() == ["hello"]
        stage.advance(3_700_000)
        assert await accepted(stage) != first

    play(kind, scenario)


def test_another_key_is_another_message(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        assert await accepted(stage) != await accepted(stage, key="key-2")
        assert await ours(stage) == ["hello", "hello"]

    play(kind, scenario)


def test_a_chat_without_the_bot(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        locator = await accepted(stage)
        stage.remove_bot()
        outcome = await sent(stage, key="key-2")
        assert isinstance(outcome, Refused)
        assert outcome.refusal is Refusal.ROUTE_GONE
        assert isinstance(await stage.provider.read(APP, locator), NotPermitted)
        page = await stage.provider.list_window(stage.route(), Millis(0), None)
        assert isinstance(page, NotPermitted)

    play(kind, scenario)


def test_a_recalled_question_is_answered_in_the_chat_alone(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        question = stage.route().reply_to
        assert question is not None
        stage.recall(question)
        outcome = await sent(stage)
        assert isinstance(outcome, Refused)
        assert outcome.refusal is Refusal.QUESTION_RECALLED
        await accepted(stage, place="plain", key="key-2")

    play(kind, scenario)


def test_recalled_deleted_hidden_and_never_there_are_told_apart(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        recalled, deleted, hidden = [await accepted(stage, key=f"key-{number}") for number in range(3)]
        stage.recall(recalled.message_id)
        stage.delete(deleted.message_id)
        stage.hide(hidden)
        reading = await read(stage, recalled)
        assert (reading.recalled, reading.visible, reading.ours, reading.locator) == (True, "", True, recalled)
        assert await stage.provider.read(APP, deleted) == Missing()
        assert await stage.provider.read(APP, hidden) == Missing()
        never = Locator(MessageId("om_never"), recalled.chat_id, None)
        assert await stage.provider.read(APP, never) == Missing()
        found = {one.locator.message_id: one.recalled for one in await window(stage) if one.ours}
        assert found == {recalled.message_id: True}
        stage.reveal()
        assert (await read(stage, hidden)).visible == "hello"
        assert hidden.message_id in {one.locator.message_id for one in await window(stage)}

    play(kind, scenario)


def test_a_reading_without_an_answer_says_nothing(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        locator = await accepted(stage)
        stage.break_reading()
        assert isinstance(await stage.provider.read(APP, locator), Unreachable)
        page = await stage.provider.list_window(stage.route(), Millis(stage.now() - 1_000), None)
        assert isinstance(page, Unreachable)

    play(kind, scenario)


def test_a_forbidden_history_says_nothing(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        await accepted(stage)
        stage.forbid_history()
        page = await stage.provider.list_window(stage.route(), Millis(stage.now() - 1_000), None)
        assert isinstance(page, NotPermitted)

    play(kind, scenario)


@pytest.mark.parametrize("place", ["reply", "thread"])
def test_a_long_window_is_read_to_its_end_each_message_once(kind: str, place: str) -> None:
    async def scenario(stage: Stage) -> None:
        first = await accepted(stage, "first", "key-a", place)
        said_by_her = {stage.alice_says(f"{number}", place) for number in range(120)}
        last = await accepted(stage, "last", "key-z", place)
        readings = await window(stage, place)
        ids = [one.locator.message_id for one in readings]
        assert len(ids) == len(set(ids))
        assert said_by_her | {first.message_id, last.message_id} <= set(ids)
        assert [one.visible for one in readings if one.ours and one.locator.thread_id == first.thread_id] in (
            ["first", "last"],
            ["last", "first"],
        )
        assert not any(one.ours for one in readings if one.locator.message_id in said_by_her)

    play(kind, scenario)


@pytest.mark.parametrize("place", ["reply", "thread"])
def test_a_window_begins_at_its_moment(kind: str, place: str) -> None:
    async def scenario(stage: Stage) -> None:
        old = stage.alice_says("old", place, ago_ms=300_000)
        fresh = stage.alice_says("fresh", place, ago_ms=10_000)
        ids = {one.locator.message_id for one in await window(stage, place, stage.now() - 60_000)}
        assert fresh in ids
        assert old not in ids

    play(kind, scenario)


def test_what_stands_in_a_thread_is_read_there(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        inside = await accepted(stage, "inside", "key-a", "thread")
        outside = await accepted(stage, "outside", "key-b", "reply")
        assert await ours(stage, "thread") == ["inside"]
        place = {one.locator.message_id: one.locator.thread_id for one in await window(stage, "reply")}
        assert place[outside.message_id] is None
        assert place.get(inside.message_id, inside.thread_id) == inside.thread_id

    play(kind, scenario)


def test_offline_nothing_leaves_and_nothing_is_known(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        assert await stage.provider.prepare(APP) == Ready()
        locator = Locator(MessageId("om_1"), stage.route().chat_id, None)
        await stage.go_offline()
        assert isinstance(await stage.provider.read(APP, locator), Unreachable)
        outcome = await sent(stage)
        assert isinstance(outcome, Refused)
        assert outcome.refusal is Refusal.OFFLINE
        assert stage.shown() == []

    play(kind, scenario)


def test_offline_there_is_no_token(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.go_offline()
        answer = await stage.provider.prepare(APP)
        assert isinstance(answer, Refused)
        assert answer.refusal is Refusal.OFFLINE

    play(kind, scenario)


def test_a_send_can_be_cancelled(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        stage.next_send("lose")
        sending = asyncio.ensure_future(sent(stage))
        await asyncio.sleep(0)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending

    play(kind, scenario)


def test_the_limit_grows_with_the_document(kind: str) -> None:
    async def scenario(stage: Stage) -> None:
        provider = stage.provider
        sizes = [provider.measure(said("x" * count)) for count in (1, 100, 10_000)]
        assert sizes == sorted(sizes)
        assert sizes[0] <= provider.limit_bytes < provider.measure(said("x" * provider.limit_bytes))

    play(kind, scenario)
