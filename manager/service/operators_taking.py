"""Taking an operator's command: checked, refused or begun, and stored with who and why, in one transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from sqlalchemy import Connection

from manager.decisions.operators import (
    LONGEST_SNOOZE_MS,
    Act,
    Cancel,
    Found,
    Kind,
    Note,
    OperatorRefused,
    Outcome,
    Refusal,
    Resend,
    Reveal,
    Snooze,
    Verify,
    note_of,
    reason_of,
)
from manager.decisions.work import Work
from manager.ledger import operators
from manager.ledger.operators import COMMANDS
from manager.ledger.requests import RequestView
from manager.service import cancelling
from manager.service.operators_facts import Detail, note_act, standing
from manager.service.revealing import reveal
from returns.delivery import State
from returns.ids import MessageId, Millis
from returns.ledger import candidates
from returns.ledger import operators as deliveries
from returns.ledger.answer_now import AnswerNow
from returns.ledger.notices import NOTICE
from returns.ledger.operators import Naming
from returns.ledger.parts import Part
from returns.ledger.wakeups import announce

_MESSAGE_ID: Final = re.compile(r"[A-Za-z0-9_-]{4,120}")
NOTHING_OPEN: Final = "This request has no answer that waits for a proof, and no notice where it has no answer."
_NUMBER: Final = re.compile(r"[0-9]{1,3}")

_KINDS: Final[Mapping[type[Act], Kind]] = {
    Verify: Kind.VERIFY,
    Found: Kind.FOUND,
    Resend: Kind.RESEND,
    Cancel: Kind.CANCEL,
    Note: Kind.NOTE,
    Snooze: Kind.SNOOZE,
    Reveal: Kind.REVEAL,
}


def kind_of(act: Act) -> Kind:
    """What kind of command it is."""
    return _KINDS[type(act)]


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of a command so far."""

    command_id: str
    outcome: Outcome | None
    """None: it waits for what is read, or for a receiver."""
    revealed: Mapping[str, object] | None = None
    """Private."""


