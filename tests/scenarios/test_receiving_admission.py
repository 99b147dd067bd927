"""Who is listened to, where, and what happens to everything else."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gateway.inbox.asking import asking
from gateway.inbox.reading import show_request
from manager.decisions.decision import Audience
from manager.decisions.inbound import Mention, Sender, SenderKind
from manager.decisions.turn_sentences import Sentence, say
from manager.ids import ConversationId, GrantId, OpenId
from manager.ledger import grants, tables
from manager.ports import ChatFacts, Gone
from manager.service.concluding import WAIT_MS
from manager.service.receiving import Acceptance
from returns.ids import ChatId, MessageId, Millis, ThreadId
from tests.support.turns import (
    ANNA,
    APP,
    AT_STEWARD,
    BEN,
    GROUP,
    NOON,
    OTHER_APP,
    OWNER,
    STEWARD,
    TENANT,
    World,
    bot_added,
    bot_removed,
    message,
    policy,
    private,
    recall,
    world,
)

AT_BEN = Mention("@_user_1", BEN, "Ben")


async def owner_grants(it: World, conversation: str) -> None:
    await it.transactions.run(
        lambda each: grants.add(
            each,
            grant_id=GrantId(it.ids("g")),
            principal=f"steward:{APP}",
            resource=conversation,
            effect="converse",
            audience=Audience.SHARED,
            granted_by="operator",
            now=it.clock.now(),
        )
    )


async def revoke_all(it: World) -> None:
    for grant in await it.rows(tables.grants, revoked_at=None):
        await it.transactions.run(
            lambda each, grant=grant: grants.revoke(
                each, GrantId(grant["grant_id"]), reason="enough", now=it.clock.now()
            )
        )


async def reason(it: World) -> str | None:
    rows = await it.rows(tables.events)
    return rows[-1]["reason"]


@pytest.mark.parametrize(
    ("words", "mentions"),
    [
        ("@_all hello", (Mention("@_all", None, "所有人"),)),
        ("@_all hello", (Mention("@_all", OpenId(""), "所有人"),)),
        ("@_all hello", ()),
        ("hello all", ()),
        ("@_user_1 hello", (AT_BEN,)),
        ("@Steward hello", ()),
    ],
)
async def test_in_a_group_only_its_own_mention_calls_it(
    tmp_path: Path, words: str, mentions: tuple[Mention, ...]
) -> None:
    async with world(tmp_path) as it:
        said = await it.accept(message(words, mentions=mentions, mentions_all="@_all" in words))
        assert said is Acceptance.IGNORED
        assert await it.rows(tables.turns) == []
        assert await reason(it) == "not_addressed"


async def test_all_and_the_steward_together_call_it(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        asked = message("@_all @_user_1 hello", mentions=(AT_STEWARD,), mentions_all=True)
        assert await it.accept(asked) is Acceptance.NEW
        await it.until_idle(1)
        assert it.runtime.questions == ["@_all hello"]


async def test_each_app_answers_to_its_own_name_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        assert await it.accept(message("@_user_1 hi", app=OTHER_APP)) is Acceptance.IGNORED
        assert await it.accept(message("@_user_1 hi")) is Acceptance.NEW


@pytest.mark.parametrize(
    ("sender", "why"),
    [
        (Sender(STEWARD, SenderKind.USER, TENANT), "own"),
        (Sender(OpenId("ou_bot"), SenderKind.BOT, TENANT), "bot"),
        (Sender(OWNER, SenderKind.BOT, TENANT), "bot"),
        (Sender(OWNER, SenderKind.UNKNOWN, TENANT), "unknown_sender"),
    ],
)
@pytest.mark.parametrize("in_private", [True, False])
async def test_bots_and_itself_ask_nothing(tmp_path: Path, sender: Sender, why: str, in_private: bool) -> None:
    async with world(tmp_path, policy=policy(private="open")) as it:
        assert await it.accept(message(sender=sender, private=in_private)) is Acceptance.IGNORED
        assert await reason(it) == why
        assert await it.rows(tables.turns) == []


async def test_a_reply_in_a_chat_makes_no_thread(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message())
        await it.accept(message("@_user_1 and then?", parent_id=MessageId("om_root")))
        rows = await it.rows(tables.conversations)
        assert [row["thread_id"] for row in rows] == [""]
        ids = {row["conversation_id"] for row in await it.rows(tables.turns)}
        assert ids == {rows[0]["conversation_id"]}


async def test_in_a_thread_where_it_answered_no_mention_is_needed(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        thread, other = ThreadId("omt_1"), ThreadId("omt_2")
        assert await it.accept(message("more", thread_id=thread, mentions=())) is Acceptance.IGNORED
        assert await it.accept(message(thread_id=thread)) is Acceptance.NEW
        await it.until_idle(1)
        assert await it.accept(message("and more", thread_id=thread)) is Acceptance.NEW
        await it.until_idle(2)
        assert it.runtime.questions[-1] == "and more"
        assert await it.accept(message("and here", thread_id=other)) is Acceptance.IGNORED
        assert await it.accept(message("and in the chat")) is Acceptance.IGNORED
        shown = [row["conversation_id"] for row in await it.rows(tables.conversations)]
        assert all("." in name for name in shown)


async def test_an_owner_in_private_gets_the_private_profile(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(private())
        await it.accept(message("@_user_1 in the group", sender_id=OWNER))
        await it.until_idle(2)
        audiences = {turn.question: turn.audience for turn in it.runtime.seen}
        assert audiences == {"where is main?": Audience.PRIVATE, "in the group": Audience.SHARED}
        assert sorted(it.hosttools.opened, key=lambda each: each.value) == [Audience.PRIVATE, Audience.SHARED]
        assert [row["private"] for row in await it.rows(tables.requests)] == [True, False]


async def test_an_open_door_gives_nobody_the_private_profile(tmp_path: Path) -> None:
    async with world(tmp_path, policy=policy(private="open")) as it, it.running():
        await it.accept(private(sender=ANNA))
        await it.until_idle(1)
        assert [turn.audience for turn in it.runtime.seen] == [Audience.SHARED]


async def test_a_stranger_in_private_is_told_once(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running(receipts=True):
        assert await it.accept(private(sender=ANNA)) is Acceptance.NEW
        assert await it.accept(private("really?", sender=ANNA)) is Acceptance.IGNORED
        await it.until_idle(1)
        assert await reason(it) == "not_owner"
        (told,) = await it.told("answer")
        assert say(Sentence.NOT_OWNER, "en") in told
        assert it.runtime.seen == []
        assert it.receipts.tries == 0
        assert await it.works() == ["declined"]


async def test_a_stranger_who_took_his_message_back_before_he_was_told_is_told_at_the_next_one(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        first = private(sender=ANNA)
        await it.accept(first)
        await it.accept(recall(first))
        assert await it.accept(private("where is it?", sender=ANNA)) is Acceptance.NEW
        assert await it.accept(private("really?", sender=ANNA)) is Acceptance.IGNORED
        async with it.running():
            await it.until_idle(2)
        assert len(await it.told("answer")) == 1


async def test_a_stranger_becomes_a_guest_by_an_owners_grant(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        await it.accept(private(sender=ANNA))
        await it.until_idle(1)
        (chat,) = await it.rows(tables.chats)
        await owner_grants(it, chat["chat_ref"])
        assert await it.accept(private("and now?", sender=ANNA)) is Acceptance.NEW
        await it.until_idle(2)
        assert [(turn.question, turn.audience) for turn in it.runtime.seen] == [("and now?", Audience.SHARED)]


async def test_only_listed_groups_are_listened_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with world(tmp_path, policy=policy(groups="listed")) as it, it.running():
        with caplog.at_level(logging.WARNING):
            assert await it.accept(message()) is Acceptance.IGNORED
        assert await reason(it) == "not_listed"
        (chat,) = await it.rows(tables.chats)
        assert chat["chat_ref"] in caplog.text
        assert GROUP not in caplog.text
        await owner_grants(it, chat["chat_ref"])
        assert await it.accept(message("@_user_1 now?")) is Acceptance.NEW
        assert await it.accept(message("@_user_1 here?", thread_id=ThreadId("omt_new"))) is Acceptance.NEW
        await it.until_idle(2)
        assert sorted(it.runtime.questions) == ["here?", "now?"]


async def test_what_policy_admitted_counts_no_longer_when_policy_changes(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        assert await it.accept(message()) is Acceptance.NEW
        it.policy = policy(groups="listed")
        assert await it.accept(message("@_user_1 still?")) is Acceptance.IGNORED


async def test_admission_is_a_stored_grant_and_revoking_it_ends_the_listening(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message())
        await it.accept(message("@_user_1 again"))
        (grant,) = await it.rows(tables.grants)
        (chat,) = await it.rows(tables.chats)
        assert (grant["effect"], grant["resource"], grant["granted_by"]) == ("converse", chat["chat_ref"], "policy")
        it.clock.advance(1000)
        await revoke_all(it)
        assert await it.accept(message("@_user_1 hello?")) is Acceptance.IGNORED
        assert await it.accept(message("@_user_1 thread?", thread_id=ThreadId("omt_1"))) is Acceptance.IGNORED
        assert await reason(it) == "revoked"
        await it.accept(bot_added(at=NOON + 5000))
        assert await it.accept(message("@_user_1 added again?")) is Acceptance.IGNORED
        it.clock.advance(1000)
        await owner_grants(it, chat["chat_ref"])
        assert await it.accept(message("@_user_1 and now?")) is Acceptance.NEW


async def test_revoked_between_question_and_turn_nothing_is_said(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message())
        it.clock.advance(1000)
        await revoke_all(it)
        async with it.running(receipts=True):
            await it.until_idle(1)
        assert await it.told() == []
        assert await it.works() == ["cancelled"]
        assert it.runtime.seen == []


async def test_from_another_tenant_only_by_an_owners_grant(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        guest = Sender(ANNA, SenderKind.USER, "tenant_2")
        assert await it.accept(message(sender=guest)) is Acceptance.IGNORED
        assert await reason(it) == "external"
        (chat,) = await it.rows(tables.chats)
        await owner_grants(it, ConversationId(chat["chat_ref"]))
        assert await it.accept(message("@_user_1 now?", sender=guest)) is Acceptance.NEW


async def test_a_chat_that_turns_out_external_gets_neither_receipt_nor_answer(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running(receipts=True):
        it.reader.chats[GROUP] = ChatFacts(external=True, gone=False)
        assert await it.accept(message()) is Acceptance.NEW
        await it.until_idle(1)
        assert (await it.turn_states(), await it.told(), await it.works()) == (["cancelled"], [], ["cancelled"])
        assert it.receipts.tries == 0
        assert await it.accept(message("@_user_1 again?")) is Acceptance.IGNORED


@pytest.mark.parametrize("gone", [Gone.UNREACHABLE, Gone.NOT_PERMITTED, Gone.MISSING])
async def test_nothing_is_said_in_a_chat_that_may_be_external(tmp_path: Path, gone: Gone) -> None:
    """The turn waits, however often it is claimed, and goes on as soon as it is known who reads there."""
    async with world(tmp_path) as it, it.running():
        it.reader.chats[GROUP] = gone
        await it.accept(message())
        asked = 0

        async def asked_again() -> bool:
            """And given back: a clock that moves while a holder is at work ends its lease."""
            return len(it.reader.asked_chats) > asked and await it.turn_states() == ["queued"]

        await it.until(asked_again)
        for _ in range(8):
            asked = len(it.reader.asked_chats)
            it.clock.advance(WAIT_MS)
            await it.wake()
            await it.until(asked_again)
        assert await it.told() == []
        assert [row["external"] for row in await it.rows(tables.chats)] == [None]
        (row,) = await it.rows(tables.requests)
        item = await it.transactions.read(lambda each: show_request(asking(each), row["request_id"]))
        assert "who reads the chat could not be learnt" in item["next"]
        it.reader.chats[GROUP] = ChatFacts(external=False, gone=False)
        it.clock.advance(WAIT_MS)
        await it.wake()
        await it.until_idle(1)
        assert len(await it.told()) == 1
        facts = [row["fact"] for row in await it.rows(tables.facts)]
        assert (facts.count("turn_waits"), facts.count("turn_started")) == (1, 1)


async def test_a_chat_that_the_bot_was_removed_from_is_known_so_and_nothing_else(tmp_path: Path) -> None:
    async with world(tmp_path) as it, it.running():
        it.reader.chats[GROUP] = ChatFacts(external=True, gone=True)
        await it.accept(message())
        await it.until_idle(1)
        (chat,) = await it.rows(tables.chats)
        assert (chat["state"], chat["external"]) == ("left", None)
        assert len(await it.told("answer")) == 1  # owed; the way back says that it cannot be delivered
        it.reader.chats[GROUP] = ChatFacts(external=False, gone=False)
        await it.accept(message("@_user_1 back again?"))
        assert (await it.rows(tables.chats))[0]["state"] == "active"


async def test_added_as_external_is_known_from_then_on(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(bot_added(external=True))
        assert await it.accept(message()) is Acceptance.IGNORED


async def test_removed_and_added_again_in_whatever_order_they_arrive(tmp_path: Path) -> None:
    async with world(tmp_path) as it:

        async def state() -> str:
            return (await it.rows(tables.chats))[0]["state"]

        await it.accept(bot_removed(at=NOON + 10))
        assert await state() == "left"
        await it.accept(bot_added(at=NOON + 5))
        assert await state() == "left"
        await it.accept(bot_added(at=NOON + 20))
        assert await state() == "active"
        await it.accept(bot_removed(at=NOON + 15))
        assert await state() == "active"
        await it.accept(bot_removed(at=NOON + 30))
        await it.accept(message(created_at=Millis(NOON + 25)))
        assert await state() == "left"
        await it.accept(message("@_user_1 back?", created_at=Millis(NOON + 40)))
        assert await state() == "active"
        await it.accept(bot_removed(at=NOON + 35))
        assert await state() == "active", "it was asked since"
        await it.accept(bot_removed(at=NOON + 45))
        assert await state() == "left"


async def test_unknown_chats_leave_no_rows_behind(tmp_path: Path) -> None:
    async with world(tmp_path) as it:
        await it.accept(message("just talk", chat_id=ChatId("oc_other")))
        assert await it.rows(tables.chats) == []
        assert await it.rows(tables.conversations) == []
