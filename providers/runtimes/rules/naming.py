"""Whom the question names: ``ask NAME to …``, ``NAME: …``, ``让 NAME …``, ``请 NAME …``, ``转给 NAME``. Pure.

A known name also by ``have NAME review …``, ``can NAME review …``, ``@NAME …`` at the beginning, and ``问 NAME …``.

Only the asker's own words count, where they ask for something: at the beginning of a clause, not inside a quotation,
not in "don't ask bob", not in "where do we ask bob?".

Every repetition is bounded, or ends at a character that it cannot contain: a hostile question costs no more than a long
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from providers.runtimes.rules.spans import FILLER, own_words

_TOKEN: Final = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
_CORRECTION: Final = r"(?:更正|补充|correction|also)\s*[:：]"
_CLAUSE: Final = rf"(?:\A|[\n.!?;,。！？；，]|{_CORRECTION})[ \t]{{0,40}}"
_POLITE: Final = (
    r"(?:(?:please|pls|plz|kindly|then|so|and|ok|okay|hi|hello|hey|now|also|just|can\s+you|could\s+you|would\s+you|will\s+you"
    r"|i'd\s+like\s+you\s+to|i\s+would\s+like\s+you\s+to|i\s+want\s+you\s+to|you\s+should|let's|@[^\s,@]+)[\s,]{1,20}){0,6}"
)
_NOBODY: Final = frozenset(
    re.findall(
        r"\S+",
        """
        him her them me us it you someone somebody anyone anybody everyone everybody people the a an that
        this these those questions question about for if whether how why what who where when permission
        users user again around
        """,
    )
)
_VERBS: Final = frozenset(
    re.findall(
        r"\S+",
        """
        review check fix explain look find show help update read run test merge debug tell give list search
        describe add write ask see use open close create delete remove change
        """,
    )
)
_TASKS: Final = (
    "(?:review|check|fix|explain|look|help|update|test|debug|describe|add|write|draft|answer|confirm|investigate|verify"
    "|handle|take|translate|summari[sz]e|analy[sz]e|prepare|implement|refactor|plan|tell|give|send|do|find|rename|change)"
)
_ASKS_ZH: Final = re.compile(
    r"怎么|怎样|如何|为什么|为何|为啥|哪里|哪儿|哪个|哪些|哪一|谁|什么|何时|是不是|有没有|多少"
)
_NOT_ZH: Final = re.compile(
    r"(?:不要|别|不用|不必|无需|不需要|(?<!能)不能|不应该|勿|没有|没|(?<!要)不|未)\s*(?:再|去|直接)?\s*\Z"
)
_DOES_ZH: Final = re.compile(
    r"\s*(?:来|去|帮|再|也|先|尽快|抽空|马上|继续|负责|给|把|看|查|检查|审|写|改|修|分析|处理|确认|解释|评|总结|做|告诉|回答|回复|调查|研究|排查"
    r"|测试|验证|跟进|整理|翻译|起草|准备|设计|实现|review|check|fix|look)",
    re.IGNORECASE,
)
_LEADS_ZH: Final = re.compile(
    r"(?:\s|@[^\s@]+\s|那|就|麻烦|你|请|帮我|帮忙|能不能|可以|可否|能否|是否可以|先|再|然后|所以|我|想|要|现在|直接|并|也|还是|更正\s*[:：]|补充\s*[:：])*(?:把[^，。]{1,40})?"
)
WITHIN: Final = 300
"""How many characters before and after a name its clause is read."""
_CLAUSE_END: Final = re.compile(r"[\n。！？；，,;!?]")


@dataclass(frozen=True, slots=True)
class Named:
    """A peer that the question names."""

    name: str
    """As the directory spells it, or, where it knows no such peer, as the question does."""
    purpose: str
    """What is asked of the peer, in the asker's words; never empty unless the question is."""


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    name: str


def named_peer(question: str, names: Sequence[str]) -> Named | None:
    """The peer that ``question`` asks for; ``names`` are the known ones. A correction goes before what it corrects."""
    own = own_words(question)
    hits = sorted(_hits(own, [name for name in names if name.strip()]), key=lambda hit: (hit.start, -hit.end))
    if not hits:
        return None
    corrected = max((found.start() for found in re.finditer(rf"(?mi)^[ \t]{{0,40}}{_CORRECTION}", own)), default=-1)
    chosen = next((hit for hit in hits if hit.start >= corrected), hits[0])
    return Named(chosen.name, _purpose(question, hits[0]))


def _hits(own: str, names: list[str]) -> Iterator[_Hit]:
    known = _Known(names)
    yield from _english(own, known)
    yield from _addressed(own, known)
    yield from _chinese(own, known)


class _Known:
    """The known names as one pattern, the longest first, and their own spelling."""

    def __init__(self, names: Iterable[str]) -> None:
        self._spelt = {name.casefold(): name for name in names}
        longest = sorted(self._spelt.values(), key=len, reverse=True)
        each = "|".join(_bounded(name) for name in longest)
        self.pattern = rf"(?:{each})" if each else r"(?!)"

    def spell(self, name: str) -> str | None:
        """The directory's spelling of ``name``; None when it is not known."""
        return self._spelt.get(name.casefold())


