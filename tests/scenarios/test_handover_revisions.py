"""Corrections, recalls and late receipts: what belongs to which revision."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from manager.decisions.decision import Answer, Decline, Delegate
from manager.ids import RequestId
from manager.ledger import grants, peers, requests, revisions
from manager.ledger.departures import cancel_held
from manager.ledger.tables import chats
from manager.service.authority import StewardAuthority
from manager.service.recalling import take_back
from returns.decisions.policy import ReturnsPolicy
from returns.ids import MessageId, Millis, PartId, SubjectId
from returns.ledger import attempts
from returns.ledger.tables import parts
from returns.ports import Refusal, Refused, Verdict
from tests.support.handover import APP, House, house
from tests.support.returns import FakeAuthority
from tests.support.sends import LIMITED, LOST, PROVED, READ, end_send


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def test_a_correction_is_the_next_revision(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    assert await home.correct(request, "Correction: of last year") == 2
    assert await home.axes(request) == ("unassigned", "pending", "open")
    assert (await atlas.list()).body["items"] == []  # nobody has the new one yet
    late = await atlas.post(request, "result", outcome="resolved", text="of this year")
    assert (late.status, late.code, late.field) == (409, "revision_conflict", "revision")
    await home.decide(request, Delegate("atlas", "of last year"))
    assert await home.parts(request) == ["superseded", "queued"]  # handing over is told once
    (item,) = (await atlas.list()).body["items"]
    assert (item["revision"], item["assignment"], item["assessment"]) == (2, "stored", "pending")
    assert [item["revision"] for item in (await atlas.list("?state=all")).body["items"]] == [2]
    read = (await atlas.read(request)).body
    assert [message["kind"] for message in read["brief"]["messages"]] == ["question", "correction"]
    (previous,) = read["previous"]
    assert (previous["revision"], previous["assessment"], previous["work"]) == (1, "accepted", "cancelled")
    assert previous["result"]["text"] == "of this year"  # a late receipt attaches to its own revision
    assert read["result"] is None
    facts = [(fact, revision) for fact, revision, _ in await home.facts(request)]
    assert ("late_result", 1) in facts
    assert (await atlas.post(request, "presented", revision=1)).code == "revision_conflict"
    assert (await atlas.post(request, "presented", revision=3)).code == "revision_conflict"
    await atlas.accept(request, revision=2)
    assert (await atlas.post(request, "result", revision=2, outcome="resolved", text="9")).status == 200
    assert [text for kind, text in await home.told(request) if kind == "answer"] == ["From atlas:\n\n9"]


async def test_a_correction_before_anybody_had_it_cancels_at_once(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await home.correct(request, "Also: more")
    cancelled = [detail for fact, revision, detail in await home.facts(request) if (fact, revision) == ("cancelled", 1)]
    assert cancelled == [{"by": "correction", "reason": "revision 2"}]
    assert (await atlas.list()).body["items"] == []


async def test_a_correction_after_the_result_supersedes_what_was_not_told(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    await atlas.post(request, "result", outcome="resolved", text="first")
    assert await home.parts(request) == ["queued", "queued"]
    await home.correct(request, "Correction: no")
    assert await home.parts(request) == ["queued", "superseded"]
    assert await home.axes(request) == ("unassigned", "pending", "open")
    await home.decide(request, Delegate(None, "no"))  # who had it before gets it again
    assert (await home.axes(request))[0] == "stored"
    routed = [detail for fact, revision, detail in await home.facts(request) if (fact, revision) == ("routed", 2)]
    assert routed[0]["signal"] == "earlier_revision"


async def test_a_decision_that_comes_too_late_is_dropped(home: House) -> None:
    from manager.service.handover import DecidedTurn, apply_decision

    request = await home.ask("q")
    view = await home.current(request)
    await home.correct(request, "Correction: r")
    turn = DecidedTurn(request, 1, view.conversation_id, view.audience, view.language)
    await home.transactions.run(lambda c: apply_decision(c, turn, Answer("old"), home.telling, home.clock.now()))
    assert await home.told(request) == []
    assert await home.axes(request) == ("unassigned", "pending", "open")
    await home.decide(request, Answer("new"))
    await home.decide(request, Decline("twice"))
    assert await home.told(request) == [("answer", "new")]


async def recall(
    home: House, request: str, revision: int = 1, *, say_nothing: bool = True
) -> tuple[RequestId, int] | None:
    message = MessageId(f"om_{request}_{revision}")
    return await home.transactions.run(
        lambda c: take_back(c, home.new_id, APP, message, home.clock.now(), say_nothing=say_nothing)
    )


async def test_a_recalled_correction_that_a_peer_has_lets_the_answer_stand_at_once(home: House) -> None:
    """The peer is refused as with any revision that is replaced; where it is gone, its part is over, too."""
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    await atlas.post(request, "result", outcome="resolved", text="first")
    await home.transactions.run(lambda c: _send(c, home.clock.now()))
    assert await home.parts(request) == ["undeliverable", "sending"]
    for number, goes in ((2, False), (3, True)):
        assert await home.correct(request, "Correction: no") == number
        await home.decide(request, Delegate("atlas", "no"))
        await atlas.accept(request, revision=number)
        await recall(home, request, number)
        assert ((await home.current(request)).revision, await home.axes(request)) == (
            1, ("presented", "accepted", "resolved")
        )  # fmt: skip
        assert (await atlas.list()).body["items"] == []
        assert await work_of(home, request, number) == "open"
        if goes:
            await home.transactions.run(lambda c: cancel_held(c, peers.by_name(c, "atlas").peer_id, home.clock.now()))
        else:
            late = await atlas.post(request, "result", revision=number, outcome="resolved", text="second")
            assert (late.status, late.code) == (409, "revision_conflict")
        assert await work_of(home, request, number) == "cancelled"
    assert (await atlas.post(request, "result", outcome="resolved", text="again")).code == "already_final"
    assert [words for kind, words in await home.told(request) if kind == "answer"] == ["From atlas:\n\nfirst"]


def _send(connection: Connection, now: Millis) -> None:
    """The notice is refused for good, and the answer is being sent."""
    notice, answer = connection.execute(select(parts.c.part_id).order_by(parts.c.return_seq)).scalars()
    policy, authority = ReturnsPolicy(), FakeAuthority()
    attempt = attempts.begin(connection, notice, "pump", now, policy, authority)
    attempts.conclude(connection, attempt, Refused(Refusal.CONTENT), now, policy)
    assert attempts.begin(connection, answer, "pump", now, policy, authority) is not None


async def work_of(home: House, request: RequestId, revision: int) -> str:
    return (await home.transactions.read(lambda c: revisions.only(c, request, revision))).work.value


async def test_recalls(home: House) -> None:
    atlas = await home.peer("atlas")
    assert (
        await home.transactions.run(lambda c: take_back(c, home.new_id, APP, MessageId("om_other"), home.clock.now()))
        is None
    )

    stored = await home.handed("atlas")
    assert await recall(home, stored) == (stored, 1)
    assert (await home.axes(stored))[2] == "cancelled"
    facts = await home.facts(stored)
    assert await recall(home, stored) == (stored, 1)
    assert await home.facts(stored) == facts  # the second time does nothing

    presented = await home.handed("atlas")
    await atlas.accept(presented)
    await recall(home, presented)
    assert (await home.axes(presented))[2] == "open"
    assert (await atlas.post(presented, "progress", text="x")).code == "already_final"
    assert (await home.axes(presented))[2] == "cancelled"

    answered = await home.ask("q")
    await home.decide(answered, Answer("a"))
    await recall(home, answered)
    assert await home.parts(answered) == ["superseded"]
    assert (await home.axes(answered))[2] == "cancelled"

    kept = await home.ask("q")
    await home.decide(kept, Answer("a"))
    await recall(home, kept, say_nothing=False)
    assert await home.parts(kept) == ["queued"]
    assert (await home.axes(kept))[2] == "resolved"


async def test_recalling_the_first_question_of_a_corrected_request_changes_nothing_of_the_newest(home: House) -> None:
    request = await home.ask("q")
    await home.correct(request, "Correction: r")
    await recall(home, request)
    assert (await home.axes(request))[2] == "open"
    await recall(home, request, 2)
    assert (await home.axes(request))[2] == "cancelled"


async def verdict(home: House, request: str, revision: int = 1, policy: str = "say_nothing") -> Verdict:
    authority = StewardAuthority(policy, home.clock, home.new_id)
    return await home.transactions.read(lambda c: authority.verdict(c, SubjectId(request), revision))


async def grant(home: House, grant_id: str, resource: str = "c_1", **more: object) -> None:
    from manager.decisions.decision import Audience

    await home.transactions.run(
        lambda c: grants.add(
            c,
            grant_id=grant_id,
            principal="steward:default",
            resource=resource,
            effect="converse",
            audience=Audience.SHARED,
            granted_by="operator",
            now=home.clock.now(),
            **more,
        )
    )


async def test_authority(home: House) -> None:
    request = await home.ask("q")
    assert await verdict(home, request) is Verdict.ALLOWED
    assert await verdict(home, request, 2) is Verdict.REVOKED
    assert await verdict(home, "r_none") is Verdict.REVOKED
    await grant(home, "g_1", expires_at=home.clock.at + 1_000)
    assert await verdict(home, request) is Verdict.ALLOWED
    home.clock.at += 1_000
    assert await verdict(home, request) is Verdict.REVOKED
    home.clock.at += 1
    await grant(home, "g_2")
    assert await verdict(home, request) is Verdict.ALLOWED
    revoked = await home.transactions.run(lambda c: grants.revoke(c, "g_2", reason="enough", now=home.clock.now()))
    assert revoked is grants.Revocation.REVOKED
    assert await verdict(home, request) is Verdict.REVOKED
    home.clock.at += 1
    await grant(home, "g_3")
    await recall(home, request)
    assert await verdict(home, request) is Verdict.QUESTION_RECALLED
    assert await verdict(home, request, policy="answer_in_chat") is Verdict.ALLOWED
    for state in ("left", "disbanded"):
        await home.transactions.run(lambda c, state=state: c.execute(update(chats).values(state=state)))
        assert await verdict(home, request) is Verdict.ROUTE_GONE


async def test_a_correction_recalled_after_the_peer_of_the_question_went_quiet(home: House) -> None:
    """The asker's own correction asked the peer to stop; that its deadline ended the wait is no refusal."""
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    await home.correct(request, "Correction: r")
    older = await home.transactions.read(lambda c: revisions.only(c, request, 1))
    await home.transactions.run(lambda c: requests.acknowledge_cancel(c, older, home.clock.now(), by="deadline"))
    assert await home.transactions.read(lambda c: requests.was_refused(c, request, 1)) is False
    refused = await home.ask("q")
    await home.transactions.run(lambda c: requests.cancel(c, refused, home.clock.now(), by="ann", reason="no"))
    assert await home.transactions.read(lambda c: requests.was_refused(c, refused, 1)) is True


