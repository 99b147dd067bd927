"""What peers may send: every field checked, every text and list bounded, nothing unknown let in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from gateway.http.errors import ApiError
from manager.decisions.assessment import Assessment
from manager.decisions.brief import Brief, BriefEvidence, BriefMessage, BriefRejected, MessageKind, Rejected
from manager.decisions.decision import Evidence
from manager.decisions.peer_writes import Appear, Assess, Conclude, HandOn, Outcome, Present, Progress
from manager.ids import AttemptId, RequestId

MOST_RESULT_BYTES: Final = 256 * 1024
MOST_BRIEF_BYTES: Final = 256 * 1024
LONGEST_FIELD: Final = 120

Line = Annotated[str, StringConstraints(min_length=1, max_length=120)]
Words = Annotated[str, StringConstraints(max_length=4_000)]
Filled = Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=r"\S")]
Passage = Annotated[str, StringConstraints(max_length=64_000)]
Revision = Annotated[int, Field(ge=1, le=2_147_483_647)]
Texts = Annotated[list[Words], Field(max_length=100)]

B = TypeVar("B", bound=BaseModel)


class Strict(BaseModel):
    """No coercion, nothing unknown."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class EvidenceIn(Strict):
    """Something that was looked at."""

    source: Filled
    revision: Line | None = None
    status: Line = "reported"
    excerpt: Passage = ""


class RejectedIn(Strict):
    """An approach that is out, and why."""

    approach: Filled
    reason: Words = ""


class MessageIn(Strict):
    """A message that the request came from."""

    at: Line
    author: Line
    text: Passage
    kind: Literal["question", "correction", "quote"]


class BriefIn(Strict):
    """A brief; only its purpose is needed."""

    purpose: Filled
    messages: Annotated[list[MessageIn], Field(max_length=100)] = []
    constraints: Texts = []
    rejected: Annotated[list[Words | RejectedIn], Field(max_length=100)] = []
    evidence: Annotated[list[Words | EvidenceIn], Field(max_length=100)] = []
    questions: Texts = []
    owed: Texts = []
    omissions: Texts = []

    def brief(self) -> Brief:
        """The brief as a value."""
        return Brief(
            purpose=self.purpose,
            messages=tuple(
                BriefMessage(message.at, message.author, message.text, MessageKind(message.kind))
                for message in self.messages
            ),
            constraints=tuple(self.constraints),
            rejected=tuple(_rejected(item) for item in self.rejected),
            evidence=tuple(_evidence(item) for item in self.evidence),
            questions=tuple(self.questions),
            owed=tuple(self.owed),
            omissions=tuple(self.omissions),
        )


class PresentedIn(Strict):
    """``POST …/presented``."""

    revision: Revision
    turn: Line | None = None

    def write(self, request_id: RequestId) -> Present:
        """The write that this asks for."""
        return Present(request_id, self.revision, self.turn)


class AssessmentIn(Strict):
    """``POST …/assessment``."""

    revision: Revision
    attempt: Line | None = None
    assessment: Literal["accepted", "partially_accepted", "deferred", "rejected"]
    accepted_scope: Words | Texts | None = None
    remaining: Words | Texts | None = None
    reason: Words | None = None
    resume_condition: Words | None = None
    owner: Words | None = None

    def write(self, request_id: RequestId) -> Assess:
        """The write that this asks for."""
        return Assess(
            request_id=request_id,
            revision=self.revision,
            assessment=Assessment(self.assessment),
            attempt=_attempt(self.attempt),
            accepted_scope=_joined(self.accepted_scope),
            remaining=_joined(self.remaining),
            reason=self.reason,
            resume_condition=self.resume_condition,
            owner=self.owner,
        )


class ProgressIn(Strict):
    """``POST …/progress``."""

    revision: Revision
    attempt: Line | None = None
    text: Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"\S")]

    def write(self, request_id: RequestId) -> Progress:
        """The write that this asks for."""
        return Progress(request_id, self.revision, self.text, _attempt(self.attempt))


class ResultIn(Strict):
    """``POST …/result``."""

    revision: Revision
    attempt: Line | None = None
    outcome: Literal["resolved", "declined"]
    text: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
    covers: Texts = []
    remaining: Words | Texts | None = None
    evidence: Annotated[list[Words | EvidenceIn], Field(max_length=100)] = []
    artifacts: Annotated[list[Line], Field(max_length=100)] = []

    def write(self, request_id: RequestId) -> Conclude:
        """The write that this asks for. Raises ``ApiError`` 413 for a text over 256 KiB."""
        if len(self.text.encode()) > MOST_RESULT_BYTES:
            raise ApiError(413, "too_large", "A result's text has at most 256 KiB; send less.", "text")
        return Conclude(
            request_id=request_id,
            revision=self.revision,
            outcome=Outcome(self.outcome),
            text=self.text,
            attempt=_attempt(self.attempt),
            covers=tuple(self.covers),
            remaining=_joined(self.remaining),
            evidence=tuple(_evidence(item) for item in self.evidence),
            artifacts=tuple(self.artifacts),
        )


class DelegationIn(Strict):
    """``POST /api/v1/peer/requests``."""

    to: Line
    parent: Line
    intent: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{0,19}$")] = "consultation"
    brief: BriefIn

    def write(self) -> HandOn:
        """The write that this asks for. Raises ``ApiError`` 413 for a brief over 256 KiB."""
        if len(json.dumps(self.brief.model_dump(), ensure_ascii=False).encode()) > MOST_BRIEF_BYTES:
            raise ApiError(413, "too_large", "A brief has at most 256 KiB; send less.", "brief")
        return HandOn(self.to, RequestId(self.parent), self.intent, self.brief.brief())


class PresenceIn(Strict):
    """``PUT /api/v1/peer/presence``."""

    state: Literal["available", "busy", "away"]
    capacity: Annotated[int, Field(ge=0, le=10_000)] | None = None
    executor_endpoint_id: Line | None = None
    host_surface: Line | None = None

    def write(self) -> Appear:
        """The write that this asks for."""
        return Appear(self.state, self.capacity, self.executor_endpoint_id, self.host_surface)


def parse(model: type[B], data: Mapping[str, object]) -> B:
    """``data`` as ``model``; ``ApiError`` 400 ``invalid_request`` with the first field at fault, never its value."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(step) for step in first["loc"])[:LONGEST_FIELD]
        message = "There is no such field." if first["type"] == "extra_forbidden" else f"{first['msg']}."
        raise ApiError(400, "invalid_request", message, field) from None


def _rejected(item: str | RejectedIn) -> BriefRejected:
    return item if isinstance(item, str) else Rejected(item.approach, item.reason)


def _evidence(item: str | EvidenceIn) -> BriefEvidence:
    return item if isinstance(item, str) else Evidence(item.source, item.revision, item.status, item.excerpt)


def _joined(value: str | list[str] | None) -> str | None:
    return "\n".join(value) if isinstance(value, list) else value


def _attempt(value: str | None) -> AttemptId | None:
    return None if value is None else AttemptId(value)
