"""Requests: an identity with monotonic revisions, and the route that each question came along.

A request shows the revision that stands: the newest, or, where a correction was taken back whose question had its
answer before, that one again. Opening a revision ends the one that stood; what nobody was told yet of the older ones is
superseded. A number is never given twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, cast

from sqlalchemy import Connection, bindparam, func, insert, select, update

from manager.decisions.brief import Brief, MessageKind
from manager.decisions.decision import Audience
from manager.decisions.language import Language
from manager.decisions.work import Work, WorkEvent
from manager.ids import ConversationId, PeerId, RequestId
from manager.ledger import revisions
from manager.ledger.endings import (
    BY_CORRECTION,
    BY_RECALL,
    Cancellation,
    acknowledge_cancel,
    cancel_requested,
    end,
    was_refused,
)
from manager.ledger.facts import record
from manager.ledger.revisions import RevisionView
from manager.ledger.routes import QuestionRoute, keep_route, request_of_message, route_of
from manager.ledger.tables import question_routes, requests
from manager.ledger.tables import revisions as revision_rows
from returns.ids import AppName, Millis, SubjectId
from returns.ledger.outbox import supersede_unattempted
from returns.ledger.prepared import Prepared
from returns.ledger.untold import is_untold
from returns.ledger.wakeups import REQUESTS, announce

__all__ = [
    "Cancellation",
    "QuestionRoute",
    "RequestView",
    "acknowledge_cancel",
    "cancel",
    "cancel_requested",
    "create_child",
    "create_request",
    "current",
    "note_answered",
    "note_recalled",
    "number_of_next",
    "open_revision",
    "reopen",
    "request_of_message",
    "route_of",
    "stand_again",
    "was_refused",
]


_CREATE: Final = Prepared(
    insert(requests),
    ("request_id", "conversation_id", "app", "private", "audience", "revision", "asked_at", "language", "late"),
)
_OF_ID: Final = select(requests).where(requests.c.request_id == bindparam("request"))
_CURRENT: Final = Prepared(_OF_ID)
_LOCKED: Final = Prepared(_OF_ID.with_for_update())
_ANSWERED: Final = Prepared(
    update(requests)
    .where(requests.c.request_id == bindparam("request"), requests.c.revision == bindparam("of_revision"))
    .values(unanswered=None)
)
_HIGHEST: Final = Prepared(
    select(func.max(revision_rows.c.revision).label("highest")).where(
        revision_rows.c.request_id == bindparam("request")
    )
)

OF_A_PEER: Final = 2
"""``requests.unanswered`` of a request that a peer made: it is read, and never told."""


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request with the revision that stands."""

    request_id: RequestId
    seq: int
    """Its place among all."""
    conversation_id: ConversationId
    app: AppName
    private: bool
    """The conversation is a private one: its words are shown to nobody else."""
    audience: Audience
    """Who may be told, and whose peers and workspaces may be asked."""
    revision: int
    asked_at: Millis
    language: Language
    late: bool
    intent: str
    parent_id: RequestId | None
    from_peer: PeerId | None
    depth: int
    newest: RevisionView
    """The one that stands; see the module."""


def create_request(
    connection: Connection,
    *,
    request_id: RequestId,
    conversation_id: ConversationId,
    app: AppName,
    private: bool,
    audience: Audience,
    asked_at: Millis,
    language: str,
    late: bool,
    question: str,
    brief: Brief,
    route: QuestionRoute,
    now: Millis,
) -> None:
    """Write a request with its first revision and the route of its question."""
    _CREATE.defer(
        connection,
        {
            "request_id": request_id,
            "conversation_id": conversation_id,
            "app": app,
            "private": private,
            "audience": audience.value,
            "revision": 1,
            "asked_at": asked_at,
            "language": language,
            "late": late,
        },
    )
    revisions.add(connection, request_id, 1, question, brief, now)
    keep_route(connection, request_id, 1, route)
    record(connection, request_id, 1, now, "received", {"late": late})


