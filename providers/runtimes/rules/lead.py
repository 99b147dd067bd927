"""The sentence that leads an answer about a place: what the line is to the name that was asked for. Pure."""

from __future__ import annotations

import re

from providers.runtimes.rules.findings import Findings
from providers.runtimes.rules.intents import Intent
from providers.runtimes.rules.limits import ASKED_FOR
from providers.runtimes.rules.markup import code
from providers.runtimes.rules.parse import Parsed
from providers.runtimes.rules.phrases import say
from providers.runtimes.rules.ranking import Place, Role
from providers.runtimes.rules.terms import symbols_of


def lead(parsed: Parsed, found: Findings, first: Place, where: str) -> str:
    """Says "is defined" only of a definition of that name, and says so where there is none of the sort asked for."""
    language = parsed.language
    if first.role is Role.PLACE and first.score >= ASKED_FOR:
        return say(language, "here", where=where)
    symbols = symbols_of(parsed.terms)
    none = ""
    if parsed.sort is not None and symbols and (found.defined is None or found.defined.sort is not parsed.sort):
        none = say(language, f"no_{parsed.sort.value}", what=code(symbols[0]))
    if found.defined is not None:
        told = say(language, "defined", what=code(found.defined.name), where=where)
        return _join(parsed, none, told)
    named = [name for name in symbols if _names(first.line.text, name)]
    if none:
        return _join(parsed, none, say(language, "nearest" if named else "likely", where=where))
    if not named or first.role is Role.PLACE:
        return say(language, "likely", where=where)
    if Intent.USES in parsed.intents:
        return say(language, "used", what=code(named[0]), where=where)
    phrase = "no_definition" if parsed.definition else "mentioned"
    return say(language, phrase, what=code(named[0]), where=where)


def _join(parsed: Parsed, *sentences: str) -> str:
    return ("" if parsed.language == "zh" else " ").join(sentence for sentence in sentences if sentence)


def _names(text: str, name: str) -> bool:
    """Whether the line has the very name, in any case where the question has it all in small letters."""
    flags = re.IGNORECASE if name.islower() else re.NOFLAG
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, flags) is not None
