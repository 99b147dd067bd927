"""Every way in which the peer's API says no, and that saying no moves nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from manager.decisions.peer_writes import MOST_PROGRESS
from manager.ids import RequestId
from manager.ledger import facts, peers, requests
from manager.ledger.requests import Cancellation
from returns.ids import Millis
from tests.support.handover import House, house


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def test_authentication_comes_first(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    for headers in (
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic lsp_atlas"},
        {"Authorization": "Bearer "},
        {"Authorization": ""},
        {"Authorization": "Bearer \u00e9"},
    ):
        answer = await atlas.call("POST", f"/requests/{request}/result", data=b"{", headers=headers)
        assert (answer.status, answer.code) == (401, "unauthenticated")
    assert (await atlas.call("GET", "/requests", headers={"authorization": "bearer lsp_atlas"})).status == 200


async def test_a_removed_peer_is_nobody(home: House) -> None:
    atlas = await home.peer("atlas")
    await home.transactions.run(lambda c: peers.remove(c, peers.by_name(c, "atlas").peer_id))
    assert (await atlas.list()).status == 401
    again = await home.peer("atlas")  # its name and its token are free again
    assert (await again.list()).status == 200


async def test_idempotency_keys(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    path = f"/requests/{request}/presented"
    body = {"revision": 1}
    for headers in ({}, {"Idempotency-Key": ""}, {"Idempotency-Key": "  "}):
        answer = await atlas.call("POST", path, json=body, headers=headers)
        assert (answer.status, answer.code) == (400, "missing_idempotency_key")
    long = await atlas.write("POST", path, body, "k" * 201)
    assert (long.status, long.code, long.field) == (400, "invalid_request", "Idempotency-Key")
    first = await atlas.write("POST", path, body, "k" * 200)
    assert first.status == 200
    same = await atlas.call(
        "POST", path, data=b' { "revision" : 1 } ', headers={"Idempotency-Key": "k" * 200}
    )  # the same body, written otherwise
    assert (same.status, same.raw) == (200, first.raw)
    other = await atlas.write("POST", path, {"revision": 1, "turn": "t"}, "k" * 200)
    assert (other.status, other.code) == (409, "idempotency_conflict")
    elsewhere = await atlas.write("POST", f"/requests/{request}/progress", body | {"text": "x"}, "k" * 200)
    assert (elsewhere.status, elsewhere.code) == (409, "idempotency_conflict")
    home.clock.at += 7 * 24 * 3_600_000
    assert (await atlas.write("POST", path, {"revision": 1, "turn": "t"}, "k" * 200)).status == 200


async def test_a_refusal_is_the_first_answer_too(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    early = await atlas.post(request, "assessment", key="once", assessment="accepted")
    assert (early.status, early.code) == (409, "not_presented")
    await atlas.post(request, "presented")
    again = await atlas.post(request, "assessment", key="once", assessment="accepted")
    assert (again.status, again.raw) == (409, early.raw)
    assert (await atlas.post(request, "assessment", assessment="accepted")).status == 200


async def test_one_key_belongs_to_one_peer(home: House) -> None:
    atlas, boris = await home.peer("atlas"), await home.peer("boris")
    for side in (atlas, boris):
        assert (await side.write("PUT", "/presence", {"state": "busy" if side is atlas else "away"}, "k")).status == 200


async def test_concurrent_writes_under_one_key_have_one_effect(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    body = {"revision": 1, "outcome": "resolved", "text": "42"}
    answers = await asyncio.gather(
        *(atlas.write("POST", f"/requests/{request}/result", body, "one") for _ in range(12))
    )
    assert {(answer.status, answer.raw) for answer in answers} == {(200, answers[0].raw)}
    assert [kind for kind, _ in await home.told(request)] == ["notice", "answer"]


async def test_concurrent_results_under_many_keys_have_one_effect(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    answers = await asyncio.gather(
        *(atlas.post(request, "result", outcome="resolved", text=str(number)) for number in range(8))
    )
    assert sorted(answer.status for answer in answers) == [200] + [409] * 7
    assert {answer.code for answer in answers if answer.status == 409} == {"already_final"}
    assert len(await home.told(request)) == 2


async def test_what_is_anothers_does_not_exist(home: House) -> None:
    await home.peer("atlas")
    boris = await home.peer("boris")
    request = await home.handed("atlas")
    before = await home.facts(request)
    missing = await boris.read("r_nothing")
    for answer in (
        await boris.read(request),
        await boris.post(request, "presented"),
        await boris.post(request, "assessment", assessment="accepted"),
        await boris.post(request, "progress", text="x"),
        await boris.post(request, "result", outcome="declined", text="x"),
        await boris.write("POST", "/requests", {"to": "atlas", "parent": request, "brief": {"purpose": "p"}}),
        await boris.read("%00"),
        await boris.read("x" * 41),
    ):
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.body["error"]["message"] == missing.body["error"]["message"]
    assert (await boris.list("?state=all")).body["items"] == []
    assert await home.facts(request) == before


@pytest.mark.parametrize(
    ("what", "body", "field"),
    [
        ("presented", {"revision": 0}, "revision"),
        ("presented", {"revision": True}, "revision"),
        ("presented", {"revision": "1"}, "revision"),
        ("presented", {"revision": 2**31}, "revision"),
        ("presented", {"turn": "x"}, "revision"),
        ("presented", {"revision": 1, "turn": "x" * 121}, "turn"),
        ("presented", {"revision": 1, "extra": 1}, "extra"),
        ("assessment", {"revision": 1}, "assessment"),
        ("assessment", {"revision": 1, "assessment": "pending"}, "assessment"),
        ("assessment", {"revision": 1, "assessment": "partially_accepted"}, "accepted_scope"),
        ("assessment", {"revision": 1, "assessment": "partially_accepted", "accepted_scope": "a"}, "remaining"),
        ("assessment", {"revision": 1, "assessment": "rejected", "reason": " "}, "reason"),
        ("assessment", {"revision": 1, "assessment": "deferred"}, "reason"),
        ("assessment", {"revision": 1, "assessment": "deferred", "reason": "r"}, "resume_condition"),
        ("assessment", {"revision": 1, "assessment": "deferred", "reason": "r", "resume_condition": "c"}, "owner"),
        ("progress", {"revision": 1, "text": ""}, "text"),
        ("progress", {"revision": 1, "text": "x" * 2001}, "text"),
        ("result", {"revision": 1, "outcome": "done", "text": "x"}, "outcome"),
        ("result", {"revision": 1, "outcome": "resolved", "text": " \n"}, "text"),
        ("result", {"revision": 1, "outcome": "resolved"}, "text"),
        ("result", {"revision": 1, "outcome": "resolved", "text": "x", "covers": "all"}, "covers"),
        ("result", {"revision": 1, "outcome": "resolved", "text": "x", "attempt": "a_other"}, "attempt"),
    ],
)
async def test_bad_fields_are_named(home: House, what: str, body: dict, field: str) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request) if what == "result" else await atlas.post(request, "presented")
    before = await home.facts(request)
    answer = await atlas.write("POST", f"/requests/{request}/{what}", body)
    assert (answer.status, answer.code, answer.field) == (400, "invalid_request", field)
    assert await home.facts(request) == before


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"1", b'{"revision": NaN}', b'{"a": "\\u0000"}', b"\xff", b'{"a":"\\ud800"}']
)
async def test_bad_bodies(home: House, data: bytes) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    answer = await atlas.call("POST", f"/requests/{request}/presented", data=data, headers={"Idempotency-Key": "k"})
    assert (answer.status, answer.code) == (400, "invalid_request")


async def test_sizes(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    assert (await atlas.post(request, "progress", text="界" * 2000)).status == 200
    large = await atlas.post(request, "result", outcome="resolved", text="界" * (256 * 1024 // 3) + "xx")
    assert (large.status, large.code, large.field) == (413, "too_large", "text")
    fits = await atlas.post(request, "result", outcome="resolved", text=("界" * 40 + "\n") * 2166)
    assert fits.status == 200
    assert len(await home.parts(request)) > 10


async def test_order_of_the_steps(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    for what, body in (
        ("assessment", {"assessment": "accepted"}),
        ("progress", {"text": "x"}),
        ("result", {"outcome": "resolved", "text": "x"}),
    ):
        assert (await atlas.post(request, what, **body)).code == "not_presented"
    await atlas.post(request, "presented")
    for outcome in ("resolved", "declined"):
        assert (await atlas.post(request, "result", outcome=outcome, text="x")).code == "not_assessed"
    await atlas.post(request, "assessment", assessment="accepted")
    assert (await atlas.post(request, "assessment", assessment="accepted")).code == "already_final"
    await atlas.post(request, "result", outcome="resolved", text="x")
    for what, body in (
        ("presented", {}),
        ("assessment", {"assessment": "accepted"}),
        ("progress", {"text": "x"}),
        ("result", {"outcome": "resolved", "text": "x"}),
    ):
        answer = await atlas.post(request, what, **body)
        assert (answer.status, answer.code) == (409, "already_final"), what
    assert len(await home.told(request)) == 2


async def test_a_replaced_attempt_is_stale(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    old = await atlas.accept(request)
    new = (await atlas.post(request, "presented", turn="second")).body["attempt"]
    assert new != old
    for what, body in (
        ("progress", {"text": "x"}),
        ("assessment", {"assessment": "accepted"}),
        ("result", {"outcome": "resolved", "text": "stale words"}),
    ):
        answer = await atlas.post(request, what, attempt=old, **body)
        assert (answer.status, answer.code) == (409, "stale_attempt")
    assert "late_result" in [fact for fact, _, _ in await home.facts(request)]
    assert await home.axes(request) == ("presented", "accepted", "open")
    assert (await atlas.read(request)).body["result"] is None
    assert (await atlas.post(request, "result", outcome="resolved", text="fresh", attempt=new)).status == 200
    assert [text for _, text in await home.told(request)][1:] == ["From atlas:\n\nfresh"]


async def test_presence_and_its_binding(home: House) -> None:
    atlas = await home.peer("atlas")
    mine = {"state": "available", "capacity": 3, "executor_endpoint_id": "exec-1", "host_surface": "desk"}
    first = await atlas.write("PUT", "/presence", mine)
    assert (first.status, first.body) == (200, mine)
    other = {"state": "available", "executor_endpoint_id": "exec-2"}
    held = await atlas.write("PUT", "/presence", other)
    assert (held.status, held.code, held.field) == (409, "binding_held", "executor_endpoint_id")
    assert "exec-1" in held.body["error"]["message"]
    assert (await atlas.write("PUT", "/presence", {"state": "busy"})).status == 200
    assert (await atlas.write("PUT", "/presence", mine | {"state": "away"})).status == 200
    assert (await atlas.write("PUT", "/presence", other)).status == 200
    home.clock.at += 120_000
    assert (await atlas.write("PUT", "/presence", mine)).status == 200  # the other has been silent for two minutes
    for body, field in (
        ({"state": "unknown"}, "state"),
        ({"state": "away", "capacity": -1}, "capacity"),
        ({"state": "away", "capacity": 1.5}, "capacity"),
        ({}, "state"),
    ):
        bad = await atlas.write("PUT", "/presence", body)
        assert (bad.status, bad.code, bad.field) == (400, "invalid_request", field)


async def test_cancelled_before_anybody_had_it(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    outcome = await home.transactions.run(
        lambda c: requests.cancel(c, request, home.clock.now(), by="operator", reason="no need")
    )
    assert outcome is Cancellation.CANCELLED
    assert (await atlas.list()).body["items"] == []
    assert (await atlas.post(request, "presented")).code == "already_final"


@pytest.mark.parametrize("what", ["presented", "progress", "assessment", "result"])
async def test_cancelled_in_the_middle(home: House, what: str) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.accept(request)
    for _ in range(2):
        outcome = await home.transactions.run(
            lambda c: requests.cancel(c, request, home.clock.now(), by="operator", reason="no need")
        )
        assert outcome is Cancellation.REQUESTED
    assert (await home.axes(request))[2] == "open"
    assert (await atlas.read(request)).body["cancel_requested"] is True
    body = {
        "presented": {},
        "progress": {"text": "x"},
        "assessment": {"assessment": "accepted"},
        "result": {"outcome": "resolved", "text": "too late"},
    }[what]
    answer = await atlas.post(request, what, **body)
    assert (answer.status, answer.code) == (409, "already_final")
    assert (await home.axes(request))[2] == "cancelled"
    late = await atlas.post(request, "result", outcome="resolved", text="too late")
    assert (late.status, late.code) == (409, "already_final")
    assert [kind for kind, _ in await home.told(request)] == ["notice"]
    names = [fact for fact, _, _ in await home.facts(request)]
    assert names.count("cancel_requested") == 1
    assert names.index("cancel_requested") < names.index("cancelled")
    assert "late_result" in names
    assert "too late" not in json.dumps(await home.facts(request))
    final = await home.transactions.run(
        lambda c: requests.cancel(c, request, home.clock.now(), by="operator", reason="again")
    )
    assert final is Cancellation.FINAL


async def test_a_timeline_stays_readable(home: House) -> None:
    """A peer that reports without end is told to conclude, and its result still gets through."""
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.post(request, "presented")
    await atlas.post(request, "assessment", assessment="accepted")

    def nearly_full(connection: Connection) -> None:
        for _ in range(MOST_PROGRESS - 1):
            facts.record(connection, RequestId(request), 1, Millis(1), "progress")

    await home.transactions.run(nearly_full)
    assert (await atlas.post(request, "progress", text="one more")).status == 200
    refused = await atlas.post(request, "progress", text="and one more")
    assert (refused.status, refused.code) == (429, "slow_down")
    assert (await atlas.post(request, "result", outcome="resolved", text="done")).status == 200
