"""Lark's side of a webhook, for tests: sealing, signing, and requests as raw bytes over a real socket."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

KEY = "test-encrypt-key-0123456789abcdef"
TOKEN = "vtok-1"
APP_ID = "cli_9f5343c580712544"
NOW_S = 1_700_000_000
IV = bytes(range(16))


class ManualClock:
    """A clock that stands until it is moved."""

    def __init__(self, now_ms: int = NOW_S * 1000) -> None:
        self.now_ms = now_ms

    def now(self) -> int:
        return self.now_ms


class Outcome(Enum):
    """Stands for what an event became."""

    NEW = "new"
    DUPLICATE = "duplicate"


@dataclass
class RecordingAccept:
    """Takes events and remembers them; ``failure`` is raised instead, ``gate`` is waited for first."""

    events: list[object] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    failure: Exception | None = None
    gate: asyncio.Event | None = None

    async def __call__(self, event: object, body: str) -> Outcome:
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        self.events.append(event)
        self.bodies.append(body)
        return Outcome.NEW


@dataclass
class RecordingMetrics:
    """Remembers what was counted."""

    outcomes: list[tuple[str, str]] = field(default_factory=list)

    def event(self, outcome: str, kind: str = "none") -> None:
        self.outcomes.append((outcome, kind))


def encrypt(plain: bytes, key: str = KEY, iv: bytes = IV) -> bytes:
    """IV and ciphertext, before base64."""
    padder = padding.PKCS7(128).padder()
    padded = padder.update(plain) + padder.finalize()
    return raw_encrypt(padded, key, iv)


def raw_encrypt(padded: bytes, key: str = KEY, iv: bytes = IV) -> bytes:
    """The same without padding: whole blocks only."""
    encryptor = Cipher(algorithms.AES256(hashlib.sha256(key.encode()).digest()), modes.CBC(iv)).encryptor()
    return iv + encryptor.update(padded) + encryptor.finalize()


def seal(plain: bytes, key: str = KEY) -> bytes:
    """The body that carries ``plain``."""
    return b'{"encrypt":"' + base64.b64encode(encrypt(plain, key)) + b'"}'


def sign(body: bytes, timestamp: str = str(NOW_S), nonce: str = "nonce-abc", key: str = KEY) -> str:
    """The signature as Lark documents it."""
    return hashlib.sha256((timestamp + nonce + key).encode() + body).hexdigest()


def signed_headers(
    body: bytes, timestamp: str = str(NOW_S), nonce: str = "nonce-abc", key: str = KEY
) -> list[tuple[str, str]]:
    """The three headers."""
    return [
        ("X-Lark-Request-Timestamp", timestamp),
        ("X-Lark-Request-Nonce", nonce),
        ("X-Lark-Signature", sign(body, timestamp, nonce, key)),
    ]


def message_event(
    event_id: str = "ev-1", message_id: str = "om_question1", text: str = "where is the pump?"
) -> dict[str, object]:
    """An ``im.message.receive_v1`` as Lark documents it."""
    return {
        "schema": "2.0",
        "header": {
            "event_id": event_id,
            "event_type": "im.message.receive_v1",
            "create_time": str(NOW_S * 1000),
            "token": TOKEN,
            "app_id": APP_ID,
            "tenant_key": "tenant-1",
        },
        "event": {
            "sender": {
                "sender_id": {"union_id": "on_asker0001", "user_id": "u1", "open_id": "ou_asker0001"},
                "sender_type": "user",
                "tenant_key": "tenant-1",
            },
            "message": {
                "message_id": message_id,
                "create_time": str(NOW_S * 1000),
                "update_time": str(NOW_S * 1000),
                "chat_id": "oc_group0001",
                "chat_type": "group",
                "message_type": "text",
                "content": json.dumps({"text": f"@_user_1 {text}"}),
                "mentions": [
                    {
                        "key": "@_user_1",
                        "id": {"union_id": "on_bot0000001", "user_id": "", "open_id": "ou_bot0000001"},
                        "mentioned_type": "bot",
                        "name": "steward",
                        "tenant_key": "tenant-1",
                    }
                ],
            },
        },
    }


def post(path: str, body: bytes, headers: Iterable[tuple[str, str]] = (), length: int | None = None) -> bytes:
    """A request as bytes, with a Content-Length unless ``length`` is negative."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json;charset=utf-8"]
    if length is None or length >= 0:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """One answer, by its Content-Length."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(int(head[0].split(" ")[1]), headers, body)


async def exchange(port: int, raw: bytes) -> Answer:
    """Send ``raw`` over a connection of its own and read one answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        return await read_answer(reader)
    finally:
        writer.close()


async def push(port: int, event: dict[str, object], path: str = "/lark/events", **signing: str) -> Answer:
    """An encrypted and signed event."""
    body = seal(json.dumps(event, ensure_ascii=False).encode())
    return await exchange(port, post(path, body, signed_headers(body, **signing)))
