"""Definite refusals: what is tried again and how, and what is not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from returns.ledger.outbox import supersede_unattempted
from returns.ports import Refusal, Refused, StorageUnavailable, Unknown, Verdict
from tests.support.returns import APP, House, house, refused, restart, route, running


async def ended(home: House, subject: str) -> tuple[str, str | None]:
    row = await home.settle(subject)
    return row.status, row.error


async def pending(home: House, subject: str) -> object:
    async def retry() -> bool:
        return await home.status(subject) == "retry_pending"

    await home.until(retry, step_ms=10)
    return await home.answer(subject)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (Refusal.ROUTE_GONE, "original_route_unavailable"),
        (Refusal.NOT_ALLOWED, "provider_rejected"),
        (Refusal.CONTENT, "content_refused"),
        (Refusal.QUESTION_RECALLED, "original_route_unavailable"),
    ],
)
async def test_refused_for_good(tmp_path: Path, kind: Refusal, error: str) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(kind, code=230002)]
        subject = await home.put("x", "y")
        assert await ended(home, subject) == ("undeliverable", error)
        row = await home.answer(subject)
        assert (row.attempts, row.needs_operator) == (1, True)
        rest = ("superseded", None) if kind is Refusal.QUESTION_RECALLED else ("queued", "earlier_part_unverified")
        first, second = await home.parts(subject)
        assert (first.error, (second.state, second.error)) == (error, rest)
        assert len(home.provider.sends) == 1
        assert ("refused", {"refusal": kind.value, "code": 230002}) in await home.facts(subject)


@pytest.mark.parametrize(
    ("kind", "error", "operator"),
    [
        (Refusal.OFFLINE, "provider_offline", False),
        (Refusal.RATE_LIMITED, "provider_rate_limited", False),
        (Refusal.CONFIGURATION, "provider_rejected", True),
    ],
)
async def test_refused_for_now(tmp_path: Path, kind: Refusal, error: str, *, operator: bool) -> None:
    """R6: what was definitely not sent is sent again, with the same key."""
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(kind), refused(kind)]
        subject = await home.put("x")
        row = await pending(home, subject)
        assert (row.error, row.needs_operator) == (error, operator)
        assert await ended(home, subject) == ("delivered", None)
        row = await home.answer(subject)
        assert (row.attempts, row.needs_operator, row.verification) == (3, False, "direct")
        assert len({key for _, _, key in home.provider.sends}) == 1


async def test_configuration_is_tried_slowly(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(Refusal.CONFIGURATION, code=99991672)]
        began = home.clock.now()
        subject = await home.put("x")
        assert await ended(home, subject) == ("delivered", None)
        assert home.clock.now() - began >= home.policy.retry_max_ms * 0.8


async def test_a_stale_token_is_tried_at_once_but_not_for_ever(tmp_path: Path) -> None:
    """A1: at once a bounded number of times, then with a growing delay."""
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(Refusal.STALE_TOKEN)] * 3
        subject = await home.put("x")
        for _ in range(50):
            await home.quiet()
        assert len(home.provider.sends) == 3  # the clock stood still
        row = await home.answer(subject)
        assert (row.status, row.error, row.needs_operator) == ("retry_pending", "provider_rejected", False)
        assert await ended(home, subject) == ("delivered", None)


async def test_no_token_is_no_attempt(tmp_path: Path) -> None:
    """R8: what failed before the send counts nothing and is no unknown."""
    async with house(tmp_path) as home, running(home):
        home.provider.prepare_faults = [refused(Refusal.OFFLINE), refused(Refusal.CONFIGURATION, code=10014)]
        subject = await home.put("x")
        row = await pending(home, subject)
        assert (row.error, row.attempts) == ("provider_offline", 0)
        assert home.provider.sends == []
        assert await ended(home, subject) == ("delivered", None)
        assert (await home.answer(subject)).attempts == 1


async def test_an_outage_ends_and_all_goes_out(tmp_path: Path) -> None:
    """R14: an hour offline lose nothing, and recovery flushes what waits."""
    async with house(tmp_path) as home, running(home):
        home.provider.prepare_faults = [refused(Refusal.OFFLINE)] * 100_000
        subjects = [await home.put(f"{n}", to=route(f"oc_{n}")) for n in range(2)]
        start = home.clock.now()
        await home.until(lambda: home.clock.now() > start + 3_600_000)
        assert {await home.status(s) for s in subjects} == {"retry_pending"}
        home.provider.prepare_faults = []
        for subject in subjects:
            assert await ended(home, subject) == ("delivered", None)
        assert len(home.provider.sends) == 2


async def test_the_order_is_kept_behind_a_refused_part(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(Refusal.OFFLINE)] * 4
        first, second = await home.put("first"), await home.put("second")
        await pending(home, first)
        assert await home.status(second) == "queued"
        await ended(home, second)
        assert await home.status(first) in {"verification_required", "delivered"}
        assert [m.parent_id for m in home.provider.messages] == [f"om_q{first}", f"om_q{second}"]


async def test_one_blocked_chat_blocks_no_other(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.gates["oc_blocked"] = asyncio.Event()
        blocked = [await home.put(f"b{n}", to=route("oc_blocked")) for n in range(20)]
        others = [await home.put(f"o{n}", to=route(f"oc_{n}")) for n in range(30)]
        for other in others:
            assert await ended(home, other) == ("delivered", None)
        assert await home.status(blocked[0]) == "sending"
        assert {await home.status(b) for b in blocked[1:]} == {"queued"}
        home.provider.gates.pop("oc_blocked").set()
        for subject in blocked:
            row = await home.settle(subject)
            assert row.attempts == 1
            assert row.status in {"delivered", "explicit_unverified"}


async def test_one_app_that_is_refused_blocks_no_other(tmp_path: Path) -> None:
    async with house(tmp_path) as home, running(home):
        home.provider.faults = [refused(Refusal.CONFIGURATION)]
        bad = await home.put("bad")
        await pending(home, bad)
        good = await home.put("good", to=replace(route(), app="other"))
        assert await ended(home, good) == ("delivered", None)
        assert (await home.parts(bad))[0].app == APP


class TestAuthority:
    """The right to tell is asked inside the attempt's transaction."""

    async def test_revoked_before_any_attempt(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            home.authority.verdicts["r"] = Verdict.REVOKED
            await home.put("x", "y", subject="r")
            assert await ended(home, "r") == ("undeliverable", "return_authorization_unavailable")
            assert home.provider.sends == []

    async def test_revoked_after_a_refused_one(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            home.provider.faults = [refused(Refusal.OFFLINE)]
            subject = await home.put("x")
            await pending(home, subject)
            home.authority.verdicts[subject] = Verdict.REVOKED
            assert await ended(home, subject) == ("explicit_unverified", "return_authorization_unavailable")
            assert len(home.provider.sends) == 1

    async def test_revoked_between_two_parts(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            subject = await home.put("x", "y")
            await home.until(lambda: home.provider.reads == 1)
            home.authority.verdicts[subject] = Verdict.REVOKED
            await home.settle(subject)
            states = [(p.state, p.error) for p in await home.parts(subject)]
            assert states[0] == ("delivered", None) or states[0][0] == "explicit_unverified"
            assert len(home.provider.sends) <= 2

    async def test_the_route_is_gone(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            home.authority.verdicts["r"] = Verdict.ROUTE_GONE
            await home.put("x", subject="r")
            assert await ended(home, "r") == ("undeliverable", "original_route_unavailable")
            assert home.provider.sends == []

    async def test_the_question_was_recalled_before(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            home.authority.verdicts["r"] = Verdict.QUESTION_RECALLED
            await home.put("x", "y", subject="r")
            assert await ended(home, "r") == ("superseded", None)
            assert [p.state for p in await home.parts("r")] == ["superseded", "superseded"]
            assert not (await home.answer("r")).needs_operator
            assert home.provider.sends == []

    async def test_the_question_was_recalled_after_a_refused_attempt(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            home.provider.faults = [refused(Refusal.OFFLINE)]
            subject = await home.put("x")
            await pending(home, subject)
            home.authority.verdicts[subject] = Verdict.QUESTION_RECALLED
            assert await ended(home, subject) == ("undeliverable", "original_route_unavailable")


class TestRecalledQuestion:
    """230011, where the policy is to answer in the chat."""

    async def test_a_plain_message_with_its_own_key(self, tmp_path: Path) -> None:
        async with house(tmp_path, recalled_question="answer_in_chat") as home, running(home):
            home.provider.faults = [refused(Refusal.QUESTION_RECALLED, code=230011)]
            subject = await home.put("x")
            assert await ended(home, subject) == ("delivered", None)
            (first, _, key), (second, _, other) = home.provider.sends
            assert first.reply_to is not None
            assert second.reply_to is None
            assert key != other
            assert (await home.answer(subject)).attempts == 2
            assert len(home.provider.messages) == 1

    async def test_only_after_the_definite_refusal(self, tmp_path: Path) -> None:
        """R12: an unknown outcome is no reason to try another way."""
        async with house(tmp_path, recalled_question="answer_in_chat") as home, running(home):
            home.provider.faults = [Unknown("timeout")]
            subject = await home.put("x")
            assert await ended(home, subject) == ("explicit_unverified", "no_match_found")
            assert len(home.provider.sends) == 1

    async def test_the_plain_message_may_be_lost_too(self, tmp_path: Path) -> None:
        async with house(tmp_path, recalled_question="answer_in_chat") as home, running(home):
            home.provider.faults = [refused(Refusal.QUESTION_RECALLED), "lose"]
            subject = await home.put("x")
            assert await ended(home, subject) == ("delivered", None)
            assert len(home.provider.messages) == 1

    async def test_never_in_a_thread(self, tmp_path: Path) -> None:
        """W7: outside its thread the answer would open a new one."""
        async with house(tmp_path, recalled_question="answer_in_chat") as home, running(home):
            home.provider.faults = [refused(Refusal.QUESTION_RECALLED)]
            subject = await home.put("x", to=route(thread="omt_1"))
            assert await ended(home, subject) == ("undeliverable", "original_route_unavailable")
            assert len(home.provider.sends) == 1


class TestSuperseding:
    """A newer revision replaces older answers of which nothing was attempted."""

    async def test_only_what_was_not_begun(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home:
            await home.put("one", "two", subject="r", revision=1)
            now = home.clock.now()
            count = await home.transactions.run(lambda c: supersede_unattempted(c, "r", before_revision=2, now=now))
            assert count == 1
            assert [p.state for p in await home.parts("r")] == ["superseded", "superseded"]
            await home.put("new", subject="r", revision=2)
            async with running(home):
                row = await home.settle("r")
            assert (row.status, row.parts, row.revision) == ("delivered", 1, 2)
            assert len(home.provider.sends) == 1

    async def test_what_was_begun_is_told_to_its_end(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            await home.put("one", "two", subject="r", revision=1)
            await home.until(lambda: len(home.provider.sends) == 1)
            now = home.clock.now()
            run = home.transactions.run
            assert await run(lambda c: supersede_unattempted(c, "r", before_revision=2, now=now)) == 0
            assert (await home.settle("r")).delivered_parts == 2

    async def test_a_late_answer_of_an_older_revision_is_not_the_answer(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            await home.put("new", subject="r", revision=2)
            await home.put("old", subject="r", revision=1)
            assert (await home.settle("r")).revision == 2


class TestFaults:
    """The database fails, the provider's side has a bug: nothing is lost, doubled or stopped."""

    async def test_a_bug_in_one_part_stops_no_other(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            home.provider.faults = [KeyError("oc_secret")]
            bad = await home.put("bad")
            await home.until(lambda: not home.provider.faults)
            good = await home.put("good", to=route("oc_2"))
            assert await ended(home, good) == ("delivered", None)
            assert await ended(home, bad) == ("explicit_unverified", "no_match_found")  # it may have been sent
            assert len(home.provider.sends) == 2

    async def test_a_bug_in_reading_is_tried_again_and_tells_nothing_private(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with house(tmp_path) as home, running(home):
            home.provider.read_faults = [KeyError("oc_secret")]
            subject = await home.put("x")
            assert await ended(home, subject) == ("delivered", None)
            faults = [detail["fault"] for name, detail in await home.facts(subject) if name == "fault"]
            assert len(faults) == 1
            assert "KeyError" in faults[0]
            assert "oc_secret" not in caplog.text + faults[0]

    @pytest.mark.parametrize("failing", range(12))
    async def test_the_database_fails_once_at_each_write(self, tmp_path: Path, failing: int) -> None:
        async with house(tmp_path) as home:
            real, count = home.transactions.run, 0

            async def run(work: object) -> object:
                nonlocal count
                count += 1
                if count == failing + 1:
                    raise StorageUnavailable
                return await real(work)

            first = await home.put("one", "two")
            home.transactions.run = run

            async with running(home, home.new_pump(sleep=_napping())):
                row = await home.settle(first)
            assert row.status == "delivered"
            assert [m.parent_id for m in home.provider.messages] == [f"om_q{first}"] * 2
            assert len(home.provider.sends) == 2

    async def test_the_database_fails_after_every_send(self, tmp_path: Path) -> None:
        """The provider's answer is known only here, so it is kept until it can be stored."""
        async with house(tmp_path) as home:
            real, down = home.transactions.run, False

            async def run(work: object) -> object:
                if down:
                    raise StorageUnavailable
                return await real(work)

            subject = await home.put("x")
            home.transactions.run = run
            home.provider.gates["oc_1"] = gate = asyncio.Event()
            async with running(home, home.new_pump(sleep=_napping())):
                await home.until(lambda: len(home.provider.sends) == 1)
                down = True
                home.provider.gates.clear()
                gate.set()
                for _ in range(100):
                    await asyncio.sleep(0)
                assert await home.status(subject) == "sending"
                down = False
                row = await home.settle(subject)
            assert (row.status, row.verification, row.attempts) == ("delivered", "direct", 1)

    async def test_the_clock_goes_back(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home, running(home):
            home.provider.faults = [refused(Refusal.OFFLINE)]
            subject = await home.put("x")
            await pending(home, subject)
            home.clock.move(-3_600_000)
            home.pump._wakeup.ring()
            began = home.clock.now()
            assert await ended(home, subject) == ("delivered", None)
            assert home.clock.now() - began < 60_000

    async def test_the_clock_goes_forward_in_a_send(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home:
            home.provider.gates["oc_1"] = gate = asyncio.Event()
            async with running(home):
                subject = await home.put("x")
                await home.until(lambda: len(home.provider.sends) == 1)
                home.clock.move(3_600_000)
                home.pump._wakeup.ring()
                await home.quiet()
                home.provider.gates.clear()
                gate.set()
                assert await ended(home, subject) == ("delivered", None)
            assert len(home.provider.sends) == 1

    async def test_a_restart_at_rest_changes_nothing(self, tmp_path: Path) -> None:
        async with house(tmp_path) as home:
            subject = await home.put("x")
            await restart(home)
            assert await home.status(subject) == "queued"


def _napping() -> object:
    async def nap(seconds: float) -> None:
        if seconds > 5:
            await asyncio.Event().wait()  # a renewal; nothing here lives so long
        await asyncio.sleep(0)

    return nap


def test_a_refusal_carries_nothing_private() -> None:
    assert set(Refused.__slots__) == {"refusal", "code", "retry_after_ms", "log_id", "chat_only"}