def _bounded(name: str) -> str:
    """``name`` not continued: ``bob`` is neither in ``bobby`` nor in ``bob-2`` nor in ``bob.py``."""
    tail = r"(?![A-Za-z0-9_-]|\.[A-Za-z0-9])" if name[-1].isascii() else ""
    return re.escape(name) + tail


def _english(own: str, known: _Known) -> Iterator[_Hit]:
    start = rf"(?i){_CLAUSE}{_POLITE}"
    follows = r"(?:\s+(?:to|about|whether|if|for|why|what|how|where|who|when)(?![\w-])|\s*[,:：，])"
    for found in re.finditer(rf"{start}(?:ask|tell)\s+(?:the\s+)?@?({known.pattern}){follows}", own):
        spelt = known.spell(found[1])
        # "to" belongs to the form, any other word to the purpose.
        end = found.end() if found.group().casefold().endswith("to") else found.end(1)
        if spelt is not None:
            yield _Hit(found.start(), end, spelt)
    for found in re.finditer(rf"{start}ask\s+@?({_TOKEN})\s+to(?![\w-])", own):
        if found[1].casefold() not in _NOBODY and known.spell(found[1]) is None:
            yield _Hit(found.start(), found.end(), found[1])
    for found in re.finditer(rf"{start}have\s+@?({known.pattern})\s+{_TASKS}(?![\w-])", own):
        yield from _known_hit(found, known)
    for found in re.finditer(
        rf"{start}(?:can|could|would|will)\s+(?:@({known.pattern})\s+(?:please\s+)?(?=\w)"
        rf"|({known.pattern})\s+(?:please\s+(?=\w)|{_TASKS}(?![\w-])))",
        own,
    ):
        yield from _known_hit(found, known)


def _known_hit(found: re.Match[str], known: _Known) -> Iterator[_Hit]:
    group = next(index for index, text in enumerate(found.groups(), start=1) if text)
    spelt = known.spell(found[group])
    if spelt is not None:
        yield _Hit(found.start(), found.end(group), spelt)


def _addressed(own: str, known: _Known) -> Iterator[_Hit]:
    """``NAME: …`` at the beginning of a line; only for names that are known."""
    for found in re.finditer(
        rf"(?im)^(?:[ \t]{{0,40}}{_CORRECTION})?[ \t]{{0,40}}(?:@[^\s@]+\s+){{0,6}}@?({known.pattern})\s*[:：]", own
    ):
        spelt = known.spell(found[1])
        if spelt is not None:
            yield _Hit(found.start(), found.end(), spelt)
    at = re.match(rf"(?i)\s{{0,40}}(?:@[^\s@]+\s+){{0,6}}@({known.pattern})[\s,，]+(?=\S)", own)
    if at:
        yield from _known_hit(at, known)


def _chinese(own: str, known: _Known) -> Iterator[_Hit]:
    form = r"(转交给|转给|交给|让|请)\s*@?"
    for found in re.finditer(rf"(?i){form}({known.pattern})", own):
        spelt = known.spell(found[2])
        if spelt is not None and _asks_for(own, found.start()):
            yield _Hit(found.start(), found.end(), spelt)
    for found in re.finditer(rf"(?i){form}({_TOKEN})(?![A-Za-z0-9_(/-]|\.[A-Za-z0-9])", own):
        if known.spell(found[2]) is None and _is_clear(own, found):
            yield _Hit(found.start(), found.end(), found[2])
    for found in re.finditer(
        rf"(?i)(?<!请)(?:请教(?:一下)?|问(?:一下|一声|问|下)?)\s*@?({known.pattern})(?!\s*[了过没])", own
    ):
        if _LEADS_ZH.fullmatch(_clause_before(own, found.start())):
            yield from _known_hit(found, known)


def _asks_for(own: str, start: int) -> bool:
    """Whether what stands before, in the same clause, neither negates nor inquires."""
    before = _clause_before(own, start)
    return not _NOT_ZH.search(before) and not _ASKS_ZH.search(before)


def _is_clear(own: str, found: re.Match[str]) -> bool:
    """Whether an unknown word is surely meant as a name, and not as a thing that something is done to."""
    form, name = found[1], found[2]
    humps = re.search(r"[a-z0-9][A-Z]", name) is not None
    if humps or "_" in name or name.casefold() in _NOBODY | _VERBS or not _asks_for(own, found.start()):
        return False
    rest = own[found.end() : found.end() + WITHIN]
    if form in {"让", "请"}:
        if not _LEADS_ZH.fullmatch(_clause_before(own, found.start())):
            return False
        does = _DOES_ZH.match(rest) is not None
        return does or (form == "让" and not _ASKS_ZH.search(rest) and not rest.rstrip().endswith(("?", "？", "吗")))
    return True


def _clause_before(own: str, start: int) -> str:
    return _CLAUSE_END.split(own[max(0, start - WITHIN) : start])[-1]


def _purpose(question: str, hit: _Hit) -> str:
    after = question[hit.end :].strip().lstrip(",，:：、 \t").strip()
    if after.strip("。.!！?？"):
        return after
    before = re.sub(r"[\s,，:：]+\Z", "", question[: hit.start]).replace(FILLER, " ").strip()
    return before or question.strip()
