"""Two gateways at the same thing at the same moment, on PostgreSQL: one is in the middle when the other begins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from manager.decisions.brief import Brief
from manager.decisions.decision import Audience, Delegate
from manager.decisions.peer_writes import Appear, HandOn
from manager.ids import PeerId, RequestId
from manager.ledger import chats, departures, events, peers, receipts, requests, tables, turns
from manager.ledger.chats import ChatState
from manager.ledger.events import EventState
from manager.service.handover import DecidedTurn, apply_decision
from manager.service.peer_inbox import PeerInbox
from manager.service.receiving import Acceptance
from manager.service.telling import Telling
from returns.decisions.document import Document, Text
from returns.decisions.keys import part_id
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import Event, State
from returns.ids import ChatId, MessageId, Millis, ReturnId, SubjectId
from returns.ledger import attempts, checks, leases
from returns.ledger import tables as returned
from returns.ledger.outbox import ReturnKind, enqueue, new_return, supersede_unattempted
from returns.ports import Accepted, Locator, Route, Verdict
from tests.support import postgresql
from tests.support.racing import Two, closure, two_gateways
from tests.support.turns import ANNA, APP, GROUP, STEWARD, Ids, ManualClock, World, message, policy, private, recall

NOW = Millis(1_700_000_000_000)
LATER = Millis(NOW + 60_000)
POLICY = ReturnsPolicy()


class Allows:
    """An authority that allows."""

    def verdict(self, *_: object) -> Verdict:
        return Verdict.ALLOWED

    def question_recalled(self, *_: object) -> None:
        raise AssertionError("nothing was recalled")


@pytest.fixture
def url(postgresql_server: postgresql.Server) -> Iterator[str]:
    with postgresql_server.migrated() as found:
        yield found


@pytest.fixture
async def two(url: str) -> AsyncIterator[Two]:
    async with two_gateways(url) as both:
        yield both


def put(connection: Connection, number: int, parts: int = 1, *, subject: str | None = None, revision: int = 1) -> None:
    """An answer of so many parts in the one chat."""
    words: tuple[Document, ...] = tuple(((Text(f"{number}.{part}"),),) for part in range(parts))
    new = new_return(
        return_id=ReturnId(f"t_{number}"),
        subject=SubjectId(subject or f"r_{number}"),
        revision=revision,
        kind=ReturnKind.ANSWER,
        route=Route(APP, ChatId("oc_1"), None, MessageId(f"om_q{number}")),
        documents=words,
    )
    enqueue(connection, new, NOW)


def part(number: int, position: int = 0) -> Any:
    return part_id(ReturnId(f"t_{number}"), position)


def begin(number: int, owner: str = "one", position: int = 0, now: Millis = NOW) -> Any:
    return closure(lambda c: attempts.begin(c, part(number, position), owner, now, POLICY, Allows()))


async def states(two: Two) -> dict[str, str]:
    rows = await two.one.read(lambda c: c.execute(select(returned.parts.c.part_id, returned.parts.c.state)).all())
    return {row.part_id: row.state for row in rows}


async def rows(two: Two, table: Any) -> list[Any]:
    return await two.one.read(lambda c: list(c.execute(select(table)).all()))


# The way back


async def test_one_part_is_attempted_once(two: Two) -> None:
    await two.one.run(lambda c: put(c, 1))
    first, second, waited = await two.meet(begin(1, "one"), begin(1, "other"))
    assert (first is not None, second, waited) == (True, None, True)


async def accepted(two: Two, number: int) -> None:
    """The first part of an answer was sent; it waits to be read."""
    attempt = await begin(number)(two.one)
    found = Accepted(Locator(MessageId(f"om_{number}"), ChatId("oc_1"), None))
    await two.one.run(lambda c: attempts.conclude(c, attempt, found, NOW, POLICY))


def prove(number: int) -> Any:
    """The first part of an answer is read and proved."""

    def work(connection: Connection) -> bool:
        check = checks.begin(connection, part(number), "other", LATER, POLICY, Allows())
        assert check is not None
        return checks.conclude_reading(connection, check, Event.PROVED, LATER, POLICY)

    return closure(work)


async def test_two_parts_of_one_chat_are_never_under_way_together(two: Two) -> None:
    """While one gateway begins the next answer, the other proves a part whose successor comes before that answer."""
    await two.one.run(lambda c: put(c, 1, 2))
    await accepted(two, 1)
    await two.one.run(lambda c: put(c, 2))

    async def go_on(transactions: Any) -> Any:
        assert await prove(1)(transactions)
        return await begin(1, "other", position=1, now=LATER)(transactions)

    first, second, waited = await two.meet(begin(2, now=LATER), go_on)
    assert (first is not None, second, waited) == (True, None, True)
    assert await states(two) == {part(1): "delivered", part(1, 1): "queued", part(2): "sending"}


async def test_an_answer_that_was_begun_is_told_to_its_end(two: Two) -> None:
    """A correction looks for what nobody was told yet, while another gateway begins to tell it."""
    await two.one.run(lambda c: put(c, 1, 3))
    supersede = closure(lambda c: supersede_unattempted(c, SubjectId("r_1"), before_revision=2, now=NOW))
    _, superseded, _ = await two.meet(begin(1), supersede)
    assert superseded == 0
    assert await states(two) == {part(1): "sending", part(1, 1): "queued", part(1, 2): "queued"}


async def test_an_answer_that_was_superseded_is_not_begun(two: Two) -> None:
    await two.one.run(lambda c: put(c, 1, 3))
    supersede = closure(lambda c: supersede_unattempted(c, SubjectId("r_1"), before_revision=2, now=NOW))
    superseded, begun, _ = await two.meet(supersede, begin(1))
    assert (superseded, begun) == (1, None)
    assert set((await states(two)).values()) == {"superseded"}


async def test_the_inbox_row_counts_what_both_moved(two: Two) -> None:
    await two.one.run(lambda c: put(c, 1, 2))
    await accepted(two, 1)

    def release(connection: Connection) -> None:  # as if the two had no order
        connection.execute(update(returned.parts).where(returned.parts.c.part_id == part(1, 1)).values(lane="send"))

    await two.one.run(release)
    await two.meet(begin(1, position=1, now=LATER), prove(1))
    (answer,) = await rows(two, returned.answers)
    assert (answer.parts, answer.attempts, answer.delivered_parts) == (2, 2, 1)


async def test_two_answers_to_one_subject_leave_one_row(two: Two) -> None:
    await two.meet(closure(lambda c: put(c, 1, subject="r_1")), closure(lambda c: put(c, 2, subject="r_1", revision=2)))
    (answer,) = await rows(two, returned.answers)
    assert (answer.return_id, answer.revision) == ("t_2", 2)


async def test_an_older_answer_that_comes_at_the_same_time_stays_behind(two: Two) -> None:
    await two.meet(closure(lambda c: put(c, 2, subject="r_1", revision=2)), closure(lambda c: put(c, 1, subject="r_1")))
    (answer,) = await rows(two, returned.answers)
    assert (answer.return_id, answer.revision) == ("t_2", 2)


async def test_one_message_belongs_to_one_part(two: Two) -> None:
    await two.one.run(lambda c: put(c, 1))
    first = await begin(1)(two.one)
    await two.one.run(lambda c: leases.expire(c, part(1), Millis(NOW + 10 * POLICY.lease_ms)))
    await two.one.run(lambda c: put(c, 2))
    second = await begin(2)(two.one)
    said = Accepted(Locator(MessageId("om_same"), ChatId("oc_1"), None))
    await two.meet(
        closure(lambda c: attempts.conclude(c, first, said, NOW, POLICY)),
        closure(lambda c: attempts.conclude(c, second, said, NOW, POLICY)),
    )
    (locator,) = await rows(two, returned.part_locators)
    assert locator.part_id == part(1)
    assert (await states(two))[part(2)] == State.VERIFICATION_REQUIRED.value


async def test_whoever_gives_up_a_lease_and_whoever_concludes_agree(two: Two) -> None:
    """The lease ran out in the moment in which its holder heard the answer."""
    await two.one.run(lambda c: put(c, 1))
    attempt = await begin(1)(two.one)
    late = Millis(NOW + 10 * POLICY.lease_ms)
    said = Accepted(Locator(MessageId("om_1"), ChatId("oc_1"), None))
    lost, concluded, _ = await two.meet(
        closure(lambda c: leases.expire(c, part(1), late)),
        closure(lambda c: attempts.conclude(c, attempt, said, late, POLICY)),
    )
    assert (lost, concluded) == (True, False)
    assert await states(two) == {part(1): "verification_required"}
    assert len(await rows(two, returned.part_locators)) == 1
    (answer,) = await rows(two, returned.answers)
    assert answer.error == "provider_delivery_unverified"


async def test_what_a_gateway_was_reading_is_given_up_at_its_end_and_its_send_is_not(two: Two) -> None:
    await two.one.run(lambda c: put(c, 1))
    await begin(1, "gone")(two.one)

    def reads(connection: Connection) -> None:
        put(connection, 2)
        connection.execute(
            update(returned.parts)
            .where(returned.parts.c.part_id == part(2))
            .values(state="verification_required", lane="verify", lease_owner="gone", lease_until=NOW + 30_000)
        )

    await two.one.run(reads)
    assert await two.one.run(lambda c: leases.give_up(c, "gone", NOW)) == 1
    owners = {row.part_id: row.lease_owner for row in await rows(two, returned.parts)}
    assert owners == {part(1): "gone", part(2): None}


# Receiving


def gateway(transactions: Any, name: str, **changes: Any) -> World:
    return World(transactions, policy=policy(**changes), ids=Ids(name), clock=ManualClock())


def accepts(event: Any, name: str, **changes: Any) -> Any:
    return lambda transactions: gateway(transactions, name, **changes).accept(event)


async def test_one_event_at_two_gateways_is_one_request(two: Two) -> None:
    event = message()
    first, second, waited = await two.meet(accepts(event, "a"), accepts(event, "b"))
    assert (first, second, waited) == (Acceptance.NEW, Acceptance.DUPLICATE, True)
    assert len(await rows(two, tables.requests)) == len(await rows(two, tables.turns)) == 1


async def test_one_message_under_two_events_is_one_request(two: Two) -> None:
    event = message()
    again = replace(event, envelope=message().envelope)
    first, second, _ = await two.meet(accepts(event, "a"), accepts(again, "b"))
    assert (first, second) == (Acceptance.NEW, Acceptance.DUPLICATE)
    assert len(await rows(two, tables.requests)) == 1


async def test_many_copies_at_once_are_one_request_each(two: Two) -> None:
    copies = [message(f"@_user_1 question {number}") for number in range(12)]
    gateways = [gateway(two.one, "a"), gateway(two.other, "b")]
    taken = await asyncio.gather(
        *(each.accept(event) for event in copies for each in gateways),
        *(each.accept(event) for event in reversed(copies) for each in gateways),
    )
    assert taken.count(Acceptance.NEW) == 12
    assert taken.count(Acceptance.DUPLICATE) == 36
    assert len(await rows(two, tables.requests)) == 12
    assert len(await rows(two, tables.chats)) == len(await rows(two, tables.conversations)) == 1


async def test_a_new_conversation_is_admitted_by_one_grant(two: Two) -> None:
    await two.meet(accepts(message("@_user_1 one"), "a"), accepts(message("@_user_1 two"), "b"))
    assert len(await rows(two, tables.requests)) == 2
    assert len(await rows(two, tables.grants)) == 1


async def test_a_known_conversation_is_admitted_by_one_grant(two: Two) -> None:
    """It has its name already, because a question there was once ignored, and no grant."""

    def name(connection: Connection) -> None:
        chat = chats.find_or_create(connection, APP, GROUP, private=False, new_id=Ids("c"), now=NOW)
        connection.execute(
            tables.conversations.insert().values(
                conversation_id=chat.chat_ref, chat_ref=chat.chat_ref, thread_id="", created_at=NOW
            )
        )
        chats.learn_bot_name(connection, chat, "Steward")

    await two.one.run(name)
    await two.meet(accepts(message("@_user_1 one"), "a"), accepts(message("@_user_1 two"), "b"))
    assert len(await rows(two, tables.grants)) == 1


async def test_a_stranger_is_told_once(two: Two) -> None:
    asked = [private(words, sender=ANNA) for words in ("one", "two")]
    first, second, _ = await two.meet(accepts(asked[0], "a"), accepts(asked[1], "b"))
    assert (first, second) == (Acceptance.NEW, Acceptance.IGNORED)
    assert len(await rows(two, tables.requests)) == 1


async def held_event(two: Two) -> Any:
    """An event that could not be judged, because the steward did not know itself."""
    unknowing = gateway(two.one, "h")
    unknowing.reader.ids[APP] = None
    assert await unknowing.accept(message()) is Acceptance.HELD
    (held,) = await two.one.read(lambda c: events.held(c, APP, 0, 10))
    return held


async def test_a_held_event_is_released_once(two: Two) -> None:
    held = await held_event(two)

    def release(name: str) -> Any:
        return lambda transactions: gateway(transactions, name).receiving.judge_again(held, STEWARD)

    first, second, waited = await two.meet(release("a"), release("b"))
    assert (first, second, waited) == (Acceptance.NEW, Acceptance.DUPLICATE, True)
    assert len(await rows(two, tables.requests)) == 1
    assert [row.state for row in await rows(two, tables.events)] == [EventState.ACCEPTED.value]


async def test_an_older_word_about_a_chat_changes_nothing(two: Two) -> None:
    chat = await two.one.run(lambda c: chats.find_or_create(c, APP, GROUP, private=False, new_id=Ids("c"), now=NOW))
    left, added, _ = await two.meet(
        closure(lambda c: chats.enter(c, chat, ChatState.LEFT, Millis(NOW + 2))),
        closure(lambda c: chats.enter(c, chat, ChatState.ACTIVE, Millis(NOW + 1))),
    )
    assert (left, added) == (True, False)
    assert [row.state for row in await rows(two, tables.chats)] == ["left"]


# Turns and receipts


def claim(owner: str) -> Any:
    return closure(lambda c: turns.claim_due(c, owner=owner, now=LATER, lease_ms=30_000, limit=8, places=16))


async def test_a_turn_is_claimed_once(two: Two) -> None:
    await gateway(two.one, "a").accept(message())
    first, second, waited = await two.meet(claim("one"), claim("other"))
    assert (len(first), len(second), waited) == (1, 0, False)


async def test_a_conversation_has_one_running_turn(two: Two) -> None:
    """While one gateway claims a turn, an earlier question of the conversation arrives at the other."""
    await gateway(two.one, "a").accept(message("@_user_1 two", created_at=Millis(NOW + 2)))

    async def come_late(transactions: Any) -> Any:
        await gateway(transactions, "b").accept(message("@_user_1 one", created_at=Millis(NOW + 1)))
        return await claim("other")(transactions)

    first, second, waited = await two.meet(claim("one"), come_late)
    assert (len(first), len(second), waited) == (1, 0, False)


async def test_a_turn_whose_question_is_edited_meanwhile_is_claimed_as_it_is_then(two: Two) -> None:
    """Its holder overstayed its lease, and takes up the edit just when another gateway claims the turn."""
    await gateway(two.one, "a").accept(message())
    (held,) = await two.one.run(lambda c: turns.claim_due(c, owner="slow", now=NOW, lease_ms=1_000, limit=8, places=16))
    edited, claimed, _ = await two.meet(
        closure(lambda c: turns.take_up_revision(c, held.turn_id, held.fence, 2)), claim("other")
    )
    assert (edited, claimed) == (True, ())
    (again,) = await claim("other")(two.other)
    assert again.revision == 2


async def test_a_recall_meets_the_edit_of_its_question(two: Two) -> None:
    """A turn takes the edit up just when the recall arrives at another gateway: what is edited is recalled as well."""
    question = message()
    await gateway(two.one, "a").accept(question)
    (held,) = await two.one.run(lambda c: turns.claim_due(c, owner="one", now=NOW, lease_ms=30_000, limit=8, places=16))

    def edit(connection: Connection) -> int:
        requests.current(connection, held.request_id, lock=True)
        route = requests.route_of(connection, held.request_id, 1)
        revision = requests.open_revision(
            connection, held.request_id, question="edited", brief=Brief(purpose="edited"), route=route, now=NOW
        )
        turns.take_up_revision(connection, held.turn_id, held.fence, revision)
        return revision

    async def take_back(transactions: Any) -> Any:
        return await gateway(transactions, "b").accept(recall(question))

    await two.meet(closure(edit), take_back)
    assert [(row.revision, row.recalled_at is not None) for row in await rows(two, tables.question_routes)] == [
        (1, False),
        (2, True),
    ]
    assert [row.work for row in await rows(two, tables.revisions)] == ["cancelled", "cancelled"]
    assert [row.state for row in await rows(two, tables.turns)] == ["cancelled"]


async def test_turns_given_up_at_an_orderly_end_are_claimed_at_once(two: Two) -> None:
    await gateway(two.one, "a").accept(message())
    claimed = await two.one.run(
        lambda c: turns.claim_due(c, owner="gone", now=NOW, lease_ms=30_000, limit=8, places=16)
    )
    assert await two.one.run(lambda c: turns.give_up(c, "gone", NOW)) == 1
    (again,) = await two.other.run(
        lambda c: turns.claim_due(c, owner="other", now=NOW, lease_ms=30_000, limit=8, places=16)
    )
    assert (again.turn_id, again.attempts, again.fence) == (claimed[0].turn_id, 1, claimed[0].fence + 1)
    assert not await two.one.run(lambda c: turns.holds(c, again.turn_id, claimed[0].fence))


async def test_a_receipt_is_left_by_one(two: Two) -> None:
    await gateway(two.one, "a").accept(message())
    (wanted,) = await two.one.read(lambda c: receipts.wanted(c, NOW, 10))
    first, second, _ = await two.meet(
        closure(lambda c: receipts.take(c, wanted, "one", NOW)),
        closure(lambda c: receipts.take(c, wanted, "other", NOW)),
    )
    assert (first, second) == (True, False)
    assert await two.one.read(lambda c: receipts.wanted(c, NOW, 10)) == ()
    later = Millis(NOW + receipts.TAKEN_MS)
    assert await two.one.read(lambda c: receipts.wanted(c, later, 10)) == (wanted,)
    first, second, _ = await two.meet(
        closure(lambda c: receipts.take(c, wanted, "other", later)),
        closure(lambda c: receipts.take(c, wanted, "third", later)),
    )
    assert (first, second) == (True, False)


# Peers


async def peer(two: Two, name: str) -> PeerId:
    def add(connection: Connection) -> None:
        peers.add(
            connection,
            peer_id=PeerId(f"p_{name}"),
            name=name,
            mode=peers.Mode.ATTACHED_HOST,
            audience=Audience.SHARED,
            goal=None,
            responsibilities=("things",),
            examples=(),
            digest=peers.token_digest(name),
            now=NOW,
        )

    await two.one.run(add)
    return PeerId(f"p_{name}")


def telling() -> Telling:
    return Telling(lambda document: len(repr(document)), 30_000, Ids("told"))


async def asked(two: Two) -> RequestId:
    await gateway(two.one, "asked").accept(message("@_user_1 ask atlas about things"))
    (row,) = await rows(two, tables.requests)
    return RequestId(row.request_id)


def hand_over(request: RequestId, to: str | None = "atlas") -> Any:
    def decide(connection: Connection) -> None:
        view = requests.current(connection, request)
        assert view is not None
        turn = DecidedTurn(request, view.revision, view.conversation_id, view.audience, view.language)
        apply_decision(connection, turn, Delegate(to, "things"), telling(), NOW)

    return closure(decide)


def take_out(peer_id: PeerId) -> Any:
    def remove(connection: Connection) -> None:
        peers.set_state(connection, peer_id, peers.PeerState.STOPPED)
        departures.cancel_held(connection, peer_id, NOW)
        peers.remove(connection, peer_id)

    return closure(remove)


async def test_nothing_is_handed_to_a_peer_that_is_being_taken_out(two: Two) -> None:
    request, atlas = await asked(two), await peer(two, "atlas")
    _, _, waited = await two.meet(take_out(atlas), hand_over(request))
    assert waited
    (revision,) = await rows(two, tables.revisions)
    assert (revision.receiver, revision.work) == (None, "declined")


async def test_what_was_just_handed_over_is_cancelled_with_its_peer(two: Two) -> None:
    request, atlas = await asked(two), await peer(two, "atlas")
    _, _, waited = await two.meet(hand_over(request), take_out(atlas))
    assert waited
    (revision,) = await rows(two, tables.revisions)
    assert (revision.receiver, revision.work) == (atlas, "cancelled")


async def handed_on(two: Two) -> tuple[PeerId, RequestId]:
    request, atlas = await asked(two), await peer(two, "atlas")
    await peer(two, "bert")
    await hand_over(request)(two.one)
    return atlas, request


def writes(peer_id: PeerId, key: str, write: Any, digest: str = "same") -> Any:
    async def write_it(transactions: Any) -> Any:
        inbox = PeerInbox(transactions, ManualClock(), Ids(f"w{id(transactions)}_"), telling())
        found = await transactions.read(lambda c: peers.by_id(c, peer_id))
        return await inbox.write(found, key, digest, write)

    return write_it


async def test_a_repeated_key_gives_the_first_answer_at_the_same_moment(two: Two) -> None:
    atlas, request = await handed_on(two)
    write = HandOn("bert", request, "consultation", Brief("a part of it"))
    first, second, waited = await two.meet(writes(atlas, "k", write), writes(atlas, "k", write))
    assert first == second
    assert (first.status, waited) == (201, True)
    assert len(await rows(two, tables.requests)) == 2


async def test_a_repeated_key_with_another_body_is_a_conflict_at_the_same_moment(two: Two) -> None:
    atlas, request = await handed_on(two)
    write = HandOn("bert", request, "consultation", Brief("a part of it"))
    first, second, _ = await two.meet(writes(atlas, "k", write), writes(atlas, "k", write, digest="other"))
    assert (first.status, second.status) == (201, 409)
    assert len(await rows(two, tables.requests)) == 2


async def test_one_executor_holds_a_binding(two: Two) -> None:
    atlas = await peer(two, "atlas")
    first, second, waited = await two.meet(
        writes(atlas, "k1", Appear("available", executor="here")),
        writes(atlas, "k2", Appear("available", executor="there")),
    )
    assert (first.status, second.status, waited) == (200, 409, True)
    assert "binding_held" in second.body


async def test_a_correction_and_a_result_at_the_same_moment_have_an_order(two: Two) -> None:
    from manager.decisions.assessment import Assessment
    from manager.decisions.peer_writes import Assess, Conclude, Outcome, Present

    atlas, request = await handed_on(two)
    await writes(atlas, "p", Present(request, 1, None))(two.one)
    await writes(atlas, "a", Assess(request, 1, Assessment.ACCEPTED))(two.one)

    def correct(connection: Connection) -> int:
        route = requests.route_of(connection, request, 1)
        assert route is not None
        return requests.open_revision(
            connection, request, question="another", brief=Brief("another"), route=route, now=NOW
        )

    result = writes(atlas, "r", Conclude(request, 1, Outcome.RESOLVED, "the result of the first revision"))
    revision, reply, waited = await two.meet(closure(correct), result)
    assert (revision, reply.status, waited) == (2, 409, True)
    kinds = [row.kind for row in await rows(two, returned.returns)]
    assert kinds == ["notice"]  # that it was handed over; the late result is told to nobody