def create_child(
    connection: Connection,
    *,
    request_id: RequestId,
    parent: RequestView,
    from_peer: PeerId,
    intent: str,
    brief: Brief,
    now: Millis,
) -> RevisionView:
    """Write a request of one peer to another under ``parent``; it has no route, for its result is read, not told."""
    connection.execute(
        insert(requests).values(
            request_id=request_id,
            conversation_id=parent.conversation_id,
            app=parent.app,
            private=parent.private,
            audience=parent.audience.value,
            revision=1,
            asked_at=now,
            language=parent.language,
            late=False,
            intent=intent,
            parent_id=parent.request_id,
            from_peer=from_peer,
            depth=parent.depth + 1,
            unanswered=OF_A_PEER,
        )
    )
    revisions.add(connection, request_id, 1, brief.purpose, brief, now)
    record(connection, request_id, 1, now, "received", {"late": False, "parent": parent.request_id})
    return revisions.only(connection, request_id, 1)


def open_revision(
    connection: Connection, request_id: RequestId, *, question: str, brief: Brief, route: QuestionRoute, now: Millis
) -> int:
    """Write the next revision and return its number; older answers that were never attempted become superseded.

    Raises ``LookupError`` if there is no such request.
    """
    return _next_revision(connection, request_id, question, brief, route, now, _Why("corrected", BY_CORRECTION))


def reopen(connection: Connection, request_id: RequestId, standing: int, now: Millis) -> int:
    """Write the next revision with what was asked by the earlier one ``standing``; its number.

    What was learnt for the earlier one is not carried over: it will be looked at anew. Raises ``LookupError`` if there
    is no such request or it has no such revision.
    """
    body, route = revisions.body(connection, request_id, standing), route_of(connection, request_id, standing)
    if route is None:
        raise LookupError("There is no such revision.")
    said = tuple(message for message in body.brief.messages if message.kind is not MessageKind.QUOTE)
    brief = replace(body.brief, purpose=body.question, messages=said, evidence=(), questions=())
    why = _Why("reopened", BY_RECALL, {"standing": standing})
    return _next_revision(connection, request_id, body.question, brief, route, now, why)


@dataclass(frozen=True, slots=True)
class _Why:
    """Why a revision is opened: the fact that tells it, and who ended the one before."""

    fact: str
    by: str
    detail: Mapping[str, int] = field(default_factory=dict[str, int])


def _next_revision(
    connection: Connection,
    request_id: RequestId,
    question: str,
    brief: Brief,
    route: QuestionRoute,
    now: Millis,
    why: _Why,
) -> int:
    view = current(connection, request_id, lock=True)
    if view is None:
        raise LookupError("There is no such request.")
    revision = number_of_next(connection, request_id)
    if view.newest.work is Work.OPEN:
        end(connection, view.newest, now, by=why.by, reason=f"revision {revision}")
    revisions.add(connection, request_id, revision, question, brief, now)
    again = {"revision": revision, "texts": 1, "unanswered": 1 if view.parent_id is None else OF_A_PEER}
    connection.execute(update(requests).where(requests.c.request_id == request_id).values(**again))
    keep_route(connection, request_id, revision, route)
    superseded = supersede_unattempted(connection, SubjectId(request_id), before_revision=revision, now=now)
    record(connection, request_id, revision, now, why.fact, {"superseded": superseded, **why.detail})
    announce(connection, REQUESTS)
    return revision


def number_of_next(connection: Connection, request_id: RequestId) -> int:
    """The number that the next revision of a request gets, whichever one stands."""
    return cast("int", _HIGHEST.only(connection, {"request": request_id})["highest"]) + 1


def stand_again(connection: Connection, request_id: RequestId, standing: int) -> None:
    """Let an earlier revision, which has its answer, be the one that the request shows."""
    back = {"revision": standing, "unanswered": None}
    connection.execute(update(requests).where(requests.c.request_id == request_id).values(**back))


