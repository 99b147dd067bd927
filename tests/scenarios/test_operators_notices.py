"""What was told on the way and did not arrive is seen, looked for, and told anew, where there is no answer."""

from __future__ import annotations

from pathlib import Path

from gateway.inbox.asking import asking
from gateway.inbox.next_step import Next, say
from gateway.inbox.reading import get_item
from manager.decisions.operators import Cancel, Found, Resend, Verify
from returns.ids import ChatId, MessageId
from returns.ledger.locators import Source, learn
from returns.ledger.outbox import ReturnKind
from returns.ports import Locator, NotPermitted, Refusal, Unknown, Verdict
from tests.support.operators import Desk, desk
from tests.support.returns import refused, route, text, visible_of

UNPROVED = {"status": "explicit_unverified", "error": "no_match_found"}


async def told(home: Desk, words: str = "which one?", **more: object) -> str:
    """A question that is answered by a question, which is a notice."""
    request = await home.question(**more)
    await home.put(words, subject=request, kind=ReturnKind.NOTICE)
    return request


async def states(home: Desk, request: str) -> list[str]:
    return [part.state for part in await home.parts(request)]


async def ended(home: Desk, request: str, state: str) -> None:
    async def ends() -> bool:
        return (await states(home, request))[-1] == state

    await home.until(ends)


async def unproved(home: Desk) -> str:
    """It was never accepted, and nobody was told so."""
    home.provider.faults.append(Unknown("timeout"))
    request = await told(home)
    await ended(home, request, "explicit_unverified")
    return request


def seen(home: Desk) -> list[str]:
    return [visible_of([each.document]) for each in home.provider.messages]


