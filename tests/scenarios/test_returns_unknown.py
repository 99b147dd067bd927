"""Sends whose outcome is unknown are settled by reading, never by sending."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from returns.decisions.document import Text
from returns.ids import PartId
from returns.ledger.locators import Source, learn
from returns.ledger.operators import look_again
from returns.ports import NotPermitted, Unknown, Unreachable, Verdict
from tests.support.returns import House, house, locator, restart, route, running, text


async def ended(home: House, subject: str) -> tuple[str, str | None]:
    row = await home.settle(subject)
    return row.status, row.error


@pytest.mark.parametrize("fault", ["lose", "accept_without_id"])
async def test_accepted_but_not_told_is_found_by_searching(tmp_path: Path, fault: str) -> None:
    """R2, R5: one visible message, settled by reading."""
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [fault]
        subject = await home.put("x")
        row = await home.settle(subject)
        assert (row.status, row.verification, row.attempts) == ("delivered", "reconciled", 1)
        assert len(home.provider.sends) == 1
        assert len(home.provider.messages) == 1
        names = [name for name, _ in await home.facts(subject)]
        assert names == [
            "return_queued",
            "attempt",
            "unknown",
            "searched",
            "located",
            "read_back",
            "delivered",
        ]


@pytest.mark.parametrize("reason", ["timeout", "being_sent", "http_502"])
async def test_not_found_counts_only_after_the_settle_time(tmp_path: Path, reason: str) -> None:
    """A5: "the message is being sent" is uncertain, not a failure."""
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [Unknown(reason, code=230049)]
        subject = await home.put("x")
        began = home.clock.now()
        assert await ended(home, subject) == ("explicit_unverified", "no_match_found")
        assert home.clock.now() - began >= home.policy.settle_ms
        assert home.clock.now() - began < home.policy.settle_ms + 5_000
        assert home.provider.lists > 1
        assert len(home.provider.sends) == 1
        assert (await home.answer(subject)).needs_operator


async def test_a_message_that_shows_late_is_found(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [Unknown("timeout")]
        subject = await home.put("x")
        await home.until(lambda: home.provider.lists >= 1)
        sent, document, _ = home.provider.sends[0]
        home.provider.say(sent, document)
        assert await ended(home, subject) == ("delivered", None)
        assert (await home.answer(subject)).verification == "reconciled"


async def test_two_that_could_be_it_are_ambiguous(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = ["lose"]
        home.provider.say(route(reply_to="om_qr_1"), text("x"))
        subject = await home.put("x")
        assert await ended(home, subject) == ("explicit_unverified", "ambiguous_match")
        assert len(home.provider.sends) == 1


async def test_only_a_complete_reading_counts(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = ["lose"]
        home.provider.page_size = 2
        for number in range(7):
            home.provider.say(route(reply_to="om_other"), text(f"{number}"))
        home.provider.list_faults = []
        subject = await home.put("x")
        assert await ended(home, subject) == ("delivered", None)
        assert home.provider.lists == 4


async def test_a_page_that_fails_decides_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [Unknown("timeout")]
        subject = await home.put("x")
        home.provider.list_faults = [Unreachable() for _ in range(30)]
        await home.until(lambda: home.clock.now() > 1_700_000_000_000 + 60_000)
        row = await home.answer(subject)
        assert (row.status, row.error) == ("verification_required", "provider_verification_unavailable")
        home.provider.list_faults = []
        assert await ended(home, subject) == ("explicit_unverified", "no_match_found")


@pytest.mark.parametrize("fault", [NotPermitted(code=99991672), Unreachable()])
@pytest.mark.parametrize("located", [True, False])
async def test_reading_is_tried_until_it_is_given_up(tmp_path: Path, *, located: bool, fault: object) -> None:
    async with house(tmp_path, give_up_after_ms=600_000) as home, running(home):
        home.provider.faults = [] if located else ["lose"]
        home.provider.read_faults = [fault] * 1000
        home.provider.list_faults = [fault] * 1000
        subject = await home.put("x")
        await home.until(lambda: home.clock.now() > 1_700_000_000_000 + 300_000)
        row = await home.answer(subject)
        assert (row.status, row.error) == ("verification_required", "provider_verification_unavailable")
        assert not row.needs_operator
        assert await ended(home, subject) == ("explicit_unverified", "provider_verification_unavailable")
        assert len(home.provider.sends) == 1
        home.provider.read_faults, home.provider.list_faults = [], []
        now = home.clock.now()
        assert await home.transactions.run(lambda c: look_again(c, subject, now))
        assert await ended(home, subject) == ("delivered", None)


async def test_the_middle_part_holds_the_last_one_back(tmp_path: Path) -> None:
    """R7: three parts, the middle one unknown and never found; other answers of the chat go on."""
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [None, Unknown("timeout")]
        subject = await home.put("one", "two", "three")

        async def unsure() -> bool:
            return [p.state for p in await home.parts(subject)][1] == "verification_required"

        await home.until(unsure)
        last = (await home.parts(subject))[2]
        assert (last.state, last.error, last.lane) == ("queued", None, None)
        other = await home.put("another answer")
        assert await ended(home, other) == ("delivered", None)

        row = await home.settle(subject)
        assert (row.status, row.error) == ("explicit_unverified", "no_match_found")
        assert (row.parts, row.delivered_parts, row.attempts) == (3, 1, 2)
        last = (await home.parts(subject))[2]
        assert (last.state, last.error, last.lane) == ("queued", "earlier_part_unverified", None)
        assert len(home.provider.sends) == 3

        # It does arrive in the end: an operator looks, and the rest follows.
        sent, document, _ = home.provider.sends[1]
        home.provider.say(sent, document)
        now = home.clock.now()
        await home.transactions.run(lambda c: look_again(c, subject, now))
        row = await home.settle(subject)
        assert (row.status, row.delivered_parts, row.verification) == ("delivered", 3, "reconciled")
        assert len(home.provider.sends) == 4


async def test_a_kill_between_attempt_and_send_is_searched_not_repeated(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.provider.gates["oc_1"] = asyncio.Event()
        async with running(home):
            subject = await home.put("x")
            await home.until(lambda: len(home.provider.sends) == 1)
        assert await home.status(subject) == "sending"
        home.provider.gates.clear()
        pump = await restart(home)
        row = await home.answer(subject)
        assert (row.status, row.error) == ("verification_required", "provider_locator_unavailable")
        async with running(home, pump):
            assert await ended(home, subject) == ("explicit_unverified", "no_match_found")
        assert len(home.provider.sends) == 1


async def test_a_kill_after_acceptance_is_found(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.provider.faults = [asyncio.Event()]
        async with running(home):
            subject = await home.put("one", "two")
            await home.until(lambda: len(home.provider.messages) == 1)
        async with running(home, await restart(home)):
            assert await ended(home, subject) == ("delivered", None)
        assert len(home.provider.messages) == 2
        assert (await home.answer(subject)).verification == "reconciled"


async def test_a_lost_lease_without_restart(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        home.provider.gates["oc_1"] = asyncio.Event()
        async with running(home):
            subject = await home.put("x")
            await home.until(lambda: len(home.provider.sends) == 1)
        home.provider.gates.clear()
        async with running(home, home.new_pump("two")):
            await home.quiet()
            assert await home.status(subject) == "sending"  # the lease still holds
            assert await ended(home, subject) == ("explicit_unverified", "no_match_found")
        assert len(home.provider.sends) == 1


async def test_a_locator_that_comes_after_the_lease_was_lost(tmp_path: Path) -> None:
    """A send that outlives its lease: to others it is unknown, and its late answer still counts."""
    async with house(tmp_path) as home:
        answer = asyncio.Event()
        home.provider.faults = [answer]
        async with running(home):
            subject = await home.put("x")
            await home.until(lambda: len(home.provider.messages) == 1)
            home.provider.messages[0].hidden_until = home.clock.now() + 10**9
            home.clock.move(home.policy.lease_ms + 1)
            two = home.new_pump("two")
            taking = asyncio.create_task(two.run())

            async def given_up() -> bool:
                return await home.status(subject) == "explicit_unverified"

            for _ in range(300):
                if await given_up():
                    break
                home.clock.move(500)
                two._wakeup.ring()
                await asyncio.sleep(0.01)
            assert (await home.answer(subject)).error == "no_match_found"
            answer.set()
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)

            async def proved() -> bool:
                return await home.status(subject) == "delivered"

            await home.until(proved)
            assert (await home.answer(subject)).verification == "direct"
        assert len(home.provider.sends) == 1


async def test_two_equal_unknown_parts_never_take_one_message_twice(tmp_path: Path) -> None:
    """In a thread the parent does not tell two equal answers apart, so neither may claim the other's message."""
    async with house(tmp_path) as home:
        home.provider.faults = ["lose", Unknown("timeout")]
        place = route(thread="omt_1", reply_to="om_q")
        first, second = await home.put("Done.", to=place), await home.put("Done.", to=place)
        async with running(home):
            rows = [await home.settle(first), await home.settle(second)]
        assert {row.status for row in rows} <= {"explicit_unverified", "delivered"}
        assert [row.status for row in rows].count("delivered") <= 1
        assert any(row.error in {"ambiguous_match", "no_match_found"} for row in rows)
        assert len(home.provider.sends) == 2
        assert len(set(await home.locators())) == len(await home.locators())


