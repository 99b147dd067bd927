"""From a question to what is to be done about it. Pure; never raises.

The quoted parent and the history lend terms to a question that only points at them ("who changed it?"). They lend
nothing else: no name, no command.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from manager.decisions.decision import PeerCard, Said
from manager.decisions.language import Language, language_of
from providers.runtimes.rules import intents as asking
from providers.runtimes.rules import manners
from providers.runtimes.rules.antecedents import antecedent, points_back
from providers.runtimes.rules.defining import Sort, sort_asked
from providers.runtimes.rules.intents import Intent
from providers.runtimes.rules.naming import Named, named_peer
from providers.runtimes.rules.remarks import without_remarks
from providers.runtimes.rules.spans import own_words
from providers.runtimes.rules.terms import Kind, Term, symbols_of, terms_of

_LONGEST: Final = 8000
"""Characters of a message that are parsed; more are an attachment, not a question."""


class Manner(Enum):
    """What sort of message it is."""

    LOOK_UP = "look_up"
    """Something can be looked up."""
    WORK = "work"
    """Something is to be done: a peer's, not the rules'."""
    HELP = "help"
    """Somebody asks what this is."""
    SMALL_TALK = "small_talk"
    """A greeting, thanks, or nothing."""
    VAGUE = "vague"
    """It asks for something that can be looked up, but not of what."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a question asks."""

    language: Language
    manner: Manner
    named: Named | None
    intents: frozenset[Intent]
    terms: tuple[Term, ...]
    last_commit: bool
    since: str | None
    """An ISO date from which changes are asked for."""
    sort: Sort | None = None
    """What the question says that the name is: "where is the class Pump?"."""
    definition: bool = False
    """Whether it asks where something is defined."""


def parse(question: str, quoted: Said | None, history: Sequence[Said], peers: Sequence[PeerCard]) -> Parsed:
    """What ``question`` asks, ``peers`` being the ones that may be named."""
    text = question[:_LONGEST]
    language = language_of(text)
    named = named_peer(text, [peer.name for peer in peers])
    topic = named.purpose if named else without_remarks(text)
    intents = frozenset(intent for intent, pattern in asking.INTENTS if pattern.search(own_words(topic)))
    last = asking.LAST_COMMIT.search(topic) is not None
    terms = _terms(topic, quoted, history, intents, chinese=language == "zh", last=last)
    if last:
        terms = tuple(term for term in terms if term.kind is not Kind.WORD)
    since = re.search(r"(?:since|after|自从?|从)\s*(\d{4}-\d{2}-\d{2})", topic, re.IGNORECASE)
    return Parsed(
        language=language,
        manner=_manner(topic, intents, terms, last=last),
        named=named,
        intents=intents,
        terms=terms,
        last_commit=last,
        since=since[1] if since else None,
        sort=sort_asked(topic, symbols_of(terms)),
        definition=asking.DEFINITION.search(own_words(topic)) is not None,
    )


def _terms(
    topic: str,
    quoted: Said | None,
    history: Sequence[Said],
    intents: frozenset[Intent],
    *,
    chinese: bool,
    last: bool,
) -> tuple[Term, ...]:
    """The question's own terms; what it points at where it has none and points at something."""
    terms = terms_of(topic, chinese=chinese)
    if last or any(term.kind is not Kind.WORD for term in terms):
        return terms
    if not points_back(topic, intents, replying=quoted is not None, chinese=chinese):
        return terms
    return antecedent(topic, quoted, history) or terms


def _manner(topic: str, intents: frozenset[Intent], terms: tuple[Term, ...], *, last: bool) -> Manner:
    if not re.search(r"\w", topic) or manners.SMALL_TALK.fullmatch(topic):
        return Manner.SMALL_TALK
    if manners.HELP.fullmatch(topic):
        return Manner.HELP
    if manners.WORK.search(own_words(topic)) and not intents & {Intent.WHO, Intent.CHANGED}:
        return Manner.WORK
    if terms or last or Intent.CHANGED in intents:
        return Manner.LOOK_UP
    return Manner.VAGUE
