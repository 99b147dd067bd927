"""What needs no database of the operator's side: moments, reasons, steps, answers told as one, broken histories."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from gateway.inbox.moments_in import earlier, later
from gateway.inbox.outcome_words import ENDED, WAITING, say
from gateway.inbox.possible import possible
from manager.decisions import replay as request_replay
from manager.decisions.operators import (
    Kind,
    OperatorRefused,
    Outcome,
    Step,
    after_look,
    after_looks,
    may_send,
    name_of,
    note_of,
    reason_of,
)
from returns.decisions import replay
from returns.decisions.answering import Standing, kept_of_replaced, of_answer, summarise
from returns.decisions.looks import COUNTS_FOR_MS, NOT_THERE, Before, Unsure, before_sending
from returns.delivery import Error, IllegalTransition, State, Verification
from returns.ids import Millis, ReturnId, SubjectId
from returns.ports import Verdict

NOW = Millis(1_760_000_000_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", NOW + 5_400_000),
        (" 4h ", NOW + 14_400_000),
        ("2d", NOW + 172_800_000),
        ("0m", NOW),
        ("2026-05-01", 1_777_593_600_000),
        ("2026-05-01T09:30Z", 1_777_627_800_000),
        ("2026-05-01T17:30+08:00", 1_777_627_800_000),
        ("tomorrow", None),
        ("", None),
        ("-1h", None),
        ("1e3h", None),
        ("1969-12-31", None),
        ("9999-99-99", None),
    ],
)
def test_moments_as_people_write_them(text: str, expected: int | None) -> None:
    assert later(text, NOW) == expected


def test_moments_back() -> None:
    assert earlier("2d", NOW) == NOW - 172_800_000
    assert earlier("999999d", NOW) == 0


def test_only_a_complete_reading_that_did_not_find_it_leads_to_a_send() -> None:
    for state, error in itertools.product([None, *State], [None, *Error]):
        sends = after_look(state, error) is Step.SEND
        complete = state is State.EXPLICIT_UNVERIFIED and error in NOT_THERE
        assert sends == (complete or state is State.UNDELIVERABLE), (state, error)
    unread = after_look(State.VERIFICATION_REQUIRED, Error.PROVIDER_VERIFICATION_UNAVAILABLE)
    assert unread is Step.UNREADABLE
    assert [may_send(verdict) for verdict in Verdict] == [True, False, False, False]


def test_a_resend_waits_for_the_least_that_is_known() -> None:
    lost = (State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND)
    sought = (State.VERIFICATION_REQUIRED, Error.PROVIDER_LOCATOR_UNAVAILABLE)
    several = (State.EXPLICIT_UNVERIFIED, Error.AMBIGUOUS_MATCH)
    unread = (State.EXPLICIT_UNVERIFIED, Error.PROVIDER_VERIFICATION_UNAVAILABLE)
    assert after_looks([]) is Step.SETTLED
    assert after_looks([lost, lost]) is Step.SEND
    assert after_looks([lost, several]) is Step.AMBIGUOUS
    assert after_looks([several, unread]) is Step.UNREADABLE
    assert after_looks([unread, sought, lost]) is Step.WAIT


def test_what_waited_is_sent_only_after_a_fresh_look_that_found_none() -> None:
    for state, error in itertools.product((State.EXPLICIT_UNVERIFIED, State.VERIFICATION_REQUIRED), [None, *Error]):
        fresh = Unsure(state, error, Millis(NOW - COUNTS_FOR_MS))
        absent = state is State.EXPLICIT_UNVERIFIED and error in NOT_THERE
        assert (before_sending([fresh], NOW) is Before.NOTHING) == absent
        stale = replace(fresh, since=Millis(fresh.since - 1))
        assert before_sending([fresh, stale], NOW) is (Before.LOOK if absent else before_sending([fresh], NOW))
        read = replace(fresh, only_read=True)
        assert before_sending([fresh, read], NOW) is before_sending([fresh, stale], NOW)
        ahead = replace(fresh, since=Millis(NOW + 1))
        assert before_sending([ahead], NOW) is before_sending([fresh, stale], NOW), "a clock was wrong"
    assert before_sending([], NOW) is Before.NOTHING
    sought = Unsure(State.VERIFICATION_REQUIRED, None, NOW)
    several = Unsure(State.EXPLICIT_UNVERIFIED, Error.AMBIGUOUS_MATCH, NOW)
    assert [before_sending(each, NOW) for each in ([several], [several, sought])] == [Before.ASK, Before.WAIT]


def test_every_outcome_is_said_in_both_languages() -> None:
    assert set(ENDED) == set(Outcome)
    for outcome in (*Outcome, None):
        for kind in WAITING if outcome is None else Kind:
            english, chinese = say(kind, outcome), say(kind, outcome, chinese=True)
            assert (english[-1], chinese[-1]) == (".", "。")


def test_reasons_notes_and_names_are_bounded_and_printable() -> None:
    assert reason_of("  not \n there ") == "not there"
    assert note_of(" a\nb\x07 ") == "a\nb\N{REPLACEMENT CHARACTER}"
    assert name_of(" lin   zhang ") == "lin zhang"
    for take, text in (
        (reason_of, ""),
        (reason_of, "…."),
        (reason_of, "x" * 501),
        (note_of, ""),
        (name_of, ""),
        (name_of, "x" * 61),
    ):
        with pytest.raises(OperatorRefused):
            take(text)


@pytest.mark.parametrize(
    ("status", "notice", "work", "needs", "expected"),
    [
        ("delivered", None, "resolved", False, {"note", "reveal"}),
        ("delivered", "explicit_unverified", "resolved", False, {"note", "reveal"}),
        ("absent", None, "open", False, {"note", "reveal", "cancel"}),
        ("absent", "explicit_unverified", "open", False, {"note", "reveal", "verify", "found", "resend", "cancel"}),
        ("absent", "undeliverable", "open", False, {"note", "reveal", "resend", "cancel"}),
        ("absent", "retry_pending", "open", False, {"note", "reveal", "cancel"}),
        (
            "explicit_unverified",
            None,
            "resolved",
            True,
            {"note", "reveal", "verify", "found", "resend", "cancel", "snooze"},
        ),
        ("undeliverable", None, "declined", True, {"note", "reveal", "resend", "cancel", "snooze"}),
        ("explicit_unverified", None, "cancelled", False, {"note", "reveal", "verify", "found"}),
    ],
)
def test_a_page_offers_what_would_not_be_refused(
    status: str, notice: str | None, work: str, needs: bool, expected: set[str]
) -> None:
    told = None if notice is None else {"status": notice, "error": None}
    item = {"delivery": {"status": status}, "notice": told, "work": work, "needs_operator": needs}
    assert possible(item) == expected


def test_an_answer_of_several_parts_is_told_as_one() -> None:
    proved = Standing(State.DELIVERED, None, Verification.DIRECT, 1, delivered_at=Millis(5))
    searched = Standing(State.DELIVERED, None, Verification.RECONCILED, 2, delivered_at=Millis(9))
    whole = summarise([proved, searched])
    assert (whole.status, whole.verification, whole.attempts, whole.delivered_at) == (
        State.DELIVERED, Verification.RECONCILED, 3, 9
    )  # fmt: skip
    stuck = summarise(
        [proved, Standing(State.UNDELIVERABLE, Error.CONTENT_REFUSED, attempts=1), Standing(State.QUEUED)]
    )
    assert (stuck.status, stuck.error, stuck.delivered_parts, stuck.delivered_at, stuck.needs_operator) == (
        State.UNDELIVERABLE, Error.CONTENT_REFUSED, 1, None, True
    )  # fmt: skip
    assert [kept_of_replaced(3, carried) for carried in (1, 2, 3)] == [2, 1, 0]


@pytest.mark.parametrize("later", State)
def test_a_part_that_repeats_what_is_delivered_shows_that(later: State) -> None:
    first = Standing(State.DELIVERED, None, Verification.DIRECT, 1, delivered_at=Millis(5))
    lost = Standing(State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND, attempts=1)
    again = Standing(later, None, Verification.RECONCILED, 2, needs_configuration=True, delivered_at=Millis(9))
    told = lost if later in (State.SUPERSEDED, State.UNDELIVERABLE) else again
    assert of_answer([[first, lost], [again]]) == [first, told], "it repeats the second one"
    assert of_answer([[lost, first], [again]]) == [lost, first]
    refused = Standing(State.UNDELIVERABLE, Error.CONTENT_REFUSED, attempts=1)
    assert of_answer([[refused], [again]]) == [again]
    assert of_answer([[lost], [refused], [refused]]) == [lost], "along a chain"
    assert of_answer([[first], [again], [lost]]) == [first], "along a chain"
    assert of_answer([[lost], [again], [first]]) == [first], "it was proved before that one"
    assert of_answer([[lost], [again]]) == [told], "what was not sent says nothing of the first"


def fact(position: int | None, name: str, **detail: object) -> replay.Recorded:
    return replay.Recorded(SubjectId("r_1"), ReturnId("ret_1"), position, NOW, name, detail)


QUEUED = fact(None, "return_queued", kind="answer", revision=1, parts=2)


def test_a_history_that_cannot_have_been_is_seen() -> None:
    sent = fact(0, "attempt", event="attempt", state="sending", attempt=1)
    assert replay.fold([QUEUED, sent]).parts[ReturnId("ret_1"), 0].standing.attempts == 1
    for broken in (
        [sent],
        [QUEUED, fact(0, "attempt", event="attempt", state="delivered")],
        [fact(None, "return_queued", kind="answer")],
    ):
        with pytest.raises(replay.BrokenHistory):
            replay.fold(broken)
    with pytest.raises(IllegalTransition):
        replay.fold([QUEUED, fact(0, "delivered", event="proved", state="delivered")])
    lost = fact(None, "return_queued", kind="answer", revision=1, parts=1, replaces="ret_0")
    with pytest.raises(replay.BrokenHistory):
        replay.fold([lost]).answers()
    with pytest.raises(request_replay.BrokenHistory):
        request_replay.fold([request_replay.Recorded("r_1", 1, NOW, "received", {})] * 2)
