"""What operators do with a delivery: look again, name a message, have the rest sent anew. Never twice by machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from manager.decisions.operators import Cancel, Found, Resend, Reveal, Verify
from manager.ledger import operators
from returns.ports import NotPermitted, Refusal, Unknown, Unreachable, Verdict
from tests.support.operators import WHO, Desk, desk
from tests.support.returns import refused, route, text, visible_of


def told(home: Desk) -> list[str]:
    return [visible_of([document]) for _, document, _ in home.provider.sends]


async def unproved(home: Desk, *words: str, private: bool = False) -> str:
    """An answer whose first part was never accepted, and nobody was told so."""
    home.provider.faults.append(Unknown("timeout"))
    request = await home.answered(*words, private=private)
    row = await home.settle(request)
    assert (row.status, row.error) == ("explicit_unverified", "no_match_found")
    return request


async def test_not_there_after_a_complete_reading_is_sent_anew_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        carried = await home.act(request, Resend("nobody saw it"))
        assert carried.outcome is None
        assert (await home.answer(request)).status == "verification_required"
        assert await home.outcome(carried) == "queued"
        row = await home.settle(request)
        assert (row.status, row.parts, row.delivered_parts, row.attempts) == ("delivered", 1, 1, 1)
        assert told(home) == ["one", "one"]
        assert len({key for _, _, key in home.provider.sends}) == 2, "a key of its own"
        assert len(home.provider.messages) == 1
        old, new = await home.parts(request)
        assert (old.state, new.state) == ("explicit_unverified", "delivered")
        facts = await home.facts(request)
        resent = next(detail for name, detail in facts if name == "resent")
        assert (resent["who"], resent["reason"], resent["before"]) == (WHO, "nobody saw it", "explicit_unverified")
        queued = [detail for name, detail in facts if name == "return_queued"]
        assert queued[1]["replaces"] == old.return_id
        assert resent["replaced_by"] == new.return_id
        assert await home.acts(request) == [
            (
                "operator_resend",
                {"who": WHO, "before": "resolved, explicit_unverified (no_match_found)", "reason": "nobody saw it"},
            ),
            ("operator_resend_done", {"who": WHO, "outcome": "queued", "after": "resolved, queued"}),
        ]


async def test_what_is_found_settles_it_and_nothing_goes_out(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        carried = await home.act(request, Resend("not there"))
        assert await home.outcome(carried) == "proved"
        row = await home.answer(request)
        assert (row.status, row.verification) == ("delivered", "reconciled")
        assert len(home.provider.sends) == 1


@pytest.mark.parametrize("fault", [NotPermitted(1), Unreachable()])
async def test_a_history_that_cannot_be_read_sends_nothing(tmp_path: Path, fault: object) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        home.provider.list_faults += [fault] * 3
        carried = await home.act(request, Resend("not there"))
        assert await home.outcome(carried) == "unreadable"
        row = await home.answer(request)
        assert (row.status, row.error, row.needs_operator) == (
            "explicit_unverified", "provider_verification_unavailable", True
        )  # fmt: skip
        assert len(home.provider.sends) == 1
        home.provider.list_faults.clear()
        again = await home.act(request, Resend("it can be read now"))
        assert await home.outcome(again) == "queued"
        await home.settle(request)
        assert len(home.provider.messages) == 1


async def test_the_unproved_part_and_those_after_it_are_carried(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults += [None, Unknown("timeout")]
        request = await home.answered("one", "two", "three")
        row = await home.settle(request)
        assert (row.status, row.parts, row.delivered_parts) == ("explicit_unverified", 3, 1)
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        row = await home.answer(request)
        assert (row.parts, row.delivered_parts, row.needs_operator) == (3, 1, False)
        row = await home.settle(request)
        assert (row.status, row.parts, row.delivered_parts, row.attempts) == ("delivered", 3, 3, 3)
        assert row.delivered_at is not None
        states = [part.state for part in await home.parts(request)]
        assert states == ["delivered", "explicit_unverified", "superseded", "delivered", "delivered"]
        assert [visible_of([m.document]) for m in home.provider.messages] == ["one", "two", "three"]


async def test_again_and_again_is_a_chain(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one", "two")
        home.provider.faults.append(Unknown("timeout"))
        assert await home.outcome(await home.act(request, Resend("first"))) == "queued"
        home.clock.move(600_000)
        assert (await home.settle(request)).status == "explicit_unverified"
        assert await home.outcome(await home.act(request, Resend("second"))) == "queued"
        row = await home.settle(request)
        assert (row.status, row.parts, row.delivered_parts) == ("delivered", 2, 2)
        assert [visible_of([m.document]) for m in home.provider.messages] == ["one", "two"]


async def test_a_second_one_at_once_is_the_same_one(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        first, second = await asyncio.gather(
            home.act(request, Resend("not there")), home.act(request, Resend("not there at all"))
        )
        assert second.command_id == first.command_id
        assert await home.outcome(first) == "queued"
        await home.settle(request)
        assert len(home.provider.messages) == 1
        assert await home.refused(request, Resend("once more")) == "not_resendable"


async def test_two_workers_finish_it_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        carried = await home.act(request, Resend("not there"))

        async def looked() -> bool:
            return (await home.answer(request)).status == "explicit_unverified"

        await home.until(looked)
        command = (await home.transactions.read(lambda c: operators.waiting(c, 9)))[0]
        first, second = home.new_worker(), home.new_worker()
        assert await asyncio.gather(first._finish(command), second._finish(command)) == [True, True]
        assert await home.outcome(carried) == "queued"
        await home.settle(request)
        assert len(home.provider.messages) == 1
        assert len(await home.parts(request)) == 2


async def test_what_cannot_be_delivered_goes_out_anew_if_it_may(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(refused(Refusal.ROUTE_GONE))
        request = await home.answered("one", "two")
        assert (await home.settle(request)).status == "undeliverable"
        for verdict in (Verdict.REVOKED, Verdict.ROUTE_GONE, Verdict.QUESTION_RECALLED):
            home.authority.verdicts[request] = verdict
            assert (await home.act(request, Resend("the bot is back"))).outcome.value == "forbidden"
        assert len(home.provider.sends) == 1
        home.authority.verdicts.clear()
        lists = home.provider.lists
        assert (await home.act(request, Resend("the bot is back"))).outcome.value == "queued"
        row = await home.settle(request)
        assert (row.status, row.parts, row.delivered_parts) == ("delivered", 2, 2)
        assert home.provider.lists == lists, "there was nothing to look for"


async def test_revoked_meanwhile_sends_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        home.authority.verdicts[request] = Verdict.REVOKED
        assert await home.outcome(await home.act(request, Resend("not there"))) == "forbidden"
        row = await home.answer(request)
        assert (row.status, row.error) == ("explicit_unverified", "return_authorization_unavailable")
        assert len(home.provider.sends) == 1


@pytest.mark.parametrize("how", ["recalled", "deleted", "changed"])
async def test_read_and_not_there_as_it_was_sent(tmp_path: Path, how: str) -> None:
    async with desk(tmp_path) as home:
        request = await home.answered("one")

        async def sent() -> bool:
            return bool(home.provider.messages)

        await home.until(sent, step_ms=1)
        message = home.provider.messages[0]
        message.recalled, message.deleted = how == "recalled", how == "deleted"
        if how == "changed":
            message.document = text("something else")
        assert (await home.settle(request)).status == "explicit_unverified"
        assert await home.outcome(await home.act(request, Resend("it is gone"))) == "queued"
        assert (await home.settle(request)).status == "delivered"
        assert len(home.provider.sends) == 2


@pytest.mark.parametrize("status", ["absent", "delivered", "queued"])
async def test_only_what_ended_without_proof_is_sent_anew(tmp_path: Path, status: str) -> None:
    async with desk(tmp_path) as home:
        if status == "absent":
            request = await home.question()
        else:
            request = await home.answered("one")
            if status == "delivered":
                await home.settle(request)
        before = len(home.provider.sends)
        assert await home.refused(request, Resend("please")) == "not_resendable"
        assert len(home.provider.sends) == before or status == "queued"
        assert await home.acts(request) == []


async def test_a_reason_is_needed_and_kept_on_one_line(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        for reason in ("", "  \n", "x" * 501):
            assert await home.refused(request, Resend(reason)) == "invalid_request"
        await home.act(request, Resend("not\nthere\x1b[31m"))
        assert (await home.acts(request))[0][1]["reason"] == "not there\N{REPLACEMENT CHARACTER}[31m"


async def several(home: Desk) -> str:
    """Two messages that could be the answer."""
    home.provider.faults.append("lose")
    request = await home.answered("one")
    home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
    row = await home.settle(request)
    assert (row.status, row.error) == ("explicit_unverified", "ambiguous_match")
    return request


async def test_candidates_are_numbered_and_one_of_them_is_found(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await several(home)
        candidates = (await home.shown(request))["candidates"]
        assert [(each["number"], each["part"], each["text"]) for each in candidates] == [(1, 1, "one"), (2, 1, "one")]
        assert "om_" not in str(candidates)
        assert await home.outcome(await home.act(request, Resend("not there"))) == "ambiguous"
        assert len(home.provider.sends) == 1
        assert await home.refused(request, Found("3")) == "no_such_candidate"
        assert await home.outcome(await home.act(request, Found("2"))) == "proved"
        assert (await home.answer(request)).verification == "reconciled"
        (part,) = await home.parts(request)
        assert (await home.locators()) == [home.provider.messages[1].message_id]
        assert part.state == "delivered"


async def test_candidates_that_a_later_look_does_not_see_are_forgotten(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await several(home)
        for message in home.provider.messages:
            message.deleted = True
        assert await home.outcome(await home.act(request, Verify())) == "unproved"
        assert (await home.answer(request)).error == "no_match_found"
        assert (await home.shown(request))["candidates"] == []
        assert await home.refused(request, Found("1")) == "no_such_candidate"


async def test_one_part_that_is_proved_is_not_yet_the_answer(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one", "two")
        home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        home.provider.faults.append(Unknown("timeout"))
        assert await home.outcome(await home.act(request, Verify())) == "unproved"
        row = await home.answer(request)
        assert (row.status, row.delivered_parts) == ("explicit_unverified", 1)


async def test_a_wrong_message_ends_as_mismatch_and_is_corrected(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await several(home)
        other = home.provider.say(route(reply_to="om_other"), text("other"))
        assert await home.outcome(await home.act(request, Found(other.message_id))) == "unproved"
        row = await home.answer(request)
        assert (row.status, row.error) == ("explicit_unverified", "provider_delivery_mismatch")
        right = home.provider.messages[0].message_id
        assert await home.outcome(await home.act(request, Found(right))) == "proved"
        assert await home.locators() == [right]


async def test_after_a_wrong_word_a_look_searches_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        other = home.provider.say(route(reply_to="om_other"), text("other"))
        assert await home.outcome(await home.act(request, Found(other.message_id))) == "unproved"
        home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        assert await home.outcome(await home.act(request, Verify())) == "proved"


async def test_a_message_of_another_answer_is_refused(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        other = await home.answered("one")
        await home.settle(other)
        request = await unproved(home, "one")
        (message,) = await home.locators()
        assert await home.refused(request, Found(message)) == "anothers_message"
        assert await home.refused(request, Found("not an id!")) == "invalid_request"
        assert await home.refused(other, Found(message)) == "nothing_open"


async def test_where_the_provider_itself_said_where_it_is(tmp_path: Path) -> None:
    """No other message is taken while the one that the send named is not disproved; then it is set aside."""
    async with desk(tmp_path, give_up_after_ms=10_000) as home:
        home.provider.read_faults += [NotPermitted(1)] * 500
        request = await home.answered("one")
        assert (await home.settle(request)).error == "provider_verification_unavailable"
        assert await home.refused(request, Found("om_another_one")) == "already_located"
        home.provider.read_faults.clear()
        message = home.provider.messages[0]
        message.document = text("something else")
        assert await home.outcome(await home.act(request, Verify())) == "unproved"
        assert (await home.answer(request)).error == "provider_delivery_mismatch"
        right = home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        assert await home.outcome(await home.act(request, Found(right.message_id))) == "proved"
        assert (await home.answer(request)).verification == "reconciled"
        assert await home.locators() == [right.message_id]
        revealed = (await home.act(request, Reveal())).revealed["parts"]
        assert [(part["message_id"], part["disproved"]) for part in revealed] == [
            (right.message_id, [message.message_id])
        ]


@pytest.mark.parametrize("fault", [NotPermitted(1), Unreachable()])
async def test_what_the_send_named_by_mistake_sends_nothing_while_the_chat_cannot_be_read(
    tmp_path: Path, fault: object
) -> None:
    async with desk(tmp_path) as home:
        request = await home.answered("one")

        async def sent() -> bool:
            return bool(home.provider.messages)

        await home.until(sent, step_ms=1)
        home.provider.messages[0].document = text("something else")
        assert (await home.settle(request)).error == "provider_delivery_mismatch"
        home.provider.list_faults += [fault] * 3
        assert await home.outcome(await home.act(request, Resend("not there"))) == "unreadable"
        assert len(home.provider.sends) == 1
        home.provider.list_faults.clear()
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        assert (await home.settle(request)).status == "delivered"
        looked = [detail.get("set_aside") for name, detail in await home.facts(request) if name == "look_again"]
        assert looked == ["direct", None]


async def test_what_turns_out_as_another_one_during_a_resend_is_searched_for(tmp_path: Path) -> None:
    """The resend itself reads what the send named for the first time, and only then looks into the chat."""
    async with desk(tmp_path, give_up_after_ms=10_000) as home:
        home.provider.read_faults += [NotPermitted(1)] * 500
        request = await home.answered("one")
        assert (await home.settle(request)).error == "provider_verification_unavailable"
        home.provider.read_faults.clear()
        home.provider.messages[0].document = text("something else")
        home.provider.say(route(reply_to=f"om_q{request}"), text("one"))
        assert await home.outcome(await home.act(request, Resend("not there"))) == "proved"
        assert len(home.provider.sends) == 1


async def test_looking_again_has_time_again(tmp_path: Path) -> None:
    async with desk(tmp_path, give_up_after_ms=10_000) as home:
        home.provider.faults.append(Unknown("timeout"))
        home.provider.list_faults += [NotPermitted(1)] * 500
        request = await home.answered("one")
        assert (await home.settle(request)).error == "provider_verification_unavailable"
        home.provider.list_faults[:] = [Unreachable()] * 3
        carried = await home.act(request, Verify())
        assert await home.outcome(carried) == "unproved"
        assert (await home.answer(request)).error == "no_match_found", "it went on to the end of the look"


async def test_what_was_cancelled_is_not_sent_anew(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home, "one")
        carried = await home.act(request, Resend("not there"))
        await home.act(request, Cancel("never mind"))
        assert await home.outcome(carried) == "cancelled"
        assert await home.refused(request, Resend("now")) == "not_resendable"
        assert len(home.provider.sends) == 1
        assert not (await home.shown(request))["needs_operator"]
