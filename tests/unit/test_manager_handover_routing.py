"""Who gets a request."""

from __future__ import annotations

import string
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions import handover_sentences as sentences
from manager.decisions import lineage, naming, routing
from manager.decisions.decision import Audience
from manager.decisions.language import Language
from manager.decisions.lineage import Bound
from manager.decisions.routing import Candidate, Gap, Routed, Signal, Unresolved
from manager.ids import PeerId


def peer(name: str, *says: str, audience: Audience = Audience.SHARED, active: bool = True) -> Candidate:
    return Candidate(PeerId(f"p_{name}"), name, audience, active, "available", says)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Where is the payment ledger?", {"payment", "ledger"}),
        ("PAYMENT Ｌｅｄｇｅｒ", {"payment", "ledger"}),
        ("order_worker.retry(3)", {"order", "worker", "retry"}),
        ("支付系统", {"支付", "付系", "系统"}),
        ("支付系统出了什么问题", {"支付", "付系", "系统", "统出", "问题"}),
        ("为什么是这样", set()),
        ("请问你们什么时候可以帮忙", {"时候"}),
        ("支付 payment", {"支付", "payment"}),
        ("", set()),
        ("the of and 42 a", set()),
        ("𠀀𠀁", {"𠀀𠀁"}),
    ],
)
def test_content_words(text: str, words: set[str]) -> None:
    assert routing.content_words(text) == words


def test_named_without_regard_to_case_and_width() -> None:
    atlas = peer("Atlas", "payment ledger")
    for name in ("atlas", "ATLAS", " Atlas ", "Ａｔｌａｓ"):
        route = routing.named(name, "about the payment ledger", [peer("boris"), atlas], Audience.SHARED)
        assert route == Routed(atlas, Signal.NAMED, frozenset({"payment", "ledger"}))
    assert routing.named("atla", "q", [atlas], Audience.SHARED) == Unresolved(Gap.UNKNOWN)


def test_named_gaps() -> None:
    hidden = peer("hidden", audience=Audience.PRIVATE, active=False)
    stopped = peer("stopped", active=False)
    assert routing.named("hidden", "q", [hidden, stopped], Audience.SHARED) == Unresolved(Gap.AUDIENCE)
    assert routing.named("hidden", "q", [hidden, stopped], Audience.PRIVATE) == Unresolved(Gap.STOPPED, ("hidden",))
    assert routing.named("stopped", "q", [hidden, stopped], Audience.SHARED) == Unresolved(Gap.STOPPED, ("stopped",))


def test_unnamed_takes_the_only_one_that_fits() -> None:
    atlas, boris = peer("atlas", "payment ledger"), peer("boris", "search index")
    question = "why is the payment ledger wrong"
    assert routing.unnamed(question, [atlas, boris], Audience.SHARED) == Routed(
        atlas, Signal.WORDS, frozenset({"payment", "ledger"})
    )
    assert routing.unnamed("payment", [atlas], Audience.SHARED) == Unresolved(Gap.NOBODY)
    assert routing.unnamed(question, [], Audience.SHARED) == Unresolved(Gap.NOBODY)
    for unfit in (
        peer("atlas", "payment ledger", active=False),
        peer("atlas", "payment ledger", audience=Audience.PRIVATE),
    ):
        assert routing.unnamed(question, [unfit, boris], Audience.SHARED) == Unresolved(Gap.NOBODY)
    twin = peer("twin", "ledger of the payment search")
    assert routing.unnamed(question, [twin, atlas], Audience.SHARED) == Unresolved(Gap.TIE, ("atlas", "twin"))


def test_who_had_it_before_goes_first_while_it_is_active() -> None:
    atlas, boris = peer("atlas", "payment ledger"), peer("boris")
    route = routing.unnamed("payment ledger", [atlas, boris], Audience.SHARED, boris.peer_id)
    assert route == Routed(boris, Signal.EARLIER_REVISION, frozenset())
    gone = peer("boris", active=False)
    route = routing.unnamed("payment ledger", [atlas, gone], Audience.SHARED, gone.peer_id)
    assert route == Routed(atlas, Signal.WORDS, frozenset({"payment", "ledger"}))


words = st.sampled_from(["payment", "ledger", "search", "index", "the", "支付", "退款", "系统", "什么", "请"])
texts = st.lists(words, max_size=6).map(" ".join)
candidates = st.lists(
    st.builds(
        lambda name, says, audience, active: peer(name, *says, audience=audience, active=active),
        st.text(string.ascii_lowercase, min_size=1, max_size=5),
        st.lists(texts, max_size=3),
        st.sampled_from(Audience),
        st.booleans(),
    ),
    max_size=6,
    unique_by=lambda one: one.name,
)


