"""Acknowledged is durable: the killer stands at the pusher and strikes when the first byte of a 200 arrives."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from providers.lark_double.clock import wall_ms
from providers.lark_double.envelope import seal, signed_headers
from providers.lark_double.events import envelope, message_event
from tests.soak import ledger
from tests.soak.counts import Counts
from tests.soak.questions import Kind, words
from tests.soak.town import Town, town

AT_ONCE = 24
"""Events that are pushed side by side in a trial."""
ACKNOWLEDGED = b"HTTP/1.1 200"
TRIAL_S = 90.0


@dataclass
class Trials:
    """What was seen."""

    database: str
    seed: int
    trials: int = 0
    pushed: int = 0
    acknowledged: int = 0
    durable: int = 0
    missing: int = 0
    """Acknowledged events that are in no ledger: there may be none."""

    def text(self) -> str:
        """One line for people."""
        return (
            f"on {self.database} killed at the first byte of a 200, {self.trials} times (seed {self.seed}): "
            f"{self.acknowledged} of {self.pushed} events acknowledged, {self.durable} of these in the ledger, "
            f"{self.missing} missing"
        )


@dataclass
class Killing:
    """The kill that waits for its moment: the first byte of the ``after``-th 200."""

    pid: int
    after: int

    def acknowledged(self) -> None:
        """A 200 has begun to arrive."""
        self.after -= 1
        if self.after == 0:
            os.kill(self.pid, signal.SIGKILL)


async def acknowledged_is_durable(
    folder: Path, *, seed: int, seconds: float, database: str = "sqlite", database_url: str = ""
) -> Trials:
    """Trials for about ``seconds``, at least one; after each the ledger is read as the kill left it."""
    trials, until = Trials(database, seed), time.monotonic() + seconds
    async with town(folder, Counts("", seed, seconds), database_url) as here:
        here.lark.set_webhook(here.app, None)  # only what is pushed here reaches the gateway
        engine = ledger.engine_of(database_url, here.gateway.settings.data_dir / "steward.db")
        try:
            while trials.trials == 0 or time.monotonic() < until:
                await here.start()
                events = [_event(here, trials.pushed + number) for number in range(AT_ONCE)]
                killing = Killing(here.gateway.pid, here.dice.randint(1, AT_ONCE))
                answered = await _push_all(here, [body for _, body in events], killing)
                await here.gateway.kill()
                known = [event_id for (event_id, _), ok in zip(events, answered, strict=True) if ok]
                stored = ledger.stored_events(engine, known)
                trials.trials += 1
                trials.pushed += len(events)
                trials.acknowledged += len(known)
                trials.durable += len(stored)
                trials.missing += len(set(known) - stored)
        finally:
            engine.dispose()
    return trials


def _event(here: Town, number: int) -> tuple[str, bytes]:
    """A question's event, sealed: its id and its body."""
    chat = random.Random(number).choice(here.places).chat
    text = words(Kind.OWN, number % 1000)
    message = here.lark.say(chat, "lin", text, mention=[here.app.app_id], silent=True)
    body = envelope(here.lark.world, message_event(here.lark.world, here.app, message), f"event-{number}")
    return f"event-{number}", seal(body, here.app.encrypt_key)


async def _push_all(here: Town, bodies: list[bytes], killing: Killing) -> list[bool]:
    """Push side by side over connections of their own; which were acknowledged."""
    address = urlsplit(here.gateway.settings.url)
    connections = [await asyncio.open_connection(address.hostname, address.port) for _ in bodies]
    async with asyncio.timeout(TRIAL_S), asyncio.TaskGroup() as group:
        pushes = [
            group.create_task(_push(reader, writer, body, here.app.encrypt_key, killing))
            for (reader, writer), body in zip(connections, bodies, strict=True)
        ]
    return [push.result() for push in pushes]


async def _push(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, key: str, killing: Killing
) -> bool:
    """One push; True when at least the status line of a 200 arrived."""
    nonce = os.urandom(8).hex()
    headers = {
        "Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": str(len(body)),
        **signed_headers(str(wall_ms() // 1000), nonce, key, body),
    }  # fmt: skip
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    try:
        writer.write(f"POST /lark/events HTTP/1.1\r\n{head}\r\n".encode() + body)
        answer = await reader.readexactly(len(ACKNOWLEDGED))
        if answer != ACKNOWLEDGED:
            return False
        killing.acknowledged()
    except (OSError, asyncio.IncompleteReadError):
        return False
    finally:
        writer.close()
    return True
