"""Builds the raw requests that the files in tests/hostile describe, and the gateway's door that they are sent to.

A file is ``{"row", "input", "cases": {name: case}}``. A case says what is in the request:
  path        the path, /lark/events without one
  event       changes to a good event (null takes a field away); sealed under the key
  plain       sealed under the key as it is, instead of an event
  seal        another Encrypt Key to seal with
  encrypted   the value of "encrypt" instead: text, or pieces that are base64-encoded
  body        the whole body as it is, instead of an envelope
  chunked     true: sent in chunks, without a Content-Length
  length      another Content-Length
  sign        null: no signature; or {"key", "form", "age_s", "timestamp", "nonce", "keep", "shift"}
  drop, twice, headers  signature headers to leave out or to send again, headers to add
  compress    gzip or deflate
  padded_text, padded_header  a question, a header of that many bytes
  extend      what a length extension appends, under a signature that fits
and ``expect``: ``status``; ``ledger``: rows by table, none without it. ``sequences`` hold ``steps``, each a case and
``after_s``, seconds that pass before it, and then what the ledger holds. Pieces are a text, or a list of texts,
``{"repeat": [text, times]}`` and ``{"hex": text}``.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from gateway.http.server import HttpServer
from gateway.webhook.handler import Limits, Webhook, WebhookApp
from manager.decisions.policy import AppPolicy, StewardPolicy
from manager.ledger.tables import event_keys, events, requests, turns
from manager.service.receiving import Receiving
from providers.storage.schema import create_all
from providers.storage.sqlite import SqliteTransactions
from tests.support.length_extension import extend
from tests.support.webhook import (
    APP_ID,
    KEY,
    NOW_S,
    TOKEN,
    ManualClock,
    RecordingMetrics,
    encrypt,
    message_event,
    raw_encrypt,
    sign,
)

FOLDER = Path(__file__).parents[1] / "hostile"
SIGNING = {
    "timestamp": "X-Lark-Request-Timestamp",
    "nonce": "X-Lark-Request-Nonce",
    "signature": "X-Lark-Signature",
}
LEDGER = {"events": events, "event_keys": event_keys, "requests": requests, "turns": turns}


def cases(kind: str = "cases") -> dict[str, dict[str, Any]]:
    """Every case (or sequence) of every file, by ``file:name``."""
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        for name, case in json.loads(path.read_text("utf-8")).get(kind, {}).items():
            found[f"{path.stem}:{name}"] = case
    return found


def pieces(value: Any) -> bytes:
    """The bytes that a text or a list of pieces stands for."""
    if isinstance(value, str):
        return value.encode("utf-8")
    return b"".join(_piece(part) for part in value)


def _piece(part: Any) -> bytes:
    match part:
        case str():
            return part.encode("utf-8")
        case {"repeat": [text, times]}:
            return text.encode("utf-8") * times
        case {"hex": digits}:
            return bytes.fromhex(digits)
        case {"blocks": digits, **other}:  # encrypted without padding
            return raw_encrypt(bytes.fromhex(digits), other.get("key", KEY))
        case _:
            raise ValueError(f"not a piece: {part}")


def merge(base: Any, changes: Any) -> Any:
    """JSON merge patch."""
    if not isinstance(changes, Mapping):
        return changes
    merged = dict(base) if isinstance(base, Mapping) else {}
    for name, value in changes.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged


def body_of(case: Mapping[str, Any]) -> bytes:
    """The body before it is chunked or compressed."""
    if "body" in case:
        return pieces(case["body"])
    if "encrypted" in case:
        value = case["encrypted"]
        sent = value if not isinstance(value, list) else base64.b64encode(pieces(value)).decode()
        return json.dumps({"encrypt": sent}).encode()
    if "plain" in case:
        plain = pieces(case["plain"])
    else:
        event = message_event(text="x" * case["padded_text"]) if "padded_text" in case else message_event()
        plain = json.dumps(merge(event, case.get("event", {})), ensure_ascii=False).encode()
    return b'{"encrypt":"' + base64.b64encode(encrypt(plain, case.get("seal", KEY))) + b'"}'


def signature_of(signing: Mapping[str, Any], timestamp: str, nonce: str, body: bytes) -> str:
    """The signature, in the form that the case wants."""
    key = signing.get("key", KEY)
    match signing.get("form", "right"):
        case "right":
            return sign(body, timestamp, nonce, key)
        case "upper":
            return sign(body, timestamp, nonce, key).upper()
        case "hmac":
            return hmac.new(key.encode(), (timestamp + nonce).encode() + body, hashlib.sha256).hexdigest()
        case "empty":
            return ""
        case "not_ascii":
            return "é" + sign(body, timestamp, nonce, key)[1:]
        case "short":
            return sign(body, timestamp, nonce, key)[:-1]
        case "reserialised":  # over the parsed object, not over the bytes
            return sign(json.dumps(json.loads(body), sort_keys=True).encode(), timestamp, nonce, key)
        case form:
            raise ValueError(f"no such form: {form}")


def request_of(case: Mapping[str, Any], now_s: int = NOW_S) -> bytes:
    """The whole request."""
    body = body_of(case)
    headers: list[tuple[str, str]] = []
    if case.get("sign", {}) is not None:
        signing = case.get("sign", {})
        timestamp = signing.get("timestamp", str(now_s - signing.get("age_s", 0)))
        nonce = signing.get("nonce", "nonce-abc")
        signature = signature_of(signing, timestamp, nonce, body)
        if "extend" in case:
            length = len(timestamp) + len(nonce) + len(KEY) + len(body)
            more, signature = extend(signature, length, pieces(case["extend"]))
            body += more
        if "shift" in signing:  # characters moved across the border, under the same signature
            both, border = timestamp + nonce, len(timestamp) + signing["shift"]
            timestamp, nonce = both[:border], both[border:]
        sent = {"timestamp": timestamp, "nonce": nonce, "signature": signature}
        headers += [(SIGNING[name], sent[name]) for name in SIGNING if name not in case.get("drop", [])]
        headers += [(SIGNING[name], sent[name]) for name in case.get("twice", [])]
    headers += [(name, value) for name, value in case.get("headers", [])]
    if "padded_header" in case:
        headers.append(("X-Long", "x" * case["padded_header"]))
    body = {"gzip": gzip.compress, "deflate": zlib.compress}.get(case.get("compress"), bytes)(body)
    return head_of(case, headers, body) + (chunks(body) if case.get("chunked") else body)


def head_of(case: Mapping[str, Any], headers: list[tuple[str, str]], body: bytes) -> bytes:
    """The request line and the headers."""
    framing = (
        ("Transfer-Encoding", "chunked")
        if case.get("chunked")
        else ("Content-Length", str(case.get("length", len(body))))
    )
    lines = [f"POST {case.get('path', '/lark/events')} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in [framing, *headers]]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n"


def chunks(body: bytes, size: int = 50_000) -> bytes:
    """The body in chunks."""
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts) + b"0\r\n\r\n"


@dataclass
class Door:
    """A gateway's receiving side, whole: server, webhook, receiving, SQLite."""

    server: HttpServer
    webhook: Webhook
    store: SqliteTransactions
    clock: ManualClock
    metrics: RecordingMetrics

    async def rows(self) -> dict[str, int]:
        """How many rows each table of the ledger has, those that have none left out."""

        def count(connection: Connection) -> dict[str, int]:
            sizes = {
                name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for name, table in LEDGER.items()
            }
            return {name: size for name, size in sizes.items() if size}

        return await self.store.read(count)

    async def states(self) -> list[tuple[str, str | None]]:
        """State and reason of the events in the ledger, in order."""

        def look(connection: Connection) -> list[tuple[str, str | None]]:
            rows = connection.execute(select(events.c.state, events.c.reason).order_by(events.c.seq))
            return [(row.state, row.reason) for row in rows]

        return await self.store.read(look)


