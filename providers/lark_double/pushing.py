"""Events on demand: again, under other ids, out of order, of unknown types, wrongly signed; and URL verifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

from providers.lark_double.core import Alteration, AppRef, Core, MessageRef
from providers.lark_double.events import Event, message_event
from providers.lark_double.pusher import Push, Verification
from providers.lark_double.wire import Json, mapping


class Pushing(Core):
    """What Lark's push service does, and what it is said to do at times."""

    def push_event(
        self,
        app: AppRef,
        event_type: str,
        body: Json,
        *,
        event_id: str | None = None,
        at: int | None = None,
        drop: Sequence[str] = (),
        put: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Push:
        """Push an event of any type with any body; ``headers`` replace those of the signature."""
        event = Event(self.app_of(app).app_id, event_type, body, created_at=at)
        with self.altering(Alteration(tuple(drop), dict(put or {}), dict(headers or {}))):
            return self.push(event, event_id)

    def push_message(
        self,
        app: AppRef,
        message: MessageRef,
        *,
        event_id: str | None = None,
        drop: Sequence[str] = (),
        put: Mapping[str, object] | None = None,
    ) -> Push:
        """Push ``im.message.receive_v1`` of a message, whether the app would get it or not."""
        event = message_event(self.world, self.app_of(app), self.message_of(message))
        with self.altering(Alteration(tuple(drop), dict(put or {}))):
            return self.push(event, event_id)

    def push_again(
        self, push: Push | str, *, event_id: str | None = None, message_id: str | None = None, new_event: bool = False
    ) -> Push:
        """Push the same event once more: the same ids, or a new ``event_id``, or another ``message_id`` as well."""
        first = push if isinstance(push, Push) else self.pusher.pushes[push]
        payload = deepcopy(first.payload)
        header, message = mapping(payload.get("header")), self._message_in(payload)
        if header is not None and (new_event or event_id is not None):
            header["event_id"] = event_id or self.new_id("")
        if message is not None and message_id is not None:
            message["message_id"] = message_id
        return self.pusher.push(first.app_id, payload, message_id or first.message_id)

    def hold_pushes(self, app: AppRef) -> None:
        """Keep the app's events back until ``release_pushes``."""
        self.pusher.hold(self.app_of(app).app_id)

    def release_pushes(self, app: AppRef, *, reverse: bool = False) -> int:
        """Push what was kept back one after the other, or against their order; returns how many."""
        return self.pusher.release(self.app_of(app).app_id, reverse=reverse)

    async def repush(self, app: AppRef | None = None, *, timeout_s: float = 10.0) -> int:
        """Push every event again now that has failed so far, without moving the clock; returns how many."""
        return await self.pusher.repush(None if app is None else self.app_of(app).app_id, timeout_s)

    async def challenge(self, app: AppRef, challenge: str = "ajls384kdj", *, token: str | None = None) -> Verification:
        """Verify the app's webhook as the developer console does when the URL is saved."""
        return await self.pusher.challenge(self.app_of(app), challenge, token=token)

    @staticmethod
    def _message_in(payload: Json) -> Json | None:
        return mapping((mapping(payload.get("event")) or {}).get("message"))
