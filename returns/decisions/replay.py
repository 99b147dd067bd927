"""The facts of deliveries folded into what the tables show: each part's public columns, and each answer's row.

Pure, and no part of any delivery: it is what the tables can be held against, and how an exported file is read. Only
moves are looked at; a fact that moved nothing says nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from returns.decisions.answering import Standing, Summary, kept_of_replaced, of_answer, summarise
from returns.delivery import Error, Event, State, Verification, advance
from returns.ids import Millis, ReturnId, SubjectId

Detail: TypeAlias = Mapping[str, object]

QUEUED: Final = "return_queued"
"""The fact that a return was committed."""

STANDS_AGAIN: Final = "answer_stands_again"
"""The fact that an earlier answer is the subject's again."""

ANSWER: Final = "answer"


class BrokenHistory(Exception):
    """The facts tell something that cannot have happened: they are not all there, or not in their order."""

    code = "broken_history"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A fact as it was recorded."""

    subject: SubjectId
    return_id: ReturnId
    position: int | None
    at: Millis
    fact: str
    detail: Detail


@dataclass(frozen=True, slots=True)
class PartSeen:
    """A part's public columns."""

    standing: Standing
    placement: str = "reply"
    first_attempt_at: Millis | None = None
    last_attempt_at: Millis | None = None


@dataclass(frozen=True, slots=True)
class ReturnSeen:
    """A return's public columns."""

    subject: SubjectId
    revision: int
    kind: str
    parts: int
    replaces: ReturnId | None
    created_at: Millis


@dataclass(frozen=True, slots=True)
class AnswerSeen:
    """A row of the answers."""

    return_id: ReturnId
    revision: int
    summary: Summary


@dataclass(slots=True)
class Replayed:
    """What the facts say."""

    returns: dict[ReturnId, ReturnSeen] = field(default_factory=dict[ReturnId, ReturnSeen])
    parts: dict[tuple[ReturnId, int], PartSeen] = field(default_factory=dict[tuple[ReturnId, int], PartSeen])
    latest: dict[SubjectId, ReturnId] = field(default_factory=dict[SubjectId, ReturnId])
    replaced_by: dict[ReturnId, ReturnId] = field(default_factory=dict[ReturnId, ReturnId])

    def take(self, fact: Recorded) -> None:
        """Take the next fact. Raises ``BrokenHistory``."""
        if fact.fact == QUEUED:
            self._open(fact)
        elif fact.fact == STANDS_AGAIN:
            self.latest[fact.subject] = fact.return_id
        elif fact.position is not None and "event" in fact.detail:
            self._move(fact, fact.position)

    def answers(self) -> dict[SubjectId, AnswerSeen]:
        """The answers' rows."""
        return {
            subject: AnswerSeen(return_id, self.returns[return_id].revision, summarise(self._of_answer(return_id)))
            for subject, return_id in self.latest.items()
        }

    def _open(self, fact: Recorded) -> None:
        opened = _opened(fact)
        self.returns[fact.return_id] = opened
        if opened.replaces is not None:
            self.replaced_by[opened.replaces] = fact.return_id
        for position in range(opened.parts):
            self.parts[fact.return_id, position] = PartSeen(Standing(State.QUEUED))
        current = self.latest.get(fact.subject)
        if opened.kind == ANSWER and (current is None or self.returns[current].revision <= opened.revision):
            self.latest[fact.subject] = fact.return_id

    def _move(self, fact: Recorded, position: int) -> None:
        before = self.parts.get((fact.return_id, position))
        if before is None:
            raise BrokenHistory(f"part {position + 1} of {fact.return_id} moved before its return was queued")
        event, target = Event(fact.detail["event"]), State(fact.detail["state"])
        if advance(before.standing.state, event) is not target:
            raise BrokenHistory(f"{event.value} does not lead from {before.standing.state.value} to {target.value}")
        self.parts[fact.return_id, position] = _moved(before, event, target, fact)
        self._follow(fact.return_id, position, before.standing.state, target)

    def _follow(self, return_id: ReturnId, position: int, source: State, target: State) -> None:
        """What a move says of the queued parts behind it."""
        behind = range(position + 1, self.returns[return_id].parts)
        if target is State.DELIVERED:
            self._hold(return_id, behind[:1], None)
            for later, at in self._repeated_by(return_id, position):
                self._hold(later, range(at + 1, self.returns[later].parts)[:1], None)
        elif target in (State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE) and self._repeats(return_id, position):
            self._hold(return_id, behind[:1], None)
        elif target in (State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE):
            self._hold(return_id, behind, Error.EARLIER_PART_UNVERIFIED)
        elif source is State.EXPLICIT_UNVERIFIED:
            self._hold(return_id, behind, None)

    def _hold(self, return_id: ReturnId, positions: Iterable[int], error: Error | None) -> None:
        for position in positions:
            part = self.parts[return_id, position]
            if part.standing.state is State.QUEUED:
                self.parts[return_id, position] = replace(part, standing=replace(part.standing, error=error))

    def _repeated_by(self, return_id: ReturnId, position: int) -> Iterator[tuple[ReturnId, int]]:
        """The same part of the returns that replace this one, one after the other."""
        while (later := self.replaced_by.get(return_id)) is not None:
            position -= kept_of_replaced(self.returns[return_id].parts, self.returns[later].parts)
            if position < 0:
                return
            yield later, position
            return_id = later

    def _repeats(self, return_id: ReturnId, position: int) -> bool:
        """Whether the same part of a return that this one replaces is delivered."""
        while (replaced := self.returns[return_id].replaces) is not None and replaced in self.returns:
            position += kept_of_replaced(self.returns[replaced].parts, self.returns[return_id].parts)
            before = self.parts.get((replaced, position))
            if before is not None and before.standing.state is State.DELIVERED:
                return True
            return_id = replaced
        return False

    def _of_answer(self, return_id: ReturnId) -> list[Standing]:
        """The parts of a return, and those that stay of the ones that it replaces."""
        chain: list[list[Standing]] = []
        at: ReturnId | None = return_id
        while at is not None:
            opened = self.returns[at]
            chain.insert(0, [self.parts[at, position].standing for position in range(opened.parts)])
            if opened.replaces is not None and opened.replaces not in self.returns:
                raise BrokenHistory(f"{at} replaces {opened.replaces}, of which nothing is known")
            at = opened.replaces
        return of_answer(chain)


