"""Matching, retrying, pacing and keys: pure decisions."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from returns.decisions.document import Text
from returns.decisions.fingerprint import fingerprint
from returns.decisions.keys import chat_key, idempotency_key, part_id, route_digest
from returns.decisions.matching import (
    Expected,
    Nothing,
    One,
    OnlyRecalled,
    Several,
    candidates,
    differences,
    judge,
    match,
    moved_to,
)
from returns.decisions.pacing import IN_FLIGHT_MS, MINUTE_MS, SECOND_MS, Pace, Window
from returns.decisions.policy import ReturnsPolicy
from returns.decisions.refusals import Refusing, after_send, before_send
from returns.decisions.retry import JITTER, backoff_ms, longest_ms, retry_after_ms, slow_ms
from returns.delivery import TRANSITIONS, Event, State
from returns.ids import AppName, ChatId, MessageId, Millis, PartId, ReturnId
from returns.ports import Reading, Refusal, Refused
from tests.support.returns import Sent, locator, reading, route

POLICY = ReturnsPolicy()
PART = PartId("p_1")
PARTS = st.text("abcdef0123456789", min_size=1, max_size=32).map(PartId)


def shown(**changes: object) -> Reading:
    """Our message, as the provider shows it."""
    values: dict[str, object] = {
        "message_id": "om_1",
        "chat_id": "oc_1",
        "thread_id": None,
        "parent_id": "om_q",
        "sent_at": 1000,
        "document": ((Text("x"),),),
    }
    return reading(Sent(**(values | changes)))


EXPECTED = Expected(route(), fingerprint("x"), Millis(1000))
IN_THREAD = Expected(route(thread="omt_1"), fingerprint("x"), Millis(1000))


class TestMatching:
    """Which message is the part."""

    def test_proved(self) -> None:
        assert judge(shown(), shown().locator, EXPECTED) is Event.PROVED

    @pytest.mark.parametrize(
        "changes",
        [
            {"ours": False},
            {"chat_id": "oc_2"},
            {"thread_id": "omt_1"},
            {"parent_id": "om_other"},
            {"parent_id": None},
            {"document": ((Text("y"),),)},
        ],
    )
    def test_mismatch(self, changes: dict[str, object]) -> None:
        at = shown().locator
        assert judge(shown(**changes), at, EXPECTED) is Event.MISMATCH

    @pytest.mark.parametrize(
        "changes",
        [
            {"ours": False},
            {"chat_id": "oc_2"},
            {"parent_id": "om_other"},
            {"parent_id": None},
            {"document": ((Text("y"),),)},
        ],
    )
    def test_what_a_search_does_not_take(self, changes: dict[str, object]) -> None:
        assert candidates([shown(**changes)], EXPECTED) == ()

    def test_a_search_takes_the_reply_wherever_a_thread_was_begun(self) -> None:
        inside = shown(thread_id="omt_1")
        assert candidates([inside], EXPECTED) == (inside,)
        assert candidates([shown(thread_id="omt_2")], IN_THREAD) == ()

    @pytest.mark.parametrize(
        ("changes", "expected", "thread"),
        [
            ({"thread_id": "omt_1"}, EXPECTED, "omt_1"),
            ({"thread_id": "omt_1", "parent_id": "om_root"}, EXPECTED, None),
            ({"thread_id": "omt_1", "recalled": True}, EXPECTED, None),
            ({}, EXPECTED, None),
            ({"parent_id": "om_root"}, EXPECTED, None),
            ({"thread_id": "omt_1", "ours": False}, EXPECTED, None),
            ({"thread_id": "omt_1", "chat_id": "oc_2"}, EXPECTED, None),
            ({"thread_id": "omt_1", "document": ((Text("y"),),)}, EXPECTED, None),
            ({"thread_id": "omt_1", "message_id": "om_2"}, EXPECTED, None),
            ({"thread_id": "omt_2"}, IN_THREAD, None),
            ({"thread_id": None}, IN_THREAD, None),
        ],
    )
    def test_where_it_moved_to(self, changes: dict[str, object], expected: Expected, thread: str | None) -> None:
        assert moved_to(shown(**changes), shown().locator, expected) == thread

    def test_another_message(self) -> None:
        assert judge(shown(message_id="om_2"), shown().locator, EXPECTED) is Event.MISMATCH

    def test_recalled_before_anything_is_compared(self) -> None:
        assert judge(shown(recalled=True), shown().locator, EXPECTED) is Event.RECALLED

    @pytest.mark.parametrize("changes", [{"ours": False}, {"chat_id": "oc_2"}, {"message_id": "om_2"}])
    def test_a_recalled_message_of_another_is_not_the_part(self, changes: dict[str, object]) -> None:
        assert judge(shown(recalled=True, **changes), shown().locator, EXPECTED) is Event.MISMATCH

    @pytest.mark.parametrize("changes", [{"thread_id": "omt_1"}, {"parent_id": None}])
    def test_a_recalled_message_may_have_lost_its_place(self, changes: dict[str, object]) -> None:
        assert judge(shown(recalled=True, **changes), shown().locator, EXPECTED) is Event.RECALLED

    @pytest.mark.parametrize(
        ("changes", "differs"),
        [
            ({}, ()),
            ({"message_id": "om_2"}, ("message",)),
            ({"ours": False, "chat_id": "oc_2"}, ("sender", "chat")),
            ({"thread_id": "omt_1", "parent_id": None}, ("thread", "parent")),
            ({"document": ((Text("y"),),)}, ("content",)),
            ({"recalled": True}, ()),
        ],
    )
    def test_in_what_it_differs(self, changes: dict[str, object], differs: tuple[str, ...]) -> None:
        assert differences(shown(**changes), shown().locator, EXPECTED) == differs

    def test_the_parent_does_not_count_inside_a_thread(self) -> None:
        inside = shown(thread_id="omt_1", parent_id="om_root")
        assert judge(inside, inside.locator, IN_THREAD) is Event.PROVED
        assert judge(shown(), shown().locator, IN_THREAD) is Event.MISMATCH

    def test_a_plain_message_has_no_parent(self) -> None:
        plain = replace(EXPECTED, route=route(reply_to=None))
        assert judge(shown(parent_id=None), shown().locator, plain) is Event.PROVED
        assert judge(shown(), shown().locator, plain) is Event.MISMATCH

    def test_what_was_sent_too_early_is_not_it(self) -> None:
        assert candidates([shown(sent_at=999)], EXPECTED) == ()
        assert len(candidates([shown(sent_at=1000)], EXPECTED)) == 1

    def test_a_message_on_two_pages_counts_once(self) -> None:
        assert len(candidates([shown(), shown()], EXPECTED)) == 1

    @given(
        live=st.lists(st.integers(0, 20), unique=True),
        recalled=st.lists(st.integers(21, 30), unique=True),
        owned=st.sets(st.integers(0, 30)),
        noise=st.lists(st.sampled_from(["ours", "chat", "text"])),
    )
    def test_one_several_or_none(self, live: list[int], recalled: list[int], owned: set[int], noise: list[str]) -> None:
        others = {
            "ours": shown(message_id="om_a", ours=False),
            "chat": shown(message_id="om_b", chat_id="oc_2"),
            "text": shown(message_id="om_c", document=((Text("y"),),)),
        }
        readings = [shown(message_id=f"om_{n}") for n in live]
        readings += [shown(message_id=f"om_{n}", recalled=True) for n in recalled]
        readings += [others[name] for name in noise]
        found = match(candidates(readings, EXPECTED), {MessageId(f"om_{n}") for n in owned})
        free = [n for n in live if n not in owned]
        if len(free) == 1:
            assert found == One(locator(Sent(f"om_{free[0]}", "oc_1", None, "om_q", 1000, ())), Millis(1000))
        elif free:
            assert found == Several(len(free))
        elif set(recalled) - owned:
            assert found == OnlyRecalled()
        else:
            assert found == Nothing()


class TestRetry:
    """When to try again."""

    @given(PARTS, st.integers(0, 10**6))
    def test_bounded_and_never_at_once(self, part: PartId, failures: int) -> None:
        delay = backoff_ms(part, failures, POLICY)
        assert 0 < delay <= POLICY.retry_max_ms * (1 + JITTER)
        assert delay == backoff_ms(part, failures, POLICY)
        assert slow_ms(part, failures, POLICY) >= POLICY.retry_max_ms * (1 - JITTER) - 1

    @given(PARTS, st.integers(1, 30))
    def test_it_doubles_within_the_jitter(self, part: PartId, failures: int) -> None:
        plain = min(POLICY.retry_first_ms * 2 ** (failures - 1), POLICY.retry_max_ms)
        assert abs(backoff_ms(part, failures, POLICY) - plain) <= plain * JITTER + 1

    @given(PARTS, st.integers(1, 30), st.one_of(st.none(), st.integers(-(10**12), 10**12)))
    def test_what_the_provider_asks_for_is_clamped(self, part: PartId, failures: int, asked: int | None) -> None:
        delay = retry_after_ms(part, failures, asked, POLICY)
        assert 0 < delay <= longest_ms(POLICY)
        if asked is not None and asked > 0:
            assert delay >= min(asked, POLICY.retry_max_ms)

    def test_parts_do_not_march_in_step(self) -> None:
        delays = {backoff_ms(PartId(f"p_{n}"), 5, POLICY) for n in range(100)}
        assert len(delays) > 90


class TestRefusals:
    """What a refusal means; every kind in every place."""

    @pytest.mark.parametrize("kind", Refusal)
    @pytest.mark.parametrize("policy", [POLICY, replace(POLICY, recalled_question="answer_in_chat")])
    @pytest.mark.parametrize("movable", [True, False])
    @pytest.mark.parametrize("failures", [0, 1, 2, 50])
    def test_every_plan_is_a_legal_move(
        self, kind: Refusal, policy: ReturnsPolicy, failures: int, *, movable: bool
    ) -> None:
        of = Refusing(PART, failures, movable)
        after = after_send(Refused(kind), of, policy)
        assert (State.SENDING, after.event) in TRANSITIONS
        before = before_send(Refused(kind), of, policy)
        for state in (State.QUEUED, State.RETRY_PENDING):
            assert TRANSITIONS[state, before.event] is State.RETRY_PENDING
        moved = kind is Refusal.QUESTION_RECALLED and movable and policy.recalled_question == "answer_in_chat"
        assert (after.event is Event.MOVED_TO_CHAT) is moved

    def test_a_stale_token_at_once_twice(self) -> None:
        delays = [
            after_send(Refused(Refusal.STALE_TOKEN), Refusing(PART, n, can_move_to_chat=True), POLICY).delay_ms
            for n in range(4)
        ]
        assert delays[:2] == [0, 0]
        assert all(delays[2:])


class TestPacing:
    """No window of the provider's ever sees more than its limit."""

    @given(
        st.lists(st.integers(0, 400), max_size=200),
        st.integers(1, 6),
        st.integers(1, 20),
    )
    def test_never_above_any_limit(self, steps: list[int], per_second: int, per_minute: int) -> None:
        pace = Pace({"app": ((per_second, SECOND_MS), (per_minute, MINUTE_MS)), "chat": ((2, SECOND_MS),)})
        now, taken = 0, []
        for step in steps:
            now += step
            chat = f"c{step % 3}"
            wait = pace.wait_ms([("app", "a"), ("chat", chat)], now)
            assert pace.take([("app", "a"), ("chat", chat)], now) == wait
            if wait == 0:
                pace.end([("app", "a"), ("chat", chat)], now, now)
                taken.append((now, chat))
            else:
                later = copy.deepcopy(pace)
                assert later.wait_ms([("app", "a"), ("chat", chat)], now + wait - 1) > 0
                assert later.wait_ms([("app", "a"), ("chat", chat)], now + wait) == 0
        for at, chat in taken:
            second = [(t, c) for t, c in taken if at <= t < at + SECOND_MS]
            assert len(second) <= per_second
            assert sum(c == chat for _, c in second) <= 2
            assert sum(at <= t < at + MINUTE_MS for t, _ in taken) <= per_minute

    def test_nothing_is_counted_where_one_window_is_closed(self) -> None:
        pace = Pace({"app": ((2, SECOND_MS),), "chat": ((1, SECOND_MS),)})
        assert pace.take([("app", "a"), ("chat", "x")], 0) == 0
        assert pace.take([("app", "a"), ("chat", "x")], 0) == SECOND_MS
        assert pace.take([("app", "a"), ("chat", "y")], 0) == 0
        assert pace.closed("chat", 0) == {"x": SECOND_MS, "y": SECOND_MS}
        assert pace.closed("app", 0) == {"a": SECOND_MS}
        assert pace.closed("chat", 2 * IN_FLIGHT_MS) == {}

    def test_a_clock_that_goes_back_opens_and_blocks_nothing_for_long(self) -> None:
        window = Window(2, SECOND_MS)
        for _ in range(2):
            window.take(10_000_000)
            window.end(10_000_000, 10_000_000)
        assert window.wait_ms(5_000) == SECOND_MS
        assert window.wait_ms(6_000) == 0


class TestKeys:
    """Ids and digests."""

    def test_a_key_is_the_part_s_and_its_place_s(self) -> None:
        """R1, R3: neither content nor any counter of attempts goes into it."""
        parts = [part_id(ReturnId(r), n) for r in ("t_1", "t_2") for n in range(3)]
        keys = [idempotency_key(part, generation) for part in parts for generation in (0, 1)]
        assert len(set(parts)) == 6
        assert len(set(keys)) == 12
        assert all(len(key) <= 50 for key in keys)
        assert all(len(part) <= 40 for part in parts)

    def test_digests_name_nothing(self) -> None:
        key = chat_key(AppName("default"), ChatId("oc_secret"))
        assert len(key) == 64
        assert "secret" not in key
        assert chat_key(AppName("other"), ChatId("oc_secret")) != key
        assert route_digest(route()) != route_digest(replace(route(), reply_to=None))
