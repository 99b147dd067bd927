"""All that a turn needs to know, read at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, select

from manager.decisions.admission import Converse
from manager.decisions.decision import Said
from manager.decisions.language import Language
from manager.ids import ConversationId, RequestId
from manager.ledger import chats, conversations, events, messages, requests, revisions
from manager.ledger.chats import Chat
from manager.ledger.listening import converse
from manager.ledger.requests import QuestionRoute
from manager.ledger.tables import question_routes
from manager.ledger.turns import ClaimedTurn
from returns.ids import MessageId, Millis
from returns.ledger import echoes
from returns.ledger.prepared import Prepared

HISTORY_MESSAGES = 30
OWN_MESSAGES = 4

_RECALLED: Final = Prepared(
    select(question_routes.c.recalled_at).where(
        question_routes.c.request_id == bindparam("request"),
        question_routes.c.revision == bindparam("revision"),
        question_routes.c.recalled_at.is_not(None),
    )
)


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn's question and where it stands. Private."""

    question: str
    language: Language
    private: bool
    route: QuestionRoute
    chat: Chat
    converse: Converse
    newest: int
    """The revision of the request that stands; another one is replaced."""
    recalled: bool
    late: bool
    history: tuple[Said, ...]
    own_parent: tuple[Said, ...] | None
    """What the steward told in the quoted message, with what it told of the same request; None: it is another's."""


def view(connection: Connection, turn: ClaimedTurn, now: Millis) -> TurnView:
    """What a turn needs. Raises ``LookupError`` when its request, route or chat is not there."""
    request = requests.current(connection, turn.request_id)
    route = requests.route_of(connection, turn.request_id, turn.revision)
    chat = _chat(connection, turn.conversation_id)
    if request is None or route is None or chat is None:
        raise LookupError("A turn's question is not there.")
    return TurnView(
        question=revisions.body(connection, turn.request_id, turn.revision).question,
        language=request.language,
        private=request.private,
        route=route,
        chat=chat,
        converse=converse(connection, request.app, turn.conversation_id, now),
        newest=request.revision,
        recalled=is_recalled(connection, turn.request_id, turn.revision),
        late=events.was_late(connection, turn.event_seq),
        history=messages.history(
            connection,
            turn.conversation_id,
            before=turn.position,
            without=turn.request_id,
            limit=HISTORY_MESSAGES,
        ),
        own_parent=_own_words(connection, route, turn.parent),
    )


def is_recalled(connection: Connection, request: RequestId, revision: int) -> bool:
    """Whether the revision's question was taken back."""
    return _RECALLED.first(connection, {"request": request, "revision": revision}) is not None


def _chat(connection: Connection, conversation: ConversationId) -> Chat | None:
    chat_ref = conversations.chat_of(connection, conversation)
    return None if chat_ref is None else chats.get(connection, chat_ref)


def _own_words(connection: Connection, route: QuestionRoute, parent: MessageId | None) -> tuple[Said, ...] | None:
    if parent is None:
        return None
    subject = echoes.subject_of_message(connection, route.app, parent)
    return None if subject is None else messages.said_by_us(connection, RequestId(subject), limit=OWN_MESSAGES)
