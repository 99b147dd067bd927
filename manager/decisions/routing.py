"""Who gets a request: the peer that was named, or the only one whose words fit. Each choice with its evidence.

A peer that the audience may not see is treated exactly as one that does not exist; only the gap that operators read
tells them apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from manager.decisions.decision import Audience
from manager.decisions.naming import fold
from manager.ids import PeerId

ENOUGH_WORDS: Final = 2
"""So many content words must a question share with a peer that nobody named."""

_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_RUN: Final = re.compile(f"[{_HAN}]+|[^\\W_{_HAN}]+")
_EMPTY_HAN: Final = re.compile(
    "为什么|有没有|是不是|能不能|可不可以|什么|怎么|怎样|如何|哪里|哪个|哪些|谁的|一下|这个|那个|这些|那些|可以|是否|能否|"
    "我们|你们|他们|她们|它们|帮忙|帮我|请问|告诉|知道|因为|所以|但是|还是|或者|以及|然后|已经|现在|最近|[的了吗呢吧啊呀是我你他她它请谁哪这那么]"
)
_EMPTY_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        about after again all also am an and any are as ask at be because been before being but by can could did do
        does doing done every for from get give go had has have having he her here hers him his how if in into is it
        its just know let like look make many may me might more most much must my need no not now of off on once one
        only or other our out over own please same say she should show so some such take tell than thank thanks that
        the their them then there these they this those through to too under up us use using very want was we were
        what when where which while who whom whose why will with would you your yours
        """,
    )
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A peer of the directory, as routing looks at it."""

    peer_id: PeerId
    name: str
    audience: Audience
    active: bool
    presence: str
    phrases: tuple[str, ...]
    """Its responsibilities and examples."""


class Signal(Enum):
    """What a choice rests on."""

    NAMED = "named"
    """The question named the peer."""
    EARLIER_REVISION = "earlier_revision"
    """The peer held an earlier revision of the same request."""
    WORDS = "words"
    """The only active peer with enough content words of the question."""


class Gap(Enum):
    """Why nobody was chosen."""

    UNKNOWN = "unknown_peer"
    """No peer has the name."""
    AUDIENCE = "audience"
    """The named peer is not for this audience; told as unknown."""
    STOPPED = "stopped"
    """The named peer is stopped."""
    NOBODY = "nobody_fits"
    """No active peer shares enough words with the question."""
    TIE = "tie"
    """Several active peers do."""


@dataclass(frozen=True, slots=True)
class Routed:
    """A peer was chosen."""

    peer: Candidate
    signal: Signal
    shared: frozenset[str]
    """The content words of the question that are the peer's too."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Nobody was chosen; ``known`` are registered peers that the audience may be told of, by name."""

    gap: Gap
    known: tuple[str, ...] = ()


Route: TypeAlias = Routed | Unresolved


def visible_to(peer: Candidate, audience: Audience) -> bool:
    """Whether the audience may know of the peer: a private one is for private conversations only."""
    return peer.audience is Audience.SHARED or audience is Audience.PRIVATE


def content_words(text: str) -> frozenset[str]:
    """The words of ``text`` that mean something: words of letters without stop words, and bigrams of Chinese."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: set[str] = set()
    for run in _RUN.findall(folded):
        found.update(_bigrams(run) if _is_han(run) else _word(run))
    return frozenset(found)


def named(name: str, question: str, peers: Iterable[Candidate], audience: Audience) -> Route:
    """The peer of that name, if the audience may see it and it is not stopped."""
    wanted = fold(name)
    peer = next((peer for peer in peers if fold(peer.name) == wanted), None)
    if peer is None:
        return Unresolved(Gap.UNKNOWN)
    if not visible_to(peer, audience):
        return Unresolved(Gap.AUDIENCE)
    if not peer.active:
        return Unresolved(Gap.STOPPED, (peer.name,))
    return Routed(peer, Signal.NAMED, shared_words(question, peer))


def unnamed(question: str, peers: Sequence[Candidate], audience: Audience, earlier: PeerId | None = None) -> Route:
    """The peer that held the request before, or the only active one that shares enough content words."""
    admitted = [peer for peer in peers if peer.active and visible_to(peer, audience)]
    for peer in admitted:
        if peer.peer_id == earlier:
            return Routed(peer, Signal.EARLIER_REVISION, shared_words(question, peer))
    fitting = [
        Routed(peer, Signal.WORDS, shared)
        for peer in admitted
        if len(shared := shared_words(question, peer)) >= ENOUGH_WORDS
    ]
    if not fitting:
        return Unresolved(Gap.NOBODY)
    if len(fitting) > 1:
        return Unresolved(Gap.TIE, tuple(sorted(choice.peer.name for choice in fitting)))
    return fitting[0]


def shared_words(question: str, peer: Candidate) -> frozenset[str]:
    """The content words that a question has in common with what a peer says of itself."""
    theirs = frozenset(word for phrase in peer.phrases for word in content_words(phrase))
    return content_words(question) & theirs


def _is_han(run: str) -> bool:
    return re.match(f"[{_HAN}]", run) is not None


def _bigrams(run: str) -> Iterable[str]:
    for piece in _EMPTY_HAN.split(run):
        yield from (piece[at : at + 2] for at in range(len(piece) - 1))


def _word(run: str) -> Iterable[str]:
    if len(run) > 1 and run not in _EMPTY_WORDS and not run.isdecimal():
        yield run
