"""What a follow-up points at: the headline of the message it replies to, else of the newest one before it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from manager.decisions.decision import Said
from manager.decisions.language import language_of
from providers.runtimes.rules.intents import Intent
from providers.runtimes.rules.spans import own_words
from providers.runtimes.rules.terms import Kind, Term, classify, terms_of

_LONGEST: Final = 8000
_HEAD: Final = 1000
_BACK: Final = 6
"""How many messages before the question are looked at."""

_POINTING: Final = re.compile(
    r"""(?<![\w'’-])(?:it|its|this|that|these|those|them)(?![\w-])
        (?!\s+(?:week|month|year|day|morning|time|repo|repository|project|codebase|workspace)s?\b)
    | 它|那(?!么)|这(?!个?(?:项目|仓库|代码库|工作区|周|星期|月|年|几天|次|里))|上面|(?<!应)该|(?<![因如彼])此(?!外)""",
    re.IGNORECASE | re.VERBOSE,
)
_THIS_SORT: Final = re.compile(
    r"""\b(this|that|these|those|its|which|what|the\s+same)\s+(?:file|folder|directory|function|class|method|variable
    |constant|module|package|code|line|commit|symbol|field|type|place|part)(?:s|es)?\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT: Final = re.compile(r"\b(?:about|more)\b|呢|详细|具体", re.IGNORECASE)
_RECENT: Final = re.compile(
    r"\b(?:recent|recently|lately|latest|newest|today|yesterday|since|weeks?|months?)\b|最近|近来|今天|昨天|本周|上周",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(r"\bwhen\b|什么时候|何时", re.IGNORECASE)

_PINNED: Final = re.compile(
    r"(?P<path>[^\s`:@“”()（）]{1,400})(?::(?P<line>\d{1,7}))?@(?:sha256:)?[0-9a-f]{7,64}(?![0-9a-f])"
)
_DEFINED: Final = re.compile(r"[`\s]*(?P<what>[^`\s]{1,200})[`\s]+(?:is\s+defined\s+at|定义在)\s")
_COMMIT: Final = re.compile(r"(?:The last commit is|最后一次提交是)?[`\s]*(?P<commit>[0-9a-f]{7,40})[`\s]*(?: by |，)")
_CHANGED: Final = re.compile(
    r"(?:The latest changes of|No commit of)[`\s]+(?P<of>[^`\s:]{1,400})(?:`|:|\s+since|\s+in|\.)"
    r"|[`\s]*(?P<what>[^`\s]{1,400})[`\s]+(?:was last changed in|最后由|最近的改动)"
)
_REST: Final = re.compile(r"(?m)^[ \t]{0,8}(?:Also|Before that|还有|更早的)\s*[:：]")


def points_back(topic: str, intents: frozenset[Intent], *, replying: bool, chinese: bool) -> bool:
    """Whether ``topic`` is a follow-up: a pronoun, or a bare "who changed it?", and no content words of its own."""
    bare = _THIS_SORT.sub(r"\1", topic)
    if terms_of(bare, chinese=chinese):
        return False
    own = own_words(bare)
    if _POINTING.search(own):
        return replying or bool(intents) or _ABOUT.search(own) is not None
    if _RECENT.search(own):
        return False
    whole = Intent.CHANGED in intents and not _WHEN.search(own) and not replying
    return bool(intents) and not whole


def antecedent(topic: str, quoted: Said | None, history: Sequence[Said]) -> tuple[Term, ...]:
    """The subject that a follow-up carries on: of the quoted message, else of the newest message that has one."""
    before = [said for said in history[-_BACK:] if said.text.strip() != topic.strip()]
    said = ([] if quoted is None else [quoted]) + before[::-1]
    return next((subject for subject in map(_subject, said) if subject), ())


def _subject(said: Said) -> tuple[Term, ...]:
    """What a message is about; of what the steward or a peer said only its headline, never what it lists below."""
    text = said.text[:_LONGEST]
    head = next((line.strip() for line in text.split("\n") if line.strip()), "")[:_HEAD]
    headline = _headline(head)
    if headline or said.author == "steward":
        return headline
    asked = said.author == "asker"
    told = _REST.split(text)[0] if asked else head
    found = terms_of(told, chinese=language_of(told) == "zh")
    return tuple(term for term in found if term.kind is not Kind.WORD) or (found if asked else ())


def _headline(head: str) -> tuple[Term, ...]:
    """The subject of an answer's first line, in the forms in which answers begin."""
    pinned = _PINNED.search(head)
    if pinned:
        defined = _DEFINED.match(head)
        what = classify(defined["what"]) if defined else None
        if what is not None and what.kind is Kind.IDENTIFIER:
            return (what, Term(Kind.PATH, pinned["path"]))
        return (Term(Kind.PATH, pinned["path"], int(pinned["line"]) if pinned["line"] else None),)
    commit = _COMMIT.match(head)
    if commit:
        return (Term(Kind.COMMIT, commit["commit"]),)
    changed = _CHANGED.match(head)
    if not changed or (changed["of"] or changed["what"]) == "整个工作区":
        return ()
    path = changed["of"] or changed["what"]
    known = classify(path)
    return (known if known is not None and known.kind is Kind.PATH else Term(Kind.PATH, path),)
