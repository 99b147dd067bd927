"""Order, side by side, resumed, bounded, and never one stopping another."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import Connection

from manager.decisions.decision import Answer, Decision, Decline, Evidence, TurnInput
from manager.decisions.turn_sentences import Sentence, say
from manager.ids import TurnId
from manager.ledger import tables, turns
from manager.ports import RuntimeFailed
from returns.ids import AppName, ChatId, Millis, ThreadId
from returns.ports import StorageUnavailable
from tests.support.turns import ANNA, APP, NOON, OTHER_APP, OWNER, World, message, policy, private, recall, world


async def test_rapid_messages_are_all_answered_in_order(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        for number in range(5):
            await it.accept(message(f"@_user_1 {number}", created_at=Millis(NOON + number)))
        await it.until_idle(5)
        assert await it.told() == [f"answer to {number}" for number in range(5)]
        assert it.runtime.most_running == 1


async def test_order_is_that_of_writing_among_what_has_arrived(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        for number in (3, 1, 2):
            await it.accept(message(f"@_user_1 {number}", created_at=Millis(NOON + number)))
        async with it.running():
            await it.until_idle(3)
        assert it.runtime.questions == ["1", "2", "3"]


async def test_conversations_run_side_by_side_up_to_a_bound(tmp_path: Path) -> None:
    async with world(tmp_path, policy=policy(max_parallel_turns=2)) as it, it.running():
        full, go_on = asyncio.Event(), asyncio.Event()

        async def decide(turn: TurnInput) -> Decision:
            if it.runtime.running == 2:
                full.set()
            await go_on.wait()
            return Answer("done")

        it.runtime.decide_with = decide
        for number in range(5):
            await it.accept(message(chat_id=ChatId(f"oc_{number}")))
        await full.wait()
        assert (await it.turn_states()).count("running") == 2
        go_on.set()
        await it.until_idle(5)
        assert it.runtime.most_running == 2


async def test_a_turn_that_was_killed_is_taken_up_again_and_answered_once(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        started = asyncio.Event()
        answer = it.runtime.decide_with

        async def hang(turn: TurnInput) -> Decision:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

        it.runtime.decide_with = hang
        async with it.running():
            await it.accept(message())
            await started.wait()
        assert await it.turn_states() == ["running"]
        it.runtime.decide_with = answer
        async with it.running():
            await it.until_idle(1)
        assert await it.told() == ["answer to where is main?"]
        assert [name for name, _ in await it.facts() if name.startswith("turn_")] == ["turn_started", "turn_resumed"]


async def test_a_lease_that_ran_out_frees_the_turn_for_another_gateway(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message())

        def claim(owner: str) -> object:
            return it.transactions.run(
                lambda each: turns.claim_due(each, owner=owner, now=it.clock.now(), lease_ms=1000, limit=5, places=10)
            )

        (first,) = await claim("a")
        assert await claim("b") == ()
        assert await it.transactions.run(lambda each: turns.next_due(each, it.clock.now())) == it.clock.now() + 1000
        it.clock.advance(1000)
        (second,) = await claim("b")
        assert (second.turn_id, second.fence, second.resumed) == (first.turn_id, first.fence + 1, True)
        late = Millis(it.clock.now() + 1000)
        assert not await it.transactions.run(lambda each: turns.renew(each, first.turn_id, first.fence, late))
        assert not await it.transactions.run(lambda each: turns.holds(each, first.turn_id, first.fence))
        assert await it.transactions.run(lambda each: turns.holds(each, second.turn_id, second.fence))


async def test_what_a_lost_holder_decides_is_not_kept(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        started, go_on = asyncio.Event(), asyncio.Event()

        async def decide(turn: TurnInput) -> Decision:
            started.set()
            await go_on.wait()
            return Answer("of the lost one")

        it.runtime.decide_with = decide
        await it.accept(message())
        await started.wait()
        it.clock.advance(60_000)
        stolen = await it.transactions.run(
            lambda each: turns.claim_due(each, owner="other", now=it.clock.now(), lease_ms=30_000, limit=1, places=10)
        )
        assert len(stolen) == 1
        await it.wake()
        await it.until(lambda: nothing_runs(it))
        assert await it.told() == []
        assert await it.turn_states() == ["running"]


async def test_a_recall_ends_the_work_at_once(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        started, ended = asyncio.Event(), asyncio.Event()

        async def decide(turn: TurnInput) -> Decision:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

        it.runtime.decide_with = decide
        question = message()
        await it.accept(question)
        await started.wait()
        await it.accept(recall(question))
        await asyncio.wait_for(ended.wait(), 10)
        assert await it.told() == []


async def test_the_work_is_told_in_facts(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        looked = tuple(Evidence(f"a.py:{n}", "abc", status) for n, status in enumerate(["read", "read", "denied"]))

        async def decide(turn: TurnInput) -> Decision:
            return Answer("found", looked)

        it.runtime.decide_with = decide
        await it.accept(message())
        await it.until_idle(1)
        assert await it.facts("investigated") == [("investigated", {"read": 2, "denied": 1, "unavailable": 0})]
        names = [name for name, _ in await it.facts()]
        assert names[:4] == ["received", "turn_started", "investigated", "decided"]


async def test_a_runtime_that_fails_is_tried_three_times_and_then_the_asker_is_told(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():

        async def decide(turn: TurnInput) -> Decision:
            raise RuntimeFailed("the model is overloaded")

        it.runtime.decide_with = decide
        await it.accept(message())
        for tried in (1, 2):
            await it.until(lambda tried=tried: failures(it, tried))
            it.clock.advance(60_000)
            await it.wake()
        await it.until_idle(1)
        assert await it.turn_states() == ["failed"]
        assert await it.works() == ["declined"]
        (told,) = await it.told("answer")
        assert "the model is overloaded" in told
        assert [detail["final"] for _, detail in await it.facts("turn_failed")] == [False, False, True]


async def test_a_fault_of_the_runtime_stops_no_other_conversation(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():

        async def decide(turn: TurnInput) -> Decision:
            if turn.question == "boom":
                raise ZeroDivisionError("secret words")
            return Answer("fine")

        it.runtime.decide_with = decide
        await it.accept(message("@_user_1 boom"))
        await it.until(lambda: failures(it, 1))
        await it.accept(message("@_user_1 other", chat_id=ChatId("oc_2")))
        await it.until(lambda: told(it, 1))
        assert await it.told() == ["fine"]
        for tried in (2, 3):
            it.clock.advance(60_000)
            await it.wake()
            await it.until(lambda tried=tried: failures(it, tried))
        await it.until_idle(2)
        assert say(Sentence.FAILED, "en", attempts=3) in (await it.told())[1]
        assert "secret" not in str(await it.facts())


async def test_out_of_time_is_said_at_once(tmp_path: Path) -> None:
    async with world(tmp_path, policy=policy(turn_timeout_ms=50)) as it, it.running():

        async def decide(turn: TurnInput) -> Decision:
            await asyncio.Event().wait()
            raise AssertionError

        it.runtime.decide_with = decide
        await it.accept(message("@_user_1 问题在哪里？"))
        await it.until_idle(1)
        assert await it.turn_states() == ["failed"]
        assert "时限" in (await it.told())[0]


async def test_learning_who_reads_the_chat_is_not_the_turns_time(tmp_path: Path) -> None:
    """Nothing is said there while that is not known, however long it takes."""
    async with world(tmp_path, policy=policy(turn_timeout_ms=1_000)) as it, it.running():
        facts = it.reader.chat

        async def chat(*asked: object) -> object:
            await asyncio.sleep(1.2)
            return await facts(*asked)

        it.reader.chat = chat
        await it.accept(message("@_user_1 where is foo?"))
        await it.until_idle(1)
        assert await it.told() == ["answer to where is foo?"]


async def test_a_time_limit_of_the_runtimes_own_is_a_failure_like_others(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():

        async def decide(turn: TurnInput) -> Decision:
            raise TimeoutError

        it.runtime.decide_with = decide
        await it.accept(message())
        await it.until(lambda: failures(it, 1))
        assert await it.facts("turn_failed") == [("turn_failed", {"cause": "broken", "attempt": 1, "final": False})]


async def test_a_turn_that_kills_its_holder_again_and_again_is_given_up(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message())
        for _ in range(6):
            await it.transactions.run(
                lambda each: turns.claim_due(each, owner="a", now=it.clock.now(), lease_ms=1, limit=1, places=10)
            )
            await it.transactions.run(lambda each: turns.release_all(each, it.clock.now()))
        async with it.running():
            await it.until_idle(1)
        assert it.runtime.seen == []
        assert await it.turn_states() == ["failed"]
        assert len(await it.told("answer")) == 1


async def test_a_decision_that_cannot_be_committed_ends_the_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(tmp_path) as it, it.running():

        async def decide(turn: TurnInput) -> Decision:
            return Answer(None) if turn.question == "bad" else Decline("no")

        it.runtime.decide_with = decide
        await it.accept(message("@_user_1 bad"))
        await it.accept(message("@_user_1 next"))
        await it.until_idle(2)
        assert await it.turn_states() == ["failed", "done"]
        assert "could not be ended" in caplog.text


async def test_a_database_that_is_away_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        run = it.transactions.run
        away = 0

        async def flaky(work: object) -> object:
            nonlocal away
            if away > 0:
                away -= 1
                raise StorageUnavailable
            return await run(work)

        async def decide(turn: TurnInput) -> Decision:
            nonlocal away
            away = 2
            return Answer("kept")

        it.runtime.decide_with = decide
        it.transactions.run = flaky
        async with it.running():
            await it.accept(message())
            await it.until_idle(1)
        assert await it.told() == ["kept"]
        assert len(it.runtime.seen) == 1


async def test_an_unrelated_person_waits_for_nobody(tmp_path: Path) -> None:
    async with world(tmp_path, policy=policy(private="open")) as it, it.running():
        started = asyncio.Event()

        async def decide(turn: TurnInput) -> Decision:
            if turn.question == "slow":
                started.set()
                await asyncio.Event().wait()
            return Answer("quick")

        it.runtime.decide_with = decide
        await it.accept(private("slow", sender=OWNER))
        await started.wait()
        await it.accept(private("quick", sender=ANNA))
        await it.until(lambda: told(it, 1))


@pytest.mark.parametrize("moves", ["withdraw", "finish"])
async def test_a_turn_that_ended_moves_no_more(tmp_path: Path, moves: str) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(message())
        await it.until_idle(1)
        (row,) = await it.rows(tables.turns)
        turn = TurnId(row["turn_id"])
        if moves == "withdraw":
            assert await it.transactions.run(lambda each: turns.withdraw(each, row["request_id"], revision=1)) == 0
        else:
            event = turns.TurnEvent.WITHDRAWN
            assert not await it.transactions.run(lambda each: turns.finish(each, turn, row["fence"], event))
        assert await it.turn_states() == ["done"]


async def failures(it: World, count: int) -> bool:
    return len(await it.facts("turn_failed")) == count


async def told(it: World, count: int) -> bool:
    return len(await it.told()) == count


async def nothing_runs(it: World) -> bool:
    return it.runtime.running == 0


async def test_one_chat_takes_no_more_than_its_share(tmp_path: Path) -> None:
    """Ten threads of one chat are due before another chat's question: half of the places stay for others."""
    async with world(tmp_path) as it:
        for number in range(10):
            await it.accept(message(thread_id=ThreadId(f"omt_{number}")))
        await it.accept(message(chat_id=ChatId("oc_other")))

        def claim(connection: Connection) -> list[str]:
            found = turns.claim_due(connection, owner="a", now=it.clock.now(), lease_ms=30_000, limit=8, places=8)
            return [turns.chat_of(turn.conversation_id) for turn in found]

        first = await it.transactions.run(claim)
        assert sorted(Counter(first).values()) == [1, 4]
        assert await it.transactions.run(claim) == []  # the one chat has its share, the other nothing more


