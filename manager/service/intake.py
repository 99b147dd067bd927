"""What a judged message leads to, written in the caller's transaction: conversation, request or revision, turn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from manager.decisions.admission import Ask, Converse, Ignore, Ignored, Tell
from manager.decisions.brief import Brief, BriefMessage, MessageKind
from manager.decisions.decision import Audience
from manager.decisions.inbound import MessageReceived
from manager.decisions.language import language_of
from manager.decisions.moments import iso
from manager.decisions.questions import corrected_question, visible_text
from manager.ids import ConversationId, GrantId, RequestId, TurnId
from manager.ledger import chats, conversations, grants, messages, requests, revisions, told, turns
from manager.ledger.chats import Chat, ChatState
from manager.ledger.conversations import Conversation
from manager.ledger.facts import record
from manager.ledger.listening import BY_POLICY
from manager.ledger.requests import QuestionRoute
from manager.service.claiming import ClaimedElsewhere
from manager.service.judging import Judged
from manager.service.recalling import take_back
from returns.ids import Millis

_log: Final = logging.getLogger(__name__)

GRANTABLE: Final = frozenset({Ignored.NOT_LISTED, Ignored.EXTERNAL})
"""What an owner's grant would open: the conversation gets a name, so that it can be granted."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The revision that a message opened."""

    request: RequestId
    conversation: ConversationId
    revision: int