def policy() -> StewardPolicy:
    """One app, one owner, groups when mentioned."""
    app = AppPolicy(APP_ID, frozenset({"ou_owner0001"}), "mentioned", "owners")
    return StewardPolicy(600_000, 900_000, 30_000, 8, {"default": app})


async def own_id(app: str) -> str:
    """Who the bot is."""
    return "ou_bot0000001"


@asynccontextmanager
async def door(folder: Path, limits: Limits | None = None) -> AsyncIterator[Door]:
    """A door over the database in ``folder``, made where there is none."""
    path = folder / "steward.db"
    if not path.exists():
        create_all(path)
    async with SqliteTransactions(path) as store, door_over(store, limits) as opened:
        yield opened


@asynccontextmanager
async def door_over(store: SqliteTransactions, limits: Limits | None = None, made: str = "") -> AsyncIterator[Door]:
    """One more door over a database; ``made`` keeps the ids that it makes apart."""
    clock, metrics, numbers = ManualClock(), RecordingMetrics(), iter(range(10**9))
    receiving = Receiving(store, clock, lambda prefix: f"{prefix}_{made}{next(numbers)}", policy(), own_id)
    app = WebhookApp("default", APP_ID, KEY, TOKEN)
    webhook = Webhook({"default": app}, receiving.accept, clock, metrics, limits)
    async with HttpServer(webhook.routes(), "127.0.0.1", 0) as server:
        yield Door(server, webhook, store, clock, metrics)
