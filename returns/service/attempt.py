"""One attempt, step by step: prepare, pace, commit, send, record.

The order is the guarantee. The token is at hand before anything is committed; the attempt is committed before the
first byte is written; what the provider said is recorded before anything else is done with the part.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection

from returns.decisions.retry import pause_ms
from returns.ids import AppName, ChatKey, PartId
from returns.ledger import attempts
from returns.ledger.attempts import Attempt
from returns.ports import Api, Call, Permit, Ready, Refusal, Refused, SendOutcome, StorageUnavailable, Unknown
from returns.service.containing import Contained, describe
from returns.service.ending import Ending
from returns.service.holding import while_held
from returns.service.speaking import Speaking
from returns.service.tools import Tools

FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 5.0

_log = logging.getLogger(__name__)


async def deliver(
    tools: Tools,
    part_id: PartId,
    app: AppName,
    chat: ChatKey,
    permit: Permit | None = None,
    *,
    ending: Ending,
    speaking: Speaking | None = None,
) -> None:
    """Try to send a part once. Raises ``StorageUnavailable`` if the attempt could not be committed.

    ``permit`` is one for the send, where it was taken already. Nothing is attempted once the end has come (``ending``);
    ``speaking`` is this gateway among several.
    """
    async with tools.turn(Call(app, Api.SENDS, chat), permit) as turn:
        if not await prepare(tools, part_id, app, speaking):
            return
        await turn.take()
        with ending.sending() as may_begin:
            attempt = await commit(tools, part_id) if may_begin else None
            if attempt is None:
                return
            await turn.begin()
            outcome = await send(tools, attempt, ending)
            if isinstance(outcome, Refused) and outcome.refusal is Refusal.RATE_LIMITED and not outcome.chat_only:
                await tools.heed(app, Api.SENDS, pause_ms(outcome.retry_after_ms, tools.policy))
            await conclude(tools, attempt, outcome)


async def prepare(tools: Tools, part_id: PartId, app: AppName, speaking: Speaking | None) -> bool:
    """Have the token at hand; if that is refused, nothing was attempted and the part waits, for another gateway too.

    Unless only the credentials that this gateway has are refused, and another one speaks for the app: then it is its.
    """
    ready = await tools.provider.prepare(app)
    match ready:
        case Ready():
            return True
        case Refused():
            await _put_off(tools, part_id, app, ready, speaking)
            return False


async def _put_off(tools: Tools, part_id: PartId, app: AppName, refused: Refused, speaking: Speaking | None) -> None:
    now = tools.clock.now()
    among = speaking if refused.refusal is Refusal.CONFIGURATION else None
    if among is not None:
        among.cannot(app)

    def put_off(connection: Connection) -> None:
        if among is None or not among.leave(connection, app):
            attempts.postpone(connection, part_id, refused, now, tools.policy)

    await tools.transactions.run(put_off)


async def commit(tools: Tools, part_id: PartId) -> Attempt | None:
    """Commit the attempt, if the part may still be told now."""
    now = tools.clock.now()
    return await tools.transactions.run(
        lambda c: attempts.begin(c, part_id, tools.owner, now, tools.policy, tools.authority)
    )


async def send(tools: Tools, attempt: Attempt, ending: Ending) -> SendOutcome:
    """Send once, under the lease. A fault of ours in between leaves the outcome unknown.

    Nothing leaves any more once the lease is over: a process that was stopped after its attempt may go on when the part
    was settled by others, sent anew, or may no longer be told. Nor when the end has come: it is known not to be sent.
    """

    def may_leave() -> bool:
        return tools.clock.now() < attempt.until and not ending.begun

    if not may_leave():
        return Refused(Refusal.OFFLINE)
    with Contained() as contained:
        sending = tools.provider.send(attempt.route, attempt.document, attempt.key, may_leave)
        return await while_held(tools, attempt.part_id, attempt.fence, sending)
    if contained.fault is not None:
        _log.error("sending a part failed by a fault: %s", describe(contained.fault))
    return Unknown("fault")


async def conclude(tools: Tools, attempt: Attempt, outcome: SendOutcome) -> None:
    """Record the outcome, and do not give up: what the provider said is known only here."""
    delay_s = FIRST_DELAY_S
    while not await _recorded(tools, attempt, outcome):
        _log.warning("the outcome of a send waits for the database")
        await tools.sleep(delay_s)
        delay_s = min(delay_s * 2, LONGEST_DELAY_S)


async def _recorded(tools: Tools, attempt: Attempt, outcome: SendOutcome) -> bool:
    now = tools.clock.now()

    def record(connection: Connection) -> None:
        attempts.conclude(connection, attempt, outcome, now, tools.policy)
        if isinstance(outcome, Refused) and outcome.refusal is Refusal.QUESTION_RECALLED:
            tools.authority.question_recalled(connection, attempt.subject, attempt.revision, now)

    try:
        await tools.transactions.run(record)
    except StorageUnavailable:
        return False
    return True
