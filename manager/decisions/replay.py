"""The facts of requests folded into what the tables show: the axes of every revision.

Pure, and no part of any work: it is what the tables can be held against, and how an exported file is read. A fact whose
name is not known here moved no axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from manager.decisions.assessment import Assessment
from manager.decisions.assignment import Assignment
from manager.decisions.work import Work
from returns.ids import Millis

Detail: TypeAlias = Mapping[str, object]

OPENING: Final = ("received", "corrected", "reopened")
"""The facts that open a revision."""

STANDS_AGAIN: Final = "earlier_answer_stands"
"""The fact that a revision was taken back and the answer of an earlier one is what the request shows."""

WORK: Final = {work.value: work for work in (Work.RESOLVED, Work.DECLINED, Work.CANCELLED)}
"""The facts that end the work are called as the state that they lead to."""


class BrokenHistory(Exception):
    """The facts tell something that cannot have happened: they are not all there, or not in their order."""

    code = "broken_history"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A fact as it was recorded."""

    request: str
    revision: int
    at: Millis
    fact: str
    detail: Detail


@dataclass(frozen=True, slots=True)
class RevisionSeen:
    """A revision's axes. ``receiver`` is the peer's name."""

    created_at: Millis
    receiver: str | None = None
    assignment: Assignment = Assignment.UNASSIGNED
    assessment: Assessment = Assessment.PENDING
    work: Work = Work.OPEN
    stored_at: Millis | None = None


@dataclass(slots=True)
class Replayed:
    """What the facts say."""

    revisions: dict[tuple[str, int], RevisionSeen] = field(default_factory=dict[tuple[str, int], RevisionSeen])
    standing: dict[str, int] = field(default_factory=dict[str, int])
    """The revision that each request shows: the newest, or an earlier one whose answer stands again."""

    def take(self, fact: Recorded) -> None:
        """Take the next fact. Raises ``BrokenHistory``."""
        key = (fact.request, fact.revision)
        if fact.fact in OPENING:
            if key in self.revisions:
                raise BrokenHistory(f"revision {fact.revision} of {fact.request} was opened twice")
            self.revisions[key] = RevisionSeen(created_at=fact.at)
            self.standing[fact.request] = fact.revision
            return
        if fact.fact == STANDS_AGAIN:
            self._stand_again(fact)
            return
        seen = self.revisions.get(key)
        after = None if seen is None else _moved(seen, fact)
        if after is not None:
            self.revisions[key] = after

    def _stand_again(self, fact: Recorded) -> None:
        standing = fact.detail.get("standing")
        if not isinstance(standing, int) or (fact.request, standing) not in self.revisions:
            raise BrokenHistory(f"revision {standing} of {fact.request} stands again and was never opened")
        self.standing[fact.request] = standing


def fold(facts: Iterable[Recorded]) -> Replayed:
    """Fold facts in the order in which they were recorded. Raises ``BrokenHistory``."""
    replayed = Replayed()
    for fact in facts:
        replayed.take(fact)
    return replayed


def _moved(seen: RevisionSeen, fact: Recorded) -> RevisionSeen | None:
    """The revision after the fact; None if that moved no axis."""
    match fact.fact:
        case "assigned":
            return replace(seen, assignment=Assignment.ASSIGNED, receiver=str(fact.detail["receiver"]))
        case "stored":
            return replace(seen, assignment=Assignment.STORED, stored_at=fact.at)
        case "presented":
            return replace(seen, assignment=Assignment.PRESENTED)
        case "assessed":
            return replace(seen, assessment=Assessment(fact.detail["assessment"]))
        case ended if ended in WORK:
            return replace(seen, work=WORK[ended])
        case _:
            return None