async def test_a_search_leaves_out_what_others_own(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        place = route(thread="omt_1", reply_to="om_q")
        first = await home.put("Done.", to=place)
        assert await ended(home, first) == ("delivered", None)
        home.provider.faults = ["lose"]
        second = await home.put("Done.", to=place)
        assert await ended(home, second) == ("delivered", None)
        assert len(home.provider.messages) == 2


async def test_authority_revoked_before_it_could_be_verified(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [Unknown("timeout")]
        subject = await home.put("x")
        await home.until(lambda: home.provider.lists >= 1)
        lists = home.provider.lists
        home.authority.verdicts[subject] = Verdict.REVOKED
        assert await ended(home, subject) == ("explicit_unverified", "return_authorization_unavailable")
        assert home.provider.lists == lists  # nothing was read any more


async def test_a_question_recalled_after_the_send_is_still_verified(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = ["lose"]
        subject = await home.put("x")
        await home.until(lambda: len(home.provider.messages) == 1)
        home.authority.verdicts[subject] = Verdict.QUESTION_RECALLED
        assert await ended(home, subject) == ("delivered", None)


async def test_recalled_before_it_was_found(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = ["lose"]
        subject = await home.put("x")
        await home.until(lambda: len(home.provider.messages) == 1)
        home.provider.messages[0].recalled = True
        assert await ended(home, subject) == ("explicit_unverified", "provider_message_recalled")
        assert await home.locators() == []


class TestReadBack:
    """What the reading of a located message proves."""

    async def outcome(self, folder: Path, spoil: object) -> tuple[str, str | None]:
        async with house(folder) as home, running(home):
            subject = await home.put("x")
            await home.until(lambda: len(home.provider.messages) == 1)
            spoil(home.provider.messages[0])
            result = await ended(home, subject)
            assert len(home.provider.sends) == 1
            assert (await home.answer(subject)).needs_operator == (result[0] != "delivered")
            return result

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("chat_id", "oc_other"),
            ("thread_id", "omt_1"),
            ("parent_id", "om_other"),
            ("parent_id", None),
            ("ours", False),
            ("document", ((Text("y"),),)),
        ],
    )
    async def test_a_mismatch(self, tmp_path: Path, field: str, value: object) -> None:
        result = await self.outcome(tmp_path, lambda m: setattr(m, field, value))
        assert result == ("explicit_unverified", "provider_delivery_mismatch")

    async def test_recalled(self, tmp_path: Path) -> None:
        result = await self.outcome(tmp_path, lambda m: setattr(m, "recalled", True))
        assert result == ("explicit_unverified", "provider_message_recalled")

    async def test_deleted(self, tmp_path: Path) -> None:
        result = await self.outcome(tmp_path, lambda m: setattr(m, "deleted", True))
        assert result == ("explicit_unverified", "provider_message_missing")

    async def test_what_was_delivered_stays_delivered(self, tmp_path: Path) -> None:
        """O3: nothing that comes later overwrites it."""
        async with house(tmp_path) as home, running(home):
            subject = await home.put("x")
            assert await ended(home, subject) == ("delivered", None)
            home.provider.messages[0].recalled = True
            home.authority.verdicts[subject] = Verdict.REVOKED
            now = home.clock.now()
            assert not await home.transactions.run(lambda c: look_again(c, subject, now))
            part = (await home.parts(subject))[0]
            other = locator(home.provider.say(route(), text("z")))
            assert not await home.transactions.run(
                lambda c: learn(c, PartId(part.part_id), other, Source.OPERATOR, now)
            )
            await restart(home)
            await home.quiet()
            assert await home.status(subject) == "delivered"
