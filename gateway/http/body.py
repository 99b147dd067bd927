"""Reading the body of an API request: bounded in size and time, strict JSON."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from aiohttp import web

from gateway.http.errors import ApiError, plain_error
from gateway.webhook.strict_json import Flaw, NotStrictJson, loads_object

MAX_BYTES = 2 * 1024 * 1024
"""A result of 256 KiB, every character of it escaped, fits."""

READ_S = 30.0

SENTENCES = {
    Flaw.NOT_UTF8: "The body is not UTF-8.",
    Flaw.NOT_JSON: "The body is not JSON.",
    Flaw.TOO_DEEP: "The body is nested more than 64 levels deep.",
    Flaw.DUPLICATE_KEY: "The body names the same key twice in one object.",
    Flaw.NUMBER: "The body holds a number that is not finite or has too many digits.",
    Flaw.CHARACTER: "The body holds an escape for U+0000 or for half of a surrogate pair.",
    Flaw.NOT_AN_OBJECT: "The body is not a JSON object.",
}


@dataclass(frozen=True, slots=True)
class JsonBody:
    """A body as it was sent (what an idempotency key is compared by) and the object in it."""

    raw: bytes
    data: dict[str, object]


async def read_bytes(request: web.Request, max_bytes: int, within_s: float = READ_S) -> bytes:
    """The whole body.

    Raises ``ApiError`` 415 when it is compressed (before a byte is read), 413 when it is longer than ``max_bytes``
    (before a byte is read where its length is declared), 408 when it has not arrived after ``within_s`` seconds, 400
    when its chunks are broken.
    """
    if "Content-Encoding" in request.headers:
        raise plain_error(415)
    if (request.content_length or 0) > max_bytes:
        raise plain_error(413)
    try:
        if request.content.is_eof():  # it came with the headers
            body = request.content.read_nowait()
        else:
            async with asyncio.timeout(within_s):
                body = await _read(request, max_bytes)
    except TimeoutError:
        raise plain_error(408) from None
    except web.RequestPayloadError:  # broken chunks
        raise plain_error(400) from None
    if len(body) > max_bytes:
        raise plain_error(413)
    return body


async def _read(request: web.Request, max_bytes: int) -> bytes:
    """The body, or its beginning as soon as it is longer than ``max_bytes``."""
    pieces = bytearray()
    while len(pieces) <= max_bytes and (piece := await request.content.readany()):
        pieces += piece
    return bytes(pieces)


async def read_json(request: web.Request, max_bytes: int = MAX_BYTES, within_s: float = READ_S) -> JsonBody:
    """The body's object; ``ApiError`` as ``read_bytes``, 415 for another content type, 400 ``invalid_request``."""
    if request.content_type != "application/json" or (request.charset or "utf-8").lower() != "utf-8":
        raise plain_error(415)
    raw = await read_bytes(request, max_bytes, within_s)
    try:
        return JsonBody(raw, loads_object(raw))
    except NotStrictJson as error:
        raise ApiError(400, "invalid_request", f"{SENTENCES[error.flaw]} Send one JSON object.") from None
