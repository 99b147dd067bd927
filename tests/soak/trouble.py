"""What goes on at once while a soak runs: asking, killing, breaking Lark, and a peer that does not give up."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import httpx

from providers.lark_double.faults import Fault, FaultKind
from tests.soak.questions import drawn, told
from tests.soak.town import Town, pause

SENDS = ("reply", "send")
READS = ("get", "list", "chat", "members", "bot_info")
TIMEOUT_S = 1.4
"""Longer than the gateway waits for Lark."""

SENDING = (
    FaultKind.DROP_AFTER, FaultKind.RESET_AFTER, FaultKind.RESET_BEFORE, FaultKind.HTTP_500, FaultKind.HTTP_500_AFTER,
    FaultKind.HTML_502, FaultKind.HTML_502_AFTER, FaultKind.TRUNCATED, FaultKind.NO_MESSAGE_ID, FaultKind.RATE_LIMITED,
    FaultKind.DELAY_AFTER, FaultKind.DELAY_BEFORE, FaultKind.HIDE, FaultKind.TOKEN_EXPIRED, FaultKind.ERROR,
)  # fmt: skip
READING = (
    FaultKind.DROP_AFTER, FaultKind.RESET_BEFORE, FaultKind.HTTP_500, FaultKind.HTML_502, FaultKind.TRUNCATED,
    FaultKind.RATE_LIMITED, FaultKind.DELAY_BEFORE, FaultKind.TOKEN_EXPIRED,
)  # fmt: skip
BEING_SENT = 230049
ANSWERED = 500


async def ask_at_random(town: Town, a_second: float, until: float) -> None:
    """Questions stream in; now and then the same words twice in one thread, whose answers nobody can tell apart."""
    while await pause(town.dice.expovariate(a_second), until):
        first = town.ask(drawn(town.dice))
        if town.dice.random() < 0.05:
            thread = next(place for place in town.places if place.root is not None)
            town.ask(first.kind, place=thread, number=first.number, but=first.message.author.key)


class Killer:
    """Starts the gateway and kills it, again and again."""

    def __init__(self, town: Town, dice: random.Random, start_s: float) -> None:
        """``start_s`` is how long the last start took."""
        self._town = town
        self._dice = dice
        self._start_s = start_s

    async def run(self, until: float) -> None:
        """Kill 50 to 500 ms after it is ready, or while it starts, with quiet stretches, until the time is over.

        The gateway is running when this begins, and is not when it ends.
        """
        counts, gateway = self._town.counts, self._town.gateway
        await self._while_ready(until)
        while True:
            await gateway.kill()
            counts.kills += 1
            if time.monotonic() >= until:
                return
            await gateway.begin()
            if self._dice.random() < 0.25:
                counts.starts += 1
                counts.kills_while_starting += 1
                await self._while_starting(until)
                continue
            began = time.monotonic()
            if await self._town.ready(max(1.0, until - began)):
                self._start_s = time.monotonic() - began
                await self._while_ready(until)
            else:
                counts.starts += 1

    async def _while_ready(self, until: float) -> None:
        """It is ready: let it work for a moment, now and then for longer."""
        self._town.counts.starts += 1
        self._town.counts.starts_that_got_ready += 1
        if self._dice.random() < 0.5:
            push_what_failed(self._town)
        quiet = self._dice.uniform(0.5, 3.0) if self._dice.random() < 0.5 else 0.0
        await pause(quiet + self._dice.uniform(0.05, 0.5), until)

    async def _while_starting(self, until: float) -> None:
        """Kill early in a start, or near its end, where the database is opened and leases are taken over."""
        early = self._dice.random() < 0.3
        await pause(self._dice.uniform(0.05, 0.5) if early else self._start_s * self._dice.uniform(0.5, 1.0), until)


def push_what_failed(town: Town) -> None:
    """Lark's next push of each event comes now: its pushes meet the gateway while it lives, and die with it."""
    for push in town.lark.pushes(state="pending"):
        if push.next_at is not None:
            push.next_at = town.lark.clock.now()
    town.lark.clock.wake()


async def break_at_random(town: Town, dice: random.Random, until: float) -> None:
    """Lark loses answers, times out, answers 5xx, limits, delays; every few seconds it is gone for a moment."""
    try:
        while await pause(dice.uniform(0.05, 0.3), until):
            _forget_spent(town)
            if dice.random() < 0.04:
                town.counts.faults["offline"] = town.counts.faults.get("offline", 0) + 1
                await town.lark.go_offline()
                await pause(dice.uniform(0.1, 0.8), until)
                await town.lark.go_online()
            elif dice.random() < 0.7:
                _arm(town, dice, dice.choice(SENDING), SENDS)
            else:
                _arm(town, dice, dice.choice(READING), READS)
    finally:
        await town.lark.go_online()
        for fault in list(town.lark.faults.armed.values()):
            _count(town, fault)
        town.lark.clear_faults()


def _arm(town: Town, dice: random.Random, kind: FaultKind, operations: tuple[str, ...]) -> None:
    seconds = {FaultKind.HIDE: 0.7, FaultKind.RATE_LIMITED: 1.0}.get(kind, TIMEOUT_S)
    town.lark.fault(kind, operations, times=dice.randint(1, 2), seconds=seconds, code=BEING_SENT)


def _forget_spent(town: Town) -> None:
    for fault in list(town.lark.faults.armed.values()):
        if fault.left == 0:
            _count(town, fault)
            town.lark.faults.clear(fault.fault_id)


def _count(town: Town, fault: Fault) -> None:
    if fault.struck:
        town.counts.faults[fault.kind.value] = town.counts.faults.get(fault.kind.value, 0) + fault.struck


class PatientPeer:
    """A peer that repeats each write with its key until the gateway answers it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._done: set[tuple[str, int]] = set()
        self.refused: list[str] = []
        """Writes that were answered with an error of ours; there should be none."""

    async def run(self) -> None:
        """Conclude whatever comes, until cancelled."""
        while True:
            listed = await self._call("GET", "/api/v1/peer/requests?state=open&limit=100&wait_s=1")
            fresh = [item for item in listed["items"] if (item["request_id"], item["revision"]) not in self._done]
            for item in fresh:
                await self._conclude(item)
            if not fresh:
                await asyncio.sleep(0.05)

    async def _conclude(self, item: dict[str, Any]) -> None:
        identity, revision = item["request_id"], item["revision"]
        for step, body in (
            ("presented", {"turn": None}),
            ("assessment", {"assessment": "accepted"}),
            ("result", {"outcome": "resolved", "text": told(item["purpose"])}),
        ):
            path = f"/api/v1/peer/requests/{identity}/{step}"
            await self._call("POST", path, {"revision": revision, **body}, f"{identity}.{revision}.{step}")
        self._done.add((identity, revision))

    async def _call(self, method: str, path: str, body: object = None, key: str = "") -> dict[str, Any]:
        headers = {"Idempotency-Key": key} if key else {}
        while True:
            try:
                answer = await self._http.request(method, path, json=body, headers=headers)
            except httpx.TransportError:
                await asyncio.sleep(0.05)
                continue
            if answer.status_code >= ANSWERED:
                await asyncio.sleep(0.05)
                continue
            if not answer.is_success:
                self.refused.append(f"{method} {path.partition('?')[0]}: {answer.status_code} {answer.text}")
                return {"items": []}
            return answer.json()