@given(texts, candidates, st.sampled_from(Audience), st.randoms())
def test_unnamed_is_right_and_knows_no_order(
    question: str, peers: list[Candidate], audience: Audience, chance: Random
) -> None:
    route = routing.unnamed(question, peers, audience)
    shuffled = list(peers)
    chance.shuffle(shuffled)
    assert routing.unnamed(question, shuffled, audience) == route
    fits = [
        one
        for one in peers
        if one.active
        and (one.audience is Audience.SHARED or audience is Audience.PRIVATE)
        and len(routing.content_words(question) & routing.content_words(" ; ".join(one.phrases))) >= 2
    ]
    if len(fits) == 1:
        assert isinstance(route, Routed)
        assert route.peer == fits[0]
    else:
        assert isinstance(route, Unresolved)
        assert route.gap is (Gap.TIE if fits else Gap.NOBODY)


@given(st.text(max_size=200))
def test_content_words_of_anything(text: str) -> None:
    found = routing.content_words(text)
    assert found == routing.content_words(text.upper().lower()) or not text.isascii()
    assert all(len(word) >= 2 for word in found)


@given(st.text(max_size=100), st.sampled_from(Audience), candidates)
def test_named_never_chooses_whom_it_may_not(name: str, audience: Audience, peers: list[Candidate]) -> None:
    route = routing.named(name, "q", peers, audience)
    if isinstance(route, Routed):
        assert route.peer.active
        assert route.peer.audience is Audience.SHARED or audience is Audience.PRIVATE
        assert naming.fold(route.peer.name) == naming.fold(name)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("gap", Gap)
def test_every_gap_is_told_in_both_languages(gap: Gap, language: Language) -> None:
    known = {Gap.STOPPED: ("atlas",), Gap.TIE: ("atlas", "boris", "carla")}.get(gap, ())
    text = sentences.unresolved(Unresolved(gap, known), "atlas", language)
    assert text
    assert "\n" not in text
    assert all(name in text for name in known)
    if gap in {Gap.UNKNOWN, Gap.AUDIENCE}:
        assert text == sentences.unresolved(Unresolved(Gap.UNKNOWN), "atlas", language)


def test_three_names_read_well() -> None:
    text = sentences.unresolved(Unresolved(Gap.TIE, ("atlas", "boris", "carla")), None, "en")
    assert "fits atlas, boris and carla:" in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_peers_words_are_told_as_written(language: Language) -> None:
    rejected = sentences.peer_rejected("atlas", "no *way*\nat all", language)
    assert rejected.endswith("\n\nno *way*\nat all")
    deferred = sentences.peer_deferred("atlas", "why", "who\never", "when", language)
    assert all(part in deferred for part in ("atlas", "why", "who ever", "when"))
    assert "\n" not in sentences.whose("a\nb", language)


@given(st.text(max_size=200))
def test_a_name_stays_one_short_line_without_markup(name: str) -> None:
    shown = sentences.plain(name)
    assert len(shown) <= 60
    assert len(shown.splitlines()) <= 1
    assert not set("[]`") & set(shown)


@pytest.mark.parametrize("name", ["atlas", "db-expert", "a", "数据库", "Ünï_1.x", "x" * 60, "कीमत"])
def test_good_names(name: str) -> None:
    assert naming.problem(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "a b", "a\tb", "a\n", "-a", "a.", "x" * 61, "steward", "Asker", "ＢＯＴ", "a[b]", "@all", "a\u202eb",
        "a\u200bb", "..", "a/b", "ﷺ" * 5,
    ],
)  # fmt: skip
def test_bad_names(name: str) -> None:
    assert naming.problem(name) is not None


A, B, C = PeerId("a"), PeerId("b"), PeerId("c")


@pytest.mark.parametrize(
    ("to", "chain", "depth", "children", "expected"),
    [
        (B, {A}, 0, 0, None),
        (A, {A}, 0, 0, Bound.ONESELF),
        (C, {A, C}, 0, 0, Bound.LINEAGE),
        (B, {A}, lineage.MOST_DEPTH - 1, 0, None),
        (B, {A}, lineage.MOST_DEPTH, 0, Bound.DEPTH),
        (B, {A}, 0, lineage.MOST_OPEN_CHILDREN - 1, None),
        (B, {A}, 0, lineage.MOST_OPEN_CHILDREN, Bound.FAN_OUT),
    ],
)
def test_lineage(to: PeerId, chain: set[PeerId], depth: int, children: int, expected: Bound | None) -> None:
    assert lineage.bound(caller=A, to=to, lineage=chain, depth=depth, open_children=children) is expected
