"""One revision of a request: its axes, its brief, its result. Every move is guarded by the state it leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from sqlalchemy import Connection, bindparam, insert, select, update

from manager.decisions import assessment as assessments
from manager.decisions import assignment as assignments
from manager.decisions import brief as briefs
from manager.decisions import work as works
from manager.decisions.assessment import Assessment, AssessmentEvent
from manager.decisions.assignment import Assignment, AssignmentEvent
from manager.decisions.brief import Brief
from manager.decisions.work import Work, WorkEvent
from manager.ids import AttemptId, PeerId, RequestId
from manager.ledger.tables import revision_bodies, revisions
from returns.ids import Millis
from returns.ledger.prepared import Prepared, Row

_ADD: Final = Prepared(insert(revisions), ("request_id", "revision", "assignment", "assessment", "work", "created_at"))
_ADD_BODY: Final = Prepared(insert(revision_bodies), ("request_id", "revision", "question", "brief"))
_OF_ID: Final = select(revisions).where(
    revisions.c.request_id == bindparam("request"), revisions.c.revision == bindparam("revision")
)
_LOAD: Final = Prepared(_OF_ID)
_LOCKED: Final = Prepared(_OF_ID.with_for_update())
_BODY: Final = Prepared(
    select(
        revision_bodies.c.question, revision_bodies.c.brief, revision_bodies.c.result, revision_bodies.c.pruned_at
    ).where(revision_bodies.c.request_id == bindparam("request"), revision_bodies.c.revision == bindparam("revision"))
)


class RevisionMoved(Exception):
    """The revision is not in the state that was read; nothing of this transaction is kept. Read again."""

    code = "revision_moved"


@dataclass(frozen=True, slots=True)
class RevisionView:
    """A revision as it stands."""

    request_id: RequestId
    revision: int
    receiver: PeerId | None
    assignment: Assignment
    assessment: Assessment
    work: Work
    accepted_scope: str | None
    remaining: str | None
    reason: str | None
    resume_condition: str | None
    owner: str | None
    due_at: Millis | None
    created_at: Millis
    stored_at: Millis | None
    attempt_id: AttemptId | None
    """The presentation that speaks for the receiver."""


@dataclass(frozen=True, slots=True)
class AssessmentText:
    """What stands beside an assessment."""

    accepted_scope: str | None = None
    remaining: str | None = None
    reason: str | None = None
    resume_condition: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class RevisionBody:
    """A revision's private part."""

    question: str
    brief: Brief
    result: Mapping[str, object] | None
    pruned: bool
    """The texts are no longer kept, and stand-ins are in their places."""


def add(connection: Connection, request: RequestId, revision: int, question: str, brief: Brief, now: Millis) -> None:
    """Write a new revision: nobody's, not assessed, open."""
    _ADD.defer(
        connection,
        {
            "request_id": request,
            "revision": revision,
            "assignment": Assignment.UNASSIGNED.value,
            "assessment": Assessment.PENDING.value,
            "work": Work.OPEN.value,
            "created_at": now,
        },
    )
    body = {"request_id": request, "revision": revision, "question": question, "brief": briefs.to_json(brief)}
    _ADD_BODY.defer(connection, body)


def only(connection: Connection, request: RequestId, revision: int) -> RevisionView:
    """The revision. Raises ``LookupError`` if there is none."""
    return view_of(_LOAD.only(connection, {"request": request, "revision": revision}))


def load(connection: Connection, request: RequestId, revision: int, *, lock: bool = False) -> RevisionView | None:
    """The revision, or None; ``lock`` keeps other writers out until the transaction ends."""
    row = (_LOCKED if lock else _LOAD).first(connection, {"request": request, "revision": revision})
    return None if row is None else view_of(row)


def earlier(connection: Connection, request: RequestId, before: int) -> tuple[RevisionView, ...]:
    """The revisions before ``before``, oldest first."""
    query = (
        select(revisions)
        .where(revisions.c.request_id == request, revisions.c.revision < before)
        .order_by(revisions.c.revision)
    )
    return tuple(view_of(cast("Row", row)) for row in connection.execute(query).mappings())


def body(connection: Connection, request: RequestId, revision: int) -> RevisionBody:
    """The revision's question, brief and result. Raises ``LookupError`` if there is no such revision."""
    row = _BODY.only(connection, {"request": request, "revision": revision})
    result = cast("str | None", row["result"])
    return RevisionBody(
        question=cast("str", row["question"]),
        brief=briefs.from_json(cast("str", row["brief"])),
        result=None if result is None else cast("dict[str, object]", json.loads(result)),
        pruned=row["pruned_at"] is not None,
    )


