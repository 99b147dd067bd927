"""What a peer may write, and when: every rule of the peer's API that needs no database."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from manager.decisions.assessment import ACCEPTING, NEEDS, TABLE, Assessment, AssessmentEvent, event_for
from manager.decisions.assignment import Assignment
from manager.decisions.brief import Brief, BriefEvidence
from manager.decisions.work import Work
from manager.ids import AttemptId, RequestId
from returns.ids import Millis

PRESENCE_LIVE_MS: Final = 120_000
"""An executor that said something within this time is live."""


class Code(Enum):
    """Why a write was refused: the names of the API's errors."""

    INVALID_REQUEST = "invalid_request"
    """A field is missing or wrong; the caller can correct it."""
    UNAUTHENTICATED = "unauthenticated"
    """The peer was removed in the meantime."""
    FORBIDDEN = "forbidden"
    """A stopped peer wanted something new."""
    NOT_FOUND = "not_found"
    """There is no such thing, or it is not the caller's."""
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    """The key was used for something else."""
    REVISION_CONFLICT = "revision_conflict"
    """There is a newer revision."""
    STALE_ATTEMPT = "stale_attempt"
    """A newer presentation took this one's place."""
    BINDING_HELD = "binding_held"
    """Another live executor speaks for the peer."""
    NOT_PRESENTED = "not_presented"
    """No turn of the peer was given the request."""
    NOT_ASSESSED = "not_assessed"
    """The peer has not said that it does this."""
    CYCLE = "cycle"
    """The chain of delegations would close or grow too long."""
    ALREADY_FINAL = "already_final"
    """It is decided."""
    SLOW_DOWN = "slow_down"
    """Too many at once."""


STATUS: Final[dict[Code, int]] = {
    Code.INVALID_REQUEST: 400,
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.NOT_FOUND: 404,
    Code.IDEMPOTENCY_CONFLICT: 409,
    Code.REVISION_CONFLICT: 409,
    Code.STALE_ATTEMPT: 409,
    Code.BINDING_HELD: 409,
    Code.NOT_PRESENTED: 409,
    Code.NOT_ASSESSED: 409,
    Code.CYCLE: 409,
    Code.ALREADY_FINAL: 409,
    Code.SLOW_DOWN: 429,
}


class Refused(Exception):
    """A peer's write was refused and moved nothing. The caller was wrong, the outcome is certain."""

    def __init__(self, code: Code, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field


class Outcome(Enum):
    """How a peer's work ended."""

    RESOLVED = "resolved"
    """Here is the result."""
    DECLINED = "declined"
    """There will be none, and this is why."""


@dataclass(frozen=True, slots=True)
class Present:
    """A turn of the peer was given the request."""

    request_id: RequestId
    revision: int
    turn: str | None


@dataclass(frozen=True, slots=True)
class Assess:
    """What the peer thinks of it."""

    request_id: RequestId
    revision: int
    assessment: Assessment
    attempt: AttemptId | None = None
    accepted_scope: str | None = None
    remaining: str | None = None
    reason: str | None = None
    resume_condition: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the peer is."""

    request_id: RequestId
    revision: int
    text: str
    attempt: AttemptId | None = None


@dataclass(frozen=True, slots=True)
class Conclude:
    """The peer's result; ``text`` is Markdown."""

    request_id: RequestId
    revision: int
    outcome: Outcome
    text: str
    attempt: AttemptId | None = None
    covers: tuple[str, ...] = ()
    remaining: str | None = None
    evidence: tuple[BriefEvidence, ...] = ()
    artifacts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HandOn:
    """The peer delegates a part to another peer."""

    to: str
    parent: RequestId
    intent: str
    brief: Brief


@dataclass(frozen=True, slots=True)
class Appear:
    """The peer says whether it is there."""

    presence: str
    capacity: int | None = None
    executor: str | None = None
    host_surface: str | None = None


RevisionWrite: TypeAlias = Present | Assess | Progress | Conclude
Write: TypeAlias = RevisionWrite | HandOn | Appear


@dataclass(frozen=True, slots=True)
class Standing:
    """A revision as a peer's write meets it."""

    assignment: Assignment
    assessment: Assessment
    work: Work
    has_result: bool


def assessment_event(write: Assess) -> AssessmentEvent:
    """The event of an assessment that says all it must. Raises ``Refused`` with the field that is missing."""
    event = event_for(write.assessment)
    if event is None:
        raise Refused(Code.INVALID_REQUEST, "An assessment is not pending; say what it is.", "assessment")
    said = {
        "accepted_scope": write.accepted_scope,
        "remaining": write.remaining,
        "reason": write.reason,
        "resume_condition": write.resume_condition,
        "owner": write.owner,
    }
    for field in NEEDS[write.assessment]:
        if not (said[field] or "").strip():
            raise Refused(Code.INVALID_REQUEST, f"{write.assessment.value} needs {field}.", field)
    return event


def check_present(standing: Standing) -> None:
    """May a turn be given the request? Raises ``Refused``."""
    _check_open(standing)


def check_assess(standing: Standing, event: AssessmentEvent) -> None:
    """May it be assessed so, now? Raises ``Refused``."""
    _check_presented(standing)
    if (standing.assessment, event) not in TABLE:
        raise Refused(Code.ALREADY_FINAL, f"This revision is {standing.assessment.value}; only deferred may change.")
    _check_open(standing)


def check_progress(standing: Standing) -> None:
    """May progress be told, now? Raises ``Refused``."""
    _check_presented(standing)
    _check_open(standing)


def check_conclude(standing: Standing, outcome: Outcome) -> None:
    """May there be a result, now? Raises ``Refused``.

    A rejection has ended the work already; the one result that may still follow says ``declined`` in full.
    """
    _check_presented(standing)
    if standing.work is Work.CANCELLED:
        raise Refused(Code.ALREADY_FINAL, "This request was cancelled; its result is told to nobody.")
    if standing.has_result:
        raise Refused(Code.ALREADY_FINAL, "This revision has its result already.")
    if standing.assessment is Assessment.PENDING:
        raise Refused(Code.NOT_ASSESSED, "Assess the request first.")
    if outcome is Outcome.RESOLVED and standing.assessment not in ACCEPTING:
        raise Refused(
            Code.NOT_ASSESSED, f"The request is {standing.assessment.value}; only an accepted one can be resolved."
        )
    if standing.assessment is not Assessment.REJECTED:
        _check_open(standing)


def held_by_another(
    *, holder: str | None, said_at: Millis | None, away: bool, executor: str | None, now: Millis
) -> bool:
    """Whether another live executor than ``executor`` speaks for the peer; one that names none claims nothing."""
    if holder is None or executor is None or holder == executor or away or said_at is None:
        return False
    return now - said_at < PRESENCE_LIVE_MS


def _check_presented(standing: Standing) -> None:
    if standing.assignment is not Assignment.PRESENTED:
        raise Refused(Code.NOT_PRESENTED, "Present the request first, when a turn of yours has it.")


def _check_open(standing: Standing) -> None:
    if standing.work is not Work.OPEN:
        raise Refused(Code.ALREADY_FINAL, f"This request is {standing.work.value}.")


MOST_PROGRESS: Final = 500
MOST_PRESENTED: Final = 200
"""How often one request takes them: a timeline stays one that a person reads."""


def check_room(times: int, most: int) -> None:
    """Raise ``Refused`` where a request has been written to so often already."""
    if times >= most:
        raise Refused(Code.SLOW_DOWN, f"This request has had {most} of these already; conclude it.")
