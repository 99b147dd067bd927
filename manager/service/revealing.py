"""What is private of a request: the question, the messages, and what was told. Shown to who asked, who is recorded."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from manager.decisions.moments import iso
from manager.ledger import requests, revisions
from manager.ledger.requests import RequestView
from returns.ids import SubjectId
from returns.ledger.private_view import PartSeen, parts_seen


def reveal(connection: Connection, view: RequestView) -> Mapping[str, object]:
    """The private things of the revision that stands, as JSON."""
    route = requests.route_of(connection, view.request_id, view.revision)
    body = revisions.body(connection, view.request_id, view.revision)
    return {
        "question": None if body.pruned else body.question,
        "chat_id": None if route is None else route.chat_id,
        "thread_id": None if route is None else route.thread_id,
        "question_message_id": None if route is None else route.message_id,
        "parts": [_part(part) for part in parts_seen(connection, SubjectId(view.request_id))],
    }


def _part(part: PartSeen) -> Mapping[str, object]:
    return {
        "return": part.return_id,
        "part": part.position + 1,
        "status": part.state,
        "chat_id": part.chat_id,
        "thread_id": part.thread_id,
        "message_id": part.message_id,
        "text": part.text,
        "disproved": list(part.disproved),
        "candidates": [
            {"number": each.number, "message_id": each.message_id, "sent_at": iso(each.sent_at)}
            for each in part.candidates
        ],
    }
