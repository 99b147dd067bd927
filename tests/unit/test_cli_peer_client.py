"""The peer's commands and a gateway that answers, fails, lies or is away: tried again only where that is safe."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
import respx

from gateway.cli.output import Failed
from gateway.cli.peer_client import TRIES, PeerClient

URL = "http://127.0.0.1:8080"
REQUESTS = "/api/v1/peer/requests"
DONE = {"request_id": "r_1", "revision": 1}


@pytest.fixture
def gateway() -> Iterator[respx.MockRouter]:
    with respx.mock(base_url=URL) as router:
        yield router


def write(key: str | None = None) -> dict[str, object]:
    with PeerClient(URL, "secret-token") as client:
        return client.write("POST", f"{REQUESTS}/r_1/progress", {"revision": 1, "text": "…"}, key)


def test_a_lost_answer_is_asked_for_again_under_the_same_key(gateway: respx.MockRouter) -> None:
    route = gateway.post(f"{REQUESTS}/r_1/progress").mock(
        side_effect=[httpx.ReadTimeout("…"), httpx.Response(503, json={}), httpx.Response(200, json=DONE)]
    )
    assert write() == DONE
    keys = {call.request.headers["Idempotency-Key"] for call in route.calls}
    assert (len(route.calls), len(keys)) == (3, 1)
    assert {call.request.headers["Authorization"] for call in route.calls} == {"Bearer secret-token"}


def test_a_key_of_ones_own_is_kept(gateway: respx.MockRouter) -> None:
    route = gateway.post(f"{REQUESTS}/r_1/progress").respond(200, json=DONE)
    write("mine")
    assert route.calls.last.request.headers["Idempotency-Key"] == "mine"


def test_a_refusal_is_said_at_once_and_not_tried_again(gateway: respx.MockRouter) -> None:
    error = {"error": {"code": "already_final", "message": "It is cancelled.", "field": None}}
    route = gateway.post(f"{REQUESTS}/r_1/progress").respond(409, json=error)
    with pytest.raises(Failed) as failed:
        write()
    assert len(route.calls) == 1
    assert "already_final: It is cancelled." in str(failed.value)


def test_a_gateway_that_is_away_is_named_and_the_token_is_not(gateway: respx.MockRouter) -> None:
    route = gateway.post(f"{REQUESTS}/r_1/progress").mock(side_effect=httpx.ConnectError("refused"))
    with pytest.raises(Failed) as failed:
        write()
    said = str(failed.value)
    assert len(route.calls) == TRIES
    assert URL in said
    assert "secret-token" not in said


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'"x"', b"\xff", b'{"error": "a string"}'])
def test_who_answers_otherwise_is_no_gateway(gateway: respx.MockRouter, body: bytes) -> None:
    gateway.post(f"{REQUESTS}/r_1/progress").respond(404, content=body)
    with pytest.raises(Failed) as failed:
        write()
    assert "not as a lark-steward gateway does" in str(failed.value)


def test_a_list_without_its_field_is_no_gateways(gateway: respx.MockRouter) -> None:
    gateway.get(REQUESTS).respond(200, json={"other": []})
    with pytest.raises(Failed) as failed, PeerClient(URL, "secret-token") as client:
        client.get(REQUESTS, "items", limit=1)
    assert "not as a lark-steward gateway does" in str(failed.value)