def note_answered(connection: Connection, request_id: RequestId, revision: int) -> None:
    """The revision has its answer: if it is the one that stands, the request is not listed as one without."""
    _ANSWERED.run(connection, {"request": request_id, "of_revision": revision})


def current(connection: Connection, request_id: RequestId, *, lock: bool = False) -> RequestView | None:
    """The request with the revision that stands, or None; ``lock`` keeps other writers out."""
    get = (_LOCKED if lock else _CURRENT).first(connection, {"request": request_id})
    if get is None:
        return None
    newest = revisions.load(connection, request_id, cast("int", get["revision"]), lock=lock)
    if newest is None:
        return None
    return RequestView(
        request_id=request_id,
        seq=cast("int", get["seq"]),
        conversation_id=ConversationId(cast("str", get["conversation_id"])),
        app=AppName(cast("str", get["app"])),
        private=bool(get["private"]),
        audience=Audience(get["audience"]),
        revision=newest.revision,
        asked_at=Millis(cast("int", get["asked_at"])),
        language=cast("Language", get["language"]),
        late=bool(get["late"]),
        intent=cast("str", get["intent"]),
        parent_id=cast("RequestId | None", get["parent_id"]),
        from_peer=cast("PeerId | None", get["from_peer"]),
        depth=cast("int", get["depth"]),
        newest=newest,
    )


def note_recalled(
    connection: Connection, request_id: RequestId, revision: int, now: Millis, *, say_nothing: bool
) -> bool:
    """Note that the question of a revision was taken back; whether that ended the work of the one that stands.

    With ``say_nothing`` (``returns.recalled_question``) an answer that was never attempted is superseded and the work
    is cancelled: at once where nobody has it, else by asking the peer that has it. The second time does nothing.
    """
    marked = connection.execute(
        update(question_routes)
        .where(
            question_routes.c.request_id == request_id,
            question_routes.c.revision == revision,
            question_routes.c.recalled_at.is_(None),
        )
        .values(recalled_at=now)
    )
    if marked.rowcount:
        record(connection, request_id, revision, now, "question_recalled")
    view = current(connection, request_id, lock=True)
    if not say_nothing or view is None or view.revision != revision:
        return False
    supersede_unattempted(
        connection, SubjectId(request_id), before_revision=revision + 1, now=now, resends_from=revision
    )
    ended = _end_recalled(connection, view.newest, now, newly=marked.rowcount > 0)
    announce(connection, REQUESTS)
    return ended


def _end_recalled(connection: Connection, view: RevisionView, now: Millis, *, newly: bool) -> bool:
    """End what is open, or withdraw an answer that is there and reached nobody; whether there was either."""
    request_id, revision = view.request_id, view.revision
    if view.work is Work.OPEN:
        if not newly or cancel_requested(connection, request_id, revision):
            return False
        end(connection, view, now, by=BY_RECALL, reason="the question was recalled")
        return True
    if view.work is Work.CANCELLED or not is_untold(connection, SubjectId(request_id), revision):
        return False
    revisions.work(connection, view, WorkEvent.WITHDRAW)
    record(connection, request_id, revision, now, "cancelled", {"by": BY_RECALL})
    return True


def cancel(connection: Connection, request_id: RequestId, now: Millis, *, by: str, reason: str) -> Cancellation:
    """End what is open of the revision that stands. Raises ``LookupError`` if there is no such request."""
    view = current(connection, request_id, lock=True)
    if view is None:
        raise LookupError("There is no such request.")
    if view.newest.work is not Work.OPEN:
        return Cancellation.FINAL
    supersede_unattempted(connection, SubjectId(request_id), before_revision=view.revision + 1, now=now, resends_from=1)
    announce(connection, REQUESTS)
    return end(connection, view.newest, now, by=by, reason=reason)