def write_brief(connection: Connection, request: RequestId, revision: int, brief: Brief) -> None:
    """Complete the brief of a revision that is not handed over yet."""
    connection.execute(
        update(revision_bodies)
        .where(revision_bodies.c.request_id == request, revision_bodies.c.revision == revision)
        .values(brief=briefs.to_json(brief))
    )


def write_result(connection: Connection, request: RequestId, revision: int, result: Mapping[str, object]) -> None:
    """Keep a revision's result."""
    connection.execute(
        update(revision_bodies)
        .where(revision_bodies.c.request_id == request, revision_bodies.c.revision == revision)
        .values(result=json.dumps(dict(result), ensure_ascii=False))
    )


def assign_and_store(connection: Connection, view: RevisionView, receiver: PeerId, now: Millis) -> None:
    """Give the revision to a peer and store it there. Raises ``IllegalMove``, ``RevisionMoved``."""
    assigned = assignments.move(view.assignment, AssignmentEvent.ASSIGN)
    stored = assignments.move(assigned, AssignmentEvent.STORE)
    _guarded(
        connection,
        view,
        {"assignment": view.assignment.value},
        {"assignment": stored.value, "receiver": receiver, "stored_at": now},
    )


def present(connection: Connection, view: RevisionView, attempt: AttemptId) -> Assignment:
    """Note that a turn of the receiver has it; returns the new state. Raises ``IllegalMove``, ``RevisionMoved``."""
    after = assignments.move(view.assignment, AssignmentEvent.PRESENT)
    _guarded(
        connection,
        view,
        {"assignment": view.assignment.value},
        {"assignment": after.value, "attempt_id": attempt},
    )
    return after


def assess(connection: Connection, view: RevisionView, event: AssessmentEvent, text: AssessmentText) -> Assessment:
    """Keep an assessment; returns the new state. Raises ``IllegalMove``, ``RevisionMoved``."""
    after = assessments.move(view.assessment, event)
    _guarded(
        connection,
        view,
        {"assessment": view.assessment.value},
        {
            "assessment": after.value,
            "accepted_scope": text.accepted_scope,
            "remaining": text.remaining,
            "reason": text.reason,
            "resume_condition": text.resume_condition,
            "owner": text.owner,
        },
    )
    return after


def work(connection: Connection, view: RevisionView, event: WorkEvent) -> Work:
    """Move the work; returns the new state. Raises ``IllegalMove``, ``RevisionMoved``."""
    after = works.move(view.work, event)
    _guarded(connection, view, {"work": view.work.value}, {"work": after.value})
    return after


def view_of(get: Row) -> RevisionView:
    """The view of a row of ``revisions``."""
    return RevisionView(
        request_id=RequestId(cast("str", get["request_id"])),
        revision=cast("int", get["revision"]),
        receiver=cast("PeerId | None", get["receiver"]),
        assignment=Assignment(get["assignment"]),
        assessment=Assessment(get["assessment"]),
        work=Work(get["work"]),
        accepted_scope=cast("str | None", get["accepted_scope"]),
        remaining=cast("str | None", get["remaining"]),
        reason=cast("str | None", get["reason"]),
        resume_condition=cast("str | None", get["resume_condition"]),
        owner=cast("str | None", get["owner"]),
        due_at=cast("Millis | None", get["due_at"]),
        created_at=cast("Millis", get["created_at"]),
        stored_at=cast("Millis | None", get["stored_at"]),
        attempt_id=cast("AttemptId | None", get["attempt_id"]),
    )


def _guarded(
    connection: Connection, view: RevisionView, leaves: Mapping[str, str], values: Mapping[str, object]
) -> None:
    asked = {"request": view.request_id, "of_revision": view.revision}
    asked |= {f"leaves_{name}": value for name, value in leaves.items()}
    if _writing(tuple(leaves), tuple(values)).run(connection, {**values, **asked}) != 1:
        raise RevisionMoved("The revision was moved by somebody else; read it again.")


@lru_cache(maxsize=64)
def _writing(leaves: tuple[str, ...], columns: tuple[str, ...]) -> Prepared:
    """Writes columns of a revision that is in the state it is to leave."""
    guarded = update(revisions).where(
        revisions.c.request_id == bindparam("request"),
        revisions.c.revision == bindparam("of_revision"),
        *(revisions.c[name] == bindparam(f"leaves_{name}") for name in leaves),
    )
    return Prepared(guarded, columns)
