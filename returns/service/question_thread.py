"""Whether a question stands in a thread by now: somebody may have begun one on it since it was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from returns.ids import MessageId, ThreadId
from returns.ledger.checks import NotRead
from returns.ports import Api, Call, Locator, Missing, NotPermitted, Reading, Route, Unreachable
from returns.service.tools import Tools
from returns.service.unreached import unreached


@dataclass(frozen=True, slots=True)
class Gone:
    """The question was deleted: nobody can know of it any more where it stood."""


async def thread_of_question(tools: Tools, route: Route, question: MessageId) -> ThreadId | Gone | NotRead | None:
    """Read the question: its thread, or None where it has none."""
    async with tools.turn(Call(route.app, Api.READS)) as turn:
        await turn.begin()
        outcome = await tools.provider.read(route.app, Locator(question, route.chat_id, None))
    match outcome:
        case Reading(locator=at):
            return at.thread_id if (at.message_id, at.chat_id) == (question, route.chat_id) else None
        case Missing():
            return Gone()
        case NotPermitted():
            return NotRead("not_permitted")
        case Unreachable():
            return await unreached(tools, route.app, Api.READS, outcome)
        case _:
            assert_never(outcome)
