"""A question that was taken back: its own turn is cancelled, and what it spoke of stands as it stood before.

What the asker still shows in the chat is what is still asked. So a correction that is taken back before anybody was
told its answer opens the earlier question again, as the next revision, with the messages that it had then:

- recalled before its turn, or while that runs: the turn is cancelled and the earlier question's is queued anew;
- recalled once its answer was attempted: the request has its answer, and nothing more is owed;
- the earlier question was answered already, and a send of that answer was attempted: that answer stays what it is and
  nothing more is owed. All axes belong to a revision, so the item shows the correction, cancelled and without an
  answer, and its timeline says which answer stands;
- an operator or the policy ended the earlier question: it stays ended.

A first question that is taken back while a correction of it stands changes nothing of the correction, which keeps the
words that it was received with; if both are taken back, nothing is left to answer.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from manager.ids import RequestId, TurnId
from manager.ledger import requests, revisions, routes, turns
from manager.ledger.facts import record
from returns.ids import AppName, MessageId, Millis, SubjectId
from returns.ledger.untold import was_begun


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
    found = requests.request_of_message(connection, app, message_id)
    if found is not None:
        take_back_revision(connection, new_id, *found, now, say_nothing=say_nothing)
    return found


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
        _let_stand(connection, new_id, request, revision, now)


def _let_stand(
    connection: Connection, new_id: Callable[[str], str], request: RequestId, recalled: int, now: Millis
) -> None:
    """Let the question stand that the recalled one spoke of, where there is one."""
    standing = routes.standing(connection, request, recalled)
    if standing is None:
        return
    if was_begun(connection, SubjectId(request), standing):
        record(connection, request, recalled, now, "earlier_answer_stands", {"standing": standing})
        return
    ended_by_another = requests.was_refused(connection, request, standing)
    if ended_by_another or revisions.body(connection, request, standing).pruned:
        return
    if turns.queue_again(connection, request, standing, recalled + 1, TurnId(new_id("u")), now):
        requests.reopen(connection, request, standing, now)
