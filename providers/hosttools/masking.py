"""Keeps obvious secrets out of what is shown. Pure.

A belt, not braces: what must not be read belongs outside the workspaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

MASK: Final = "[masked]"

_LONG: Final = re.compile(r"[A-Za-z0-9._~+/-]{12}|-----BEGIN")
_NAMED: Final = re.compile(r"secret|passw|passphrase|token|key|credential", re.IGNORECASE)
"""Most lines have neither: the costly patterns are for the others."""

_NAME: Final = (
    r"(?<![\w.-])[\"']?[\w.-]{0,64}"
    r"(?:secret|passw(?:or)?d|passphrase|token|api[_-]?key|access[_-]?key|private[_-]?key|encrypt(?:ion)?[_-]?key|credential)"
    r"[\w-]{0,32}[\"']?"
)
_ASSIGN: Final = r"\s{0,8}(?::\s{0,4}[\w\[\]|. ]{1,40}=|:=|=>|=|:)\s{0,8}"
_QUOTED: Final = re.compile(rf"({_NAME}{_ASSIGN}[rbuf]?)([\"'`])((?:(?!\2).){{4,}})(\2|$)", re.IGNORECASE)
_BARE: Final = re.compile(
    rf"({_NAME}{_ASSIGN})(?=[^\s\"'`]*\d)(?=[^\s\"'`]*[A-Za-z])([A-Za-z0-9_+/=.~!@#%^&*-]{{6,}})(?=\s*(?:[#;,].*)?$)",
    re.IGNORECASE,
)
_SHAPES: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|sk-[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|[tu]-[A-Za-z0-9._-]{32,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
)
_BEARER: Final = re.compile(r"(\b(?:bearer|basic)\s+)(?=[^\s\"']*\d)[A-Za-z0-9._~+/-]{16,}=*", re.IGNORECASE)
_USERINFO: Final = re.compile(r"(://[^\s/:@\"']{1,128}:)[^\s/@\"']{1,256}(?=@)")
_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*")
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE: Final = re.compile(r"^[\s\"'+]*(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[0-9+/])[A-Za-z0-9+/]{48,}={0,2}[\s\"'\\n,)]*$")


def mask(line: str) -> str:
    """``line`` with the values of obvious secrets replaced by ``[masked]``. One line; blocks need ``mask_lines``."""
    if _LONG.search(line):
        if _KEY_LINE.match(line):
            return MASK
        line = _SHAPES.sub(MASK, _BEGIN.sub(MASK, line))
        line = _BEARER.sub(rf"\1{MASK}", line)
    if "://" in line:
        line = _USERINFO.sub(rf"\1{MASK}", line)
    if not _NAMED.search(line):
        return line
    line = _QUOTED.sub(rf"\1\2{MASK}\4", line)
    return _BARE.sub(rf"\1{MASK}", line)


def mask_lines(lines: Iterable[str]) -> Iterator[str]:
    """Mask line by line, and every line of a private key's block, from its first line to its last."""
    inside = False
    for line in lines:
        if inside:
            inside = _END.search(line) is None
            yield MASK
            continue
        inside = _BEGIN.search(line) is not None and _END.search(line) is None
        yield mask(line)
