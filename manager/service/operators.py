"""What operators ask for, carried out: the one module behind the commands, the API and the pages.

``carry_out`` runs in the transaction that stores the command, and does at once whatever needs nothing from outside:
refusing, noting, cancelling, asking for a look. What depends on what is read then is done by ``finish``, once for each
command, whichever gateway comes first and however often one is killed: closing the command and its effect are one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from sqlalchemy import Connection

from manager.decisions.operators import (
    Act,
    Kind,
    OperatorRefused,
    Outcome,
    Refusal,
    Step,
    after_looks,
    may_send,
    name_of,
)
from manager.decisions.work import Work
from manager.ids import RequestId
from manager.ledger import operators, requests
from manager.ledger.operators import Command
from manager.ledger.requests import RequestView
from manager.service import cancelling
from manager.service.operators_facts import Detail, note_act, standing
from manager.service.operators_taking import Carried, Taking, kind_of
from manager.service.recalling import let_stand
from returns.delivery import SETTLED, State
from returns.ids import Millis, ReturnId, SubjectId
from returns.ledger import notices
from returns.ledger import operators as deliveries
from returns.ledger.answer_now import AnswerNow
from returns.ledger.locking import lock_chats_of
from returns.ledger.parts import Part
from returns.ledger.untold import was_told
from returns.ports import Authority, Verdict


class Operators:
    """Everything that operators can do."""

    __slots__ = ("_authority", "_give_up_after_ms", "_new_id")

    def __init__(self, authority: Authority, new_id: Callable[[str], str], give_up_after_ms: int) -> None:
        """``give_up_after_ms``: how long a look that an operator asked for is tried."""
        self._authority = authority
        self._new_id = new_id
        self._give_up_after_ms = give_up_after_ms

    def carry_out(self, connection: Connection, request_id: RequestId, act: Act, who: str, now: Millis) -> Carried:
        """Take a command of ``who``. Raises ``OperatorRefused``: nothing moved."""
        name = name_of(who)
        view = requests.current(connection, request_id, lock=True)
        if view is None:
            raise OperatorRefused(Refusal.NOT_FOUND, "There is no such request.")
        subject = SubjectId(request_id)
        lock_chats_of(connection, subject)
        answer = told_of(connection, view)

        def send_anew(part: Part, reason: str) -> Outcome:
            return self._send_anew(connection, part, name, reason, now)

        def stands() -> str:
            newest = requests.current(connection, request_id)
            return "" if newest is None else standing(newest, told_of(connection, newest))

        taking = Taking(connection, view, answer, kind_of(act), name, now, self._new_id, send_anew, stands)
        return taking.carry_out(act, self._give_up_after_ms)

    def finish(self, connection: Connection, command: Command, now: Millis) -> Outcome | None:
        """Do what a command still waits for, if it can be done now; its outcome, or None while it waits on."""
        view = requests.current(connection, command.request_id, lock=True)
        if view is None:
            return _close(connection, command, None, Outcome.CHANGED, now)
        if command.kind is Kind.CANCEL:
            over = cancelling.finish(connection, command.request_id, command.due_at, now)
            return _close(connection, command, view, Outcome.CANCELLED, now) if over else None
        lock_chats_of(connection, SubjectId(command.request_id))
        found = _look(connection, command, view)
        if found is None:
            return _close(connection, command, view, Outcome.CHANGED, now)
        if not found.is_over(command.kind, view):
            return None
        if command.kind is Kind.RESEND:
            return self._finish_resend(connection, command, view, found.part, found.step, now)
        if found.part is not None:
            return _close(connection, command, view, Outcome.UNPROVED, now)
        outcome = Outcome.PROVED if found.answer.status is State.DELIVERED else Outcome.CHANGED
        return _close(connection, command, view, outcome, now)

    def is_ready(self, connection: Connection, command: Command, now: Millis) -> bool:
        """Whether ``finish`` would end the command now, as far as reading without any lock can tell."""
        if command.kind is Kind.CANCEL:
            return cancelling.is_over(connection, command.request_id, command.due_at, now)
        view = requests.current(connection, command.request_id)
        found = None if view is None else _look(connection, command, view)
        return view is None or found is None or found.is_over(command.kind, view)

    def _send_anew(self, connection: Connection, part: Part, who: str, reason: str, now: Millis) -> Outcome:
        """Send the rest of an answer by a new return, if that may be told now.

        The answer to a correction that was taken back may not; what it spoke of stands again instead.
        """
        verdict = self._authority.verdict(connection, part.subject, part.revision)
        if not may_send(verdict):
            stands = verdict is Verdict.QUESTION_RECALLED and self._let_stand(connection, part, now)
            return Outcome.CHANGED if stands else Outcome.FORBIDDEN
        if not deliveries.is_kept(connection, part):
            return Outcome.NO_LONGER_KEPT
        return_id = ReturnId(self._new_id("ret"))
        sent = deliveries.send_anew(connection, part, return_id, now, who=who, reason=reason)
        return Outcome.QUEUED if sent else Outcome.CHANGED

    def _let_stand(self, connection: Connection, part: Part, now: Millis) -> bool:
        view = requests.current(connection, RequestId(part.subject), lock=True)
        if view is None or view.revision != part.revision or part.kind != "answer":
            return False
        if was_told(connection, part.subject, part.revision):
            return False
        return let_stand(connection, self._new_id, view.request_id, view.revision, now)

    def _finish_resend(
        self, connection: Connection, command: Command, view: RequestView, part: Part | None, step: Step, now: Millis
    ) -> Outcome | None:
        if view.newest.work is Work.CANCELLED or (part is not None and part.stopped):
            return _close(connection, command, view, Outcome.CANCELLED, now)
        if part is None or step is Step.SETTLED:
            return _close(connection, command, view, Outcome.PROVED, now)
        match step:
            case Step.SEND:
                # What is known may not be enough to send it once more: a message that was read, or a look of long ago.
                if deliveries.look_further(connection, part, now, give_up_after_ms=self._give_up_after_ms):
                    return None
                outcome = self._send_anew(connection, part, command.who, command.reason or "", now)
            case Step.UNREADABLE:
                looked_for = [
                    each for each in deliveries.copies(connection, part) if each.state is State.VERIFICATION_REQUIRED
                ]
                given_up = [deliveries.give_up(connection, each, now) for each in looked_for]
                if not all(given_up):
                    return None
                outcome = Outcome.UNREADABLE
            case Step.AMBIGUOUS:
                outcome = Outcome.AMBIGUOUS
            case Step.FORBIDDEN:
                outcome = Outcome.FORBIDDEN
            case Step.WAIT:
                return None
            case _:
                assert_never(step)
        return _close(connection, command, view, outcome, now)


@dataclass(frozen=True, slots=True)
class _Looked:
    """How far the look stands that a command waits for."""

    answer: AnswerNow
    part: Part | None
    """The first one that is not proved; None where all that was looked for is."""
    step: Step

    def is_over(self, kind: Kind, view: RequestView) -> bool:
        """Whether there is nothing more to wait for."""
        if kind is Kind.RESEND:
            stopped = self.part is not None and self.part.stopped
            return view.newest.work is Work.CANCELLED or stopped or self.step is not Step.WAIT
        if self.part is not None:
            return self.step is not Step.WAIT and self.part.state is not State.VERIFICATION_REQUIRED
        return self.answer.status in SETTLED  # the parts behind what is proved may be on their way


def _look(connection: Connection, command: Command, view: RequestView) -> _Looked | None:
    """None where another answer took the place of the one that the command is for."""
    answer = told_of(connection, view, command.return_id)
    if answer is None or answer.return_id != command.return_id:
        return None
    part = deliveries.unproved(connection, answer, waiting=command.kind is not Kind.RESEND)
    if part is not None and command.part_id not in (None, deliveries.newest(connection, part).part_id):
        part = None  # the one that it was for is proved; of those behind it nobody has said anything
    seen = [] if part is None else deliveries.copies(connection, part)
    return _Looked(answer, part, after_looks([(each.state, each.error) for each in seen]))


def told_of(connection: Connection, view: RequestView, return_id: ReturnId | None = None) -> AnswerNow | None:
    """What an operator acts upon: the newest revision's answer; where it has none, the notice ``return_id``, or else
    the newest that is not proved. None if there is no such one."""
    subject = SubjectId(view.request_id)
    answer = deliveries.answer_of(connection, subject)
    if answer is not None and answer.revision == view.revision:
        return answer
    if return_id is not None:
        return notices.by_id(connection, subject, view.revision, return_id)
    return notices.newest(connection, subject, view.revision)


def _close(
    connection: Connection, command: Command, view: RequestView | None, outcome: Outcome, now: Millis
) -> Outcome | None:
    """End the command with its fact. Raises ``AlreadyClosed``, so that nothing is done twice for it."""
    if not operators.close(connection, command, outcome, now):
        raise AlreadyClosed("Another gateway has ended this command.")
    if view is not None and command.kind is not Kind.CANCEL:
        detail: Detail = {"after": standing(view, told_of(connection, view))}
        note_act(connection, view, command.kind, command.who, None, outcome, detail, now)
    return outcome


class AlreadyClosed(Exception):
    """The command was ended by somebody else; nothing of this transaction is kept."""

    code = "already_closed"
