"""Telling: a text becomes a return along the route that the question came, and a line of the conversation's history.

Both are written in the caller's transaction, so that what is told is told exactly when its reason is committed.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from manager.ids import RequestId
from manager.ledger import messages, requests
from manager.ledger.conversations import mark_answered
from returns.decisions.document import Document
from returns.decisions.fingerprint import visible
from returns.decisions.rendering import render
from returns.ids import Millis, ReturnId, SubjectId
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ports import Route

STEWARD = "steward"


class NowhereToTell(Exception):
    """The revision has no route: it is a peer's child request, whose result is read, not told. The caller was wrong."""

    code = "nowhere_to_tell"


class Telling:
    """Renders texts and hands them to the way back."""

    __slots__ = ("_limit_bytes", "_measure", "_new_id")

    def __init__(self, measure: Callable[[Document], int], limit_bytes: int, new_id: Callable[[str], str]) -> None:
        self._measure = measure
        self._limit_bytes = limit_bytes
        self._new_id = new_id

    def documents(self, markdown: str) -> tuple[Document, ...]:
        """The messages that show ``markdown``, in order; never none. Pure, and slow for long texts."""
        return render(markdown, measure=self._measure, limit_bytes=self._limit_bytes)

    def tell(
        self,
        connection: Connection,
        request_id: RequestId,
        revision: int,
        kind: ReturnKind,
        documents: tuple[Document, ...],
        now: Millis,
        *,
        author: str = STEWARD,
    ) -> ReturnId:
        """Owe ``documents`` to the asker of a revision. Raises ``NowhereToTell``."""
        question = requests.route_of(connection, request_id, revision)
        view = requests.current(connection, request_id)
        if question is None or view is None:
            raise NowhereToTell("This request came along no chat's route.")
        return_id = ReturnId(self._new_id("ret"))
        route = Route(question.app, question.chat_id, question.thread_id, question.message_id)
        enqueue(
            connection,
            new_return(
                return_id=return_id,
                subject=SubjectId(request_id),
                revision=revision,
                kind=kind,
                route=route,
                documents=documents,
                place=view.seq,
                asked_at=view.asked_at,
            ),
            now,
        )
        if kind is ReturnKind.ANSWER:
            requests.note_answered(connection, request_id, revision)
        messages.append(
            connection,
            view.conversation_id,
            request_id,
            author=author,
            text="\n".join(visible(document) for document in documents),
            at=now,
        )
        mark_answered(connection, view.conversation_id, now)
        return return_id