def claimed(it: World, connection: Connection, *apps: AppName) -> list[turns.ClaimedTurn]:
    """Claimed by a gateway with eight places."""
    now = it.clock.now()
    return list(turns.claim_due(connection, owner="a", now=now, lease_ms=30_000, limit=8, places=8, apps=apps))


async def test_one_app_takes_no_more_than_its_share(tmp_path: Path) -> None:
    """Ten chats of one app are due before another app's question."""
    async with world(tmp_path) as it:
        for number in range(10):
            await it.accept(message(chat_id=ChatId(f"oc_{number}")))
        await it.accept(private(app=OTHER_APP))
        first = await it.transactions.run(lambda each: claimed(it, each, APP, OTHER_APP))
        rows = {row["request_id"]: row["app"] for row in await it.rows(tables.requests)}
        assert Counter(rows[turn.request_id] for turn in first) == {APP: 6, OTHER_APP: 1}


async def test_what_was_claimed_before_takes_no_more_than_its_share(tmp_path: Path) -> None:
    """Turns that wait are due again before a new question is."""
    async with world(tmp_path) as it:
        for number in range(9):
            await it.accept(message(chat_id=ChatId(f"oc_{number}")))
        for _ in range(2):
            for turn in await it.transactions.run(lambda each: claimed(it, each, APP)):
                await it.transactions.run(lambda each, turn=turn: turns.give_back(each, turn, it.clock.now()))
        it.clock.advance(1)
        await it.accept(message(chat_id=ChatId("oc_new")))
        again = [turn.fence > 1 for turn in await it.transactions.run(lambda each: claimed(it, each, APP))]
        assert sorted(again) == [False] + [True] * 6
