"""What an investigation found, and what it could not read."""

from __future__ import annotations

from dataclasses import dataclass, field

from manager.decisions.decision import Evidence
from manager.ports import Commit, Line
from providers.runtimes.rules.defining import Defined
from providers.runtimes.rules.ranking import Place


@dataclass(frozen=True, slots=True)
class History:
    """Commits that answer who, when and why, and what they are commits of."""

    subject: str
    """A path, a path with a line, an author, or empty for the whole workspace."""
    commits: tuple[Commit, ...]
    truncated: bool
    line: Line | None = None
    """The line whose last change the first commit is."""


@dataclass(slots=True)
class Findings:
    """Filled in as the investigation goes on."""

    places: list[Place] = field(default_factory=list[Place])
    more: bool = False
    """There are more places than are listed."""
    code: tuple[Line, ...] = ()
    """The first place with what belongs to it."""
    defined: Defined | None = None
    """What the first place surely defines, of the names asked for."""
    passing: bool = False
    """The only word stands somewhere, but no place is about it."""
    files: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Files that were asked for by name."""
    folder: str = ""
    """The folder that was asked for, where ``files`` are what lies below it."""
    commits: list[Commit] = field(default_factory=list[Commit])
    """Commits that were asked for by name, or the last one."""
    histories: list[History] = field(default_factory=list[History])
    denied: list[Evidence] = field(default_factory=list[Evidence])
    """What may not be read, with the reason as excerpt."""
    unavailable: list[str] = field(default_factory=list[str])
    """Why a workspace or tool could not be asked."""
    ambiguous: str = ""

    @property
    def anything(self) -> bool:
        """Whether there is something to answer with."""
        return bool(self.places or self.files or self.commits or any(history.commits for history in self.histories))
