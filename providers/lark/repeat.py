"""Asking again, for reads and tokens. Nothing that is sent goes through here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_exponential

T = TypeVar("T")

Sleep: TypeAlias = Callable[[float], Awaitable[None]]

ATTEMPTS: Final = 3
FIRST_WAIT_S: Final = 0.1
LONGEST_WAIT_S: Final = 1.0


class _Again(Exception):
    """Carries an answer that is worth another try back to tenacity."""


async def repeated(once: Callable[[], Awaitable[T]], again: Callable[[T], bool], sleep: Sleep) -> T:
    """Ask until ``again`` is content, at most ``ATTEMPTS`` times; the last answer counts whatever it is."""
    retrying = AsyncRetrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S),
        retry=retry_if_exception_type(_Again),
        sleep=sleep,
    )
    async for attempt in retrying:
        with attempt:
            result = await once()
            if again(result) and attempt.retry_state.attempt_number < ATTEMPTS:
                raise _Again
            return result
    raise AssertionError("unreachable: the last attempt returns")
