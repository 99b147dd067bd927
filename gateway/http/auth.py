"""The operator's identity: a bearer token, or a cookie that was signed after the token was shown once.

Host is checked against a list (a page of another name that resolves here gets nothing), Origin on every method that
changes something. All comparisons are constant in time.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import cast

from aiohttp import web

from gateway.http.errors import ApiError
from gateway.http.keys import derive
from returns.ports import Clock

COOKIE = "lark_steward_operator"
SIGNED_IN_MS = 12 * 60 * 60 * 1000
LONGEST_MOMENT = 15  # digits of milliseconds
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
DEFAULT_PORTS = (":80", ":443")


class Operator:
    """Knows the operator; ``hosts`` are the names (with a port or without) that this gateway is reached by.

    Loopback names and the address that a connection was made to are always among them.
    """

    __slots__ = ("_clock", "_cookie_key", "_hosts", "_token_digest")

    def __init__(self, token: str, hosts: Iterable[str], clock: Clock) -> None:
        if not token:
            raise ValueError("The operator's token is empty.")
        self._token_digest = hashlib.sha256(token.encode()).digest()
        self._cookie_key = derive(token, "cookie")
        self._hosts = LOOPBACK | {host.lower() for host in hosts if host}
        self._clock = clock

    def require(self, request: web.Request) -> None:
        """Let the operator pass; ``ApiError`` 403 ``forbidden_host`` or ``forbidden_origin``, 401 otherwise."""
        self.check_host(request)
        self.check_origin(request)
        if not self.is_operator(request):
            raise ApiError(
                401,
                "unauthenticated",
                "This needs the operator's token as Authorization: Bearer, or a signed-in page.",
                headers={"WWW-Authenticate": "Bearer"},
            )

    def check_host(self, request: web.Request) -> None:
        """``ApiError`` 403 ``forbidden_host`` unless the request names one of our hosts, once."""
        hosts = request.headers.getall("Host", [])
        if len(hosts) == 1 and self._is_ours(hosts[0].lower(), request):
            return
        raise ApiError(403, "forbidden_host", "This gateway is not known by that host name. Use one that it serves.")

    def check_origin(self, request: web.Request) -> None:
        """``ApiError`` 403 ``forbidden_origin`` when another site's page asks for a change."""
        if request.method in SAFE_METHODS:
            return
        origins = request.headers.getall("Origin", [])
        if not origins:
            if request.headers.get("Sec-Fetch-Site", "none") in {"none", "same-origin"} and not _by_cookie(request):
                return
        elif len(origins) == 1 and _same_site(origins[0].lower(), request.headers.get("Host", "").lower()):
            return
        raise ApiError(403, "forbidden_origin", "Changes are taken only from this gateway's own pages and commands.")

    def is_operator(self, request: web.Request) -> bool:
        """Whether the request carries the token or a cookie that still holds."""
        headers = request.headers.getall("Authorization", [])
        if headers:
            scheme, _, token = headers[0].partition(" ")
            return len(headers) == 1 and scheme.lower() == "bearer" and self.is_token(token.strip())
        return self._is_cookie(request.cookies.get(COOKIE, ""))

    def is_token(self, candidate: str) -> bool:
        """Whether ``candidate`` is the operator's token."""
        digest = hashlib.sha256(candidate.encode("utf-8", "surrogatepass")).digest()
        return hmac.compare_digest(digest, self._token_digest)

    def sign_in(self, request: web.Request, response: web.StreamResponse) -> None:
        """Give the browser a cookie that holds for 12 hours; only after ``is_token``."""
        until = str(self._clock.now() + SIGNED_IN_MS)
        response.set_cookie(
            COOKIE,
            f"{until}.{self._signature(until)}",
            max_age=SIGNED_IN_MS // 1000,
            path="/",
            httponly=True,
            samesite="Strict",
            secure=request.secure,
        )

    def sign_out(self, response: web.StreamResponse) -> None:
        """Take the cookie away."""
        response.del_cookie(COOKIE, path="/", httponly=True, samesite="Strict")

    def _is_ours(self, host: str, request: web.Request) -> bool:
        name = _name(host)
        if host in self._hosts or name in self._hosts:
            return True
        address = _local_address(request)
        return address is not None and name == address

    def _is_cookie(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) <= LONGEST_MOMENT):
            return False
        genuine = hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), self._signature(until).encode())
        return genuine and self._clock.now() < int(until)

    def _signature(self, until: str) -> str:
        return hmac.new(self._cookie_key, until.encode(), hashlib.sha256).hexdigest()


def _by_cookie(request: web.Request) -> bool:
    return "Authorization" not in request.headers and COOKIE in request.cookies


def _same_site(origin: str, host: str) -> bool:
    scheme, separator, netloc = origin.partition("://")
    return bool(separator) and scheme in {"http", "https"} and _without_default(netloc) == _without_default(host)


def _without_default(host: str) -> str:
    for port in DEFAULT_PORTS:
        host = host.removesuffix(port)
    return host


def _name(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isascii() and port.isdigit() else host


def _local_address(request: web.Request) -> str | None:
    """The address of this end of the connection, as a Host header spells it."""
    transport = request.transport
    name: object = None if transport is None else transport.get_extra_info("sockname")
    if not isinstance(name, tuple):
        return None
    address = str(cast("tuple[object, ...]", name)[0])
    return f"[{address}]" if ":" in address else address
