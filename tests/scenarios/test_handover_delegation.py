"""A peer hands a part on to another peer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manager.decisions.lineage import MOST_DEPTH, MOST_OPEN_CHILDREN
from tests.support.handover import Answer, House, PeerSide, house


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


async def hand_on(side: PeerSide, to: str, parent: str, **brief: object) -> Answer:
    body = {"to": to, "parent": parent, "intent": "consultation", "brief": {"purpose": "a part", **brief}}
    return await side.write("POST", "/requests", body)


async def test_a_child_goes_to_the_other_peer_and_its_result_to_the_one_who_delegated(home: House) -> None:
    atlas, boris, other = await home.peer("atlas"), await home.peer("boris"), await home.peer("carla")
    parent = await home.handed("atlas")
    await atlas.accept(parent)
    brief = {
        "messages": [{"at": "2027-01-15T08:00:00.000Z", "author": "asker", "text": "q", "kind": "quote"}],
        "constraints": ["no network"],
        "rejected": ["grep", {"approach": "guess", "reason": "wrong before"}],
        "evidence": ["a log", {"source": "a.py:1", "revision": None, "status": "read", "excerpt": ""}],
        "questions": ["why?"],
        "owed": ["a number"],
        "omissions": ["tests"],
    }
    made = await hand_on(atlas, "BORIS", parent, **brief)
    assert (made.status, made.body["revision"]) == (201, 1)
    child = made.body["request_id"]
    (item,) = (await boris.list()).body["items"]
    assert (item["request_id"], item["from"], item["parent"], item["purpose"]) == (child, "atlas", parent, "a part")
    assert (await boris.read(child)).body["brief"] == {"purpose": "a part", **brief}
    assert (await boris.read(parent)).status == 404
    assert (await other.read(child)).status == 404
    assert (await atlas.read(child)).body["assignment"] == "stored"
    assert (await atlas.post(child, "presented")).code == "not_found"  # reading is not holding
    await boris.accept(child)
    assert (await boris.post(child, "result", outcome="resolved", text="7")).status == 200
    assert (await atlas.read(child)).body["result"]["text"] == "7"
    assert await home.told(child) == []
    assert [kind for kind, _ in await home.told(parent)] == ["notice"]
    facts = [fact for fact, _, _ in await home.facts(parent)]
    assert "delegated" in facts
    assert facts[-1] == "child_concluded"
    assert (await atlas.list()).body["items"][0]["request_id"] == parent
    assert (await atlas.post(parent, "result", outcome="resolved", text="7 in all")).status == 200


async def test_a_childs_rejection_and_deferral_are_read_not_told(home: House) -> None:
    atlas, boris = await home.peer("atlas"), await home.peer("boris")
    parent = await home.handed("atlas")
    child = (await hand_on(atlas, "boris", parent)).body["request_id"]
    await boris.post(child, "presented")
    deferral = {"assessment": "deferred", "reason": "r", "resume_condition": "c", "owner": "o"}
    assert (await boris.post(child, "assessment", **deferral)).status == 200
    assert (await boris.post(child, "assessment", assessment="rejected", reason="no")).status == 200
    read = (await atlas.read(child)).body
    assert (read["assessment"], read["reason"], read["work"]) == ("rejected", "no", "declined")
    assert await home.told(child) == []


async def test_never_back_into_the_lineage(home: House) -> None:
    atlas, boris, carla = await home.peer("atlas"), await home.peer("boris"), await home.peer("carla")
    root = await home.handed("atlas")
    oneself = await hand_on(atlas, "Atlas", root)
    assert (oneself.status, oneself.code, oneself.field) == (409, "cycle", "to")
    child = (await hand_on(atlas, "boris", root)).body["request_id"]
    grandchild = (await hand_on(boris, "carla", child)).body["request_id"]
    for side, parent, to in ((boris, child, "atlas"), (carla, grandchild, "boris"), (carla, grandchild, "atlas")):
        answer = await hand_on(side, to, parent)
        assert (answer.status, answer.code) == (409, "cycle")
    assert (await hand_on(carla, "boris", child)).status == 404  # a parent that it does not hold
    assert (await hand_on(atlas, "carla", child)).status == 404  # the one who delegated holds it no more


async def test_whom_one_cannot_know_one_cannot_reach(home: House) -> None:
    atlas = await home.peer("atlas")
    await home.peer("secret", audience="private")
    await home.peer("stopped")
    await home.stop("stopped")
    root = await home.handed("atlas")
    answers = [await hand_on(atlas, name, root) for name in ("nobody", "secret", "stopped")]
    assert {(answer.status, answer.code, answer.field) for answer in answers} == {(404, "not_found", "to")}
    assert len({answer.raw for answer in answers}) == 1
    private = await home.handed("atlas", private=True, conversation="c_private")
    assert (await hand_on(atlas, "secret", private)).status == 201


async def test_depth_is_bounded(home: House) -> None:
    sides = [await home.peer(f"peer{number}") for number in range(MOST_DEPTH + 2)]
    at = await home.handed("peer0")
    for number in range(MOST_DEPTH):
        at = (await hand_on(sides[number], f"peer{number + 1}", at)).body["request_id"]
    answer = await hand_on(sides[MOST_DEPTH], f"peer{MOST_DEPTH + 1}", at)
    assert (answer.status, answer.code) == (409, "cycle")


async def test_fan_out_is_bounded_while_children_are_open(home: House) -> None:
    atlas, boris = await home.peer("atlas"), await home.peer("boris")
    root = await home.handed("atlas")
    children = [(await hand_on(atlas, "boris", root)).body["request_id"] for _ in range(MOST_OPEN_CHILDREN)]
    answer = await hand_on(atlas, "boris", root)
    assert (answer.status, answer.code) == (429, "slow_down")
    await boris.post(children[0], "presented")
    await boris.post(children[0], "assessment", assessment="rejected", reason="no")
    assert (await hand_on(atlas, "boris", root)).status == 201


async def test_nothing_more_is_wanted_of_a_concluded_parent(home: House) -> None:
    atlas = await home.peer("atlas")
    await home.peer("boris")
    root = await home.handed("atlas")
    await atlas.accept(root)
    await atlas.post(root, "result", outcome="resolved", text="done")
    answer = await hand_on(atlas, "boris", root)
    assert (answer.status, answer.code) == (409, "already_final")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"parent": "r", "brief": {"purpose": "p"}}, "to"),
        ({"to": "boris", "brief": {"purpose": "p"}}, "parent"),
        ({"to": "boris", "parent": "r"}, "brief"),
        ({"to": "boris", "parent": "r", "brief": {"purpose": " "}}, "brief.purpose"),
        ({"to": "boris", "parent": "r", "brief": {}}, "brief.purpose"),
        ({"to": "boris", "parent": "r", "brief": {"purpose": "p", "why": 1}}, "brief.why"),
        ({"to": "boris", "parent": "r", "brief": {"purpose": "p", "owed": "x"}}, "brief.owed"),
        ({"to": "boris", "parent": "r", "intent": "Do It", "brief": {"purpose": "p"}}, "intent"),
    ],
)  # fmt: skip
async def test_bad_delegations(home: House, body: dict, field: str) -> None:
    atlas = await home.peer("atlas")
    answer = await atlas.write("POST", "/requests", body)
    assert (answer.status, answer.code, answer.field) == (400, "invalid_request", field)
