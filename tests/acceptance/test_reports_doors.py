"""Reported kinds of trouble with challenges, encryption and signatures, at a real gateway's door: E1-E4.

What is pushed here by hand is a message that the local Lark has, so that a push that is taken shows in the chat.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from providers.lark_double.events import envelope, message_event
from tests.support.reports import Home, Scene, house
from tests.support.webhook import Answer, exchange, post, seal, sign, signed_headers

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    async with house(tmp_path_factory.mktemp("doors")) as it:
        yield it


@dataclass
class Door:
    """The gateway's door, and a question that the local Lark did not push."""

    home: Home
    scene: Scene

    def event(self) -> dict[str, object]:
        question = self.scene.ask(silent=True)
        lark = self.home.lark
        told = message_event(lark.world, self.home.app, question)
        return envelope(lark.world, told, lark.new_id("ev_"))

    async def knock(self, body: bytes, headers: list[tuple[str, str]]) -> Answer:
        return await exchange(self.home.gateway.settings.port, post("/lark/events", body, headers))

    async def push(self, plain: bytes, **signing: str) -> Answer:
        """Seal and sign ``plain`` as Lark does, with the app's own key."""
        key = self.home.gateway.settings.encrypt_key
        body = seal(plain, key)
        return await self.knock(body, signed_headers(body, **{"timestamp": now(), "key": key, **signing}))

    async def quiet(self) -> None:
        """Nothing came of it: no request, and the door still works."""
        assert await self.scene.items() == []
        assert (await self.push(json.dumps(self.event()).encode())).status == 200
        await self.scene.one(status="delivered")


@pytest_asyncio.fixture(loop_scope="module")
async def door(home: Home) -> Door:
    return Door(home, await home.scene())


def now() -> str:
    return str(int(time.time()))


async def test_e1_the_encrypted_challenge_comes_unsigned(home: Home) -> None:
    """E1: the console's challenge is answered with its text as JSON, in time, at both apps' addresses."""
    for app in (home.app, home.second):
        verified = await home.lark.challenge(app, "a-challenge-中文-1")
        assert (verified.ok, verified.status) == (True, 200)
        assert json.loads(verified.answer) == {"challenge": "a-challenge-中文-1"}
        assert verified.latency_ms < 1_000


async def test_e1_anything_else_unsigned_is_refused(door: Door) -> None:
    """E1: an event without a signature is not a challenge: 401, whether sealed or not."""
    event = json.dumps(door.event()).encode()
    key = door.home.gateway.settings.encrypt_key
    for body in (event, seal(event, key)):
        assert (await door.knock(body, [])).status == 401
    await door.quiet()


async def test_e2_the_signature_and_the_envelope(door: Door) -> None:
    """E2: SHA-256 over time, nonce, key and the raw body, then AES-256-CBC: taken and answered in the chat."""
    answer = await door.push(json.dumps(door.event()).encode())
    assert answer.status == 200
    item = await door.scene.one(status="delivered")
    assert item["delivery"]["verification"] == "direct"


async def test_e2_signatures_of_another_making(door: Door) -> None:
    """E2: signed with the verification token, as an HMAC, or under a wrong key: one and the same 401."""
    settings = door.home.gateway.settings
    body, stamp = seal(json.dumps(door.event()).encode(), settings.encrypt_key), now()
    mac = hmac.new(settings.verification_token.encode(), stamp.encode() + b"n" + body, hashlib.sha256).hexdigest()
    wrong = [sign(body, stamp, "n", settings.verification_token), mac, sign(body, stamp, "n", "another key"), ""]
    answers: set[tuple[int, bytes]] = set()
    for signature in wrong:
        headers = [
            ("X-Lark-Request-Timestamp", stamp), ("X-Lark-Request-Nonce", "n"), ("X-Lark-Signature", signature),
        ]  # fmt: skip
        answer = await door.knock(body, headers)
        answers.add((answer.status, answer.body))
    assert {status for status, _ in answers} == {401}
    assert len(answers) == 1
    await door.quiet()


@pytest.mark.parametrize("written", ["keys the other way round", "spaces and new lines", "unicode escapes", "raw"])
async def test_e3_the_raw_bytes_are_signed(door: Door, written: str) -> None:
    """E3: however the same JSON is written, the bytes are what is signed and what is checked."""
    event = door.event()
    plain = {
        "keys the other way round": json.dumps(dict(reversed(event.items()))),
        "spaces and new lines": json.dumps(event, indent=3),
        "unicode escapes": json.dumps(event, ensure_ascii=True).replace("where", "\\u0077here"),
        "raw": json.dumps(event, ensure_ascii=False, separators=(",", ":")),
    }[written]
    settings = door.home.gateway.settings
    sealed = json.loads(seal(plain.encode(), settings.encrypt_key))
    body = json.dumps({"unknown": "成员", **sealed}, ensure_ascii=written == "unicode escapes", indent=1).encode()
    headers = signed_headers(body, now(), key=settings.encrypt_key)
    compact = json.dumps(json.loads(body), separators=(",", ":")).encode()
    assert compact != body
    assert (await door.knock(compact, headers)).status == 401, "the same object in other bytes is not what was signed"
    assert (await door.knock(body, headers)).status == 200
    await door.scene.one(status="delivered")


async def test_e4_a_challenge_with_another_token(home: Home) -> None:
    """E4: sealed under the right key, but the token is wrong or missing: refused, and not answered."""
    for token in ("another-token", ""):
        verified = await home.lark.challenge(home.app, token=token)
        assert (verified.ok, verified.status) == (False, 401)
        assert "ajls384kdj" not in verified.answer


async def test_e4_malformed_is_400(door: Door) -> None:
    """E4: signed, but what it seals is not JSON, or it cannot be opened: 400, and nothing is stored."""
    settings = door.home.gateway.settings
    assert (await door.push(b'{"schema": "2.0", ')).status == 400
    assert (await door.push(b"")).status == 400
    for body in (b'{"encrypt": "AAAA"}', b'{"encrypt": 7}', b"[]", seal(b"{}", "another key")):
        headers = signed_headers(body, now(), key=settings.encrypt_key)
        assert (await door.knock(body, headers)).status == 400
    await door.quiet()


async def test_e4_another_apps_event_under_this_apps_key(door: Door) -> None:
    """E4: rightly signed, but token or app inside are another's: 401."""
    for member, value in (("token", "another-token"), ("app_id", "cli_another")):
        event = door.event()
        header = event["header"]
        assert isinstance(header, dict)
        header[member] = value
        assert (await door.push(json.dumps(event).encode())).status == 401
    await door.quiet()
