"""A question that was edited after it was received: that is a correction, and its turn goes on with the new text."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from manager.decisions.brief import BriefMessage, MessageKind
from manager.decisions.moments import iso
from manager.decisions.questions import corrected_question, edited_question
from manager.ledger import messages, requests, revisions, routes, turns
from manager.ledger.turn_views import TurnView
from manager.ledger.turns import ClaimedTurn
from manager.ports import ChatMessage
from returns.ids import Millis


def is_edited(view: TurnView, seen: ChatMessage) -> bool:
    """Whether the message says something else than what was received."""
    if seen.edited_at is None or seen.content_digest == view.route.content_digest:
        return False
    return edited_question(seen.text, view.chat.bot_name) != view.question


def take_edit(
    connection: Connection, turn: ClaimedTurn, view: TurnView, seen: ChatMessage, now: Millis
) -> ClaimedTurn | None:
    """Open the next revision with the edited text and let the held turn decide it; None when the turn is lost."""
    request = requests.current(connection, turn.request_id, lock=True)
    if request is None or request.revision != turn.revision or not turns.holds(connection, turn.turn_id, turn.fence):
        return None
    text = edited_question(seen.text, view.chat.bot_name)
    before = revisions.body(connection, turn.request_id, turn.revision)
    unedited = routes.added_to(connection, turn.request_id, turn.revision)
    question = (
        text
        if unedited is None
        else corrected_question(revisions.body(connection, turn.request_id, unedited).question, text)
    )
    at = seen.edited_at or now
    correction = BriefMessage(iso(at), messages.ASKER, text, MessageKind.CORRECTION)
    revision = requests.open_revision(
        connection,
        turn.request_id,
        question=question,
        brief=replace(
            before.brief, purpose=question, messages=(*before.brief.messages, correction), evidence=(), questions=()
        ),
        route=replace(view.route, content_digest=seen.content_digest),
        now=now,
    )
    messages.append(
        connection, turn.conversation_id, turn.request_id, author=messages.ASKER, text=text, at=turn.position
    )
    taken = turns.take_up_revision(connection, turn.turn_id, turn.fence, revision)
    return replace(turn, revision=revision) if taken else None
