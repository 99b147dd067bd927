"""What is said beside the question: "(just curious)", "no rush", a sentence after the question mark. Pure."""

from __future__ import annotations

import re
from typing import Final

from providers.runtimes.rules import manners
from providers.runtimes.rules.intents import INTENTS
from providers.runtimes.rules.spans import own_words
from providers.runtimes.rules.terms import Kind, terms_of

_MOST: Final = 6
"""How many parentheses are looked into."""
_PARENTHESIS: Final = re.compile(r"(?<![\w)])\([^()（）\n]{0,200}\)|（[^()（）\n]{0,200}）")
_PHRASE: Final = re.compile(
    r"""\b(?:i(?:'|’)?m\s+|i\s+am\s+|was\s+)?(?:just|only|simply|merely)\s+(?:being\s+)?(?:curious|wondering|asking|checking)
        (?:\s+for\s+a\s+friend)?\b
    | \basking\s+for\s+a\s+friend\b | \bout\s+of\s+(?:curiosity|interest)\b
    | \b(?:there(?:'|’)?s\s+)?no\s+(?:rush|hurry|pressure|worries)\b | \bnot\s+urgent\b | \burgent(?:ly)?\b | \basap\b
    | \b(?:many\s+)?thanks?\s+(?:in\s+advance|a\s+lot|so\s+much)\b | \bcheers\b
    | \bif\s+you\s+(?:know|can|could|have\s+(?:a\s+)?(?:time|minute|moment|second))\b
    | \bwhen\s+you\s+(?:have|get)\s+(?:a\s+)?(?:time|minute|moment|second|chance)\b
    | \bby\s+the\s+way\b | \bbtw\b | \bfyi\b
    | (?:我)?(?:只是|就是|单纯|纯粹|有点|纯)?好奇(?:而已|一下)?|随便问问|随口问问|顺便问一下|不着急|不急""",
    re.IGNORECASE | re.VERBOSE,
)
_AFTER: Final = re.compile(r"[?？][ \t\"”）)]{0,8}([^\n?？]{1,400})\Z")
_GOES_ON: Final = re.compile(
    r"\A\s*(?:in|of|from|for|under|on|at|about|with|and|or|not)\b|[:：`]|\bi\s+mean|\bmeant\b|更正|补充|我是说|我指",
    re.IGNORECASE,
)
_MARKER: Final = re.compile(r"(?mi)^[ \t]{0,40}(?:更正|补充|correction|also)\s{0,8}[:：]")


def without_remarks(text: str) -> str:
    """``text`` without what is said beside the question; as it is where nothing else would be left."""
    stripped = text.strip()
    for step in (_parentheses, _phrases, _after, _markers):
        shorter = step(stripped)
        if re.search(r"\w", shorter):
            stripped = shorter
    return stripped


def _parentheses(text: str) -> str:
    def drop(found: re.Match[str]) -> str:
        return found.group() if _asks(found.group()) else " "

    return _PARENTHESIS.sub(drop, text, count=_MOST)


def _phrases(text: str) -> str:
    """Only among the asker's own words: what is cited stays."""
    pieces: list[str] = []
    at = 0
    for found in _PHRASE.finditer(own_words(text)):
        pieces.append(text[at : found.start()])
        at = found.end()
    return " ".join([*pieces, text[at:]]).strip(" \t,，;；-–—") if pieces else text


def _after(text: str) -> str:
    """What follows the last question mark, where the question is whole without it."""
    found = _AFTER.search(text.rstrip())
    if not found or _GOES_ON.search(found[1][:40]) or _asks(found[1]):
        return text
    before = text[: found.start(1)]
    return before if terms_of(before, chinese=False) else text


def _markers(text: str) -> str:
    """What says only that a line corrects or adds."""
    return _MARKER.sub("", text)


def _asks(text: str) -> bool:
    """Whether it names or asks for something itself."""
    own = own_words(text)
    strong = any(term.kind is not Kind.WORD for term in terms_of(text, chinese=False))
    return (
        strong
        or manners.WORK.search(own.lstrip("(（")) is not None
        or any(pattern.search(own) for _, pattern in INTENTS)
    )
