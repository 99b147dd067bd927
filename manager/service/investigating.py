"""The work on one turn: what is asked is made sure of, then the runtime decides. It ends in an outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from manager.decisions.admission import Converse, Standing, audience_of, standing
from manager.decisions.decision import Ask, Decline, PeerCard, Said, TurnInput
from manager.decisions.moments import iso
from manager.decisions.policy import StewardPolicy
from manager.decisions.turn import is_exhausted
from manager.decisions.turn_sentences import Sentence, say
from manager.ledger import peers, turn_views, turns
from manager.ledger.turn_views import TurnView
from manager.ledger.turns import ClaimedTurn
from manager.ports import ChatMessage, ChatReader, Gone, HostTools, Runtime, RuntimeFailed
from manager.service.chat_facts import Reach, learn_reach
from manager.service.editing import is_edited, take_edit
from manager.service.outcomes import Decided, Failed, Interrupted, Lost, Outcome, Waiting, Withdrawn
from manager.service.recalling import take_back
from returns.ports import Clock, StorageUnavailable, Transactions

_log: Final = logging.getLogger(__name__)

QUOTE_LIMIT: Final = 20_000


class TurnBroken(Exception):
    """Something failed that should not have; the cause is the error. The turn may be tried again."""

    code = "turn_broken"


@dataclass(frozen=True, slots=True)
class Question:
    """A turn whose question is made sure of."""

    turn: ClaimedTurn
    view: TurnView


class Investigation:
    """Works on turns. Holds no state of its own."""

    def __init__(
        self,
        transactions: Transactions,
        clock: Clock,
        policy: StewardPolicy,
        runtime: Runtime,
        hosttools: HostTools,
        reader: ChatReader,
        new_id: Callable[[str], str],
    ) -> None:
        self._transactions = transactions
        self._clock = clock
        self._policy = policy
        self._runtime = runtime
        self._hosttools = hosttools
        self._reader = reader
        self._new_id = new_id

    async def work_on(self, turn: ClaimedTurn) -> Outcome:
        """Work on a claimed turn until its outcome is known. Nothing but cancellation passes through."""
        try:
            return await self._guarded(turn)
        except StorageUnavailable:
            return Interrupted(turn)
        except TurnBroken as broken:
            _log.error("turn %s broke: %s", turn.turn_id, type(broken.__cause__).__name__)
            return Failed(turn, "broken", Sentence.FAILED, may_retry=True)

    async def _guarded(self, turn: ClaimedTurn) -> Outcome:
        try:
            return await self._work(turn)
        except (StorageUnavailable, asyncio.CancelledError):
            raise
        except RuntimeFailed as failed:
            return Failed(turn, failed.code, failed.reason, may_retry=True)
        except Exception as error:
            raise TurnBroken("a turn broke") from error

    async def _work(self, turn: ClaimedTurn) -> Outcome:
        question = await self._begin(turn)
        if not isinstance(question, Question):
            return question
        unwelcome = await self._judge_again(question)
        if unwelcome is not None:
            return unwelcome
        if is_exhausted(turn.attempts):
            return Failed(turn, "exhausted", Sentence.FAILED, may_retry=False)
        return await self._timed(question)

    async def _timed(self, question: Question) -> Outcome:
        """Only what may be said there counts as time of the turn: who reads the chat is known by now."""
        limit = asyncio.timeout(self._policy.turn_timeout_ms / 1000)
        try:
            async with limit:
                seen = await self._read_again(question)
                return await self._decide(seen) if isinstance(seen, Question) else seen
        except TimeoutError:
            if not limit.expired():
                raise
            return Failed(question.turn, "timed_out", Sentence.TIMED_OUT, may_retry=False)

    async def _begin(self, turn: ClaimedTurn) -> Question | Outcome:
        now = self._clock.now()

        def begin(connection: Connection) -> TurnView | None:
            if not turns.holds(connection, turn.turn_id, turn.fence):
                return None
            view = turn_views.view(connection, turn, now)
            if view.route.app in self._policy.apps and not _awaits_chat(view):
                turns.note_started(connection, turn, now)
            return view

        view = await self._transactions.run(begin)
        if view is None:
            return Lost()
        if view.recalled:
            return Withdrawn(turn, "recalled")
        return Withdrawn(turn, "corrected") if view.newest != turn.revision else Question(turn, view)

    async def _judge_again(self, question: Question) -> Outcome | None:
        """What was admitted when it came may not be welcome when its turn comes."""
        turn, view = question.turn, question.view
        if view.route.app not in self._policy.apps:
            return Waiting(turn, "app_not_configured")
        reach = await learn_reach(self._transactions, self._reader, view.chat)
        if _awaits_chat(view):
            if reach is Reach.UNKNOWN:
                return Waiting(turn, "chat_unknown")
            now = self._clock.now()
            await self._transactions.run(lambda each: turns.note_started(each, turn, now))
        judged = standing(
            private=view.private,
            sender=view.route.sender_open_id,
            policy=self._policy.apps[view.route.app],
            converse=view.converse,
            external=reach is Reach.EXTERNAL,
        )
        match judged:
            case Standing.ADMITTED:
                return None
            case Standing.NOT_OWNER:
                return Decided(turn, Decline(say(Sentence.NOT_OWNER, view.language)))
            case Standing.CLOSED:
                return Withdrawn(turn, "closed")

    async def _read_again(self, question: Question) -> Question | Outcome:
        """The question as it is now; where it cannot be read, what was received stands.

        Only the provider's word that it was taken back takes it back. That it knows no such message says nothing: an
        event may come before its message can be read.
        """
        turn, view = question.turn, question.view
        seen = await self._reader.message(view.route.app, view.route.message_id)
        now = self._clock.now()
        if isinstance(seen, Gone):
            if seen is not Gone.RECALLED:
                return question
            app, message = view.route.app, view.route.message_id
            await self._transactions.run(lambda each: take_back(each, self._new_id, app, message, now))
            return Withdrawn(turn, "recalled")
        if not is_edited(view, seen):
            return question

        def edit(connection: Connection) -> Question | None:
            edited = take_edit(connection, turn, view, seen, now)
            return None if edited is None else Question(edited, turn_views.view(connection, edited, now))

        return await self._transactions.run(edit) or Lost()

    async def _decide(self, question: Question) -> Decided:
        turn, view = question.turn, question.view
        quoted = await self._quoted(question)
        if not view.question and quoted is None:
            return Decided(turn, Ask(say(Sentence.EMPTY, view.language)))
        audience = audience_of(
            private=view.private, sender=view.route.sender_open_id, policy=self._policy.apps[view.route.app]
        )
        cards: tuple[PeerCard, ...] = await self._transactions.read(lambda each: peers.cards(each, audience))
        async with self._hosttools.open(audience) as host:
            turn_input = TurnInput(turn.turn_id, view.question, quoted, view.history, audience, cards)
            return Decided(turn, await self._runtime.decide(turn_input, host), quoted)

    async def _quoted(self, question: Question) -> Said | None:
        """The message that the question replies to: our own words as we said them, others' as the chat shows them."""
        turn, view = question.turn, question.view
        if turn.parent is None:
            return None
        if view.own_parent:
            words = "\n\n".join(said.text for said in view.own_parent)
            last = view.own_parent[-1]
            return Said(last.at, last.author, words[:QUOTE_LIMIT])
        seen = await self._reader.message(view.route.app, turn.parent)
        if not isinstance(seen, ChatMessage):
            return None
        return Said(iso(seen.sent_at), seen.author, seen.text[:QUOTE_LIMIT])


def _awaits_chat(view: TurnView) -> bool:
    """Whether it has to be learnt first who reads the chat: external ones are open only by an owner's grant."""
    return not view.private and view.converse is not Converse.OWNER and view.chat.external is None
