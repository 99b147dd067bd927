"""The receipt that an asker sees: a reaction on the question. From Lark's page "Add message reaction"."""

from __future__ import annotations

import asyncio
from typing import Final

from providers.lark import codes
from providers.lark.answers import Answer, Exchange
from providers.lark.client import LarkClient, segment
from providers.lark.delivery import MESSAGES
from providers.lark.fields import as_id, compact
from providers.lark.outcomes import is_stale
from returns.ids import AppName, MessageId

EMOJI: Final = "OnIt"
"""Of Lark's fixed vocabulary, case and all; anything else is refused (231001)."""
TIMEOUT_S: Final = 3.0
IN_PROGRESS: Final = 231015


class LarkReceipts:
    """Leaves receipts for every app of a client. Fulfils ``manager.ports.Receipts``."""

    def __init__(self, client: LarkClient, timeout_s: float = TIMEOUT_S) -> None:
        self._client = client
        self._timeout_s = timeout_s

    async def acknowledge(self, app: AppName, message_id: MessageId) -> bool:
        """Leave the reaction; False if that failed or took longer than the timeout. Answers do not depend on it."""
        if as_id(message_id) is None:
            return False
        try:
            async with asyncio.timeout(self._timeout_s):
                exchange = await self._react(app, message_id)
                if is_stale(exchange):
                    exchange = await self._react(app, message_id)
        except TimeoutError:
            return False
        return isinstance(exchange, Answer) and exchange.code in {codes.SUCCESS, IN_PROGRESS}

    async def _react(self, app: AppName, message_id: MessageId) -> Exchange:
        body = compact({"reaction_type": {"emoji_type": EMOJI}}).encode()
        return await self._client.send(app, f"{MESSAGES}/{segment(message_id)}/reactions", body=body)