def fold(facts: Iterable[Recorded]) -> Replayed:
    """Fold facts in the order in which they were recorded. Raises ``BrokenHistory``, ``IllegalTransition``."""
    replayed = Replayed()
    for fact in facts:
        replayed.take(fact)
    return replayed


def _opened(fact: Recorded) -> ReturnSeen:
    detail = fact.detail
    replaces, revision, parts = detail.get("replaces"), detail.get("revision"), detail.get("parts")
    if not isinstance(revision, int) or not isinstance(parts, int):
        raise BrokenHistory(f"{fact.return_id} was queued without a revision or without parts")
    replaced = ReturnId(replaces) if isinstance(replaces, str) else None
    return ReturnSeen(fact.subject, revision, str(detail.get("kind")), parts, replaced, fact.at)


def _moved(before: PartSeen, event: Event, target: State, fact: Recorded) -> PartSeen:
    detail, was = fact.detail, before.standing
    error, verification, attempt = detail.get("error"), detail.get("verification"), detail.get("attempt")
    standing = Standing(
        state=target,
        error=None if error is None else Error(error),
        verification=was.verification if verification is None else Verification(verification),
        attempts=attempt if isinstance(attempt, int) else was.attempts,
        needs_configuration=detail.get("needs_configuration") is True,
        delivered_at=fact.at if target is State.DELIVERED else was.delivered_at,
    )
    attempted = event is Event.ATTEMPT
    return PartSeen(
        standing=standing,
        placement=str(detail.get("placement", before.placement)),
        first_attempt_at=fact.at if attempted and before.first_attempt_at is None else before.first_attempt_at,
        last_attempt_at=fact.at if attempted else before.last_attempt_at,
    )