async def test_what_arrived_is_nobodys_business(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await told(home)
        await ended(home, request, "delivered")
        shown = await home.shown(request)
        assert (shown["notice"], shown["next"]) == (None, Next.ASKER.value)
        assert await home.refused(request, Resend("please")) == "not_resendable"
        assert await home.refused(request, Found("om_else")) == "nothing_open"


async def test_it_is_seen_and_said_in_both_languages(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        shown = await home.shown(request)
        assert (shown["notice"], shown["next"]) == (UNPROVED, say(Next.NOTICE_UNPROVED, request, None))
        assert (shown["delivery"]["status"], shown["needs_operator"]) == ("absent", False)
        chinese = await home.transactions.read(lambda c: get_item(asking(c), request, chinese=True))
        assert chinese["next"] == say(Next.NOTICE_UNPROVED, request, None, chinese=True)


async def test_resend_looks_first_and_tells_it_anew_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        carried = await home.act(request, Resend("nobody saw it"))
        assert carried.outcome is None
        assert await home.outcome(carried) == "queued"
        await ended(home, request, "delivered")
        assert seen(home) == ["which one?"]
        assert (await home.shown(request))["notice"] is None
        old, new = await home.parts(request)
        assert (old.state, new.state) == ("explicit_unverified", "delivered")
        queued = [detail for name, detail in await home.facts(request) if name == "return_queued"]
        assert [(each["kind"], each.get("replaces")) for each in queued] == [
            ("notice", None), ("notice", old.return_id)
        ]  # fmt: skip
        before = "open, notice explicit_unverified (no_match_found)"
        assert [detail.get("before", detail.get("after")) for _, detail in await home.acts(request)] == [
            before, "open, notice queued"
        ]  # fmt: skip
        assert await home.refused(request, Resend("once more")) == "not_resendable"


async def test_what_is_found_settles_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        home.provider.say(route(reply_to=f"om_q{request}"), text("which one?"))
        assert await home.outcome(await home.act(request, Resend("not there"))) == "proved"
        assert (await states(home, request), len(home.provider.sends)) == (["delivered"], 1)


async def test_verify_and_found_reach_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        assert await home.outcome(await home.act(request, Verify())) == "unproved"
        wrong = home.provider.say(route(reply_to="om_else"), text("another"), ours=False)
        assert await home.outcome(await home.act(request, Found(wrong.message_id))) == "unproved"
        assert (await home.shown(request))["notice"]["error"] == "provider_delivery_mismatch"
        right = home.provider.say(route(reply_to=f"om_q{request}"), text("which one?"))
        assert await home.outcome(await home.act(request, Found(right.message_id))) == "proved"
        assert (await home.shown(request))["notice"] is None


async def test_candidates_are_numbered(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        for _ in range(2):
            home.provider.say(route(reply_to=f"om_q{request}"), text("which one?"))
        assert await home.outcome(await home.act(request, Resend("not there"))) == "ambiguous"
        assert [each["number"] for each in (await home.shown(request))["candidates"]] == [1, 2]
        assert await home.outcome(await home.act(request, Found("2"))) == "proved"
        assert len(home.provider.sends) == 1


async def test_a_history_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        home.provider.list_faults += [NotPermitted(1)] * 3
        assert await home.outcome(await home.act(request, Resend("not there"))) == "unreadable"
        assert len(home.provider.sends) == 1


async def test_what_cannot_be_delivered_is_told_anew_if_it_may(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(refused(Refusal.ROUTE_GONE))
        request = await told(home)
        await ended(home, request, "undeliverable")
        assert (await home.shown(request))["next"] == say(Next.NOTICE_UNDELIVERABLE, request, None)
        home.authority.verdicts[request] = Verdict.REVOKED
        assert (await home.act(request, Resend("back"))).outcome.value == "forbidden"
        home.authority.verdicts.clear()
        assert (await home.act(request, Resend("back"))).outcome.value == "queued"
        await ended(home, request, "delivered")
        assert seen(home) == ["which one?"]


async def test_what_waits_for_configuration_is_seen(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults += [refused(Refusal.CONFIGURATION)] * 200
        request = await told(home)

        async def waits() -> bool:
            return (await home.shown(request))["notice"] is not None

        await home.until(waits, step_ms=1)
        shown = await home.shown(request)
        assert (shown["notice"]["status"], shown["next"]) == ("retry_pending", Next.NOTICE_REFUSED.value)
        assert await home.refused(request, Resend("now")) == "not_resendable"
        home.provider.faults.clear()
        await ended(home, request, "delivered")


async def test_an_answer_takes_its_place(tmp_path: Path) -> None:
    """What operators do is about the answer then; a command that waited for the notice ends."""
    async with desk(tmp_path) as home:
        request = await unproved(home)
        home.provider.list_faults += [NotPermitted(1)] * 50
        waiting = await home.act(request, Verify())
        await home.put("the answer", subject=request)
        assert await home.outcome(waiting) == "changed"
        assert (await home.settle(request)).status == "delivered"
        assert await home.refused(request, Resend("the question back")) == "not_resendable"
        assert (await home.shown(request))["next"] == Next.PROVED.value


async def test_the_newest_that_is_not_proved_is_meant(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        await home.put("handed over", subject=request, kind=ReturnKind.NOTICE)
        await ended(home, request, "delivered")
        assert (await home.shown(request))["notice"] == UNPROVED
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        await ended(home, request, "delivered")
        assert (seen(home), (await home.shown(request))["notice"]) == (["handed over", "which one?"], None)


async def test_what_was_cancelled_is_not_told_anew(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        carried = await home.act(request, Resend("not there"))
        await home.act(request, Cancel("never mind"))
        assert await home.outcome(carried) == "cancelled"
        assert await home.refused(request, Resend("now")) == "not_resendable"
        assert len(home.provider.sends) == 1
        assert (await home.shown(request))["next"] == Next.CANCELLED.value


async def test_what_turned_up_since_is_not_told_again(tmp_path: Path) -> None:
    """The first one's late answer was proved after another one replaced it."""
    async with desk(tmp_path) as home:
        request = await unproved(home)
        home.provider.faults.append(Unknown("timeout"))
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        await ended(home, request, "explicit_unverified")
        message = home.provider.say(route(reply_to=f"om_q{request}"), text("which one?"))
        late = Locator(MessageId(message.message_id), ChatId(message.chat_id), None)
        first, _ = await home.parts(request)
        await home.transactions.run(lambda c: learn(c, first.part_id, late, Source.DIRECT, home.clock.now()))

        async def proved() -> bool:
            return (await states(home, request))[0] == "delivered"

        await home.until(proved)
        assert (await states(home, request), (await home.shown(request))["notice"]) == (
            ["delivered", "explicit_unverified"],
            None,
        )
        assert await home.refused(request, Resend("not there")) == "not_resendable"
        assert seen(home) == ["which one?"]


async def test_one_that_was_refused_anew_hides_no_first_one(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await unproved(home)
        home.provider.faults.append(refused(Refusal.NOT_ALLOWED))
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        await ended(home, request, "undeliverable")
        assert (await home.shown(request))["notice"] == UNPROVED
        home.provider.say(route(reply_to=f"om_q{request}"), text("which one?"))
        assert await home.outcome(await home.act(request, Resend("not there"))) == "proved"
        assert ((await home.shown(request))["notice"], len(home.provider.messages)) == (None, 1)


async def test_one_that_was_given_up_anew_is_seen(tmp_path: Path) -> None:
    """It waited, and could not be looked for before it was sent anew."""
    async with desk(tmp_path) as home:
        request = await unproved(home)
        home.provider.prepare_faults += [refused(Refusal.OFFLINE)] * 1000
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        home.clock.move(60_000)
        home.provider.list_faults += [NotPermitted(1)] * 1000
        home.provider.prepare_faults.clear()
        await ended(home, request, "superseded")
        unread = {"status": "explicit_unverified", "error": "provider_verification_unavailable"}
        assert (await home.shown(request))["notice"] == unread
