"""What peers are shown, as JSON values."""

from __future__ import annotations

from manager.decisions.brief import to_object
from manager.decisions.moments import iso
from manager.ledger.holdings import Held
from manager.ledger.revisions import RevisionBody, RevisionView
from manager.service.peer_inbox import Reading
from returns.ids import Millis


def item(held: Held) -> dict[str, object]:
    """A request in a list."""
    view = held.view
    return {
        "request_id": view.request_id,
        "revision": view.revision,
        "intent": held.intent,
        "from": held.sender,
        "parent": held.parent,
        "purpose": held.purpose,
        "received_at": iso(view.created_at if view.stored_at is None else view.stored_at),
        "assignment": view.assignment.value,
        "assessment": view.assessment.value,
        "work": view.work.value,
        "due_at": _iso(view.due_at),
    }


def reading(read: Reading) -> dict[str, object]:
    """A request by itself."""
    return {
        **item(read.held),
        **_said(read.held.view),
        "brief": to_object(read.body.brief),
        "previous": [_earlier(view, body) for view, body in read.previous],
        "result": None if read.body.result is None else dict(read.body.result),
        "cancel_requested": read.cancel_requested,
        "no_longer_kept": read.body.pruned,
    }


def _earlier(view: RevisionView, body: RevisionBody) -> dict[str, object]:
    return {
        "revision": view.revision,
        "assignment": view.assignment.value,
        "assessment": view.assessment.value,
        "work": view.work.value,
        **_said(view),
        "result": None if body.result is None else dict(body.result),
    }


def _said(view: RevisionView) -> dict[str, object]:
    return {
        "accepted_scope": view.accepted_scope,
        "remaining": view.remaining,
        "reason": view.reason,
        "resume_condition": view.resume_condition,
        "owner": view.owner,
    }


def _iso(at: Millis | None) -> str | None:
    return None if at is None else iso(at)
