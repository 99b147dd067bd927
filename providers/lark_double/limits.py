"""How often an app may call: 50 a second and 1,000 a minute per API, five messages a second into a chat from all bots.

Sliding windows on the double's clock; whether Lark's are sliding is not documented.
https://open.feishu.cn/document/ukTMukTMukTM/uUzN04SN3QjL1cDN
"""

from __future__ import annotations

from collections import deque

from providers.lark_double.clock import DoubleClock
from providers.lark_double.errors import LarkError
from providers.lark_double.model import Knobs

SECOND_MS = 1000
MINUTE_MS = 60_000


class Limits:
    """Counts calls and refuses those that are too many."""

    def __init__(self, clock: DoubleClock, knobs: Knobs) -> None:
        self._clock = clock
        self._knobs = knobs
        self._calls: dict[tuple[str, str], deque[int]] = {}
        self._chats: dict[str, deque[int]] = {}

    def call(self, app_id: str, api: str) -> None:
        """Count a call of ``api``. Raises ``LarkError`` 99991400 with the seconds to wait."""
        if not self._knobs.limits:
            return
        now = self._clock.now()
        seen = self._calls.setdefault((app_id, api), deque())
        _forget(seen, now - MINUTE_MS)
        recent = sum(1 for at in seen if at > now - SECOND_MS)
        if recent >= self._knobs.app_per_second:
            raise _too_many(1, self._knobs.app_per_second)
        if len(seen) >= self._knobs.app_per_minute:
            raise _too_many(max(1, -(-(seen[0] + MINUTE_MS - now) // 1000)), self._knobs.app_per_minute)
        seen.append(now)

    def message(self, chat_id: str) -> None:
        """Count a message into a chat, whoever sends it. Raises ``LarkError`` 230020."""
        if not self._knobs.limits:
            return
        now = self._clock.now()
        seen = self._chats.setdefault(chat_id, deque())
        _forget(seen, now - SECOND_MS)
        if len(seen) >= self._knobs.chat_per_second:
            raise LarkError(230020)
        seen.append(now)


def _forget(seen: deque[int], before: int) -> None:
    while seen and seen[0] <= before:
        seen.popleft()


def _too_many(wait_s: int, limit: int) -> LarkError:
    error = LarkError(99991400)
    error.retry_after_s, error.limit = wait_s, limit
    return error
