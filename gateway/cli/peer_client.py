"""The gateway, as a peer's commands reach it: one token, one key for each write, errors as sentences."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self, cast

import httpx

from gateway.cli.output import fail, printable

TIMEOUT_S: Final = 30.0
TRIES: Final = 3
LOCAL: Final = frozenset({"127.0.0.1", "::1", "localhost"})
ONE_REQUEST: Final = "/api/v1/peer/requests/"
FIRST_ERROR: Final = 400
OURS: Final = 500


class PeerClient:
    """Speaks the peer's HTTP API. Every failure ends the command with exit code 1."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            trust_env=httpx.URL(url).host not in LOCAL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, has: str, *, wait_s: int = 0, **query: str | int) -> dict[str, object]:
        """Read something that has the field ``has``, waiting for it up to ``wait_s`` seconds."""
        params = {**query, "wait_s": wait_s} if wait_s else dict(query)
        request = self._http.build_request("GET", path, params=params, timeout=TIMEOUT_S + wait_s)
        found = self._send(request)
        if has not in found:
            fail(_not_ours(request.url, httpx.codes.OK))
        return found

    def write(self, method: str, path: str, body: Mapping[str, object], key: str | None) -> dict[str, object]:
        """Write something once; under one key it is safe to try again when the answer was lost."""
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        return self._send(self._http.build_request(method, path, json=dict(body), headers=headers))

    def _send(self, request: httpx.Request) -> dict[str, object]:
        for left in reversed(range(TRIES)):
            try:
                answer = self._http.send(request)
            except httpx.TransportError as error:
                if left == 0:
                    fail(
                        f"The gateway at {_address(request.url)} does not answer ({type(error).__name__}). Start it "
                        "with `lark-steward serve`, or give its address by LARK_STEWARD_URL or --url."
                    )
                continue
            if answer.status_code < OURS or left == 0:
                return _content(answer)
        raise AssertionError  # the last try returns or fails


def _content(answer: httpx.Response) -> dict[str, object]:
    try:
        content: object = answer.json()
    except ValueError:
        content = None
    if answer.status_code >= FIRST_ERROR or not isinstance(content, dict):
        fail(_sentence(answer, content))
    return cast("dict[str, object]", content)


def _sentence(answer: httpx.Response, content: object) -> str:
    error = cast("dict[str, object]", content).get("error") if isinstance(content, dict) else None
    said = cast("dict[str, object]", error) if isinstance(error, dict) else {}
    if not (isinstance(said.get("code"), str) and isinstance(said.get("message"), str)):
        return _not_ours(answer.url, answer.status_code)
    field = f" ({said['field']})" if said.get("field") else ""
    unknown = said.get("code") == "not_found" and answer.url.path.startswith(ONE_REQUEST)
    hint = " `lark-steward peer next` prints the oldest that is open." if unknown else ""
    return printable(f"{said.get('code')}: {said.get('message')}{field}{hint}")


def _not_ours(url: httpx.URL, status: int) -> str:
    return (
        f"{_address(url)} answers {status}, but not as a lark-steward gateway does: "
        "check LARK_STEWARD_URL or --url. `lark-steward serve` prints where it listens."
    )


def _address(url: httpx.URL) -> str:
    """Scheme, host and port, and nothing else of what was given."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"
