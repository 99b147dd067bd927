"""The machine of one part: every state by every event."""

from __future__ import annotations

import inspect
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from returns import delivery
from returns.delivery import (
    ERRORS,
    FINAL,
    SETTLED,
    TRANSITIONS,
    WORST_FIRST,
    Error,
    Event,
    IllegalTransition,
    State,
    Verification,
    advance,
    needs_operator,
    worst,
)

PAIRS = list(itertools.product(State, Event))

TABLE = """
queued: attempt>sending refused_offline>retry_pending refused_rate_limited>retry_pending
queued: refused_stale_token>retry_pending refused_configuration>retry_pending route_gone>undeliverable
queued: revoked_unattempted>undeliverable superseded>superseded
sending: accepted>verification_required unknown>verification_required lease_lost>verification_required
sending: refused_offline>retry_pending refused_rate_limited>retry_pending refused_stale_token>retry_pending
sending: refused_configuration>retry_pending moved_to_chat>retry_pending refused_not_allowed>undeliverable
sending: refused_content>undeliverable route_gone>undeliverable question_recalled>undeliverable
retry_pending: attempt>sending refused_offline>retry_pending refused_rate_limited>retry_pending
retry_pending: refused_stale_token>retry_pending refused_configuration>retry_pending route_gone>undeliverable
retry_pending: question_recalled>undeliverable revoked_unattempted>undeliverable
retry_pending: revoked_attempted>explicit_unverified superseded>superseded
verification_required: located>verification_required read_failed>verification_required
verification_required: not_found_early>verification_required look_again>verification_required proved>delivered
verification_required: mismatch>explicit_unverified recalled>explicit_unverified missing>explicit_unverified
verification_required: no_match>explicit_unverified ambiguous>explicit_unverified gave_up>explicit_unverified
verification_required: revoked_attempted>explicit_unverified
explicit_unverified: look_again>verification_required located>verification_required
"""


def expected() -> dict[tuple[State, Event], State]:
    """The table, written a second time by hand."""
    moves: dict[tuple[State, Event], State] = {}
    for line in TABLE.strip().splitlines():
        state, _, words = line.partition(": ")
        for word in words.split():
            event, _, target = word.partition(">")
            moves[State(state), Event(event)] = State(target)
    return moves


def test_there_are_as_many_pairs_as_states_times_events() -> None:
    assert len(PAIRS) == len(State) * len(Event) == 8 * 27
    assert len(expected()) == len(TRANSITIONS) == 44


@pytest.mark.parametrize(("state", "event"), PAIRS, ids=lambda x: x.value)
def test_every_state_by_every_event(state: State, event: Event) -> None:
    target = expected().get((state, event))
    if target is None:
        with pytest.raises(IllegalTransition) as raised:
            advance(state, event)
        assert (raised.value.state, raised.value.event) == (state, event)
        assert raised.value.code == "illegal_transition"
    else:
        assert advance(state, event) is target


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TRANSITIONS[State.QUEUED, Event.PROVED] = State.DELIVERED


def test_every_event_has_its_error_and_is_used() -> None:
    assert set(ERRORS) == set(Event)
    assert {event for _, event in TRANSITIONS} == set(Event)


def test_final_states_have_no_way_out() -> None:
    leaving = {state for state, _ in TRANSITIONS}
    assert leaving == set(State) - FINAL
    assert FINAL < SETTLED


def test_only_a_definite_refusal_allows_another_send() -> None:
    """Whatever leads to a send starts where nothing can have been sent."""
    before_a_send = {state for (state, event) in TRANSITIONS if event is Event.ATTEMPT}
    assert before_a_send == {State.QUEUED, State.RETRY_PENDING}
    into = {event for (state, event), target in TRANSITIONS.items() if target in before_a_send}
    assert into == {
        Event.REFUSED_OFFLINE,
        Event.REFUSED_RATE_LIMITED,
        Event.REFUSED_STALE_TOKEN,
        Event.REFUSED_CONFIGURATION,
        Event.MOVED_TO_CHAT,
    }
    uncertain = {State.VERIFICATION_REQUIRED, State.EXPLICIT_UNVERIFIED}
    reachable = set(uncertain)
    while more := {t for (s, _), t in TRANSITIONS.items() if s in reachable} - reachable:
        reachable |= more
    assert not reachable & {*before_a_send, State.SENDING}


@given(st.lists(st.sampled_from(Event), max_size=40))
def test_whatever_happens_delivered_stays(events: list[Event]) -> None:
    state, proved = State.QUEUED, False
    for event in events:
        try:
            state = advance(state, event)
        except IllegalTransition:
            continue
        proved = proved or state is State.DELIVERED
        assert not proved or state is State.DELIVERED


def test_names_are_the_public_ones() -> None:
    assert {state.value for state in State} == {
        "queued",
        "sending",
        "retry_pending",
        "verification_required",
        "delivered",
        "explicit_unverified",
        "undeliverable",
        "superseded",
    }
    assert {error.value for error in Error} == {
        "provider_offline",
        "provider_rate_limited",
        "provider_rejected",
        "provider_delivery_unverified",
        "provider_locator_unavailable",
        "provider_verification_unavailable",
        "provider_message_missing",
        "provider_message_recalled",
        "provider_delivery_mismatch",
        "ambiguous_match",
        "no_match_found",
        "original_route_unavailable",
        "return_authorization_unavailable",
        "earlier_part_unverified",
        "content_refused",
    }
    assert {way.value for way in Verification} == {"direct", "reconciled"}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("configuration", [True, False])
def test_who_needs_an_operator(state: State, *, configuration: bool) -> None:
    needs = state in {State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE} or (
        state is State.RETRY_PENDING and configuration
    )
    assert needs_operator(state, needs_configuration=configuration) is needs


def test_the_worst_part_speaks_for_the_answer() -> None:
    assert set(WORST_FIRST) == set(State)
    for better, worse in itertools.combinations(reversed(WORST_FIRST), 2):
        assert worst([better, worse]) is worse
        assert worst([worse, better]) is worse
    with pytest.raises(ValueError, match="empty"):
        worst([])


def test_every_member_says_what_it_is() -> None:
    source = inspect.getsource(delivery)
    for member in (*State, *Error, *Event, *Verification):
        _, _, rest = source.partition(f'    {member.name} = "{member.value}"\n')
        assert rest.startswith('    """'), member
