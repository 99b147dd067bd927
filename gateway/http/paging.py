"""The size of a page."""

from __future__ import annotations

from aiohttp import web

from gateway.http.errors import ApiError

DEFAULT = 20
MOST = 100
LONGEST = 3  # digits


def limit(request: web.Request) -> int:
    """``?limit=``, 1 to 100, 20 without one; ``ApiError`` 400 ``invalid_limit`` otherwise."""
    values = request.query.getall("limit", [])
    if not values:
        return DEFAULT
    value = values[0]
    if len(values) == 1 and value.isascii() and value.isdigit() and len(value) <= LONGEST and 1 <= int(value) <= MOST:
        return int(value)
    raise ApiError(400, "invalid_limit", "limit is a whole number from 1 to 100.", "limit")


def cursor(request: web.Request) -> str | None:
    """``?cursor=`` as it was sent, None without one; ``ApiError`` 400 ``invalid_cursor`` when there are several."""
    values = request.query.getall("cursor", [])
    if len(values) > 1:
        raise ApiError(400, "invalid_cursor", "Send one cursor.", "cursor")
    return values[0] if values and values[0] else None
