"""The webhook's own rules, with an ``accept`` that the test holds in its hands."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from gateway.http.server import HttpServer
from gateway.webhook.handler import KINDS, Limits, Webhook, WebhookApp
from manager.decisions.inbound import Inbound, MessageReceived
from returns.ports import StorageUnavailable
from tests.support.webhook import (
    APP_ID,
    KEY,
    NOW_S,
    TOKEN,
    ManualClock,
    RecordingAccept,
    RecordingMetrics,
    exchange,
    message_event,
    post,
    push,
    seal,
    sign,
    signed_headers,
)

OTHER_KEY = "another-encrypt-key"
APPS = {
    "default": WebhookApp("default", APP_ID, KEY, TOKEN),
    "second": WebhookApp("second", "cli_second000000", OTHER_KEY, "vtok-2"),
}


class Serving:
    def __init__(self, apps: dict[str, WebhookApp], limits: Limits | None) -> None:
        self.accept, self.metrics, self.clock = RecordingAccept(), RecordingMetrics(), ManualClock()
        self.webhook = Webhook(apps, self.accept, self.clock, self.metrics, limits)
        self.port = 0


@asynccontextmanager
async def serving(apps: dict[str, WebhookApp] | None = None, limits: Limits | None = None) -> AsyncIterator[Serving]:
    made = Serving(apps or APPS, limits)
    async with HttpServer(made.webhook.routes(), "127.0.0.1", 0) as server:
        made.port = server.port
        yield made


async def test_an_event_is_handed_on_as_it_came() -> None:
    event = message_event(text="wo ist 泵 😀?")
    async with serving() as door:
        answer = await push(door.port, event)
    assert (answer.status, answer.body) == (200, b'{"msg":"success"}')
    (received,) = door.accept.events
    assert isinstance(received, MessageReceived)
    assert (received.envelope.app, received.message_id) == ("default", "om_question1")
    assert json.loads(door.accept.bodies[0]) == event
    assert door.metrics.outcomes == [("new", "message")]


async def test_200_waits_for_the_commit() -> None:
    async with serving() as door:
        door.accept.gate = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            pushing = group.create_task(push(door.port, message_event()))
            await push(door.port, message_event(), path="/lark/events/nobody")  # a whole other exchange goes by
            assert not pushing.done()
            door.accept.gate.set()
        assert pushing.result().status == 200


@pytest.mark.parametrize("failure", [StorageUnavailable("canary"), TimeoutError("canary")])
async def test_no_commit_no_200(failure: Exception) -> None:
    async with serving() as door:
        door.accept.failure = failure
        answer = await push(door.port, message_event())
    assert answer.status == 503
    assert answer.json["error"]["code"] == "unavailable"
    assert b"canary" not in answer.body
    assert door.metrics.outcomes == [("unavailable", "message")]


async def test_a_commit_that_takes_too_long_is_no_commit() -> None:
    async with serving(limits=Limits(commit_s=0.05)) as door:
        door.accept.gate = asyncio.Event()
        assert (await push(door.port, message_event())).status == 503
    assert door.accept.events == []


async def test_what_was_not_foreseen_is_not_200() -> None:
    async with serving() as door:
        door.accept.failure = RuntimeError("canary")
        answer = await push(door.port, message_event())
    assert answer.status == 500
    assert b"canary" not in answer.body


async def test_each_app_has_its_own_keys() -> None:
    body = seal(json.dumps(message_event()).encode())
    second = message_event()
    second["header"] |= {"app_id": "cli_second000000", "token": "vtok-2"}
    sealed = seal(json.dumps(second).encode(), OTHER_KEY)
    async with serving() as door:
        assert (await exchange(door.port, post("/lark/events/second", body, signed_headers(body)))).status == 401
        assert door.accept.events == []
        headers = signed_headers(sealed, key=OTHER_KEY)
        assert (await exchange(door.port, post("/lark/events", sealed, headers))).status == 401
        assert (await exchange(door.port, post("/lark/events/second", sealed, headers))).status == 200
    assert [event.envelope.app for event in door.accept.events] == ["second"]


async def test_the_only_app_is_the_default_one() -> None:
    async with serving({"main": WebhookApp("main", APP_ID, KEY, TOKEN)}) as door:
        assert (await push(door.port, message_event())).status == 200
        assert (await push(door.port, message_event(), path="/lark/events/main")).status == 200
        assert (await push(door.port, message_event(), path="/lark/events/second")).status == 404
    assert [event.envelope.app for event in door.accept.events] == ["main", "main"]


async def test_of_several_apps_none_is_the_default_by_chance() -> None:
    apps = {"a": WebhookApp("a", APP_ID, KEY, TOKEN), "b": APPS["second"]}
    async with serving(apps) as door:
        assert (await push(door.port, message_event())).status == 404


@pytest.mark.parametrize(("age_s", "outcome"), [(28_801, "refused_too_old"), (-301, "refused_too_new")])
async def test_a_time_out_of_bounds_is_counted_and_doubts_the_clock(age_s: int, outcome: str) -> None:
    async with serving() as door:
        assert door.webhook.out_of_time_at is None
        assert (await push(door.port, message_event(), timestamp=str(NOW_S - age_s))).status == 401
        assert door.webhook.out_of_time_at == NOW_S * 1000
    assert door.metrics.outcomes == [(outcome, "none")]


async def test_a_forged_time_does_not_doubt_the_clock() -> None:
    async with serving() as door:
        assert (await push(door.port, message_event(), timestamp="1000000000", key="guess")).status == 401
        assert door.webhook.out_of_time_at is None
    assert door.metrics.outcomes == [("refused_signature", "none")]


async def test_a_refusal_is_one_line_without_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    body = b'{"encrypt":"canary-of-the-body"}'
    headers = [("X-Lark-Signature", "canary-of-the-headers"), ("X-Canary", "canary")]
    async with serving() as door:
        await exchange(door.port, post("/lark/events?canary=1", body, headers))
    assert [record.getMessage() for record in caplog.records] == ["A push was refused: headers."]


async def test_a_wrong_key_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as door:
        assert (await push(door.port, message_event(), key="another-key")).status == 401
        for key in ("token", "app_id"):
            event = message_event()
            cast("dict[str, str]", event["header"])[key] = "another"
            assert (await push(door.port, event)).status == 401
    assert [record.getMessage() for record in caplog.records] == [
        "A push was refused: signature: check apps[default].encrypt_key.",
        "A push was refused: token: check apps[default].verification_token.",
        "A push was refused: app: check apps[default].app_id.",
    ]


async def test_get_is_not_taken() -> None:
    async with serving() as door:
        answer = await exchange(door.port, b"GET /lark/events HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.status == 405


async def test_a_challenge_dispatches_nothing() -> None:
    body = seal(json.dumps({"challenge": '"}\u2028中', "token": TOKEN, "type": "url_verification"}).encode())
    async with serving() as door:
        answer = await exchange(door.port, post("/lark/events", body))
        signed = await exchange(door.port, post("/lark/events", body, signed_headers(body)))
    assert answer.json == signed.json == {"challenge": '"}\u2028中'}
    assert door.accept.events == []
    assert door.metrics.outcomes == [("challenge", "none")] * 2


async def test_the_signature_is_over_the_bytes_of_the_headers_too() -> None:
    """A nonce that is not ASCII is hashed as it was sent."""
    body = seal(json.dumps(message_event()).encode())
    request = post("/lark/events", body)
    nonce = "nönce"
    sent = {"Request-Timestamp": NOW_S, "Request-Nonce": nonce, "Signature": sign(body, nonce=nonce)}
    lines = "".join(f"X-Lark-{name}: {value}\r\n" for name, value in sent.items())
    async with serving() as door:
        answer = await exchange(door.port, request.replace(b"Host:", lines.encode() + b"Host:", 1))
    assert answer.status == 200


def test_an_app_keeps_its_secrets_to_itself() -> None:
    shown = repr(APPS["default"])
    assert KEY not in shown
    assert TOKEN not in shown


@pytest.mark.parametrize("missing", ["app_id", "encrypt_key", "verification_token"])
def test_an_app_without_a_secret_is_no_app(missing: str) -> None:
    values = {"app_id": APP_ID, "encrypt_key": KEY, "verification_token": TOKEN, missing: " "}
    with pytest.raises(ValueError, match=missing):
        WebhookApp("default", **values)


def test_every_kind_of_event_has_a_name() -> None:
    assert set(KINDS) == set(Inbound.__args__)
