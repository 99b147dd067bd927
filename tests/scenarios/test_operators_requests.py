"""What operators do with a request: cancel, note, snooze, reveal; each is a fact with who and when."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from gateway.inbox.asking import asking
from gateway.inbox.exporting import lines
from gateway.inbox.reading import Listing, list_requests
from manager.decisions.operators import CANCEL_AFTER_MS, Cancel, Note, OperatorRefused, Outcome, Resend, Reveal, Snooze
from manager.ledger import operators, turns
from manager.ledger.operators import Command
from manager.ledger.tables import turns as turn_rows
from manager.service.operators import AlreadyClosed, Operators
from returns.ids import Millis
from returns.ports import Refusal, Unknown
from tests.support.handover import house as handover_house
from tests.support.operators import WHO, Desk, desk
from tests.support.replay import check_export
from tests.support.returns import FakeAuthority, refused


async def test_cancelling_supersedes_what_was_not_sent(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults += [None, refused(Refusal.OFFLINE)]
        request = await home.answered("one", "two", "three")

        async def waits() -> bool:
            return (await home.answer(request)).status == "retry_pending"

        await home.until(waits, step_ms=1)
        carried = await home.act(request, Cancel("never mind"))
        assert carried.outcome is Outcome.CANCELLED
        assert [part.state for part in await home.parts(request)] == ["delivered", "superseded", "superseded"]
        shown = await home.shown(request)
        assert (shown["work"], shown["needs_operator"]) == ("cancelled", False)
        ((fact, detail),) = await home.acts(request)
        assert (fact, detail["who"], detail["reason"], detail["outcome"]) == (
            "operator_cancel", WHO, "never mind", "cancelled"
        )  # fmt: skip
        home.clock.move(3_600_000)
        await home.quiet()
        assert len(home.provider.sends) == 2
        assert await home.refused(request, Cancel("again")) == "already_final"


async def test_what_may_have_been_sent_is_still_followed(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append("lose")
        home.provider.list_faults += [Unknown("x")] * 0
        request = await home.answered("one", "two")

        async def unsure() -> bool:
            return (await home.answer(request)).status == "verification_required"

        await home.until(unsure, step_ms=1)
        await home.act(request, Cancel("never mind"))

        async def proved() -> bool:
            return (await home.parts(request))[0].state == "delivered"

        await home.until(proved)
        assert [part.state for part in await home.parts(request)] == ["delivered", "superseded"]
        assert len(home.provider.sends) == 1


async def test_what_was_delivered_is_final(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await home.answered("one")
        await home.settle(request)
        assert await home.refused(request, Cancel("too late")) == "already_final"
        assert (await home.shown(request))["work"] == "resolved"


async def test_a_delivery_that_needs_someone_is_closed_by_cancelling(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(refused(Refusal.CONTENT))
        request = await home.answered("one")
        await home.settle(request)
        assert (await home.shown(request))["needs_operator"]
        assert (await home.act(request, Cancel("told by hand"))).outcome is Outcome.CANCELLED
        assert not (await home.shown(request))["needs_operator"]
        assert await home.refused(request, Resend("no")) == "not_resendable"


async def test_cancelling_ends_the_turn(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await home.question()

        def queue(connection: Connection) -> None:
            new = turns.NewTurn(
                turn_id="t_1", conversation_id="c_1", request_id=request, revision=1, position=Millis(1), event_seq=1,
                receipt=False, parent=None,
            )  # fmt: skip
            turns.queue(connection, new, home.clock.now())

        await home.transactions.run(queue)
        assert (await home.act(request, Cancel("never mind"))).outcome is Outcome.CANCELLED
        state = await home.transactions.read(lambda c: c.execute(select(turn_rows.c.state)).scalar_one())
        assert state == "cancelled"


async def test_a_peer_that_has_it_is_told_with_its_next_write(tmp_path: Path) -> None:
    async with handover_house(tmp_path) as home:
        peer = await home.peer("scribe")
        request = await home.handed("scribe")
        await peer.accept(request)
        acting = Operators(FakeAuthority(), home.new_id, 60_000)
        carried = await home.transactions.run(
            lambda c: acting.carry_out(c, request, Cancel("never mind"), WHO, home.clock.now())
        )
        assert carried.outcome is Outcome.CANCEL_REQUESTED
        assert (await home.current(request)).newest.work.value == "open"
        read = await peer.read(request)
        assert read.body["due_at"] is not None
        late = await peer.post(request, "result", outcome="resolved", text="here it is")
        assert (late.status, late.code) == (409, "already_final")
        assert (await home.current(request)).newest.work.value == "cancelled"
        assert [kind for kind, _ in await home.told(request)] == ["notice"]
        (command,) = await home.transactions.read(lambda c: operators.waiting(c, 9))
        outcome = await home.transactions.run(lambda c: acting.finish(c, command, home.clock.now()))
        assert outcome is Outcome.CANCELLED
        assert await home.transactions.read(lambda c: operators.waiting(c, 9)) == ()


async def test_a_peer_that_says_nothing_is_cancelled_at_the_deadline_and_its_children_too(tmp_path: Path) -> None:
    async with handover_house(tmp_path) as home:
        first, second = await home.peer("first"), await home.peer("second")
        await home.peer("third")
        request = await home.handed("first")
        await first.accept(request)
        handed = {"intent": "consultation", "brief": {"purpose": "a part of it"}, "parent": request}
        child = (await first.write("POST", "/requests", {"to": "second", **handed})).body["request_id"]
        unseen = (await first.write("POST", "/requests", {"to": "third", **handed})).body["request_id"]
        await second.accept(child)
        acting = Operators(FakeAuthority(), home.new_id, 60_000)
        now = home.clock.now()
        carried = await home.transactions.run(lambda c: acting.carry_out(c, request, Cancel("no"), WHO, now))
        assert carried.outcome is Outcome.CANCEL_REQUESTED
        assert (await home.current(unseen)).newest.work.value == "cancelled", "nobody had it"
        (command,) = await home.transactions.read(lambda c: operators.waiting(c, 9))

        async def finish(at: int) -> Outcome | None:
            return await home.transactions.run(lambda c: acting.finish(c, command, Millis(at)))

        assert await finish(now + CANCEL_AFTER_MS - 1) is None
        assert (await home.current(child)).newest.work.value == "open"
        assert await finish(now + CANCEL_AFTER_MS) is Outcome.CANCELLED
        for each in (request, child):
            assert (await home.current(each)).newest.work.value == "cancelled"
            assert ("cancelled", 1, {"by": "deadline"}) in await home.facts(each)
        assert (await second.post(child, "progress", text="half of it")).code == "already_final"
        with pytest.raises(AlreadyClosed):
            await finish(now + CANCEL_AFTER_MS)


async def test_a_command_and_its_effect_are_one_transaction(tmp_path: Path) -> None:
    """Ended in the middle, nothing of it is there, and it is taken up again."""
    async with desk(tmp_path) as home:
        home.provider.faults.append(Unknown("timeout"))
        request = await home.answered("one")
        await home.settle(request)
        carried = await home.act(request, Resend("not there"))

        async def looked() -> bool:
            return (await home.answer(request)).status == "explicit_unverified"

        await home.until(looked)
        (command,) = await home.transactions.read(lambda c: operators.waiting(c, 9))

        def killed(connection: Connection) -> None:
            assert home.acting.finish(connection, command, home.clock.now()) is Outcome.QUEUED
            raise KeyError("killed at the commit")

        for _ in range(3):
            with pytest.raises(KeyError):
                await home.transactions.run(killed)
        assert len(await home.parts(request)) == 1
        assert await home.outcome(carried) == "queued"
        await home.settle(request)
        assert len(home.provider.messages) == 1


async def test_notes_are_for_operators(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await home.question()
        carried = await home.act(request, Note("asked in person\nthey are fine"), who="  lin  zhang ")
        assert carried.outcome is Outcome.NOTED
        assert await home.acts(request) == [
            (
                "operator_note",
                {
                    "who": "lin zhang",
                    "before": "open, absent",
                    "outcome": "noted",
                    "text": "asked in person\nthey are fine",
                    "after": "open, absent",
                },
            )
        ]
        assert await home.refused(request, Note(" ")) == "invalid_request"
        assert await home.refused(request, Note("x" * 2_001)) == "invalid_request"
        assert await home.refused("r_none", Note("x")) == "not_found"
        with pytest.raises(OperatorRefused):
            await home.act(request, Note("x"), who="x" * 61)


async def listed(home: Desk, *, needs: bool) -> list[str]:
    listing = Listing(needs_operator_at=home.clock.now() if needs else None)
    page = await home.transactions.read(lambda c: list_requests(asking(c), listing, None, 50))
    return [str(item["request_id"]) for item in page.items]


async def test_what_is_snoozed_comes_back_by_itself(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(refused(Refusal.CONTENT))
        request = await home.answered("one")
        fine = await home.answered("two")
        await home.settle(request)
        await home.settle(fine)
        assert await listed(home, needs=True) == [request]
        until = Millis(home.clock.now() + 60_000)
        await home.act(request, Snooze(until))
        assert await listed(home, needs=True) == []
        assert await listed(home, needs=False) == [fine, request]
        shown = await home.shown(request)
        assert (shown["needs_operator"], shown["snoozed_until"][-1]) == (True, "Z")
        home.clock.move(60_000)
        assert await listed(home, needs=True) == [request]
        snoozed = await home.act(request, Snooze(Millis(home.clock.now() + 60_000)))
        woken = await home.act(request, Snooze(home.clock.now()))
        assert (snoozed.outcome, woken.outcome) == (Outcome.SNOOZED, Outcome.WOKEN)
        assert await listed(home, needs=True) == [request], "woken"
        assert await home.refused(request, Snooze(Millis(home.clock.now() + 367 * 86_400_000))) == "invalid_request"


async def test_what_is_private_is_shown_to_who_asks_and_that_is_recorded(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        request = await home.answered("the secret answer", private=True)
        await home.settle(request)
        before = json.dumps(await home.shown(request))
        for secret in ("om_", "oc_1", "secret", "Where is it?"):
            assert secret not in before
        revealed = (await home.act(request, Reveal())).revealed
        assert revealed["question"] == "Where is it?"
        assert revealed["question_message_id"] == f"om_q{request}"
        assert [(part["message_id"], part["text"]) for part in revealed["parts"]] == [
            (home.provider.messages[0].message_id, "the secret answer")
        ]
        after = json.dumps(await home.shown(request))
        assert ("operator_reveal" in after, "secret" in after, "om_" in after) == (True, False, False)


async def test_an_export_folds_to_the_tables(tmp_path: Path) -> None:
    async with desk(tmp_path) as home:
        home.provider.faults.append(Unknown("timeout"))
        request = await home.answered("one", "two")
        await home.settle(request)
        assert await home.outcome(await home.act(request, Resend("not there"))) == "queued"
        await home.settle(request)
        await home.act(request, Note("all is well"))
        await home.act(await home.question(private=True, text="a private question"), Cancel("no"))
        now = home.clock.now()
        made = await home.transactions.read(lambda c: list(lines(asking(c), Millis(0), now)))
        check_export([json.dumps(line) for line in made])
        text = json.dumps(made)
        for private in ('"om_', '"oc_', '"ou_', "private question", '"one"'):
            assert private not in text
        assert {line["table"] for line in made[1:-1]} == {
            "requests", "revisions", "returns", "parts", "answers", "operator_commands", "facts", "return_facts"
        }  # fmt: skip
        none = await home.transactions.read(lambda c: list(lines(asking(c), Millis(now + 1), now)))
        assert [line.get("rows") for line in none] == [None, {}]


async def test_a_fault_in_one_command_stops_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with desk(tmp_path) as home:
        waiting = []
        for _ in range(2):
            home.provider.faults.append(Unknown("timeout"))
            request = await home.answered("one")
            await home.settle(request)
            waiting.append(await home.act(request, Resend("not there")))
        first = waiting[0].command_id

        class Broken(Operators):
            def finish(self, connection: Connection, command: Command, now: Millis) -> Outcome | None:
                if command.command_id == first:
                    raise KeyError("om_secret")
                return super().finish(connection, command, now)

        home.acting = Broken(home.authority, home.new_id, 60_000)
        home.worker = home.new_worker()
        assert await home.outcome(waiting[1]) == "queued"
        assert (first in caplog.text, "om_secret" in caplog.text) == (True, False)
        assert await home.waiting() == 1
