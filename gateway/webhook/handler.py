"""The webhook: ``POST /lark/events`` and ``/lark/events/{app}``.

What is decided when, and on what: the app by the path; the coding and the size by the headers, before a byte is read;
authenticity over the raw bytes, before they are parsed; then the JSON, the envelope, whose event it is; and 200 only
after the event is committed. The unsigned challenge is answered only when it opens under our key and carries our
token, and it dispatches nothing. Whatever is not authentic gets one and the same 401.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from aiohttp import hdrs, web

from gateway.http.body import read_bytes
from gateway.http.errors import HEADERS, ApiError, error_response, plain_error
from gateway.webhook.challenge import answer, is_challenge
from gateway.webhook.envelope import Opener, Undecryptable
from gateway.webhook.identity import mismatch
from gateway.webhook.strict_json import NotStrictJson, loads_object
from gateway.webhook.verifier import OUT_OF_TIME, Verdict, verify
from manager.decisions.inbound import (
    BotAdded,
    BotRemoved,
    ChatDisbanded,
    Inbound,
    MessageRecalled,
    MessageReceived,
    Misshapen,
    Unwanted,
)
from providers.lark.events import parse_event
from returns.ids import AppName, Millis
from returns.ports import Clock, StorageUnavailable

SIGNATURE = "X-Lark-Signature"
TIMESTAMP = "X-Lark-Request-Timestamp"
NONCE = "X-Lark-Request-Nonce"
DEFAULT_APP = "default"

logger = logging.getLogger(__name__)

KINDS: Mapping[type[Inbound], str] = {
    MessageReceived: "message",
    MessageRecalled: "recalled",
    BotAdded: "bot_added",
    BotRemoved: "bot_removed",
    ChatDisbanded: "chat_disbanded",
    Misshapen: "misshapen",
    Unwanted: "other",
}


CHECK: Mapping[str, str] = {"signature": "encrypt_key", "token": "verification_token", "app": "app_id"}
"""The key that is wrong when rightly made pushes are refused for this reason."""


class Accept(Protocol):
    """Commits an event and says, after the commit, what became of it (a member of a small enum)."""

    def __call__(self, event: Inbound, body: str, /) -> Awaitable[Enum]:
        """Raises ``StorageUnavailable`` when it could not be committed."""
        ...


class EventCounter(Protocol):
    """Counts what arrived; both names come from small fixed sets."""

    def event(self, outcome: str, kind: str = "none") -> None:
        """One more request with this outcome, for this kind of event."""
        ...


@dataclass(frozen=True, slots=True)
class WebhookApp:
    """An app whose events arrive here. Refuses to exist without an Encrypt Key and a Verification Token."""

    name: AppName
    app_id: str
    encrypt_key: str = field(repr=False)
    verification_token: str = field(repr=False)

    def __post_init__(self) -> None:
        if not (self.app_id.strip() and self.encrypt_key.strip() and self.verification_token.strip()):
            raise ValueError(f"App {self.name}: a webhook needs app_id, encrypt_key and verification_token.")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may take."""

    body_bytes: int = 1024 * 1024
    unsigned_bytes: int = 64 * 1024
    """A challenge is a few hundred bytes; nothing unsigned is parsed beyond this."""
    body_s: float = 10.0
    commit_s: float = 2.3
    """The answer is out within 2.5 s; Lark gives up after 3 s and pushes again."""


@dataclass(frozen=True, slots=True)
class _Door:
    """One app, its keys as they are used."""

    name: AppName
    key: bytes
    token: bytes
    app_id: bytes
    opener: Opener


