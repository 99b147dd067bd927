"""Judging a message by what the ledger knows at this moment. Reads only; runs in the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from sqlalchemy import Connection

from manager.decisions.admission import Admission, Ask, Hold, Ignore, Known, Tell, admit
from manager.decisions.inbound import MessageReceived
from manager.decisions.lateness import is_control, is_late
from manager.decisions.policy import StewardPolicy
from manager.decisions.questions import is_correction, own_name, question_text, visible_text
from manager.ids import OpenId, RequestId
from manager.ledger import requests, told
from manager.ledger.events import EventState
from manager.ledger.places import Place
from manager.service.reading_ahead import Ahead
from returns.decisions.fingerprint import fingerprint
from returns.ids import Millis
from returns.ledger import echoes


@dataclass(frozen=True, slots=True)
class Judged:
    """What a message is."""

    admission: Admission
    place: Place
    question: str
    bot_name: str | None
    """How it names the steward."""
    asked_at: Millis
    late: bool
    expired: bool
    """A late control word: it leads to nothing."""
    corrects: RequestId | None
    """The request that it corrects."""

    @property
    def state(self) -> EventState:
        """How its event is stored."""
        match self.admission:
            case Ignore():
                return EventState.IGNORED
            case Hold():
                return EventState.HELD
            case Ask() | Tell():
                return EventState.LATE if self.late else EventState.ACCEPTED
            case _:
                assert_never(self.admission)

    @property
    def reason(self) -> str | None:
        """Why its event is stored so."""
        match self.admission:
            case Ignore(reason):
                return reason.value
            case Hold(reason):
                return reason.value
            case Ask() | Tell():
                return ("late_control_expired" if self.expired else "answered_late") if self.late else None
            case _:
                assert_never(self.admission)


def judge(
    connection: Connection,
    ahead: Ahead,
    policy: StewardPolicy,
    message: MessageReceived,
    own_id: OpenId | None,
    *,
    received_at: Millis,
    now: Millis,
) -> Judged:
    """Judge a message that was received at ``received_at``."""
    place = ahead.place(message, now)
    admission = _admission(connection, policy, message, own_id, place, own_message=ahead.is_own(message))
    question = question_text(message.text, message.mentions, own_id)
    written_at = written(message)
    late = is_late(written_at, received_at, policy.late_after_ms)
    return Judged(
        admission=admission,
        place=place,
        question=question,
        bot_name=own_name(message.mentions, own_id),
        asked_at=received_at if written_at is None else written_at,
        late=late,
        expired=late and is_control(question),
        corrects=_corrected(connection, message, question) if isinstance(admission, Ask) else None,
    )


def written(message: MessageReceived) -> Millis | None:
    """When the message was written, as far as it says."""
    return message.envelope.created_at if message.created_at is None else message.created_at


def _admission(
    connection: Connection,
    policy: StewardPolicy,
    message: MessageReceived,
    own_id: OpenId | None,
    place: Place,
    *,
    own_message: bool,
) -> Admission:
    app, sender = message.envelope.app, message.sender.open_id
    known = Known(
        own_id=own_id,
        own_message=own_message,
        unsettled_content=False,
        answered_here=place.conversation is not None and place.conversation.answered_at is not None,
        converse=place.converse,
        external_chat=None if place.chat is None else place.chat.external,
        told=message.private and sender is not None and told.was_told(connection, app, sender, told.NOT_OWNER),
    )
    admission = admit(message, policy.apps[app], known)
    # What we send mentions nobody, so a message that mentions the steward is no echo.
    if isinstance(admission, Ignore | Hold) or any(mention.open_id == own_id for mention in message.mentions):
        return admission
    shown = fingerprint(visible_text(message.text, message.mentions) if message.shown is None else message.shown)
    if echoes.has_unsettled_content(connection, app, message.chat_id, shown):
        return admit(message, policy.apps[app], replace(known, unsettled_content=True))
    # What another gateway settled since ours were looked for has its message's name by now.
    if not own_message and echoes.owns_message(connection, app, message.message_id):
        return admit(message, policy.apps[app], replace(known, own_message=True))
    return admission


def _corrected(connection: Connection, message: MessageReceived, question: str) -> RequestId | None:
    """The request that a message corrects: it must be a reply of the same person in the same chat, and say so."""
    if message.parent_id is None or message.sender.open_id is None or not is_correction(question):
        return None
    app = message.envelope.app
    asked = requests.request_of_message(connection, app, message.parent_id)
    subject = None if asked else echoes.subject_of_message(connection, app, message.parent_id)
    request = asked[0] if asked else None if subject is None else RequestId(subject)
    route = None if request is None else requests.route_of(connection, request, 1)
    if route is None or (route.sender_open_id, route.chat_id) != (message.sender.open_id, message.chat_id):
        return None
    return request
