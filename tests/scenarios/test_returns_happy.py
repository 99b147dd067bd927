"""Answers that go through: one message a part, proved, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from returns.decisions.rendering import render
from returns.ids import ReturnId, SubjectId
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ports import Refusal
from tests.support.returns import LIMIT, house, measure, refused, route, running, text, visible_of


async def test_an_answer_is_sent_once_read_back_and_proved(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        subject = await home.put("the answer")
        row = await home.settle(subject)
        assert (row.status, row.error, row.verification) == ("delivered", None, "direct")
        assert (row.parts, row.delivered_parts, row.attempts, row.needs_operator) == (1, 1, 1, False)
        assert row.delivered_at is not None
        assert len(home.provider.sends) == 1
        assert home.provider.reads == 1
        assert home.provider.lists == 0
        assert [name for name, _ in await home.facts(subject)] == [
            "return_queued",
            "attempt",
            "accepted",
            "located",
            "read_back",
            "delivered",
        ]


async def test_it_is_not_read_before_the_delay_is_over(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        subject = await home.put("x")

        async def accepted() -> bool:
            return await home.status(subject) == "verification_required"

        await home.until(accepted)
        row = await home.answer(subject)
        assert row.error == "provider_delivery_unverified"
        assert home.provider.reads == 0
        home.clock.move(499)
        home.pump._wakeup.ring()
        await home.quiet()
        assert home.provider.reads == 0
        assert (await home.settle(subject, step_ms=1)).status == "delivered"


async def test_parts_of_an_answer_follow_each_other(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        subject = await home.put("one", "two", "three")
        row = await home.settle(subject)
        assert (row.status, row.parts, row.delivered_parts, row.attempts) == ("delivered", 3, 3, 3)
        assert [visible_of([document]) for _, document, _ in home.provider.sends] == ["one", "two", "three"]
        assert len(set(await home.locators())) == 3  # R16: each part keeps its own
        assert len({key for _, _, key in home.provider.sends}) == 3


async def test_the_same_text_for_two_questions_is_two_messages(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        first, second = await home.put("Done."), await home.put("Done.")
        assert (await home.settle(first)).status == "delivered"
        assert (await home.settle(second)).status == "delivered"
        assert len(home.provider.messages) == 2


async def test_equal_parts_of_one_answer_are_two_messages(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        subject = await home.put("same", "same")
        assert (await home.settle(subject)).delivered_parts == 2
        assert len(home.provider.messages) == 2


async def test_a_rate_limit_is_waited_for_and_the_order_kept(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        limits = [refused(Refusal.RATE_LIMITED, code=230020, retry_after_ms=2000) for _ in range(7)]
        home.provider.faults = list(limits)
        subjects = [await home.put(f"answer {number}") for number in range(20)]
        for subject in subjects:
            assert (await home.settle(subject)).status == "delivered"
        assert [visible_of([m.document]) for m in home.provider.messages] == [f"answer {n}" for n in range(20)]
        assert len(home.provider.messages) == 20
        first = await home.answer(subjects[0])
        assert first.attempts == 8  # every send counts, also those that were refused
        assert len({key for _, _, key in home.provider.sends}) == 20  # and keeps its key


@pytest.mark.parametrize(
    "words",
    ["你好，世界。" * 3500, "🀄👨‍👩‍👧✅ ⚠ a@b.com\n" * 1500, "مرحبا بالعالم " * 2600, "plain\n" * 12_000],
    ids=["chinese", "emoji", "rtl", "lines"],
)
async def test_sixty_kilobytes_arrive_whole(tmp_path: Path, words: str) -> None:
    documents = render(words, measure=measure, limit_bytes=LIMIT)
    assert len(documents) > 1
    async with house(tmp_path) as home, running(home):
        new = new_return(
            return_id=ReturnId("t_long"),
            subject=SubjectId("r_long"),
            revision=1,
            kind=ReturnKind.ANSWER,
            route=route(),
            documents=documents,
        )
        now = home.clock.now()
        await home.transactions.run(lambda c: enqueue(c, new, now))
        row = await home.settle("r_long")
        assert (row.status, row.delivered_parts) == ("delivered", len(documents))
    arrived = visible_of(m.document for m in home.provider.messages)
    assert "".join(arrived.split()) == "".join(words.split())
    assert all(measure(m.document) <= LIMIT for m in home.provider.messages)


async def test_a_notice_is_delivered_and_is_not_the_answer(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        await home.put("handing over", subject="r_n", kind=ReturnKind.NOTICE)

        async def told() -> bool:
            return [part.state for part in await home.parts("r_n")] == ["delivered"]

        await home.until(told)
        subject = await home.put("the answer", subject="r_n")
        row = await home.settle(subject)
        assert (row.parts, row.attempts) == (1, 1)


async def test_an_app_s_pace_is_kept(tmp_path: Path) -> None:
    async with house(tmp_path, chat_per_second=2) as home, running(home):
        subjects = [await home.put(f"{number}") for number in range(6)]
        for subject in subjects:
            assert (await home.settle(subject, step_ms=50)).status == "delivered"
        at = [message.sent_at for message in home.provider.messages]
        assert all(later - earlier >= 1000 for earlier, later in zip(at, at[2:], strict=False))


async def test_a_message_in_a_thread(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        subject = await home.put("in the thread", to=route(thread="omt_1", reply_to="om_q"))
        assert (await home.settle(subject)).status == "delivered"
        assert home.provider.messages[0].thread_id == "omt_1"


def test_a_return_without_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one part"):
        new_return(
            return_id=ReturnId("t"),
            subject=SubjectId("r"),
            revision=1,
            kind=ReturnKind.ANSWER,
            route=route(),
            documents=(),
        )
    assert text("x")
