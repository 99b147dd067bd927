"""What git tracks at a revision, by the path as it is shown. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from providers.hosttools.paths import Hidden, shown
from providers.hosttools.refusals import NOT_TRACKED, Denied


class Kind(Enum):
    """What a tracked path is."""

    FILE = "file"
    LINK = "link"
    SUBMODULE = "submodule"


@dataclass(frozen=True, slots=True)
class Tracked:
    """A tracked path."""

    kind: Kind
    blob: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Tree:
    """Everything that is tracked in a workspace."""

    entries: dict[str, Tracked]
    truncated: bool

    def file(self, path: str) -> Tracked:
        """The tracked file at ``path``. Raises ``Denied`` for a link, a submodule, a folder, or what is not tracked."""
        entry = self.entries.get(path)
        if entry is None:
            if any(name.startswith(path + "/") for name in self.entries):
                raise Denied("this is a folder")
            raise Denied(NOT_TRACKED)
        if entry.kind is Kind.LINK:
            raise Denied("this is a symbolic link; links are not followed")
        if entry.kind is Kind.SUBMODULE:
            raise Denied("this is a submodule; it would have to be declared as a workspace of its own")
        return entry


def parse_tree(output: bytes, *, hidden: Hidden, limit: int, truncated: bool) -> Tree:
    """The readable part of what ``git ls-tree -r -z`` printed."""
    records = output.split(b"\0")
    if truncated and records:
        records.pop()
    entries: dict[str, Tracked] = {}
    for record in records:
        head, _, raw = record.partition(b"\t")
        mode, _, rest = head.partition(b" ")
        if not raw:
            continue
        if len(entries) >= limit:
            return Tree(entries, truncated=True)
        path = shown(raw)
        if hidden.allows(path):
            entries[path] = Tracked(_kind(mode), rest.rpartition(b" ")[2].decode("ascii", "replace"), raw)
    return Tree(entries, truncated)


def _kind(mode: bytes) -> Kind:
    if mode == b"120000":
        return Kind.LINK
    return Kind.SUBMODULE if mode == b"160000" else Kind.FILE
