"""The ledger of the way back on a real file: claims, fences, what a pass costs, what is private."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, select, text, update

from returns.decisions.keys import part_id
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import Error, Event, IllegalTransition, State
from returns.ids import AppName, ChatId, MessageId, Millis, PartId, ReturnId, SubjectId
from returns.ledger import attempts, checks, due, echoes, leases
from returns.ledger.due import Asked, front, put_back
from returns.ledger.locators import Source, learn, locator_of
from returns.ledger.moves import move
from returns.ledger.operators import look_again
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ledger.parts import load
from returns.ledger.rivals import Rivals, rivals_of
from returns.ledger.tables import answers, part_locators, parts, return_facts, returns
from returns.ledger.wakeups import RETURNS, RETURNS_SETTLED, take
from returns.ports import Accepted, Locator, Reading, Refusal, Refused, Unknown, Verdict
from tests.support.databases import engine_of, of_folder
from tests.support.returns import APP, START, FakeAuthority, Sent, heads, reading, route
from tests.support.returns import text as words

POLICY = ReturnsPolicy()
ALLOWS = FakeAuthority()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = engine_of(of_folder(tmp_path))
    yield engine
    engine.dispose()


@pytest.fixture
def db(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as connection:
        yield connection


def put(db: Connection, name: str, *documents: str, chat: str = "oc_1", at: int = START, **more: object) -> PartId:
    to = more.pop("to", None) or route(chat, reply_to=f"om_q{name}")
    new = new_return(
        return_id=ReturnId(f"t_{name}"),
        subject=SubjectId(f"r_{name}"),
        revision=1,
        kind=ReturnKind.ANSWER,
        route=to,
        documents=tuple(words(document) for document in documents or ("x",)),
    )
    enqueue(db, new, Millis(at))
    return part_id(ReturnId(f"t_{name}"), 0)


def begin(db: Connection, part: PartId, now: int = START, owner: str = "one") -> attempts.Attempt | None:
    return attempts.begin(db, part, owner, Millis(now), POLICY, ALLOWS)


def check(db: Connection, part: PartId, now: int, owner: str = "one") -> checks.Check | None:
    return checks.begin(db, part, owner, Millis(now), POLICY, ALLOWS)


def accepted(number: int = 1) -> Accepted:
    return Accepted(Locator(MessageId(f"om_{number}"), ChatId("oc_1"), None))


def state(db: Connection, part: PartId) -> tuple[str, str | None]:
    found = load(db, part)
    assert found is not None
    return found.state.value, found.error.value if found.error else None


class TestClaims:
    """Two never hold one part, and an old hold moves nothing."""

    def test_an_attempt_is_begun_once(self, db: Connection) -> None:
        part = put(db, "a")
        attempt = begin(db, part)
        assert attempt is not None
        assert attempt.fence == 1
        assert begin(db, part, owner="two") is None
        assert begin(db, part, START + 10**9, owner="two") is None  # only the table leads out of sending

    def test_not_before_it_is_due_and_not_before_its_turn(self, db: Connection) -> None:
        first, second = put(db, "a", at=START + 10), put(db, "b")
        assert begin(db, first) is None
        assert begin(db, second) is None
        assert begin(db, first, START + 10) is not None
        assert begin(db, second, START + 10) is None  # the chat has one under way

    def test_a_later_part_does_not_overtake_one_under_way(self, db: Connection) -> None:
        first = put(db, "a", "one", "two")
        attempt = begin(db, first)
        assert attempt is not None
        attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
        second = put(db, "b")
        assert begin(db, second) is not None
        claim = check(db, first, START + 500)
        assert claim is not None
        checks.conclude_reading(db, claim, Event.PROVED, Millis(START + 500), POLICY)
        assert state(db, first) == ("delivered", None)
        assert begin(db, part_id(ReturnId("t_a"), 1), START + 500) is None

    def test_an_outcome_under_an_old_fence_moves_nothing_but_its_locator_stays(self, db: Connection) -> None:
        part = put(db, "a")
        attempt = begin(db, part)
        assert attempt is not None
        assert not leases.expire(db, part, Millis(START + 1))
        assert leases.expire(db, part, Millis(START + POLICY.lease_ms))
        assert state(db, part) == ("verification_required", "provider_locator_unavailable")
        assert not attempts.conclude(db, attempt, accepted(), Millis(START + 40_000), POLICY)
        assert locator_of(db, part) is not None
        assert state(db, part) == ("verification_required", "provider_delivery_unverified")

    @pytest.mark.parametrize("outcome", [Refused(Refusal.OFFLINE), Unknown("late")])
    def test_a_late_refusal_is_evidence_only(self, db: Connection, outcome: Refused | Unknown) -> None:
        part = put(db, "a")
        attempt = begin(db, part)
        assert attempt is not None
        leases.expire(db, part, Millis(START + POLICY.lease_ms))
        assert not attempts.conclude(db, attempt, outcome, Millis(START + 40_000), POLICY)
        assert state(db, part)[0] == "verification_required"
        assert '"late": true' in db.execute(select(return_facts.c.detail)).scalars().all()[-1]

    def test_a_check_under_an_old_fence_moves_nothing(self, db: Connection) -> None:
        part = put(db, "a")
        attempt = begin(db, part)
        assert attempt is not None
        attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
        old = check(db, part, START + 500)
        assert old is not None
        assert check(db, part, START + 500, "two") is None
        new = check(db, part, START + 500 + POLICY.lease_ms, "two")
        assert new is not None
        assert not checks.conclude_reading(db, old, Event.MISMATCH, Millis(START + 40_000), POLICY)
        assert checks.conclude_reading(db, new, Event.PROVED, Millis(START + 40_000), POLICY)
        assert state(db, part) == ("delivered", None)

    def test_a_lease_is_renewed_by_its_holder_alone(self, db: Connection) -> None:
        part = put(db, "a")
        attempt = begin(db, part)
        assert attempt is not None
        later = Millis(START + 60_000)
        assert not leases.renew(db, part, "two", attempt.fence, later)
        assert not leases.renew(db, part, "one", attempt.fence + 1, later)
        assert leases.renew(db, part, "one", attempt.fence, later)
        assert not leases.expire(db, part, Millis(START + 59_999))
        assert leases.expire(db, part, later)
        assert not leases.renew(db, part, "one", attempt.fence, later)

    def test_a_move_from_a_state_that_was_left_does_nothing(self, db: Connection) -> None:
        part = put(db, "a")
        seen = load(db, part)
        assert seen is not None
        assert begin(db, part) is not None
        assert not move(db, seen, Event.SUPERSEDED, Millis(START))
        assert state(db, part) == ("sending", None)

    def test_an_illegal_event_moves_nothing(self, db: Connection) -> None:
        part = put(db, "a")
        seen = load(db, part)
        assert seen is not None
        with pytest.raises(IllegalTransition):
            move(db, seen, Event.PROVED, Millis(START))
        assert state(db, part) == ("queued", None)

    def test_a_start_ends_every_hold(self, db: Connection) -> None:
        sending, reading = put(db, "a"), put(db, "b", chat="oc_2")
        assert begin(db, sending) is not None
        attempt = begin(db, reading)
        assert attempt is not None
        attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
        assert check(db, reading, START + 500) is not None
        leases.release_all(db, Millis(START + 600))
        assert state(db, sending) == ("verification_required", "provider_locator_unavailable")
        assert check(db, reading, START + 600, "two") is not None
        assert check(db, sending, START + 600, "two") is not None


class TestLocators:
    """Facts, not claims."""

    def test_the_first_stays_and_the_same_again_changes_nothing(self, db: Connection) -> None:
        part = put(db, "a")
        one, two = accepted(1).locator, accepted(2).locator
        assert learn(db, part, one, Source.DIRECT, Millis(START))
        assert learn(db, part, one, Source.SEARCH, Millis(START))
        assert not learn(db, part, two, Source.SEARCH, Millis(START))
        assert locator_of(db, part) == (one, Source.DIRECT)

    def test_a_message_belongs_to_one_part(self, db: Connection) -> None:
        first, second = put(db, "a"), put(db, "b", chat="oc_2")
        assert learn(db, first, accepted().locator, Source.DIRECT, Millis(START))
        attempt = begin(db, second)
        assert attempt is not None
        attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
        assert state(db, second) == ("verification_required", "provider_locator_unavailable")
        assert locator_of(db, second) is None

    def test_the_same_id_at_two_apps_is_two_messages(self, db: Connection) -> None:
        first = put(db, "a")
        second = put(db, "b", to=route(app=AppName("other")))
        assert learn(db, first, accepted().locator, Source.DIRECT, Millis(START))
        assert learn(db, second, accepted().locator, Source.DIRECT, Millis(START))

    def test_what_an_operator_named_and_lark_confirms_is_no_guess_any_more(self, db: Connection) -> None:
        part = put(db, "a")
        attempt = begin(db, part)
        assert attempt is not None
        attempts.conclude(db, attempt, Unknown("timeout"), Millis(START), POLICY)
        at = Locator(MessageId("om_1"), ChatId("oc_1"), None)
        assert learn(db, part, at, Source.OPERATOR, Millis(START))
        assert learn(db, part, at, Source.DIRECT, Millis(START))
        assert locator_of(db, part) == (at, Source.DIRECT)
        assert learn(db, part, at, Source.OPERATOR, Millis(START))
        assert locator_of(db, part) == (at, Source.DIRECT)

    def test_a_late_one_starts_a_verification_by_itself(self, db: Connection) -> None:
        part = put(db, "a", "one", "two")
        attempt = begin(db, part)
        assert attempt is not None
        attempts.conclude(db, attempt, Unknown("timeout"), Millis(START), POLICY)
        claim = check(db, part, START + 10**6)
        assert claim is not None
        checks.conclude_search(db, claim, checks.Found((), Millis(START + 10**6)), Millis(START + 10**6), POLICY)
        assert state(db, part) == ("explicit_unverified", "no_match_found")
        assert state(db, part_id(ReturnId("t_a"), 1)) == ("queued", "earlier_part_unverified")
        take(db)
        assert learn(db, part, accepted().locator, Source.DIRECT, Millis(START + 10**6))
        assert state(db, part) == ("verification_required", "provider_delivery_unverified")
        assert state(db, part_id(ReturnId("t_a"), 1)) == ("queued", None)
        assert RETURNS in take(db)

    def test_an_unproved_answer_may_be_the_one_that_was_found(self, db: Connection) -> None:
        """Two equal answers in one thread, both unsure, one message: it proves neither, whichever is judged first."""
        place = route(thread="omt_1", reply_to="om_q")
        first, second = put(db, "a", to=place), put(db, "b", to=place)
        for part in (first, second):
            attempt = begin(db, part)
            assert attempt is not None
            attempts.conclude(db, attempt, Unknown("timeout"), Millis(START), POLICY)
        found = Reading(
            locator=Locator(MessageId("om_9"), place.chat_id, place.thread_id),
            parent_id=None,
            ours=True,
            recalled=False,
            sent_at=Millis(START),
            visible="x",
        )
        late = Millis(START + 10**6)
        for part in (first, second):
            claim = check(db, part, late)
            assert claim is not None
            checks.conclude_search(db, claim, checks.Found((found,), late), late, POLICY)
            assert state(db, part) == ("explicit_unverified", "ambiguous_match")

    def test_an_unproved_answer_of_long_ago_is_a_rival(self, db: Connection) -> None:
        """Its process may have been stopped before the first byte, and have sent when it went on."""
        place = route(thread="omt_1", reply_to="om_q")
        old, new = put(db, "a", to=place), put(db, "b", to=place)
        attempt = begin(db, old)
        assert attempt is not None
        attempts.conclude(db, attempt, Unknown("timeout"), Millis(START), POLICY)
        claim = check(db, old, START + 500)
        assert claim is not None
        now = Millis(START + 10**6)
        checks.conclude_search(db, claim, checks.Found((), now), now, POLICY)
        attempt = begin(db, new, now)
        assert attempt is not None
        attempts.conclude(db, attempt, Unknown("timeout"), now, POLICY)
        claim = check(db, new, now + 500)
        assert claim is not None
        found = Reading(
            locator=Locator(MessageId("om_9"), place.chat_id, place.thread_id),
            parent_id=None,
            ours=True,
            recalled=False,
            sent_at=now,
            visible="x",
        )
        at = Millis(now + POLICY.settle_ms)
        checks.conclude_search(db, claim, checks.Found((found,), at), at, POLICY)
        assert locator_of(db, new) is None
        left = load(db, new)
        assert left is not None
        assert (left.state, left.error) == (State.EXPLICIT_UNVERIFIED, Error.AMBIGUOUS_MATCH)

    @pytest.mark.parametrize("settled", [False, True])
    def test_a_rival_under_way_keeps_a_message_from_being_claimed(self, db: Connection, *, settled: bool) -> None:
        """It waits for what becomes of the other send; only where that will say no more, an operator has to."""
        place = route(thread="omt_1", reply_to="om_q")
        unsure, rival = put(db, "a", to=place), put(db, "b", to=place)
        attempt = begin(db, unsure)
        assert attempt is not None
        attempts.conclude(db, attempt, Unknown("timeout"), Millis(START), POLICY)
        under_way = begin(db, rival)
        assert under_way is not None
        found = Reading(
            locator=Locator(MessageId("om_9"), place.chat_id, place.thread_id),
            parent_id=None,
            ours=True,
            recalled=False,
            sent_at=Millis(START),
            visible="x",
        )

        def searched(at: int) -> tuple[str, str | None]:
            claim = check(db, unsure, at)
            assert claim is not None
            began = Millis(START + 10**6 if settled else at)
            checks.conclude_search(db, claim, checks.Found((found,), began), began, POLICY)
            assert locator_of(db, unsure) is None
            return state(db, unsure)

        waits = ("verification_required", "provider_locator_unavailable")
        assert searched(START + 500) == waits
        attempts.conclude(db, under_way, Unknown("timeout"), Millis(START + 600), POLICY)
        due = load(db, unsure).due_at
        assert searched(due) == (("explicit_unverified", "ambiguous_match") if settled else waits)


class TestEchoes:
    """What the mind asks when a message arrives."""

    def test_ours_by_its_id(self, db: Connection) -> None:
        part = put(db, "a")
        assert not echoes.owns_message(db, APP, MessageId("om_1"))
        learn(db, part, accepted().locator, Source.DIRECT, Millis(START))
        assert echoes.owns_message(db, APP, MessageId("om_1"))
        assert echoes.subject_of_message(db, APP, MessageId("om_1")) == "r_a"
        assert not echoes.owns_message(db, AppName("other"), MessageId("om_1"))

    def test_perhaps_ours_by_its_content(self, db: Connection) -> None:
        part = put(db, "a")
        print_ = load(db, part).fingerprint

        def ask() -> bool:
            return echoes.has_unsettled_content(db, APP, ChatId("oc_1"), print_)

        assert not ask()  # nothing was sent yet
        attempt = begin(db, part)
        assert attempt is not None
        assert ask()
        assert not echoes.has_unsettled_content(db, APP, ChatId("oc_2"), print_)
        assert not echoes.has_unsettled_content(db, APP, ChatId("oc_1"), "0" * 64)
        attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
        assert ask()
        claim = check(db, part, START + 500)
        assert claim is not None
        take(db)
        checks.conclude_reading(db, claim, Event.PROVED, Millis(START + 500), POLICY)
        assert not ask()
        assert RETURNS_SETTLED in take(db)

    @pytest.mark.parametrize(
        "verdict", [Verdict.REVOKED, Verdict.ROUTE_GONE, Verdict.QUESTION_RECALLED], ids=lambda v: v.value
    )
    def test_every_settling_is_announced(self, db: Connection, verdict: Verdict) -> None:
        part = put(db, "a")
        take(db)
        authority = FakeAuthority({"r_a": verdict})
        assert attempts.begin(db, part, "one", Millis(START), POLICY, authority) is None
        assert RETURNS_SETTLED in take(db)


class TestAnswers:
    """The row that the inbox shows is the parts told as one, after every move."""

    def test_it_never_differs_from_its_parts(self, db: Connection) -> None:
        part = put(db, "a", "one", "two")

        def row() -> tuple[object, ...]:
            found = db.execute(select(answers).where(answers.c.subject_id == "r_a")).one()
            return found.status, found.error, found.attempts, found.delivered_parts, found.verification

        assert row() == ("queued", None, 0, 0, None)
        attempt = begin(db, part)
        assert attempt is not None
        assert row() == ("sending", None, 1, 0, None)
        attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
        assert row() == ("verification_required", "provider_delivery_unverified", 1, 0, None)
        claim = check(db, part, START + 500)
        assert claim is not None
        checks.conclude_reading(db, claim, Event.PROVED, Millis(START + 500), POLICY)
        assert row() == ("queued", None, 1, 1, "direct")
        second = begin(db, part_id(ReturnId("t_a"), 1), START + 500)
        assert second is not None
        attempts.conclude(db, second, Refused(Refusal.CONTENT, code=230028), Millis(START + 600), POLICY)
        assert row() == ("undeliverable", "content_refused", 2, 1, "direct")

    def test_looking_again_without_an_answer(self, db: Connection) -> None:
        assert not look_again(db, SubjectId("r_none"), Millis(START))

    def test_looking_again_does_not_disturb_a_look(self, db: Connection) -> None:
        part = put(db, "a")
        attempt = begin(db, part)
        assert attempt is not None
        attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
        claim = check(db, part, START + 500)
        assert claim is not None
        assert look_again(db, SubjectId("r_a"), Millis(START + 501))
        assert checks.conclude_reading(db, claim, Event.PROVED, Millis(START + 502), POLICY)


@pytest.mark.parametrize("carried_database", ["sqlite"], indirect=True)  # PostgreSQL plans by statistics
class TestCost:
    """A pass costs what is pending, not what is stored."""

    def plan(self, db: Connection, lane: str) -> str:
        asked = {"lane": lane, "app": "a", "now": START, "limit": 17}
        query = due.statement(lane).params(asked).compile(db, compile_kwargs={"literal_binds": True})
        return "\n".join(row[3] for row in db.execute(text(f"EXPLAIN QUERY PLAN {query}")))

    @pytest.mark.parametrize("lane", ["send", "verify", "search"])
    def test_it_reads_an_index_by_lane_and_app(self, db: Connection, lane: str) -> None:
        plan = self.plan(db, lane)
        assert "SCAN" not in plan
        assert "TEMP B-TREE" not in plan
        assert "parts_due (lane=? AND app=? AND due_at<?" in plan

    def counted(self, engine: Engine, work: Callable[[Connection], object], each: int = 10) -> int:
        """Virtual machine steps, in so many."""
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        with engine.begin() as db:
            raw = db.connection.driver_connection
            raw.set_progress_handler(count, each)
            work(db)
            raw.set_progress_handler(None, 0)
        return counted

    def steps(self, engine: Engine) -> int:
        """Of a pass, in hundreds."""

        def a_pass(db: Connection) -> None:
            for lane in ("send", "verify", "search"):
                front(db, Asked(lane, 17, {}, 17), Millis(START))
            begin(db, PartId("p_none"))

        return self.counted(engine, a_pass, 100)

    def test_what_is_settled_costs_nothing(self, engine: Engine) -> None:
        with engine.begin() as db:
            for number in range(50):
                put(db, f"p{number}", chat=f"oc_{number}")
        before = self.steps(engine)
        with engine.begin() as db:
            for number in range(800):
                put(db, f"s{number}", chat=f"oc_{number % 100}")
            db.execute(
                update(parts).where(parts.c.subject_id.like("r_s%")).values(state=State.DELIVERED.value, lane=None)
            )
        assert self.steps(engine) <= before + 2

    def test_what_was_proved_with_the_same_words_costs_a_search_nothing(self, engine: Engine) -> None:
        message = reading(Sent("om_1", "oc_1", None, "om_qnew", START, words("x")))

        def look(db: Connection) -> tuple[Rivals, bool]:
            part = load(db, part_id(ReturnId("t_new"), 0))
            assert part is not None
            same = echoes.has_unsettled_content(db, APP, ChatId("oc_1"), part.fingerprint)
            return rivals_of(db, part, message), same

        with engine.begin() as db:
            put(db, "new")
            put(db, "old")
            db.execute(update(parts).where(parts.c.subject_id == "r_old").values(state="delivered", lane=None))
        before = self.counted(engine, look)
        with engine.begin() as db:
            for number in range(400):
                put(db, f"s{number}")
            db.execute(update(parts).where(parts.c.subject_id.like("r_s%")).values(state="delivered", lane=None))
        assert self.counted(engine, look) == before

    def test_the_heads_alone_are_due(self, db: Connection) -> None:
        for number in range(30):
            put(db, f"{number}", "one", "two", chat=f"oc_{number % 3}", at=START - number)
        found = heads(db, "send")
        assert {item.part_id for item in found} == {part_id(ReturnId(f"t_{n}"), 0) for n in range(3)}
        assert [item.due_at for item in found] == sorted(item.due_at for item in found)
        left = front(db, Asked("send", 100, {}, 100, [found[0].chat_key]), Millis(START)).due
        assert {item.part_id for item in left} == {item.part_id for item in found[1:]}
        assert front(db, Asked("send", 2, {}, 100), Millis(START)).due == found[:2]
        assert front(db, Asked("send", 100, {APP: 0}, 100), Millis(START)).due == ()

    def test_what_stands_behind_costs_each_pass_nothing(self, engine: Engine) -> None:
        """A chat's backlog is looked at once and then not before its head has left."""
        ever = Asked("send", 100, {}, 100)
        with engine.begin() as db:
            for number in range(300):
                put(db, f"{number}")
            seen = front(db, ever, Millis(START))
            assert len(seen.due) == 1
            assert len(seen.behind) > 100
            while seen.behind:
                put_back(db, seen.behind, Millis(START), Millis(START + 1000))
                seen = front(db, ever, Millis(START))
            assert [item.part_id for item in seen.due] == [part_id(ReturnId("t_0"), 0)]
            assert seen.next_at == START + 1000
        busy = self.steps(engine)
        assert busy <= 20
        with engine.begin() as db:
            attempt = begin(db, part_id(ReturnId("t_0"), 0))
            assert attempt is not None
            assert front(db, ever, Millis(START)).due == ()
            attempts.conclude(db, attempt, accepted(), Millis(START), POLICY)
            seen = front(db, ever, Millis(START))
            assert [item.part_id for item in seen.due] == [part_id(ReturnId("t_1"), 0)]
            assert seen.behind == ()


def test_what_is_private_is_in_tables_of_its_own(db: Connection) -> None:
    """Rule 8: neither ids of the provider nor bodies are in what the inbox may read."""
    to = route("oc_secret", thread="omt_secret", reply_to="om_secret")
    part = put(db, "a", "secret body", to=to)
    attempt = begin(db, part)
    assert attempt is not None
    locator = Locator(MessageId("om_secret2"), ChatId("oc_secret"), to.thread_id)
    attempts.conclude(db, attempt, Accepted(locator, log_id="log1"), Millis(START), POLICY)
    claim = check(db, part, START + 500)
    assert claim is not None
    checks.conclude_reading(db, claim, Event.MISMATCH, Millis(START + 500), POLICY)
    for table in (returns, parts, answers, return_facts):
        told = str(db.execute(select(table)).all())
        assert told != "[]"
        assert "secret" not in told
    assert db.execute(select(part_locators.c.message_id)).scalar_one() == "om_secret2"
