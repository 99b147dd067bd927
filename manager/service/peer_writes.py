"""A peer's writes take effect: each in one transaction, with its facts and with what the asker is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from sqlalchemy import Connection

from manager.decisions import handover_sentences as sentences
from manager.decisions import peer_writes as rules
from manager.decisions.assessment import Assessment
from manager.decisions.brief import evidence_out
from manager.decisions.moments import iso
from manager.decisions.peer_writes import (
    Assess,
    Code,
    Conclude,
    Outcome,
    Present,
    Progress,
    Refused,
    RevisionWrite,
    Standing,
)
from manager.decisions.work import Work, WorkEvent
from manager.ids import AttemptId
from manager.ledger import facts, holdings, presentations, requests, revisions
from manager.ledger.facts import record
from manager.ledger.peers import Peer
from manager.ledger.requests import RequestView
from manager.ledger.revisions import AssessmentText, RevisionView
from manager.service.telling import Telling
from returns.decisions.document import Document
from returns.ids import Millis
from returns.ledger.outbox import ReturnKind
from returns.ledger.wakeups import REQUESTS, announce

Body: TypeAlias = Mapping[str, object]

NOT_YOURS: Final = "There is no such request of yours."


class Unrendered(Exception):
    """A result is to be told, and nobody rendered it yet: nothing moved. Render ``markdown`` and write it again."""

    def __init__(self, markdown: str) -> None:
        super().__init__("This result has to be rendered first.")
        self.markdown = markdown


class Late(Exception):
    """A write came too late: it is refused, and yet a fact that has to be kept."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class RevisionWriter:
    """One write of a peer to a request that it holds, inside one transaction."""

    connection: Connection
    peer: Peer
    telling: Telling
    new_id: Callable[[str], str]
    now: Millis
    answer: tuple[Document, ...] | None = None
    """The rendered text of a result: rendered outside the transaction, since that may take long."""

    def carry_out(self, write: RevisionWrite) -> Body:
        """Carry a write out; its answer.

        Raises ``Refused`` (nothing moved), ``Late`` (refused, but recorded), or ``Unrendered`` where a result would be
        taken and told, and ``answer`` is not there yet.
        """
        request = requests.current(self.connection, write.request_id, lock=True)
        held = holdings.one(self.connection, write.request_id, self.peer.peer_id)
        if request is None or held is None or held.view.receiver != self.peer.peer_id:
            raise Refused(Code.NOT_FOUND, NOT_YOURS)
        view = self._newest(request, write)
        if not isinstance(write, Present):
            self._check_attempt(view, write)
        if view.work is Work.OPEN and requests.cancel_requested(self.connection, view.request_id, view.revision):
            requests.acknowledge_cancel(self.connection, view, self.now)
            self._late(view, write, Code.ALREADY_FINAL, "This request was cancelled.", keep=True)
        match write:
            case Present():
                return self._present(view, write)
            case Assess():
                return self._assess(request, view, write)
            case Progress():
                return self._progress(request, view, write)
            case Conclude():
                return self._conclude(request, view, write)
            case _:
                assert_never(write)

    def _newest(self, request: RequestView, write: RevisionWrite) -> RevisionView:
        """The revision written to, if it is the newest and this peer's; a late write attaches to its own revision."""
        if write.revision == request.revision and request.newest.receiver == self.peer.peer_id:
            return request.newest
        message = f"The newest revision is {request.revision}; read the request again."
        older = revisions.load(self.connection, write.request_id, write.revision)
        if older is None or older.receiver != self.peer.peer_id:
            raise Refused(Code.REVISION_CONFLICT, message, "revision")
        if older.work is Work.OPEN:
            requests.acknowledge_cancel(self.connection, older, self.now)
        self._late(older, write, Code.REVISION_CONFLICT, message, keep=True, field="revision")
        return older

    def _check_attempt(self, view: RevisionView, write: Assess | Progress | Conclude) -> None:
        if write.attempt is None or write.attempt == view.attempt_id or view.attempt_id is None:
            return
        if not presentations.made(self.connection, write.attempt, write.request_id, self.peer.peer_id):
            raise Refused(Code.INVALID_REQUEST, "This attempt is none of yours at this request.", "attempt")
        message = "A newer presentation took this attempt's place; present again to go on."
        self._late(view, write, Code.STALE_ATTEMPT, message, keep=False)

    def _late(
        self,
        view: RevisionView,
        write: RevisionWrite,
        code: Code,
        message: str,
        *,
        keep: bool,
        field: str | None = None,
    ) -> None:
        """Record what came too late, on its own revision, and refuse it."""
        kind = type(write).__name__.casefold()
        detail: dict[str, str | int | bool | None] = {"write": kind, "refused": code.value}
        if isinstance(write, Conclude):
            detail |= {"outcome": write.outcome.value, "bytes": len(write.text.encode())}
            body = revisions.body(self.connection, view.request_id, view.revision)
            if keep and body.result is None and not body.pruned:
                revisions.write_result(self.connection, view.request_id, view.revision, self._result(write))
        self._note(view, "late_result" if isinstance(write, Conclude) else "late_write", detail)
        raise Late(Refused(code, message, field))

    def _present(self, view: RevisionView, write: Present) -> Body:
        rules.check_present(self._standing(view))
        rules.check_room(facts.count(self.connection, view.request_id, "presented"), rules.MOST_PRESENTED)
        attempt = AttemptId(self.new_id("a"))
        revisions.present(self.connection, view, attempt)
        replaced = presentations.add(
            self.connection,
            attempt_id=attempt,
            request_id=view.request_id,
            revision=view.revision,
            peer_id=self.peer.peer_id,
            turn=write.turn,
            now=self.now,
        )
        self._note(view, "presented", {"receiver": self.peer.name, "attempt": attempt, "replaced": replaced})
        return {"attempt": attempt, **self._state(view)}

    def _assess(self, request: RequestView, view: RevisionView, write: Assess) -> Body:
        event = rules.assessment_event(write)
        rules.check_assess(self._standing(view), event)
        text = AssessmentText(write.accepted_scope, write.remaining, write.reason, write.resume_condition, write.owner)
        after = revisions.assess(self.connection, view, event, text)
        self._note(view, "assessed", {"assessment": after.value, "receiver": self.peer.name})
        reason = write.reason or ""
        if after is Assessment.REJECTED:
            revisions.work(self.connection, view, WorkEvent.DECLINE)
            self._note(view, Work.DECLINED.value, {"by": self.peer.name})
            markdown = sentences.peer_rejected(self.peer.name, reason, request.language)
            self._tell(request, ReturnKind.ANSWER, self.telling.documents(markdown))
            self._tell_parent(request, Outcome.DECLINED.value)
        elif after is Assessment.DEFERRED and view.assessment is Assessment.PENDING:
            markdown = sentences.peer_deferred(
                self.peer.name, reason, write.owner or "", write.resume_condition or "", request.language
            )
            self._tell(request, ReturnKind.NOTICE, self.telling.documents(markdown))
        return self._state(view)

    def _progress(self, request: RequestView, view: RevisionView, write: Progress) -> Body:
        rules.check_progress(self._standing(view))
        rules.check_room(facts.count(self.connection, view.request_id, "progress"), rules.MOST_PROGRESS)
        detail: dict[str, str | int | bool | None] = {"receiver": self.peer.name, "characters": len(write.text)}
        if not request.private:
            detail["text"] = write.text
        self._note(view, "progress", detail)
        return self._state(view)

    def _conclude(self, request: RequestView, view: RevisionView, write: Conclude) -> Body:
        standing = self._standing(view)
        try:
            rules.check_conclude(standing, write.outcome)
        except Refused as refused:
            if refused.code is not Code.ALREADY_FINAL:
                raise
            self._late(view, write, refused.code, refused.message, keep=not standing.has_result)
        answer = self._rendered(request, write)
        revisions.write_result(self.connection, view.request_id, view.revision, self._result(write))
        detail: dict[str, str | int | bool | None] = {
            "outcome": write.outcome.value,
            "receiver": self.peer.name,
            "bytes": len(write.text.encode()),
            "covers": len(write.covers),
        }
        self._note(view, "result", detail)
        if view.work is Work.OPEN:
            event = WorkEvent.RESOLVE if write.outcome is Outcome.RESOLVED else WorkEvent.DECLINE
            self._note(view, revisions.work(self.connection, view, event).value, {"by": self.peer.name})
        self._tell(request, ReturnKind.ANSWER, answer)
        self._tell_parent(request, write.outcome.value)
        return self._state(view)

    def _rendered(self, request: RequestView, write: Conclude) -> tuple[Document, ...]:
        """The result as it will be told; of a peer's request nothing is. Raises ``Unrendered``."""
        if request.from_peer is not None:
            return ()
        if self.answer is None:
            raise Unrendered(f"{sentences.whose(self.peer.name, request.language)}\n\n{write.text}")
        return self.answer

    def _standing(self, view: RevisionView) -> Standing:
        body = revisions.body(self.connection, view.request_id, view.revision)
        return Standing(view.assignment, view.assessment, view.work, body.result is not None)

    def _tell(self, request: RequestView, kind: ReturnKind, documents: tuple[Document, ...]) -> None:
        if request.from_peer is not None:
            return  # the one who delegated reads it
        self.telling.tell(
            self.connection, request.request_id, request.revision, kind, documents, self.now, author=self.peer.name
        )

    def _tell_parent(self, request: RequestView, outcome: str) -> None:
        parent = None if request.parent_id is None else requests.current(self.connection, request.parent_id)
        if parent is not None:
            self._note(parent.newest, "child_concluded", {"child": request.request_id, "outcome": outcome})

    def _result(self, write: Conclude) -> dict[str, object]:
        return {
            "revision": write.revision,
            "outcome": write.outcome.value,
            "text": write.text,
            "covers": list(write.covers),
            "remaining": write.remaining,
            "evidence": [evidence_out(item) for item in write.evidence],
            "artifacts": list(write.artifacts),
            "at": iso(self.now),
        }

    def _state(self, view: RevisionView) -> dict[str, object]:
        announce(self.connection, REQUESTS)
        after = revisions.load(self.connection, view.request_id, view.revision) or view
        return {
            "request_id": after.request_id,
            "revision": after.revision,
            "assignment": after.assignment.value,
            "assessment": after.assessment.value,
            "work": after.work.value,
        }

    def _note(self, view: RevisionView, fact: str, detail: Mapping[str, str | int | bool | None]) -> None:
        record(self.connection, view.request_id, view.revision, self.now, fact, detail)
