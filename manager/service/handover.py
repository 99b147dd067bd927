"""A turn's decision takes effect: the steward answers, asks, puts off or declines by itself, or hands over to a peer.

Everything happens inside the transaction that ends the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from sqlalchemy import Connection

from manager.decisions import brief as briefs
from manager.decisions import handover_sentences as sentences
from manager.decisions import routing
from manager.decisions.decision import Answer, Ask, Audience, Decision, Decline, Defer, Delegate, Said
from manager.decisions.language import Language
from manager.decisions.routing import Candidate, Routed, Unresolved
from manager.decisions.work import Work, WorkEvent
from manager.ids import ConversationId, PeerId, RequestId
from manager.ledger import peers, requests, revisions
from manager.ledger.facts import record
from manager.ledger.revisions import RevisionView
from manager.service.telling import Telling
from returns.ids import Millis, SubjectId
from returns.ledger.outbox import ReturnKind, supersede_notices
from returns.ledger.untold import Notice, last_notice
from returns.ledger.wakeups import REQUESTS, announce

Detail: TypeAlias = dict[str, str | int | bool | None]

MOST_WORDS_SHOWN = 12
MOST_OMISSIONS_TOLD = 5


@dataclass(frozen=True, slots=True)
class DecidedTurn:
    """The turn that was decided."""

    request_id: RequestId
    revision: int
    conversation_id: ConversationId
    audience: Audience
    language: Language
    quoted: Said | None = None
    """What the question replied to."""


def apply_decision(
    connection: Connection, turn: DecidedTurn, decision: Decision, telling: Telling, now: Millis
) -> None:
    """Commit a decision: axes, facts, and what is told.

    A revision that is no longer open, or no longer the newest, is left as it is: the decision is a fact of the
    timeline and told to nobody. Raises ``LookupError`` if there is no such request.
    """
    request = requests.current(connection, turn.request_id, lock=True)
    if request is None:
        raise LookupError("There is no such request.")
    if request.revision != turn.revision or request.newest.work is not Work.OPEN:
        record(connection, turn.request_id, turn.revision, now, "decision_dropped", {"decision": _kind(decision)})
        return
    record(connection, turn.request_id, turn.revision, now, "decided", {"decision": _kind(decision)})
    step = _Step(connection, turn, request.newest, telling, now, request.private)
    match decision:
        case Answer():
            step.conclude(WorkEvent.RESOLVE, decision.text)
        case Ask():
            step.tell(ReturnKind.NOTICE, decision.text)
        case Defer():
            text = sentences.deferred(decision.reason, decision.owner, decision.resume_condition, turn.language)
            step.tell(ReturnKind.NOTICE, text)
        case Decline():
            step.conclude(WorkEvent.DECLINE, decision.reason)
        case Delegate():
            step.delegate(decision)
        case _:
            assert_never(decision)


@dataclass(frozen=True, slots=True)
class _Step:
    """One decision on its way into the database."""

    connection: Connection
    turn: DecidedTurn
    view: RevisionView
    telling: Telling
    now: Millis
    private: bool
    """The conversation is private: no word of it goes into the timeline."""

    def tell(self, kind: ReturnKind, markdown: str) -> None:
        documents = self.telling.documents(markdown)
        self.telling.tell(self.connection, self.turn.request_id, self.turn.revision, kind, documents, self.now)

    def note(self, fact: str, detail: Detail) -> None:
        record(self.connection, self.turn.request_id, self.turn.revision, self.now, fact, detail)

    def conclude(self, event: WorkEvent, markdown: str) -> None:
        after = revisions.work(self.connection, self.view, event)
        self.note(after.value, {"by": "steward"})
        self.tell(ReturnKind.ANSWER, markdown)

    def delegate(self, decision: Delegate) -> None:
        body = revisions.body(self.connection, self.turn.request_id, self.turn.revision)
        brief = briefs.complete(body.brief, decision, self.turn.quoted)
        revisions.write_brief(self.connection, self.turn.request_id, self.turn.revision, brief)
        found = peers.candidates(self.connection)
        route = self.route(decision, body.question, found)
        while isinstance(route, Routed) and not peers.hold_active(self.connection, route.peer.peer_id):
            found = peers.candidates(self.connection)  # it was stopped or removed since
            route = self.route(decision, body.question, found)
        match route:
            case Routed():
                self.hand_over(route, len(found))
            case Unresolved():
                self.leave_unresolved(route, decision, len(found))
            case _:
                assert_never(route)

    def route(self, decision: Delegate, question: str, found: Sequence[Candidate]) -> Routed | Unresolved:
        if decision.to is not None:
            return routing.named(decision.to, question, found, self.turn.audience)
        earlier = self.earlier_receivers()
        return routing.unnamed(question, found, self.turn.audience, earlier[-1] if earlier else None)

    def earlier_receivers(self) -> tuple[PeerId, ...]:
        """Who held earlier revisions of the request, in order."""
        before = revisions.earlier(self.connection, self.turn.request_id, self.turn.revision)
        return tuple(view.receiver for view in before if view.receiver is not None)

    def hand_over(self, route: Routed, searched: int) -> None:
        peer = route.peer
        detail: Detail = {
            "receiver": peer.name,
            "signal": route.signal.value,
            "shared_words": len(route.shared),
            "presence": peer.presence,
            "audience": peer.audience.value,
            "searched": searched,
        }
        if not self.private:
            detail["words"] = ", ".join(sorted(route.shared)[:MOST_WORDS_SHOWN])
        self.note("routed", detail)
        revisions.assign_and_store(self.connection, self.view, peer.peer_id, self.now)
        self.note("assigned", {"receiver": peer.name})
        self.note("stored", {"receiver": peer.name})
        announce(self.connection, REQUESTS)
        if self.is_known_to_have(peer.peer_id):
            return
        self.tell(ReturnKind.NOTICE, sentences.handed_over(peer.name, peer.presence, self.turn.language))

    def is_known_to_have(self, peer: PeerId) -> bool:
        """Whether what the asker was told last of who has the request is that this peer has it.

        Only what is proved counts. What waits to tell it of an earlier revision is replaced: it would not be true any
        more, or not be told if that revision's question were recalled.
        """
        request, subject = self.turn.request_id, SubjectId(self.turn.request_id)
        earlier = revisions.earlier(self.connection, request, self.turn.revision)
        held = [view for view in reversed(earlier) if view.receiver is not None]
        for view in held:
            supersede_notices(self.connection, subject, view.revision, self.now)
        said = ((view.receiver, last_notice(self.connection, subject, view.revision)) for view in held)
        last = next(((receiver, notice) for receiver, notice in said if notice is not Notice.NONE), None)
        return last == (peer, Notice.TOLD)

    def leave_unresolved(self, route: Unresolved, decision: Delegate, searched: int) -> None:
        detail: Detail = {"gap": route.gap.value, "searched": searched}
        if route.known:
            detail["peers"] = ", ".join(route.known)
        self.note("unresolved", detail)
        told = [sentences.unresolved(route, decision.to, self.turn.language)]
        if decision.to is None:  # the steward looked by itself: it says what it could not look at
            told.extend(f"- {omission}" for omission in decision.omissions[:MOST_OMISSIONS_TOLD])
        self.conclude(WorkEvent.DECLINE, "\n".join(told))


def _kind(decision: Decision) -> str:
    return type(decision).__name__.casefold()
