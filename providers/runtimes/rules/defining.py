"""Whether a line surely defines a name: as a class, a function, or a value at module or class level. Pure.

Stricter than what ranks places: only of this is it said that something "is defined" there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Sort(Enum):
    """What a name is defined as."""

    CLASS = "class"
    """A class, struct, interface, enum, trait or type."""
    FUNCTION = "function"
    """A function or method."""
    VALUE = "value"
    """A constant, variable, field or key."""


@dataclass(frozen=True, slots=True)
class Defined:
    """A definition."""

    name: str
    """As it is spelt there, with its owner where the question gave one."""
    sort: Sort


ABOVE: Final = 300
"""How many lines above are looked at for what encloses a line."""

_CLASSES: Final = "class|struct|enum|trait|interface|namespace|object|record|union|protocol|type|mod|module|impl"
_MODS: Final = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|extern|inline|declare"
    r"|readonly|pub(?:\([^)]{0,40}\))?)\s+){0,6}"
)
_KEYWORD: Final = re.compile(
    rf"\s*{_MODS}(?P<word>{_CLASSES}|def|function\*?|func|fn|macro_rules!)\s+"
    r"(?:\((?P<receiver>[^)]{0,80})\)\s*)?(?P<name>\w+)"
    r"(?P<tail>\s*(?:$|[(:<\[{=;,!?]|(?:extends|implements|struct|interface|where|for|with|permits|is|as|do)\b))?"
)
_VALUE: Final = re.compile(
    rf"\s*{_MODS}(?:(?:const|let|var|val)\s+)?[\"']?(?P<name>\w[\w-]*)[\"']?\s*(?::[^=]{{1,120}})?(?:=(?![=>])|:=)"
)
_KEY: Final = re.compile(rf"\s*{_MODS}[\"']?(?P<name>\w[\w-]*)[\"']?\s*\??:(?![:=])")
_MACRO: Final = re.compile(
    r"\s*#\s*define\s+(?P<name>\w+)|\s*create\s+(?:table|view|index)\s+(?:if\s+not\s+exists\s+)?\W?(?P<table>\w+)",
    re.IGNORECASE,
)
_SHELL: Final = re.compile(r"(?P<name>\w[\w-]*)\s*\(\)\s*\{")
_C: Final = re.compile(
    r"(?!return\b|else\b|throw\b|new\b|await\b)(?:[\w<>\[\],*&:]+\s+){1,8}\*?(?P<name>\w+)\s*\([^;]*$"
)
_PROSE: Final = re.compile(r"\.(?:md|rst|txt|adoc|html|log|csv)$|(?:^|/)[A-Z]+$")
_KEYED: Final = re.compile(r"\.(?:pyi?|ya?ml|mk|ts|tsx|kt|swift|json)$|(?:^|/)Makefile$")
_TYPED: Final = re.compile(r"\.(?:c|h|cc|cpp|hpp|java|cs|dart)$")


def sort_asked(topic: str, symbols: Sequence[str]) -> Sort | None:
    """What the question says that its only name is: a class or a function."""
    if len(symbols) != 1:
        return None
    name = rf"[`\"'“]?{re.escape(symbols[0])}(?:\(\))?[`\"'”]?(?![\w.])"
    sorts = (
        (Sort.CLASS, "class|interface|struct|enum", "类|接口|枚举"),
        (Sort.FUNCTION, "function|method", "函数|方法"),
    )
    for sort, english, chinese in sorts:
        form = rf"\b(?:{english})\s+{name}|{name}\s+(?:{english})\b"
        form += rf"|(?:{chinese})\s*{name}|{name}\s*(?:这个|的)?\s*(?:{chinese})"
        if re.search(form, topic, re.IGNORECASE):
            return sort
    return None


def defined_as(name: str, text: str, path: str, above: Sequence[str] = ()) -> Defined | None:
    """What the line ``text`` of ``path`` defines ``name`` as; ``above`` are the lines before it."""
    owner, _, last = name.rpartition(".")
    found = _definition(text, path)
    if found is None or not _same(found.name, last):
        return None
    inside = bool(text[:1].isspace())
    outer = _enclosing(text, above) if inside else None
    if inside and found.sort is Sort.VALUE and outer is None:
        return None
    if not owner:
        return found
    names = [outer] if outer else [] if inside else [*_module(path), _receiver(text)]
    nearest = owner.rpartition(".")[2]
    spelt = next((one for one in names if one and _same(one, nearest)), None)
    return Defined(f"{owner[: len(owner) - len(nearest)]}{spelt}.{found.name}", found.sort) if spelt else None


def _definition(text: str, path: str) -> Defined | None:
    if _PROSE.search(path):
        return None
    keyword = _KEYWORD.match(text)
    if keyword and keyword["word"] != "impl" and (keyword["tail"] is not None or path.endswith(".go")):
        classes = re.fullmatch(_CLASSES, keyword["word"])
        return Defined(keyword["name"], Sort.CLASS if classes else Sort.FUNCTION)
    macro = _MACRO.match(text)
    if macro:
        return Defined(macro["name"] or macro["table"], Sort.VALUE)
    for pattern, sort, where in (
        (_SHELL, Sort.FUNCTION, None),
        (_C, Sort.FUNCTION, _TYPED),
        (_VALUE, Sort.VALUE, None),
    ):
        matched = pattern.match(text) if where is None or where.search(path) else None
        if matched:
            return Defined(matched["name"], sort)
    key = _KEY.match(text) if _KEYED.search(path) else None
    return Defined(key["name"], Sort.VALUE) if key else None


def _enclosing(text: str, above: Sequence[str]) -> str | None:
    """The class whose body the line stands in directly."""
    margin = _indent(text)
    for line in reversed(above):
        if not line.strip() or _indent(line) >= margin:
            continue
        if line.lstrip().startswith((")", "#", "//", "*")):
            continue
        opener = re.match(rf"\s*{_MODS}(?:{_CLASSES})\s+(?P<name>\w+)", line)
        return opener["name"] if opener else None
    return None


def _module(path: str) -> list[str]:
    """What a module of that path is called: its file, or its folder where the file is only the folder's beginning."""
    *folders, file = path.split("/")
    stem = file.partition(".")[0]
    return folders[-1:] if stem in {"__init__", "index", "mod"} else [stem]


def _receiver(text: str) -> str:
    keyword = _KEYWORD.match(text)
    found = re.search(r"(\w+)\W*$", keyword["receiver"] or "") if keyword else None
    return found[1] if found else ""


def _same(spelt: str, asked: str) -> bool:
    """Whether it is exactly that name; who writes all in small letters may mean any."""
    return spelt == asked or (asked.islower() and spelt.casefold() == asked)


def _indent(text: str) -> int:
    expanded = text.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())
