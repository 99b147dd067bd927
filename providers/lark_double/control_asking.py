"""Asking over HTTP, and waiting: ``wait`` takes the name and arguments of an asking action, and ``count``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from providers.lark_double.control_acting import app_json, needed
from providers.lark_double.control_fields import BadRequest
from providers.lark_double.driven import Driven
from providers.lark_double.present import reaction_object
from providers.lark_double.wire import Json, flag, integer, number, text, texts

Look: TypeAlias = Callable[[Json], list[Json]]
WAIT_S = 10.0


def asking_actions(double: Driven) -> dict[str, Callable[[Json], Awaitable[object]]]:
    """The actions by their names."""
    asking = _Asking(double)

    def answering(look: Look) -> Callable[[Json], Awaitable[object]]:
        async def answer(body: Json) -> object:
            return look(body)

        return answer

    looks = {name: answering(look) for name, look in asking.looks.items()}
    return {**looks, "wait": asking.wait, "dump": asking.dump, "settings": asking.settings, "now": asking.now}


class _Asking:
    def __init__(self, double: Driven) -> None:
        self._double = double
        self.looks: dict[str, Look] = {
            "visible": self._visible,
            "replies": self._replies,
            "requests": self._requests,
            "sends": self._sends,
            "reads": self._reads,
            "pushes": self._pushes,
            "reactions": self._reactions,
            "held": self._held,
        }

    async def wait(self, body: Json) -> object:
        """The list that the action ``for`` gives, once it has ``count`` items. Raises ``NotSeen``."""
        look = self.looks[needed(body, "for")]
        count = integer(body, "count", 1)

        def enough() -> list[Json]:
            found = look(body)
            return found if len(found) >= count else []

        return await self._double.wait_for(enough, number(body, "timeout_s", WAIT_S), f"{count} {body['for']}")

    async def dump(self, _body: Json) -> object:
        return self._double.dump()

    async def now(self, _body: Json) -> object:
        return self._double.clock.now()

    async def settings(self, _body: Json) -> object:
        """Where the double is, and its apps with their credentials."""
        apps = [app_json(app) for app in self._double.world.apps.values()]
        return {"url": self._double.url, "control_url": self._double.control_url, "apps": apps}

    def _visible(self, body: Json) -> list[Json]:
        by_app = flag(body, "by_app") if isinstance(body.get("by_app"), bool) else None
        found = self._double.visible(needed(body, "chat"), by_app=by_app, sender=text(body, "sender"))
        return [seen.as_json() for seen in found if not (flag(body, "present") and seen.recalled)]

    def _replies(self, body: Json) -> list[Json]:
        return [seen.as_json() for seen in self._double.replies(needed(body, "message"))]

    def _requests(self, body: Json) -> list[Json]:
        found = self._double.requests(
            texts(body, "operations"),
            app=text(body, "app"),
            chat=text(body, "chat"),
            committed=flag(body, "committed") if isinstance(body.get("committed"), bool) else None,
            message_id=text(body, "message"),
        )
        return [entry.as_json() for entry in found if not flag(body, "finished") or entry.status is not None]

    def _sends(self, body: Json) -> list[Json]:
        return self._requests({**body, "operations": ["send", "reply"]})

    def _reads(self, body: Json) -> list[Json]:
        return self._requests({**body, "operations": ["get", "list"]})

    def _pushes(self, body: Json) -> list[Json]:
        found = self._double.pushes(
            text(body, "app"),
            event_type=text(body, "event_type"),
            message_id=text(body, "message"),
            state=text(body, "state"),
        )
        return [push.as_json() for push in found]

    def _reactions(self, body: Json) -> list[Json]:
        found = self._double.reactions(needed(body, "message"), app=text(body, "app"))
        app = next(iter(self._double.world.apps.values()), None)
        if app is None:
            raise BadRequest("there is no app yet that could be shown a reaction")
        return [reaction_object(self._double.world, app, reaction) for reaction in found]

    def _held(self, body: Json) -> list[Json]:
        """The requests that wait at a fault (or at any)."""
        fault_id = text(body, "fault_id")
        return [
            {"fault_id": fault.fault_id, "kind": fault.kind.value}
            for fault in self._double.faults.armed.values()
            if fault_id in (None, fault.fault_id)
            for _ in fault.held
        ]