class Webhook:
    """Takes Lark's pushes for ``apps`` (by configured name) and hands authentic events to ``accept``."""

    __slots__ = ("_accept", "_clock", "_doors", "_limits", "_metrics", "_out_of_time_at", "_refusal", "_success")

    def __init__(
        self,
        apps: Mapping[str, WebhookApp],
        accept: Accept,
        clock: Clock,
        metrics: EventCounter,
        limits: Limits | None = None,
    ) -> None:
        doors = {name: _door(app) for name, app in apps.items()}
        if len(doors) == 1:
            doors.setdefault(DEFAULT_APP, next(iter(doors.values())))
        self._doors = doors
        self._accept = accept
        self._clock = clock
        self._metrics = metrics
        self._limits = limits or Limits()
        self._out_of_time_at: Millis | None = None
        self._refusal = ApiError(401, "unauthenticated", "This request is not authentic.")
        self._success = b'{"msg":"success"}'

    def routes(self) -> list[web.RouteDef]:
        """``/lark/events`` is the app named ``default``, or the only one."""
        return [web.post("/lark/events", self.receive), web.post("/lark/events/{app}", self.receive)]

    @property
    def out_of_time_at(self) -> Millis | None:
        """When a rightly signed event last bore a time out of bounds: our clock may be wrong."""
        return self._out_of_time_at

    async def receive(self, request: web.Request) -> web.StreamResponse:
        """Answer one push."""
        door = self._doors.get(request.match_info.get("app", DEFAULT_APP))
        if door is None:
            raise plain_error(404)
        body = await read_bytes(request, self._limits.body_bytes, self._limits.body_s)
        signatures = _values(request, SIGNATURE)
        if not signatures:
            return self._unsigned(door, body)
        now = self._clock.now()
        verdict = verify(door.key, signatures, _values(request, TIMESTAMP), _values(request, NONCE), body, now // 1000)
        if verdict is not Verdict.AUTHENTIC:
            if verdict in OUT_OF_TIME:
                self._out_of_time_at = now
            return self._refuse(door, verdict.value)
        return await self._signed(door, body)

    def _unsigned(self, door: _Door, body: bytes) -> web.Response:
        """Only a challenge that opens and carries our token is answered."""
        if len(body) > self._limits.unsigned_bytes:
            return self._refuse(door, "unsigned")
        try:
            payload = loads_object(door.opener.open(loads_object(body).get("encrypt")))
        except (NotStrictJson, Undecryptable):
            return self._refuse(door, "unsigned")
        return self._challenge(door, payload, "unsigned")

    async def _signed(self, door: _Door, body: bytes) -> web.Response:
        try:
            envelope = loads_object(body)
            if "encrypt" not in envelope:
                return self._refuse(door, "plaintext")
            plain = door.opener.open(envelope["encrypt"])
            payload = loads_object(plain)
        except (NotStrictJson, Undecryptable):
            self._metrics.event("malformed")
            raise ApiError(400, "invalid_request", "The event is not well formed.") from None
        if is_challenge(payload):
            return self._challenge(door, payload, "token")
        wrong = mismatch(payload, door.token, door.app_id)
        if wrong is not None:
            return self._refuse(door, wrong.value)
        return await self._commit(parse_event(door.name, payload), plain.decode())

    def _challenge(self, door: _Door, payload: dict[str, object], refusal: str) -> web.Response:
        challenge = answer(payload, door.token)
        if challenge is None:
            return self._refuse(door, refusal)
        self._metrics.event("challenge")
        return _ok(json.dumps({"challenge": challenge}).encode())

    async def _commit(self, event: Inbound, text: str) -> web.Response:
        """200 after the commit, 503 without one; Lark pushes again what was not answered 200."""
        kind = KINDS[type(event)]
        try:
            async with asyncio.timeout(self._limits.commit_s):
                acceptance = await self._accept(event, text)
        except (StorageUnavailable, TimeoutError):
            self._metrics.event("unavailable", kind)
            raise plain_error(503) from None
        self._metrics.event(acceptance.name.lower(), kind)
        return _ok(self._success)

    def _refuse(self, door: _Door, reason: str) -> web.Response:
        """The one answer to everything that is not authentic."""
        self._metrics.event(f"refused_{reason}")
        check = f": check apps[{door.name}].{CHECK[reason]}" if reason in CHECK else ""
        logger.warning("A push was refused: %s%s.", reason, check)
        return error_response(self._refusal)


def _door(app: WebhookApp) -> _Door:
    return _Door(
        name=app.name,
        key=app.encrypt_key.encode(),
        token=app.verification_token.encode(),
        app_id=app.app_id.encode(),
        opener=Opener(app.encrypt_key),
    )


def _values(request: web.Request, name: str) -> list[bytes]:
    """Every value of a header, as the bytes that were sent."""
    return [value.encode("utf-8", "surrogateescape") for value in request.headers.getall(name, ())]


def _ok(body: bytes) -> web.Response:
    return web.Response(body=body, headers={**HEADERS, hdrs.CONTENT_TYPE: "application/json"})