async def send_next(home: House, request: str, ends: str = PROVED) -> None:
    """Send what waits to be told of the request; how it ends."""

    def work(connection: Connection) -> None:
        waits = select(parts.c.part_id).where(parts.c.subject_id == request, parts.c.state == "queued")
        first = connection.execute(waits.order_by(parts.c.return_seq, parts.c.position)).scalars().first()
        end_send(connection, PartId(first), home.clock.now(), ends)

    await home.transactions.run(work)


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        (PROVED, [PROVED]),
        (READ, [READ, "queued"]),
        (LOST, [LOST, "queued"]),
        (LIMITED, ["superseded", "queued"]),
    ],
)
async def test_who_has_it_is_told_again_unless_that_is_proved(home: House, ends: str, told: list[str]) -> None:
    await home.peer("atlas")
    request = await home.handed("atlas")
    await send_next(home, request, ends)
    await home.correct(request, "Also: of last year")
    await home.decide(request, Delegate("atlas", "of last year"))
    assert await home.parts(request) == told


async def test_a_long_notice_that_was_begun_is_told_to_its_end(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await send_next(home, request)
    await atlas.post(request, "presented")
    long = {"reason": "因为" * 1900, "owner": "我" * 3900, "resume_condition": "等" * 3900}
    assert (await atlas.post(request, "assessment", assessment="deferred", **long)).status == 200
    assert await home.parts(request) == [PROVED, *["queued"] * 3]
    await send_next(home, request)
    await home.correct(request, "Also: of last year")
    await home.decide(request, Delegate("atlas", "of last year"))
    assert await home.parts(request) == [PROVED, PROVED, *["queued"] * 3], "the last one says who has it now"


async def test_what_is_told_last_of_who_has_it_is_true(home: House) -> None:
    """From one peer to another one and back; the second time the other one's was not told yet."""
    for name in ("atlas", "boreas"):
        await home.peer(name)
    request = await home.handed("atlas")
    await send_next(home, request)
    for peer in ("boreas", "atlas"):
        await home.correct(request, "Also: of last year")
        await home.decide(request, Delegate(peer, "of last year"))
        await send_next(home, request)
    assert await home.parts(request) == [PROVED] * 3
    for peer in ("boreas", "atlas"):
        await home.correct(request, "Also: of last year")
        await home.decide(request, Delegate(peer, "of last year"))
    assert await home.parts(request) == [*[PROVED] * 3, "superseded"]


async def test_recalling_the_first_question_takes_no_word_from_its_correction(home: House) -> None:
    """Both went to the same peer, before anything was told."""
    await home.peer("atlas")
    request = await home.handed("atlas")
    await home.correct(request, "Also: of last year")
    await home.decide(request, Delegate("atlas", "of last year"))
    await recall(home, request)
    assert await home.parts(request) == ["superseded", "queued"]