@dataclass(frozen=True, slots=True)
class Taking:
    """One command on its way into the database."""

    connection: Connection
    view: RequestView
    answer: AnswerNow | None
    """The newest revision's answer, or, where it has none, the notice that is acted upon."""
    kind: Kind
    who: str
    now: Millis
    new_id: Callable[[str], str]
    send_anew: Callable[[Part, str], Outcome]
    """Sends the rest of an answer by a new return, for the reason that is given."""
    stands: Callable[[], str]
    """What it stands at by now."""

    def carry_out(self, act: Act, give_up_after_ms: int) -> Carried:
        """Begin the act. Raises ``OperatorRefused``: nothing moved."""
        match act:
            case Verify():
                return self.verify(give_up_after_ms)
            case Found(ref):
                return self.found(ref, give_up_after_ms)
            case Resend(reason):
                return self.resend(reason_of(reason), give_up_after_ms)
            case Cancel(reason):
                return self.cancel(reason_of(reason))
            case Note(text):
                return self.done(Outcome.NOTED, {"text": note_of(text)})
            case Snooze(until):
                return self.snooze(until)
            case Reveal():
                return self.reveal()
            case _:
                assert_never(act)

    def verify(self, give_up_after_ms: int) -> Carried:
        if self.answer is None or not deliveries.look_at(
            self.connection, self.answer, self.now, give_up_after_ms=give_up_after_ms
        ):
            proved = self.answer is not None and self.answer.status is State.DELIVERED
            return self.done(Outcome.PROVED if proved else Outcome.UNPROVED)
        return self.wait()

    def found(self, ref: str, give_up_after_ms: int) -> Carried:
        part = None if self.answer is None else deliveries.unproved(self.connection, self.answer, waiting=True)
        if part is None or part.state is State.UNDELIVERABLE:
            raise OperatorRefused(Refusal.NOTHING_OPEN, NOTHING_OPEN)
        message = self._message(part, ref.strip())
        naming = self._name(part, message, give_up_after_ms)
        match naming:
            case Naming.LOOKING:
                return self.wait()
            case Naming.NOT_OPEN:
                raise OperatorRefused(Refusal.NOTHING_OPEN, NOTHING_OPEN)
            case Naming.ANOTHERS:
                raise OperatorRefused(Refusal.ANOTHERS_MESSAGE, "That message is another answer's.", "ref")
            case Naming.LOCATED:
                message_ = "The provider itself named this answer's message; see reveal."
                raise OperatorRefused(Refusal.ALREADY_LOCATED, message_, "ref")
            case _:
                assert_never(naming)

    def _name(self, part: Part, message: MessageId, give_up_after_ms: int) -> Naming:
        """Of the part, or, where the provider named another message for that, of what it repeats."""
        naming = Naming.LOCATED
        for each in deliveries.copies(self.connection, part):
            naming = deliveries.name_message(
                self.connection, each, message, self.now, give_up_after_ms=give_up_after_ms
            )
            if naming is not Naming.LOCATED:
                return naming
        return naming

    def resend(self, reason: str, give_up_after_ms: int) -> Carried:
        if self.view.newest.work is Work.CANCELLED:
            raise OperatorRefused(Refusal.NOT_RESENDABLE, "It was cancelled: its answer is told to nobody.")
        pending = operators.waiting_for(self.connection, self.view.request_id, Kind.RESEND)
        if pending is not None:  # the same one
            return Carried(pending.command_id, None)
        part = None if self.answer is None else deliveries.unproved(self.connection, self.answer)
        if part is not None and part.stopped:
            raise OperatorRefused(Refusal.NOT_RESENDABLE, "It was cancelled: nothing more of it is told.")
        if part is None or part.state not in (State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE):
            status = "absent" if self.answer is None or self.answer.kind == NOTICE else self.answer.status.value
            message = (
                f"The delivery is {status}. Only what ended as explicit_unverified or undeliverable is sent anew; "
                "nothing was sent."
            )
            raise OperatorRefused(Refusal.NOT_RESENDABLE, message)
        if not deliveries.is_kept(self.connection, part):
            message = (
                "The text of this answer is no longer kept ([retention]); nothing was sent. Tell the asker yourself."
            )
            raise OperatorRefused(Refusal.NO_LONGER_KEPT, message)
        if part.state is State.UNDELIVERABLE:  # it is known not to be there, so there is nothing to look for
            outcome = self.send_anew(part, reason)
            return self.done(outcome, {"reason": reason})
        if self.answer is not None:
            deliveries.look_at(self.connection, self.answer, self.now, give_up_after_ms=give_up_after_ms, further=True)
        return self.wait({"reason": reason}, deliveries.newest(self.connection, part))

    def cancel(self, reason: str) -> Carried:
        cancelled = cancelling.cancel(self.connection, self.view, reason, self.now)
        if cancelled.due_at is None:
            return self.done(cancelled.outcome, {"reason": reason})
        self._note(cancelled.outcome, {"reason": reason})
        stored = self._store(None, waits=True, reason=reason, due_at=cancelled.due_at)
        return Carried(stored, cancelled.outcome)

    def snooze(self, until: Millis) -> Carried:
        if until > self.now + LONGEST_SNOOZE_MS:
            raise OperatorRefused(Refusal.INVALID, "A request is snoozed for a year at most.", "until")
        operators.snooze(self.connection, self.view.request_id, until, self.who, self.now)
        return self.done(Outcome.SNOOZED if until > self.now else Outcome.WOKEN, {"until": until})

    def reveal(self) -> Carried:
        carried = self.done(Outcome.REVEALED)
        return Carried(carried.command_id, carried.outcome, reveal(self.connection, self.view))

    def done(self, outcome: Outcome, detail: Detail | None = None) -> Carried:
        """The command is over."""
        self._note(outcome, detail or {})
        reason = (detail or {}).get("reason")
        stored = self._store(outcome, waits=False, reason=None if reason is None else str(reason))
        return Carried(stored, outcome)

    def wait(self, detail: Detail | None = None, part: Part | None = None) -> Carried:
        """The command, of this part, goes on when it is known what was read."""
        self._note(None, detail or {})
        reason = (detail or {}).get("reason")
        stored = self._store(None, waits=True, reason=None if reason is None else str(reason), part=part)
        announce(self.connection, COMMANDS)
        return Carried(stored, None)

    def _message(self, part: Part, ref: str) -> MessageId:
        if _NUMBER.fullmatch(ref):
            message = candidates.message_of(self.connection, part.part_id, int(ref))
            if message is None:
                raise OperatorRefused(
                    Refusal.NO_CANDIDATE, "There is no candidate of that number: verify lists them.", "ref"
                )
            return message
        if _MESSAGE_ID.fullmatch(ref):
            return MessageId(ref)
        raise OperatorRefused(Refusal.INVALID, "Give a message id, or the number of a candidate.", "ref")

    def _note(self, outcome: Outcome | None, detail: Detail) -> None:
        after: Detail = {} if outcome is None else {"after": self.stands()}
        note_act(
            self.connection,
            self.view,
            self.kind,
            self.who,
            standing(self.view, self.answer),
            outcome,
            {**detail, **after},
            self.now,
        )

    def _store(
        self,
        outcome: Outcome | None,
        *,
        waits: bool,
        reason: str | None,
        part: Part | None = None,
        due_at: Millis | None = None,
    ) -> str:
        command_id = self.new_id("op")
        operators.store(
            self.connection,
            command_id=command_id,
            request_id=self.view.request_id,
            kind=self.kind,
            who=self.who,
            reason=reason,
            return_id=None if self.answer is None else self.answer.return_id,
            part_id=None if part is None else part.part_id,
            outcome=outcome,
            waits=waits,
            due_at=due_at,
            now=self.now,
        )
        return command_id
