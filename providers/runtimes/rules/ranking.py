"""Which of the found lines is the one that was meant: definitions before mentions, sources before tests. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import log
from typing import Final

from manager.ports import Line
from providers.runtimes.rules.definitions import HEADING, begins_word, defines, definitions, is_import, score_of


class Role(Enum):
    """What a line is to the thing that was looked for."""

    DEFINITION = "definition"
    """It defines it."""
    MENTION = "mention"
    """It names it."""
    PLACE = "place"
    """It was asked for by its path, or fits the words."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line, what it is, and how well it fits."""

    line: Line
    role: Role
    score: float


_TOGETHER: Final = 2
"""So many words must stand in one line, or in it and its path."""
_IMPORTED: Final = 0.3
"""How much less a line that only imports counts."""
_MOST_OF: Final = 0.6
"""So much of all the words must stand in the file."""

_LIGHT: Final[tuple[tuple[re.Pattern[str], float], ...]] = (
    (
        re.compile(
            r"(^|/)(vendor|node_modules|third_party|dist|build)/|\.lock$|\.min\.|\.svg$|(^|/)(package-lock|go\.sum)"
        ),
        0.1,
    ),
    (re.compile(r"(^|/)(tests?|spec|specs|__tests__|fixtures|examples?)/|(^|/)test_|_test\.|\.(test|spec)\."), 0.3),
    (re.compile(r"(^|/)docs?/|\.(md|rst|txt)$|(^|/)(README|CHANGELOG)"), 0.6),
)


def weight(path: str) -> float:
    """How much a file counts: tests and documents less than sources, what is generated least."""
    found = 1.0
    for pattern, factor in _LIGHT:
        if pattern.search(path):
            found = min(found, factor)
    return found


def rank_symbol(
    lines: Iterable[Line], name: str, hints: Sequence[str] = (), *, ignore_case: bool = False
) -> list[Place]:
    """The lines that name the symbol ``name``, best first; ``hints`` are other words of the question."""
    last = name.rpartition(".")[2]
    owner = name.rpartition(".")[0].rpartition(".")[2].casefold()
    tests = definitions(last, ignore_case=ignore_case)
    places: list[Place] = []
    for line in lines:
        score = score_of(line.text, tests)
        role = Role.DEFINITION if score >= HEADING else Role.MENTION
        score *= weight(line.path)
        score += (
            5.0 * (ignore_case and last in line.text)
            + 3.0 * (_stem(line.path) == last.casefold())
            + 20.0 * bool(owner and owner in line.path.casefold())
        )
        score += sum(2.0 for hint in hints if hint.casefold() in f"{line.path} {line.text}".casefold())
        places.append(Place(line, role, score))
    return sorted(places, key=lambda place: (-place.score, place.line.path, place.line.number))


@dataclass(frozen=True, slots=True)
class Words:
    """What the search for plain words found."""

    lines: Mapping[str, Sequence[Line]]
    """Lines by word."""
    paths: Mapping[str, Sequence[tuple[str, str]]]
    """Paths whose names have the word."""


def stem(word: str) -> str:
    """The part of a word that its forms share, roughly: ``transitions`` and ``transition``."""
    folded = word.casefold()
    for ending, shortest in (("ies", 5), ("ing", 6), ("ed", 5), ("s", 4)):
        if folded.endswith(ending) and len(folded) >= shortest and not folded.endswith("ss"):
            return folded[: -len(ending)]
    return folded


def rank_words(words: Words) -> list[Place]:
    """Lines in files that have enough of the words, the line with most of them first; nothing when none has enough."""
    wanted = list(words.lines)
    rare = {word: 1.0 / log(3.0 + len(words.lines[word]) + len(words.paths[word])) for word in wanted}
    by_line: dict[tuple[str, str, int], Line] = {}
    holds: dict[tuple[str, str, int], set[str]] = {}
    in_file: dict[tuple[str, str], set[str]] = {}
    for word, lines in words.lines.items():
        for line in lines:
            if begins_word(word, line.text):
                key = (line.workspace, line.path, line.number)
                by_line[key] = line
                holds.setdefault(key, set()).add(word)
                in_file.setdefault(key[:2], set()).add(word)
    in_path: dict[tuple[str, str], set[str]] = {}
    for word, paths in words.paths.items():
        for path in paths:
            if begins_word(word, path[1]):
                in_path.setdefault(path, set()).add(word)
    places: list[Place] = []
    for key, line in by_line.items():
        here, around = holds[key], in_path.get(key[:2], set[str]())
        if not enough(len(wanted), here | around, in_file[key[:2]] | around):
            continue
        named = defines(line.text, here)
        score = 3.0 * sum(rare[word] for word in here) + 2.0 * sum(rare[word] for word in around - here)
        score += (1.5 if named else 0.0) + (1.0 if _adjacent(line.text, wanted) else 0.0)
        score += 1.0 if _stem(line.path) in here | around else 0.0
        score *= weight(line.path) * (_IMPORTED if is_import(line.text) else 1.0)
        places.append(Place(line, Role.DEFINITION if named else Role.PLACE, score))
    return sorted(places, key=lambda place: (-place.score, place.line.path, place.line.number))


def enough(wanted: int, close: set[str], file: set[str]) -> bool:
    """Whether a line (with its path) and its file have enough of the words to be what was asked for."""
    if wanted <= _TOGETHER:
        return len(close) == wanted
    return len(close) >= _TOGETHER and len(file) >= _MOST_OF * wanted


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].casefold()


def _adjacent(text: str, words: Sequence[str]) -> bool:
    return any(
        re.search(rf"(?i){re.escape(first)}\w{{0,3}}[\s_-]?{re.escape(second)}", text) is not None
        for first, second in pairwise(words)
    )


def block(lines: Sequence[Line], *, most: int) -> tuple[Line, ...]:
    """The first line, what is indented below it, and its closing line; at most ``most`` lines."""
    if not lines:
        return ()
    first = lines[0]
    margin = _indent(first.text)
    kept = [first]
    opened = first.text.rstrip().endswith(("(", "[", "{", ":", "=", ",", "\\"))
    for line in lines[1:most]:
        bare = line.text.strip()
        closing = bare.startswith((")", "]", "}", "end", "esac", "fi"))
        if bare and _indent(line.text) <= margin and not closing:
            break
        if not opened:
            break
        kept.append(line)
        if closing and _indent(line.text) <= margin and not bare.endswith((":", "{", "(", "[")):
            break
    while len(kept) > 1 and not kept[-1].text.strip():
        kept.pop()
    return tuple(kept)


def _indent(text: str) -> int:
    expanded = text.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())
