"""Breaking and pushing over HTTP: faults, time, knobs, events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields

from providers.lark_double.control_acting import needed, strings, when
from providers.lark_double.control_fields import BadRequest
from providers.lark_double.driven import Driven
from providers.lark_double.faults import USES, FaultKind, fault_kind
from providers.lark_double.model import UuidRepeat
from providers.lark_double.wire import Json, flag, integer, mapping, number, sequence, text, texts

_SECONDS = frozenset({"push_timeout_s", "challenge_timeout_s"})
_TOLD = frozenset[str]().union(*USES.values())
_LACKING = {
    FaultKind.DELAY_BEFORE: frozenset({"seconds"}),
    FaultKind.DELAY_AFTER: frozenset({"seconds"}),
    FaultKind.ERROR: frozenset({"code"}),
}


def breaking_actions(double: Driven) -> dict[str, Callable[[Json], Awaitable[object]]]:
    """The actions by their names."""
    breaking = _Breaking(double)
    return {
        "fault": breaking.fault,
        "release": breaking.release,
        "clear_faults": breaking.clear_faults,
        "advance": breaking.advance,
        "scale": breaking.scale,
        "expire_tokens": breaking.expire_tokens,
        "forbid_history": breaking.forbid_history,
        "mute": breaking.mute,
        "hide": breaking.hide,
        "reveal": breaking.reveal,
        "disable": breaking.disable,
        "knobs": breaking.knobs,
        "offline": breaking.offline,
        "online": breaking.online,
        "push_event": breaking.push_event,
        "push_message": breaking.push_message,
        "push_again": breaking.push_again,
        "hold_pushes": breaking.hold_pushes,
        "release_pushes": breaking.release_pushes,
        "repush": breaking.repush,
        "challenge": breaking.challenge,
    }


class _Breaking:
    def __init__(self, double: Driven) -> None:
        self._double = double

    async def fault(self, body: Json) -> object:
        _check_told(fault_kind(needed(body, "kind")), body)
        forever = "times" in body and body["times"] is None
        fault = self._double.fault(
            needed(body, "kind"),
            texts(body, "operations"),
            app=text(body, "app"),
            chat=text(body, "chat"),
            times=None if forever else integer(body, "times", 1),
            skip=integer(body, "skip", 0),
            seconds=number(body, "seconds", 0.0),
            code=integer(body, "code", 0),
            http_status=integer(body, "http_status", 0) or None,
            message_id=text(body, "message_id"),
        )
        return {"fault_id": fault.fault_id}

    async def release(self, body: Json) -> object:
        return self._double.release(text(body, "fault_id"), go_on=flag(body, "go_on", default=True))

    async def clear_faults(self, _body: Json) -> object:
        self._double.clear_faults()
        return None

    async def advance(self, body: Json) -> object:
        self._double.advance(number(body, "seconds", 0.0))
        return self._double.clock.now()

    async def scale(self, body: Json) -> object:
        self._double.set_scale(number(body, "scale", 1.0))
        return self._double.clock.now()

    async def expire_tokens(self, body: Json) -> object:
        self._double.expire_tokens(needed(body, "app"))
        return None

    async def forbid_history(self, body: Json) -> object:
        if "app" not in body and "chat" not in body:
            raise BadRequest("app or chat is missing: whose history, or that of which chat")
        forbidden = flag(body, "forbidden", default=True)
        self._double.forbid_history(app=text(body, "app"), chat=text(body, "chat"), forbidden=forbidden)
        return None

    async def mute(self, body: Json) -> object:
        self._double.mute(needed(body, "chat"), muted=flag(body, "muted", default=True))
        return None

    async def hide(self, body: Json) -> object:
        self._double.hide(needed(body, "message"))
        return None

    async def reveal(self, body: Json) -> object:
        self._double.reveal(text(body, "message"))
        return None

    async def disable(self, body: Json) -> object:
        self._double.disable(needed(body, "app"), disabled=flag(body, "disabled", default=True))
        return None

    async def knobs(self, body: Json) -> object:
        """Set what is given; answers with all of them."""
        knobs = self._double.knobs
        for name, value in body.items():
            if name == "uuid_repeat":
                knobs.uuid_repeat = UuidRepeat(needed(body, name))
            elif name == "repush_after_s":
                waits = sequence(value) or []
                knobs.repush_after_s = tuple(float(wait) for wait in waits if isinstance(wait, int | float))
            else:
                setattr(knobs, name, float(value) if isinstance(value, int) and name in _SECONDS else value)
        return {
            field.name: knobs.uuid_repeat.value
            if field.name == "uuid_repeat"
            else list(knobs.repush_after_s)
            if field.name == "repush_after_s"
            else getattr(knobs, field.name)
            for field in fields(knobs)
        }

    async def offline(self, _body: Json) -> object:
        await self._double.go_offline()
        return None

    async def online(self, _body: Json) -> object:
        await self._double.go_online()
        return None

    async def push_event(self, body: Json) -> object:
        push = self._double.push_event(
            needed(body, "app"),
            needed(body, "event_type"),
            mapping(body.get("event")) or {},
            event_id=text(body, "event_id"),
            at=when(body),
            drop=texts(body, "drop"),
            put=mapping(body.get("put")),
            headers=strings(body, "headers"),
        )
        return push.as_json()

    async def push_message(self, body: Json) -> object:
        push = self._double.push_message(
            needed(body, "app"),
            needed(body, "message"),
            event_id=text(body, "event_id"),
            drop=texts(body, "drop"),
            put=mapping(body.get("put")),
        )
        return push.as_json()

    async def push_again(self, body: Json) -> object:
        push = self._double.push_again(
            needed(body, "push"),
            event_id=text(body, "event_id"),
            message_id=text(body, "message_id"),
            new_event=flag(body, "new_event"),
        )
        return push.as_json()

    async def hold_pushes(self, body: Json) -> object:
        self._double.hold_pushes(needed(body, "app"))
        return None

    async def release_pushes(self, body: Json) -> object:
        return self._double.release_pushes(needed(body, "app"), reverse=flag(body, "reverse"))

    async def repush(self, body: Json) -> object:
        return await self._double.repush(text(body, "app"), timeout_s=number(body, "timeout_s", 10.0))

    async def challenge(self, body: Json) -> object:
        verified = await self._double.challenge(
            needed(body, "app"), text(body, "challenge") or "ajls384kdj", token=text(body, "token")
        )
        return {
            "ok": verified.ok,
            "status": verified.status,
            "latency_ms": verified.latency_ms,
            "answer": verified.answer,
            "error": verified.error,
        }


def _check_told(kind: FaultKind, body: Json) -> None:
    """Refuse what does nothing with this kind of fault, and the lack of what it does nothing without."""
    used = USES.get(kind, frozenset[str]())
    for name in sorted(_TOLD & body.keys() - used):
        kinds = ", ".join(other.value for other, uses in USES.items() if name in uses)
        raise BadRequest(f"{name} does nothing with {kind.value}; it belongs to: {kinds}")
    for name in sorted(_LACKING.get(kind, frozenset[str]()) - body.keys()):
        raise BadRequest(f"{name} is missing: {kind.value} does nothing without it")
