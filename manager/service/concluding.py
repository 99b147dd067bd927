"""The end of a turn, in one transaction: guarded by its fence, by its revision and by the question's still standing."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import Final, assert_never

from sqlalchemy import Connection

from manager.decisions.admission import audience_of
from manager.decisions.decision import Answer, Decision, Decline, Delegate, Said
from manager.decisions.policy import StewardPolicy
from manager.decisions.turn import TurnEvent, may_retry, retry_delay_ms
from manager.decisions.turn_sentences import Sentence, failed_because, said_late, say
from manager.ledger import events, requests, turn_views, turns
from manager.ledger.facts import last, record
from manager.ledger.requests import RequestView
from manager.ledger.turns import ClaimedTurn
from manager.service.handover import DecidedTurn, apply_decision
from manager.service.outcomes import Decided, Failed, Interrupted, Lost, Outcome, Waiting, Withdrawn
from manager.service.telling import Telling
from returns.ids import Millis
from returns.ledger.outbox import ReturnKind

_log: Final = logging.getLogger(__name__)

WAIT_MS: Final = 5_000
"""Between two tries to learn who reads a chat."""


class Conclusion:
    """Commits outcomes. Every method runs in the caller's transaction."""

    def __init__(self, policy: StewardPolicy, telling: Telling) -> None:
        self._policy = policy
        self._telling = telling

    def commit(self, connection: Connection, outcome: Outcome, now: Millis) -> None:
        """Commit an outcome; one whose turn is lost changes nothing."""
        if isinstance(outcome, Lost):
            return
        revision = turns.held_revision(connection, outcome.turn.turn_id, outcome.turn.fence)
        if revision is None:
            return
        # Its question may have been edited since it was claimed, whatever came of it then.
        outcome = replace(outcome, turn=replace(outcome.turn, revision=revision))
        match outcome:
            case Decided(turn, decision, quoted):
                self._decide(connection, turn, decision, TurnEvent.DECIDED, now, quoted=quoted)
            case Failed():
                self._fail(connection, outcome, now)
            case Withdrawn(turn, cause):
                self._withdraw(connection, turn, cause, now)
            case Interrupted(turn):
                turns.release(connection, turn.turn_id, turn.fence, Millis(now + retry_delay_ms(turn.attempts)))
            case Waiting():
                self._wait(connection, outcome, now)
            case _:
                assert_never(outcome)

    def abandon(self, connection: Connection, turn: ClaimedTurn, now: Millis) -> None:
        """End a turn whose outcome could not be committed, so that its conversation goes on; an operator sees it."""
        if turns.finish(connection, turn.turn_id, turn.fence, TurnEvent.GAVE_UP):
            record(connection, turn.request_id, turn.revision, now, "turn_failed", _failure(turn, "broken", final=True))

    def _decide(
        self,
        connection: Connection,
        turn: ClaimedTurn,
        decision: Decision,
        event: TurnEvent,
        now: Millis,
        *,
        quoted: Said | None = None,
    ) -> None:
        request = requests.current(connection, turn.request_id, lock=True)
        route = requests.route_of(connection, turn.request_id, turn.revision)
        if request is None or route is None:
            raise LookupError("There is no such request.")
        cause = _unwanted(connection, turn, request)
        if cause is not None:
            self._withdraw(connection, turn, cause, now)
            return
        _note_investigation(connection, turn, decision, now)
        audience = audience_of(
            private=request.private, sender=route.sender_open_id, policy=self._policy.apps[request.app]
        )
        decided = DecidedTurn(turn.request_id, turn.revision, turn.conversation_id, audience, request.language, quoted)
        if events.was_late(connection, turn.event_seq):
            decision = self._say_late(connection, decided, decision, now)
        apply_decision(connection, decided, decision, self._telling, now)
        turns.finish(connection, turn.turn_id, turn.fence, event)

    def _say_late(self, connection: Connection, decided: DecidedTurn, decision: Decision, now: Millis) -> Decision:
        if isinstance(decision, Delegate):
            documents = self._telling.documents(say(Sentence.LATE, decided.language))
            self._telling.tell(connection, decided.request_id, decided.revision, ReturnKind.NOTICE, documents, now)
        return said_late(decision, decided.language)

    def _fail(self, connection: Connection, failed: Failed, now: Millis) -> None:
        turn = failed.turn
        again = failed.may_retry and may_retry(turn.attempts)
        record(
            connection,
            turn.request_id,
            turn.revision,
            now,
            "turn_failed",
            _failure(turn, failed.cause, final=not again),
        )
        if again:
            turns.release(connection, turn.turn_id, turn.fence, Millis(now + retry_delay_ms(turn.attempts)))
            return
        request = requests.current(connection, turn.request_id)
        if request is None:
            raise LookupError("There is no such request.")
        seconds = self._policy.turn_timeout_ms // 1000
        told = (
            say(failed.told, request.language, attempts=turn.attempts, seconds=seconds)
            if isinstance(failed.told, Sentence)
            else failed_because(failed.told, request.language)
        )
        self._decide(connection, turn, Decline(told), TurnEvent.GAVE_UP, now)

    def _wait(self, connection: Connection, waiting: Waiting, now: Millis) -> None:
        turn = waiting.turn
        said = last(connection, turn.request_id, turn.revision, "turn_waits")
        if said is None or said.get("cause") != waiting.cause:
            record(connection, turn.request_id, turn.revision, now, "turn_waits", {"cause": waiting.cause})
            _log.warning("turn %s waits: %s", turn.turn_id, waiting.cause)
        turns.give_back(connection, turn, Millis(now + WAIT_MS))

    def _withdraw(self, connection: Connection, turn: ClaimedTurn, cause: str, now: Millis) -> None:
        if cause == "closed":
            requests.cancel(connection, turn.request_id, now, by="policy", reason="the conversation is closed")
        record(connection, turn.request_id, turn.revision, now, "turn_withdrawn", {"cause": cause})
        turns.finish(connection, turn.turn_id, turn.fence, TurnEvent.WITHDRAWN)


def _unwanted(connection: Connection, turn: ClaimedTurn, request: RequestView) -> str | None:
    if request.revision != turn.revision:
        return "corrected"
    return "recalled" if turn_views.is_recalled(connection, turn.request_id, turn.revision) else None


def _note_investigation(connection: Connection, turn: ClaimedTurn, decision: Decision, now: Millis) -> None:
    if not isinstance(decision, Answer | Delegate | Decline):
        return
    counts = Counter(evidence.status for evidence in decision.evidence)
    detail: dict[str, str | int | bool | None] = {
        "read": counts["read"] + counts["truncated"],
        "denied": counts["denied"],
        "unavailable": counts["unavailable"],
    }
    record(connection, turn.request_id, turn.revision, now, "investigated", detail)


def _failure(turn: ClaimedTurn, cause: str, *, final: bool) -> dict[str, str | int | bool | None]:
    return {"cause": cause, "attempt": turn.attempts, "final": final}
