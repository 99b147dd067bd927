"""No chat, no app and nothing that is tried again takes all places for turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from manager.decisions.shares import Claimant, Shares
from returns.ids import AppName

APPS = [AppName(name) for name in ("one", "two", "three")]
turns = st.builds(
    Claimant, st.sampled_from([f"c{number}" for number in range(9)]), st.sampled_from(APPS), st.booleans()
)


def filled(shares: Shares, wanting: list[Claimant]) -> Shares:
    """After all that may took a place."""
    for each in wanting:
        if len(shares.own) < shares.places and shares.admits(each):
            shares = shares.with_one(each)
    return shares


def of(app: str, count: int, *, again: bool = False) -> list[Claimant]:
    """Turns of as many chats."""
    return [Claimant(f"{app}_{number}", AppName(app), again) for number in range(count)]


@given(st.integers(1, 40), st.lists(turns, max_size=80))
def test_a_chat_takes_at_most_half(places: int, wanting: list[Claimant]) -> None:
    shares = filled(Shares(places, frozenset(APPS)), wanting)
    most = max(1, places // 2)
    assert all(sum(each.chat == chat for each in shares.own) <= most for chat in {each.chat for each in wanting})


def test_a_chat_counts_what_runs_elsewhere() -> None:
    running = Claimant("c", APPS[0], again=False)
    shares = Shares(4, frozenset(APPS), elsewhere=(running, running))
    assert shares.full_chats() == {"c"}
    assert not shares.admits(running)


@given(st.integers(4, 40), st.integers(0, 80))
def test_an_app_leaves_a_quarter_to_another_one(places: int, waiting: int) -> None:
    shares = filled(Shares(places, frozenset(APPS[:2])), of("one", waiting))
    assert len(shares.own) == min(waiting, places - places // 4)
    second = filled(shares, of("two", places)).own[len(shares.own) :]
    assert len(second) >= min(places // 4, places - len(shares.own))


@given(st.integers(4, 40), st.integers(0, 80))
def test_the_only_app_takes_all(places: int, waiting: int) -> None:
    assert len(filled(Shares(places, frozenset(APPS[:1])), of("one", waiting)).own) == min(waiting, places)


@given(st.integers(8, 40), st.lists(st.sampled_from(APPS[:2]), min_size=40, max_size=80))
def test_two_apps_that_hang_leave_a_place_to_the_third(places: int, order: list[AppName]) -> None:
    hanging = [Claimant(f"{app}_{number}", app, again=False) for number, app in enumerate(order)]
    shares = filled(Shares(places, frozenset(APPS)), hanging)
    assert len(shares.own) < places
    assert shares.admits(Claimant("c", APPS[2], again=False))


@given(st.integers(4, 40), st.integers(0, 80))
def test_what_is_tried_again_leaves_a_quarter_to_the_rest(places: int, waiting: int) -> None:
    shares = filled(Shares(places, frozenset(APPS[:1])), of("one", waiting, again=True))
    assert len(shares.own) == min(waiting, places - places // 4)
    assert all(shares.admits(each) for each in of("one", 1)) or not waiting


def test_few_places_are_never_kept() -> None:
    for places in (1, 2, 3):
        shares = Shares(places, frozenset(APPS))
        assert len(filled(shares, of("one", 9, again=True)).own) == places


def test_an_app_of_which_the_gateway_knows_nothing_is_not_kept_out() -> None:
    """Its turns end at once: nobody speaks for it."""
    shares = filled(Shares(4, frozenset(APPS[:2])), of("one", 9))
    assert shares.admits(Claimant("c", AppName("gone"), again=False))
