"""Patience with a database that is away for a moment, for work that is too dear to be done again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy import Connection

from returns.ports import StorageUnavailable, Transactions

T = TypeVar("T")

PAUSES_S: Final = (0.1, 0.3, 1.0, 2.0)


async def patiently(transactions: Transactions, work: Callable[[Connection], T]) -> T:
    """Run ``work`` and, while the storage is unavailable, again after a pause; raises the last ``StorageUnavailable``.

    ``work`` must be guarded by what it finds, because a commit whose outcome was not heard of may have happened.
    """
    for pause in PAUSES_S:
        try:
            return await transactions.run(work)
        except StorageUnavailable:
            await asyncio.sleep(pause)
    return await transactions.run(work)
