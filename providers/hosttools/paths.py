"""Which paths inside a workspace may be read at all. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from providers.hosttools.refusals import Denied

LONGEST_PATH: Final = 1024

_NEVER_NAMES: Final = frozenset(
    {
        "steward.toml",
        ".env",
        ".netrc",
        ".pgpass",
        ".git-credentials",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    }
)
_DRIVE: Final = re.compile(r"^[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class Hidden:
    """What of one workspace is never readable, beside what never is anywhere: relative paths and all below them."""

    prefixes: tuple[str, ...] = ()
    everything: bool = False
    """The whole workspace lies inside something hidden."""

    def refuse(self, path: str) -> None:
        """Raise ``Denied`` when ``path`` (relative, clean) is hidden or never readable."""
        parts = path.casefold().split("/")
        if ".git" in parts:
            raise Denied("git's own files are never read")
        if parts[-1] in _NEVER_NAMES:
            raise Denied("configuration and credentials are never read")
        if self.everything or any(path == prefix or path.startswith(prefix + "/") for prefix in self.prefixes):
            raise Denied("this part of the workspace is private to the steward or its owner")

    def allows(self, path: str) -> bool:
        """Whether ``path`` (relative, clean) may be read."""
        try:
            self.refuse(path)
        except Denied:
            return False
        return True


def clean(path: str) -> str:
    """The relative form of ``path`` with ``/`` between its parts. Raises ``Denied`` for what leaves the workspace."""
    if not path or len(path) > LONGEST_PATH:
        raise Denied("a path is between 1 and 1024 characters long")
    if path.startswith(("/", "\\", "~")) or _DRIVE.match(path):
        raise Denied("only paths inside the workspace are read, not absolute ones")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise Denied("a path must not lead out of the workspace")
    if not parts or any(unicodedata.category(char) == "Cc" for char in path):
        raise Denied("this is no path of a file")
    return "/".join(parts)


def shown(raw: bytes) -> str:
    """A path as it is shown: what is not UTF-8, and characters that steer a display, are escaped."""
    text = raw.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