class Intake:
    """Writes what messages lead to. Stateless."""

    def __init__(self, new_id: Callable[[str], str]) -> None:
        self._new_id = new_id

    def identify(self, judged: Judged) -> RequestId | None:
        """The request that the message will open or correct; None when it leads to none."""
        if judged.expired or not isinstance(judged.admission, Ask | Tell):
            return None
        return judged.corrects or RequestId(self._new_id("r"))

    def carry_out(
        self,
        connection: Connection,
        message: MessageReceived,
        judged: Judged,
        request: RequestId | None,
        seq: int,
        now: Millis,
        *,
        recalled: bool,
    ) -> None:
        """Write what the message of event ``seq`` leads to; one that was ``recalled`` already is cancelled at once.

        A correction that was recalled already corrects nothing.

        Raises ``ClaimedElsewhere`` when another gateway told the sender what is told once: judge again.
        """
        if isinstance(judged.admission, Ignore) and judged.admission.reason in GRANTABLE:
            self._name(connection, message, judged, judged.admission.reason, now)
        if request is None:
            return
        if recalled and judged.corrects is not None:
            self._pass_over(connection, judged.corrects, now)
            return
        opened = (
            self._open(connection, message, judged, request, now)
            if judged.corrects is None
            else self._correct(connection, message, judged, request, now)
        )
        messages.append(
            connection,
            opened.conversation,
            request,
            author=messages.ASKER,
            text=judged.question,
            at=judged.asked_at,
        )
        if recalled:
            take_back(connection, self._new_id, message.envelope.app, message.message_id, now)
            return
        turn = turns.NewTurn(
            turn_id=TurnId(self._new_id("u")),
            conversation_id=opened.conversation,
            request_id=request,
            revision=opened.revision,
            position=judged.asked_at,
            event_seq=seq,
            receipt=isinstance(judged.admission, Ask),
            parent=message.parent_id,
        )
        turns.queue(connection, turn, now)

    def _open(
        self, connection: Connection, message: MessageReceived, judged: Judged, request: RequestId, now: Millis
    ) -> Opened:
        chat, conversation = self._make_place(connection, message, judged, now)
        self._admit(connection, message, judged, chat, conversation, now)
        requests.create_request(
            connection,
            request_id=request,
            conversation_id=conversation.conversation_id,
            app=message.envelope.app,
            private=message.private,
            audience=judged.admission.audience if isinstance(judged.admission, Ask) else Audience.SHARED,
            asked_at=judged.asked_at,
            language=language_of(judged.question or visible_text(message.text, message.mentions)),
            late=judged.late,
            question=judged.question,
            brief=Brief(judged.question, (_said(judged, MessageKind.QUESTION),)),
            route=_route(message),
            now=now,
        )
        return Opened(request, conversation.conversation_id, 1)

    def _correct(
        self, connection: Connection, message: MessageReceived, judged: Judged, request: RequestId, now: Millis
    ) -> Opened:
        """The next revision; a turn of an older one is cancelled, or, if it runs, decides nothing any more."""
        view = requests.current(connection, request, lock=True)
        if view is None:
            raise LookupError("There is no such request.")
        before = revisions.body(connection, request, view.revision)
        question = corrected_question(before.question, judged.question)
        brief = Brief(
            purpose=question,
            messages=(*before.brief.messages, _said(judged, MessageKind.CORRECTION)),
            constraints=before.brief.constraints,
            rejected=before.brief.rejected,
            omissions=before.brief.omissions if before.pruned else (),
        )
        revision = requests.open_revision(
            connection, request, question=question, brief=brief, route=_route(message), now=now
        )
        turns.withdraw(connection, request, before=revision)
        return Opened(request, view.conversation_id, revision)

    def _pass_over(self, connection: Connection, request: RequestId, now: Millis) -> None:
        view = requests.current(connection, request)
        if view is not None:
            record(connection, request, view.revision, now, "correction_recalled")

    def _make_place(
        self, connection: Connection, message: MessageReceived, judged: Judged, now: Millis
    ) -> tuple[Chat, Conversation]:
        chat = judged.place.chat or chats.find_or_create(
            connection,
            message.envelope.app,
            message.chat_id,
            private=message.private,
            new_id=self._new_id,
            now=now,
        )
        conversation = judged.place.conversation or conversations.find_or_create(
            connection, chat.chat_ref, message.thread_id, new_id=self._new_id, now=now
        )
        return chat, conversation

    def _admit(
        self,
        connection: Connection,
        message: MessageReceived,
        judged: Judged,
        chat: Chat,
        conversation: Conversation,
        now: Millis,
    ) -> None:
        app, sender = message.envelope.app, message.sender.open_id
        newly = (
            not isinstance(judged.admission, Tell)
            or sender is None
            or told.tell(connection, app, sender, told.NOT_OWNER, now)
        )
        if not newly:
            raise ClaimedElsewhere
        chats.learn_bot_name(connection, chat, judged.bot_name)
        if chat.state is not ChatState.ACTIVE:  # whoever writes to the steward there has it there
            chats.enter(connection, chat, ChatState.ACTIVE, judged.asked_at)
        if judged.place.converse is Converse.NONE:
            grants.admit(
                connection,
                app=app,
                conversation_id=conversation.conversation_id,
                audience=judged.admission.audience if isinstance(judged.admission, Ask) else Audience.SHARED,
                granted_by=BY_POLICY,
                grant_id=GrantId(self._new_id("g")),
                now=now,
            )

    def _name(
        self, connection: Connection, message: MessageReceived, judged: Judged, reason: Ignored, now: Millis
    ) -> None:
        _, conversation = self._make_place(connection, message, judged, now)
        _log.warning(
            "a question in %s was ignored (%s); to be asked there: lark-steward grants add --principal steward:%s "
            "--effect converse --resource %s",
            conversation.conversation_id,
            reason.value,
            message.envelope.app,
            conversation.conversation_id,
        )


def _route(message: MessageReceived) -> QuestionRoute:
    return QuestionRoute(
        app=message.envelope.app,
        chat_id=message.chat_id,
        thread_id=message.thread_id,
        message_id=message.message_id,
        sender_open_id=message.sender.open_id,
        content_digest=message.content_digest,
    )


def _said(judged: Judged, kind: MessageKind) -> BriefMessage:
    return BriefMessage(iso(judged.asked_at), messages.ASKER, judged.question, kind)
