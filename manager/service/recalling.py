"""A question that was taken back: its own turn is cancelled, and what it spoke of stands as it stood before.

What the asker still shows in the chat is what is still asked. So a correction that is taken back before anybody was
told its answer opens the earlier question again, as the next revision, with the messages that it had then:

- recalled before its turn, or while that runs: the turn is cancelled and the earlier question's is queued anew;
- recalled once its answer was attempted: the request has its answer, and nothing more is owed; where that answer is not
  proved, and an operator wants it sent anew, the earlier question stands again instead (``operators``);
- the earlier question was answered already, and a send of that answer was attempted: the request goes back to that
  revision, so that the item shows its work and its delivery, proved or not, and an operator acts upon that answer as
  before the correction. The recalled revision keeps its number; the next one gets the number behind it;
- that answer was to be sent anew by an operator: a correction replaces nothing of this;
- an operator or the policy ended the earlier question: it stays ended.

A first question that is taken back while a correction of it stands changes nothing of the correction, which keeps the
words that it was received with; if both are taken back, nothing is left to answer. An answer of the first one that was
told, or may have been, is what the item shows then, in whichever order they went.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from manager.decisions.replay import STANDS_AGAIN
from manager.ids import RequestId, TurnId
from manager.ledger import requests, revisions, routes, told, turns
from manager.ledger.facts import record
from returns.ids import AppName, MessageId, Millis, SubjectId
from returns.ledger import answers
from returns.ledger.untold import is_untold, was_begun


def take_back(
    connection: Connection,
    new_id: Callable[[str], str],
    app: AppName,
    message_id: MessageId,
    now: Millis,
    *,
    say_nothing: bool = True,
) -> tuple[RequestId, int] | None:
    """A message was recalled or deleted; the revision that it had opened, or None. The second time does nothing.

    ``say_nothing`` is ``returns.recalled_question``; a question that is not decided is cancelled in any case.
    """
    found = opened_by(connection, app, message_id)
    if found is not None:
        take_back_revision(connection, new_id, *found, now, say_nothing=say_nothing)
    return found


def opened_by(connection: Connection, app: AppName, message_id: MessageId) -> tuple[RequestId, int] | None:
    """The request of a message and the newest revision that the message opened, or None; locks the request.

    Another gateway may just be opening the next one: with an edit of the message, or because it stands again.
    """
    found = requests.request_of_message(connection, app, message_id)
    if found is None or requests.current(connection, found[0], lock=True) is None:
        return found
    return requests.request_of_message(connection, app, message_id)


def take_back_revision(
    connection: Connection,
    new_id: Callable[[str], str],
    request: RequestId,
    revision: int,
    now: Millis,
    *,
    say_nothing: bool,
) -> None:
    """The question of a revision was recalled or deleted; see ``take_back``."""
    ended = requests.note_recalled(connection, request, revision, now, say_nothing=say_nothing)
    if ended:
        _take_back_told(connection, request, revision)
        let_stand(connection, new_id, request, revision, now)


def _take_back_told(connection: Connection, request: RequestId, revision: int) -> None:
    """Nothing was told: whoever may not ask in private and took that question back is told so another time."""
    view, route = requests.current(connection, request), requests.route_of(connection, request, revision)
    if view is not None and view.private and route is not None and route.sender_open_id is not None:
        told.forget(connection, route.app, route.sender_open_id, told.NOT_OWNER)


def let_stand(
    connection: Connection, new_id: Callable[[str], str], request: RequestId, recalled: int, now: Millis
) -> bool:
    """Let the question stand that the recalled one spoke of; False where there is none.

    Nothing of the recalled one's answer may have been told, or else an operator says that it is not there.
    """
    standing = routes.standing(connection, request, recalled)
    if standing is None:
        before = _told_before(connection, request, recalled)
        return before is not None and _go_back(connection, request, recalled, before, now)
    if was_begun(connection, SubjectId(request), standing) and _go_back(connection, request, recalled, standing, now):
        return True
    ended_by_another = requests.was_refused(connection, request, standing)
    if ended_by_another or revisions.body(connection, request, standing).pruned:
        return False
    number = requests.number_of_next(connection, request)
    if not turns.queue_again(connection, request, standing, number, TurnId(new_id("u")), now):
        return False
    requests.reopen(connection, request, standing, now)
    return True


def _told_before(connection: Connection, request: RequestId, recalled: int) -> int | None:
    """The newest earlier revision of whose answer something was told, or may have been."""
    subject = SubjectId(request)
    earlier = range(recalled - 1, 0, -1)
    begun = (revision for revision in earlier if was_begun(connection, subject, revision))
    return next((revision for revision in begun if not is_untold(connection, subject, revision)), None)


def _go_back(connection: Connection, request: RequestId, recalled: int, standing: int, now: Millis) -> bool:
    """Let the request show an earlier revision whose answer was begun; False where all of that was replaced."""
    if not answers.stand_again(connection, SubjectId(request), standing, now):
        return False
    requests.stand_again(connection, request, standing)
    record(connection, request, recalled, now, STANDS_AGAIN, {"standing": standing})
    return True
