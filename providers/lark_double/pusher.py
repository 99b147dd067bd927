"""Pushes events to the apps' webhooks: concurrently, with 3 s to answer, and again after 15 s, 5 min, 1 h and 6 h.

The waits go by the double's clock, the 3 s by the real one. Every attempt is written down.
https://open.feishu.cn/document/ukTMukTMukTM/uUTNz4SN1MjL1UzM
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeAlias

import aiohttp

from providers.lark_double.clock import wall_ms
from providers.lark_double.envelope import challenge_payload, seal, signed_headers
from providers.lark_double.model import App
from providers.lark_double.wire import Json, mapping, parse
from providers.lark_double.world import World

Spawn: TypeAlias = Callable[[Coroutine[None, None, None]], None]
HTTP_OK = 200
ANSWER_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Attempt:
    """One push of an event: ``status`` is None when no answer came in time."""

    at: int
    status: int | None
    latency_ms: int
    error: str
    timestamp: str
    answer: str


@dataclass(slots=True)
class Push:
    """An event on its way to one app."""

    push_id: str
    app_id: str
    event_id: str
    event_type: str
    message_id: str | None
    payload: Json
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    state: str = "pending"
    """``pending``, ``held``, ``delivered``, ``exhausted``, or ``unsent`` where the app has no webhook."""
    next_at: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers that replace those of the signature."""
    body: bytes | None = None
    """The body as it was first sent; used again when a re-push is not fresh."""
    first_headers: dict[str, str] | None = None

    def as_json(self) -> Json:
        """The push as an object."""
        return {
            "push_id": self.push_id,
            "app_id": self.app_id,
            "event_id": self.event_id,
            "event_type": self.event_type,
            "message_id": self.message_id,
            "payload": self.payload,
            "state": self.state,
            "next_at": self.next_at,
            "attempts": [
                {
                    "at": attempt.at,
                    "status": attempt.status,
                    "latency_ms": attempt.latency_ms,
                    "error": attempt.error,
                    "timestamp": attempt.timestamp,
                    "answer": attempt.answer,
                }
                for attempt in self.attempts
            ],
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """How a URL verification went."""

    ok: bool
    status: int | None
    latency_ms: int
    answer: str
    error: str = ""


class Pusher:
    """Every push, and the client that makes them."""

    def __init__(self, world: World, spawn: Spawn) -> None:
        self._world = world
        self._spawn = spawn
        self._client: aiohttp.ClientSession | None = None
        self._held: dict[str, list[Push]] = {}
        self.pushes: dict[str, Push] = {}

    def open(self, client: aiohttp.ClientSession) -> None:
        """Use this client from now on."""
        self._client = client

    def push(self, app_id: str, payload: Json, message_id: str | None, headers: dict[str, str] | None = None) -> Push:
        """Start pushing an event, whole with its envelope; it is sent in the background."""
        header = mapping(payload.get("header")) or {}
        push = Push(
            push_id=self._world.new_id("push_"),
            app_id=app_id,
            event_id=str(header.get("event_id", "")),
            event_type=str(header.get("event_type", "")),
            message_id=message_id,
            payload=payload,
            headers=headers or {},
        )
        self.pushes[push.push_id] = push
        if app_id in self._held:
            push.state = "held"
            self._held[app_id].append(push)
        elif self._world.apps[app_id].webhook_url is None:
            push.state = "unsent"
        else:
            self._spawn(self._deliver(push))
        return push

    def hold(self, app_id: str) -> None:
        """Keep the app's events back until ``release``."""
        self._held.setdefault(app_id, [])

    def release(self, app_id: str, *, reverse: bool = False) -> int:
        """Push what was kept back, one after the other in (or against) their order; returns how many."""
        held = self._held.pop(app_id, [])
        self._spawn(self._one_by_one(held[::-1] if reverse else held))
        return len(held)

    async def repush(self, app_id: str | None, timeout_s: float) -> int:
        """Have every event that failed so far pushed again now, without waiting for its time; returns how many."""
        pending = [push for push in self.pushes.values() if push.state == "pending" and app_id in (None, push.app_id)]

        def waiting() -> bool:
            return all(push.next_at is not None or push.state != "pending" for push in pending)

        await self._world.changes.until(waiting, timeout_s, "pushes under way to end")
        due = [push for push in pending if push.next_at is not None]
        for push in due:
            push.next_at = self._world.clock.now()
        self._world.clock.wake()
        return len(due)

    async def challenge(self, app: App, challenge: str, *, token: str | None = None) -> Verification:
        """Verify the app's URL: unsigned, encrypted with a key, to be answered within 1 s."""
        body = seal(challenge_payload(challenge, app.verification_token if token is None else token), app.encrypt_key)
        attempt = await self._post(app, body, {}, self._world.knobs.challenge_timeout_s)
        try:
            answer = mapping(parse(attempt.answer)) or {}
        except ValueError:
            answer = {}
        ok = attempt.status == HTTP_OK and answer.get("challenge") == challenge
        return Verification(ok, attempt.status, attempt.latency_ms, attempt.answer, attempt.error)

    async def _one_by_one(self, pushes: list[Push]) -> None:
        for push in pushes:
            push.state = "pending"
            await self._attempt(push)
            if push.state == "pending":
                self._spawn(self._deliver(push))

    async def _deliver(self, push: Push) -> None:
        if not push.attempts:
            await self._attempt(push)
        for wait_s in self._world.knobs.repush_after_s[len(push.attempts) - 1 :]:
            if push.state != "pending":
                return
            push.next_at = (push.attempts[-1].at if push.attempts else self._world.clock.now()) + int(wait_s * 1000)
            self._world.changes.ring()
            await self._world.clock.sleep_until(lambda: push.next_at or 0)
            push.next_at = None
            await self._attempt(push)
        if push.state == "pending":
            push.state = "exhausted"
            self._world.changes.ring()

    async def _attempt(self, push: Push) -> None:
        app = self._world.apps[push.app_id]
        if push.body is None or self._world.knobs.fresh_repush:
            push.body = seal(push.payload, app.encrypt_key)
            now_ms = wall_ms() if self._world.knobs.wall_timestamps else self._world.clock.now()
            timestamp, nonce = str(now_ms // 1000), self._world.new_id("")
            push.first_headers = signed_headers(timestamp, nonce, app.encrypt_key, push.body)
        headers = {**(push.first_headers or {}), **push.headers}
        attempt = await self._post(app, push.body, headers, self._world.knobs.push_timeout_s)
        push.attempts.append(attempt)
        if attempt.status == HTTP_OK:
            push.state = "delivered"
        self._world.changes.ring()

    async def _post(self, app: App, body: bytes, signature: dict[str, str], timeout_s: float) -> Attempt:
        at, started = self._world.clock.now(), time.monotonic()
        headers = {
            "Content-Type": "application/json;charset=utf-8",
            "User-Agent": "Go-http-client/1.1",
            "X-Request-Id": self._world.new_id(""),
            **signature,
        }
        status, answer, error = None, "", ""
        try:
            if self._client is None or app.webhook_url is None:
                raise aiohttp.ClientConnectionError("there is no webhook")
            async with asyncio.timeout(timeout_s):
                async with self._client.post(app.webhook_url, data=body, headers=headers, allow_redirects=False) as got:
                    answer = (await got.content.read(ANSWER_LIMIT)).decode(errors="replace")
                    status = got.status
        except (aiohttp.ClientError, OSError, TimeoutError) as failed:
            error = type(failed).__name__
        latency_ms = int((time.monotonic() - started) * 1000)
        return Attempt(at, status, latency_ms, error, signature.get("X-Lark-Request-Timestamp", ""), answer)
