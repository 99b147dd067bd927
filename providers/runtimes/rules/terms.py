"""What the question is about: files, symbols, commits, quoted strings, words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from providers.runtimes.rules import stopwords


class Kind(Enum):
    """How a term is looked for."""

    PATH = "path"
    """A file or folder, perhaps with a line."""
    COMMIT = "commit"
    """(The beginning of) a commit's name."""
    IDENTIFIER = "identifier"
    """A symbol: looked for as a whole word, its definition first."""
    LITERAL = "literal"
    """A quoted string: looked for exactly."""
    WORD = "word"
    """A plain word: counts together with others."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that the question is about."""

    kind: Kind
    text: str
    line: int | None = None


MOST_TERMS: Final = 8
_LONGEST: Final = 200

_EXTENSIONS: Final = (
    "bash|bat|c|cc|cfg|conf|cpp|cs|css|csv|dart|env|ex|exs|go|gradle|h|hpp|html|ini|ipynb|java|js|json|jsonl|jsx|kt|lock|log|lua|md|mjs|php|pl|pem|proto|ps1"
    "|py|pyi|rb|rs|rst|scala|scss|sh|sql|svg|swift|tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zsh"
)
_NAMES: Final = "Makefile|Dockerfile|README|LICENSE|CHANGELOG|CONTRIBUTING|CODEOWNERS|Procfile|Justfile"
_PATH_CHARS: Final = r"[A-Za-z0-9_.@+-]"
_PATH: Final = re.compile(
    rf"""(?<![A-Za-z0-9_.@/+~-])(
        (?:~|\.{{1,2}})?/?(?:{_PATH_CHARS}+/)+{_PATH_CHARS}*      # with folders
      | /{_PATH_CHARS}+
      | \.?[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*\.(?:{_EXTENSIONS})(?![A-Za-z0-9_])
      | (?:{_NAMES})(?![A-Za-z0-9_.])
      | \.(?:gitignore|gitattributes|gitmodules|git|env|dockerignore|editorconfig|ci)(?![A-Za-z0-9_])
    )(?:(?::|\#L|\ line\ |\ 第\ ?)(\d{{1,7}}))?(?:@[0-9a-f]{{7,40}})?""",
    re.VERBOSE,
)
_COMMIT: Final = re.compile(
    r"(?<![A-Za-z0-9_/.-])(?=[a-f]*[0-9])([0-9a-f]{7,40})(?![A-Za-z0-9_/-]|\.\w)", re.IGNORECASE
)
_NAMED_COMMIT: Final = re.compile(
    r"(?:commit|revision|提交)\s*[:：#]?\s*([0-9a-f]{4,40})(?![A-Za-z0-9_])", re.IGNORECASE
)
_IDENTIFIER: Final = re.compile(
    r"""(?<![A-Za-z0-9_.@])(
        [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?                # dotted
      | [A-Za-z]\w*_\w+(?:\(\))? | _\w{2,}(?:\(\))?             # snake_case
      | [A-Za-z]+[a-z0-9][A-Z]\w*(?:\(\))? | [A-Z]{2,}[a-z]\w+(?:\(\))?   # CamelCase
      | [A-Za-z]\w*\(\)                                         # called
    )(?![A-Za-z0-9_])""",
    re.VERBOSE | re.ASCII,
)
_CITED: Final = re.compile(
    r"```[^\n]*\n?(.*?)(?:```|\Z)|`([^`\n]+)`|\"([^\"\n]{1,400})\"|“([^”\n]{1,400})”|‘([^’\n]{1,400})’|「([^」\n]{1,400})」|『([^』\n]{1,400})』|(?<!\w)'([^'\n]{1,400})'(?!\w)",
    re.DOTALL,
)
_ADDRESS: Final = re.compile(r"https?://[^\s，。；！？）】]+")
_MENTION: Final = re.compile(r"(?<!\w)@\S+")
_LATIN: Final = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z][A-Za-z0-9]*(?:[-'’][A-Za-z0-9]+)*")
_HAN_RUN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_LINE: Final = re.compile(r"\blines?\s+(\d{1,7})(?!\w)|第\s*(\d{1,7})\s*行", re.IGNORECASE)
_SYMBOL: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)*(?:\(\))?", re.ASCII)


def terms_of(text: str, *, chinese: bool) -> tuple[Term, ...]:
    """The terms of ``text`` in order of their weight; in a Chinese question a single Latin word is a symbol."""
    found: dict[tuple[Kind, str], Term] = {}
    rest = _ADDRESS.sub(" ", text)
    for step in (_take_cited, _take_paths, _take_commits, _take_identifiers):
        rest = step(rest, found)
    for term in _words(_MENTION.sub(" ", rest), chinese=chinese):
        found.setdefault((term.kind, term.text.casefold()), term)
    return _with_line(rest, tuple(found.values())[:MOST_TERMS])


def symbols_of(terms: Sequence[Term]) -> list[str]:
    """The names among the terms; a single plain word may be one."""
    named = [term.text for term in terms if term.kind in {Kind.IDENTIFIER, Kind.LITERAL}]
    return named or [term.text for term in terms if len(terms) == 1 and term.kind is Kind.WORD]


def _with_line(rest: str, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """A line that stands apart from its file: "line 41 of a.py"; only where a single file is named."""
    paths = [term for term in terms if term.kind is Kind.PATH]
    line = _LINE.search(rest)
    if line is None or len(paths) != 1 or paths[0].line is not None:
        return terms
    number = int(line[1] or line[2])
    return tuple(replace(term, line=number) if term is paths[0] else term for term in terms)


def _take_cited(text: str, found: dict[tuple[Kind, str], Term]) -> str:
    def take(match: re.Match[str]) -> str:
        cited = next((group for group in match.groups() if group), "").strip()
        for line in cited.split("\n")[:2]:
            _keep(classify(line.strip()[:_LONGEST]), found)
        return " "

    return _CITED.sub(take, text)


def _take_paths(text: str, found: dict[tuple[Kind, str], Term]) -> str:
    def take(match: re.Match[str]) -> str:
        path = match[1].rstrip(".")
        if path.casefold() in stopwords.SLASHED or not re.search(r"[A-Za-z0-9]", path):
            return match.group()
        _keep(Term(Kind.PATH, path[:_LONGEST], int(match[2]) if match[2] else None), found)
        return " "

    return _PATH.sub(take, text)


def _take_commits(text: str, found: dict[tuple[Kind, str], Term]) -> str:
    def take(match: re.Match[str]) -> str:
        if match[1].isdecimal() and "commit" not in text.casefold() and "提交" not in text:
            return match.group()
        _keep(Term(Kind.COMMIT, match[1].casefold()), found)
        return " "

    return _COMMIT.sub(take, _NAMED_COMMIT.sub(take, text))


def _take_identifiers(text: str, found: dict[tuple[Kind, str], Term]) -> str:
    def take(match: re.Match[str]) -> str:
        if match[1].casefold() in {"e.g", "i.e"}:
            return " "
        _keep(Term(Kind.IDENTIFIER, match[1].removesuffix("()")[:_LONGEST]), found)
        return " "

    return _IDENTIFIER.sub(take, text)


def _keep(term: Term | None, found: dict[tuple[Kind, str], Term]) -> None:
    if term is not None:
        found.setdefault((term.kind, term.text), term)


def classify(cited: str) -> Term | None:
    """What a quoted string is: a path, a commit, a symbol, or just a string."""
    if not cited:
        return None
    path = _PATH.fullmatch(cited)
    if path:
        return Term(Kind.PATH, path[1], int(path[2]) if path[2] else None)
    if _COMMIT.fullmatch(cited):
        return Term(Kind.COMMIT, cited.casefold())
    if _SYMBOL.fullmatch(cited):
        return Term(Kind.IDENTIFIER, re.sub(r"::|#", ".", cited.removesuffix("()")))
    return Term(Kind.LITERAL, cited)


def _words(text: str, *, chinese: bool) -> list[Term]:
    latin = [word for word in _LATIN.findall(text) if len(word) > 1]
    kept = [word for word in latin if not stopwords.is_stop(word)]
    content = [word for word in kept if not stopwords.is_soft(word)]
    latin_terms = content or kept
    kind = Kind.IDENTIFIER if chinese and len(latin_terms) == 1 else Kind.WORD
    terms = [Term(kind, re.sub(r"['’]s$", "", word)) for word in latin_terms]
    for piece in stopwords.EMPTY_HAN.split(text):
        terms += [Term(Kind.WORD, run) for run in _HAN_RUN.findall(piece)]
    return terms
