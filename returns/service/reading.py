"""Reading one message back, and recording what it proves."""

from __future__ import annotations

from typing import assert_never

from sqlalchemy import Connection

from returns.delivery import Event
from returns.ledger import checks
from returns.ledger.checks import Check, NotRead
from returns.ports import Api, Locator, Missing, NotPermitted, Reading, ReadOutcome, Unreachable
from returns.service.holding import while_held
from returns.service.landing import judge_where_it_landed
from returns.service.tools import Tools, Turn
from returns.service.unreached import unreached


async def read_back(tools: Tools, check: Check, locator: Locator, turn: Turn) -> None:
    """Read the message of a claimed part and record what it proves."""
    app = check.expected.route.app
    await turn.begin()
    outcome = await while_held(tools, check.part_id, check.fence, tools.provider.read(app, locator))
    await turn.end()
    meaning = await while_held(tools, check.part_id, check.fence, _meaning(tools, outcome, locator, check))
    shown = outcome if isinstance(outcome, Reading) else None
    now = tools.clock.now()
    if isinstance(outcome, Unreachable):
        tools.reach.lose(app)
    again = not isinstance(outcome, Unreachable) and tools.reach.regain(app, now)

    def record(connection: Connection) -> None:
        if isinstance(meaning, NotRead):
            checks.conclude_not_read(connection, check, meaning, now, tools.policy)
        else:
            checks.conclude_reading(connection, check, meaning, now, tools.policy, shown)
        if again:
            checks.hurry(connection, app, now)

    await tools.transactions.run(record)


async def _meaning(tools: Tools, outcome: ReadOutcome, locator: Locator, check: Check) -> Event | NotRead:
    match outcome:
        case Reading():
            return await judge_where_it_landed(tools, check, locator, outcome)
        case Missing():
            return Event.MISSING
        case NotPermitted():
            return NotRead("not_permitted")
        case Unreachable():
            return await unreached(tools, check.expected.route.app, Api.READS, outcome)
        case _:
            assert_never(outcome)
