"""At most one success per uuid and app within an hour; a failed attempt leaves the uuid unused.

https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/create. What a second call gets is not
documented there: see ``model.UuidRepeat``.
"""

from __future__ import annotations

from providers.lark_double.clock import DoubleClock
from providers.lark_double.errors import LarkError
from providers.lark_double.model import Knobs, UuidRepeat

WINDOW_MS = 60 * 60 * 1000
MAX_CHARS = 50


class Idempotency:
    """Which uuids are under way and which have succeeded."""

    def __init__(self, clock: DoubleClock, knobs: Knobs) -> None:
        self._clock = clock
        self._knobs = knobs
        self._under_way: set[tuple[str, str]] = set()
        self._done: dict[tuple[str, str], tuple[str, int]] = {}

    def begin(self, app_id: str, uuid: str) -> str | None:
        """Claim a uuid: None when the send may go on, else the id of the message that it already made.

        Raises ``LarkError`` 230001 for a uuid that is too long, 230049 while another call with it is under way.
        """
        if len(uuid) > MAX_CHARS:
            raise LarkError(230001, "uuid is longer than 50 characters")
        key = (app_id, uuid)
        if self._knobs.uuid_repeat is UuidRepeat.IGNORED:
            return None
        if key in self._under_way:
            raise LarkError(230049)
        made, at = self._done.get(key, ("", 0))
        if made and self._clock.now() - at < WINDOW_MS:
            if self._knobs.uuid_repeat is UuidRepeat.REFUSED:
                raise LarkError(230001, "uuid was used")
            return made
        self._under_way.add(key)
        return None

    def done(self, app_id: str, uuid: str, message_id: str) -> None:
        """The send succeeded."""
        self._under_way.discard((app_id, uuid))
        self._done[app_id, uuid] = (message_id, self._clock.now())

    def abandon(self, app_id: str, uuid: str) -> None:
        """The send failed, or is over without a message: the uuid may be used again."""
        self._under_way.discard((app_id, uuid))
