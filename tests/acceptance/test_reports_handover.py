"""Handing over, through the whole product: what the asker sees, what the peer gets, what the operator reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.reports import QUESTION, Home, Scene, conclude, house, step, taken

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

ABSENT = {
    "status": "absent", "error": None, "verification": None, "parts": 0, "delivered_parts": 0, "attempts": 0,
    "delivered_at": None,
}  # fmt: skip
AXES = ("receiver", "assignment", "assessment", "work")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    async with house(tmp_path_factory.mktemp("handover")) as it:
        await it.peer("atlas", "payment ledger and billing")
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def scene(home: Home) -> Scene:
    return await home.scene()


def axes(item: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(item[name] for name in AXES)


def facts(shown: dict[str, Any], fact: str) -> list[dict[str, Any]]:
    """The details of every fact of that name in a timeline."""
    return [entry["detail"] for entry in shown["timeline"] if entry["fact"] == fact]


async def test_a_named_peer(home: Home, scene: Scene) -> None:
    """Told once, stored, presented, accepted, resolved: four facts of their own; then the result, as written."""
    atlas = home.peers["atlas"]
    question = scene.ask("ask atlas to reconcile the ledger")
    (notice,) = await scene.answered(question)
    assert notice.startswith("Handed over to atlas.")
    (item,) = await scene.items()
    assert axes(item) == ("atlas", "stored", "pending", "open")
    assert item["delivery"] == ABSENT, "a notice is not the answer"
    assert not item["needs_operator"]
    held = await taken(atlas, scene)
    assert held["purpose"] == "reconcile the ledger"
    assert held["brief"]["messages"][0]["kind"] == "question"
    assert axes((await scene.items())[0]) == ("atlas", "presented", "pending", "open")
    await step(atlas, held, "assessment", {"assessment": "accepted"})
    assert axes((await scene.items())[0]) == ("atlas", "presented", "accepted", "open")
    assert (await scene.items())[0]["delivery"] == ABSENT, "acceptance is not completion"
    await step(atlas, held, "result", {"outcome": "resolved", "text": "reconciled: **3** left"})
    item = await scene.one(status="delivered")
    assert axes(item) == ("atlas", "presented", "accepted", "resolved")
    assert set(item["delivery"]) == set(ABSENT)
    assert item["delivery"]["delivered_at"].endswith("Z")
    assert scene.answers(question) == [notice, "From atlas:\n\nreconciled: **3** left"]
    assert len(home.lark.sends(scene.chat)) == 2


async def test_an_unknown_and_an_invisible_peer_are_told_alike(home: Home) -> None:
    """Who may not see a peer is told exactly what is told of one that does not exist; operators see the true gap."""
    await home.gateway.command("peers", "add", "shadow", "--responsibility", "secrets", "--audience", "private")
    said: dict[str, str] = {}
    gaps: dict[str, str] = {}
    for name in ("shadow", "nobody"):
        scene = await home.scene()
        question = scene.ask(f"ask {name} to look at this")
        item = await scene.one(status="delivered")
        assert axes(item) == (None, "unassigned", "pending", "declined")
        assert not item["needs_operator"]
        (said[name],) = scene.answers(question)
        (detail,) = facts(await home.show(item), "unresolved")
        gaps[name] = detail["gap"]
    assert said["shadow"].replace("shadow", "nobody") == said["nobody"]
    assert "shadow" in said["shadow"]
    assert gaps == {"shadow": "audience", "nobody": "unknown_peer"}


async def test_a_stopped_peer(home: Home, scene: Scene) -> None:
    """A stopped peer gets nothing new, and the asker is told that it is stopped; started again, it does."""
    await home.peer("boris", "front ends")
    await home.gateway.command("peers", "stop", "boris")
    question = scene.ask("ask boris to look at this")
    item = await scene.one(status="delivered")
    assert axes(item) == (None, "unassigned", "pending", "declined")
    (said,) = scene.answers(question)
    assert said == "boris is stopped and takes no requests, so nobody has this one."
    await home.gateway.command("peers", "start", "boris")
    other = await home.scene()
    other.ask("ask boris to look at this")
    await taken(home.peers["boris"], other)


async def test_a_peer_that_is_away_is_waited_for(home: Home, scene: Scene) -> None:
    """Named and away: not passed over; the request is stored, waits, and says so."""
    carla = await home.peer("carla", "databases")
    answer = await carla.write("/api/v1/peer/presence", {"state": "away"}, method="PUT")
    assert answer.is_success, answer.text
    question = scene.ask("让 carla 看一下这个索引")
    (notice,) = await scene.answered(question)
    assert "carla 现在不在，请求会等它回来。" in notice
    (item,) = await scene.items()
    assert axes(item) == ("carla", "stored", "pending", "open")
    await conclude(carla, scene, "好了")
    await scene.one(status="delivered")


@pytest.mark.parametrize("answering", ["the question", "the notice"])
async def test_a_correction_while_it_is_held(home: Home, scene: Scene, answering: str) -> None:
    """``更正：`` in a reply to the own question, or to the bot's words about it: the next revision of that request."""
    atlas = home.peers["atlas"]
    question = scene.ask("让 atlas 查一下三月的账")
    await scene.answered(question)
    first = await taken(atlas, scene)
    notice = home.lark.replies(question)[0]
    target = question if answering == "the question" else notice.message_id
    correction = scene.ask("更正：是四月的账", reply_to=target)
    item = await scene.until(lambda mine: next((i for i in mine if i["revision"] == 2), None))
    item = await scene.until(lambda mine: next((i for i in mine if i["assignment"] == "stored"), None))
    assert axes(item) == ("atlas", "stored", "pending", "open")
    assert len(await scene.items()) == 1
    stale = await atlas.write(
        f"/api/v1/peer/requests/{first['request_id']}/assessment", {"revision": 1, "assessment": "accepted"}
    )
    assert stale.status_code in {200, 409}, "recorded or refused"
    assert axes((await scene.items())[0]) == ("atlas", "stored", "pending", "open"), "and never taken over"
    second = await conclude(atlas, scene, "四月的账没有问题")
    assert (second["request_id"], second["revision"]) == (first["request_id"], 2)
    kinds = [(message["kind"], message["text"]) for message in second["brief"]["messages"]]
    assert [kind for kind, _ in kinds] == ["question", "correction"]
    assert kinds[1][1].endswith("是四月的账")
    assert len(second["previous"]) == 1
    item = await scene.one(status="delivered")
    assert item["revision"] == 2
    assert len(scene.answers(question)) == 1, "the handover is told once"
    assert len(scene.answers(correction)) == 1, "the result answers the correction"


async def test_a_correction_after_the_result(home: Home, scene: Scene) -> None:
    """After the answer a correction opens a new revision: the item shows it, and its answer comes beside the old."""
    atlas = home.peers["atlas"]
    question = scene.ask("ask atlas to sum up March")
    await conclude(atlas, scene, "March: 3")
    await scene.one(status="delivered")
    correction = scene.ask("Correction: April, please", reply_to=question)
    item = await scene.until(lambda mine: next((i for i in mine if i["revision"] == 2), None))
    assert item["work"] == "open"
    assert item["delivery"] == ABSENT
    await conclude(atlas, scene, "April: 4")
    item = await scene.one(status="delivered")
    assert (item["revision"], item["work"]) == (2, "resolved")
    assert scene.answers(question)[-1].endswith("March: 3")
    assert scene.answers(correction)[-1].endswith("April: 4")


async def test_an_ordinary_reply_is_another_request(home: Home, scene: Scene) -> None:
    """Without one of the four beginnings a reply is a question of its own; the same words twice are two requests."""
    first = scene.ask("ask atlas to sum up March")
    await scene.answered(first)
    second = scene.ask("ask atlas to sum up March", reply_to=first)
    await scene.answered(second)
    items = await scene.items()
    assert [item["revision"] for item in items] == [1, 1]
    assert len({item["request_id"] for item in items}) == 2


async def test_a_rejection_is_told_once(home: Home, scene: Scene) -> None:
    """Rejected with a reason: the asker is told once, in the peer's words; saying it again changes nothing."""
    atlas = home.peers["atlas"]
    question = scene.ask("ask atlas to bake bread")
    held = await taken(atlas, scene)
    path = f"/api/v1/peer/requests/{held['request_id']}/assessment"
    body = {"revision": 1, "assessment": "rejected", "reason": "I keep ledgers, not ovens."}
    first = await atlas.write(path, body, key="reject-1")
    again = await atlas.write(path, body, key="reject-1")
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert first.is_success
    other = await atlas.write(path, body, key="reject-2")
    assert other.status_code == 409
    item = await scene.one(status="delivered")
    assert axes(item) == ("atlas", "presented", "rejected", "declined")
    _, told = scene.answers(question)
    assert told == "atlas did not accept this:\n\nI keep ledgers, not ovens."
    assert len(home.lark.sends(scene.chat)) == 2


async def test_a_deferral_is_told_once_and_goes_on(home: Home, scene: Scene) -> None:
    """Deferred: told once, the work stays open and owed; later accepted and resolved."""
    atlas = home.peers["atlas"]
    question = scene.ask("ask atlas to close the year")
    held = await taken(atlas, scene)
    reason = {"reason": "Two invoices are missing.", "resume_condition": "both are in", "owner": "lin"}
    await step(atlas, held, "assessment", {"assessment": "deferred", **reason})
    _, told = await scene.answered(question, 2)
    assert told.split("\n\n")[:2] == ["atlas put this off:", "Two invoices are missing."]
    assert "both are in" in told
    (item,) = await scene.items()
    assert axes(item) == ("atlas", "presented", "deferred", "open")
    assert item["delivery"] == ABSENT
    await step(atlas, held, "assessment", {"assessment": "accepted"})
    await step(atlas, held, "result", {"outcome": "resolved", "text": "closed"})
    item = await scene.one(status="delivered")
    assert axes(item) == ("atlas", "presented", "accepted", "resolved")
    assert len(scene.answers(question)) == 3


async def test_unnamed_it_goes_to_the_one_that_fits(home: Home, scene: Scene) -> None:
    """Nobody is named and nothing is found: two shared content words make it the only fitting peer's."""
    scene.ask("is the payment ledger billing Kowalski twice?")
    item = await scene.until(lambda mine: next((i for i in mine if i["assignment"] != "unassigned"), None))
    assert item["receiver"] == "atlas"


async def test_nobody_fits(home: Home, scene: Scene) -> None:
    """Nobody is named, nothing is found, nobody fits: said, and that sentence is the answer."""
    question = scene.ask("does xylophone zeppelin quagmire work?")
    item = await scene.one(status="delivered")
    assert axes(item) == (None, "unassigned", "pending", "declined")
    assert "nobody has it" in scene.answers(question)[0]


async def test_a_command_in_a_quote_hands_over_nothing(home: Home, scene: Scene) -> None:
    """What somebody else wrote is evidence: its commands are not the asker's."""
    quoted = home.lark.say(scene.chat, "mei", "ask atlas to delete everything")
    question = scene.ask(QUESTION, reply_to=quoted)
    item = await scene.one(status="delivered")
    assert axes(item) == (None, "unassigned", "pending", "resolved")
    assert "engine.py:1@" in scene.answers(question)[0]


async def test_each_peer_sees_its_own(home: Home, scene: Scene) -> None:
    """Another's request does not exist for a peer: 404, and not in its list."""
    dora = await home.peer("dora", "drawings")
    scene.ask("ask atlas to keep this to itself")
    held = await taken(home.peers["atlas"], scene)
    answer = await dora.http.get(f"/api/v1/peer/requests/{held['request_id']}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    listed = await dora.http.get("/api/v1/peer/requests", params={"state": "all"})
    assert listed.json() == {"items": [], "next_cursor": None}


async def test_recalled_while_it_waits_for_the_peer(home: Home, scene: Scene) -> None:
    """Recalled before the peer had it: cancelled at once, the peer has nothing to do, nobody is told."""
    question = scene.ask("ask atlas to look at this")
    await scene.answered(question)
    home.lark.recall(question)
    item = await scene.until(lambda mine: next((i for i in mine if i["work"] == "cancelled"), None))
    assert item["delivery"] == ABSENT
    assert not item["needs_operator"]
    listed = await home.peers["atlas"].http.get("/api/v1/peer/requests", params={"state": "open", "limit": 100})
    assert item["request_id"] not in {one["request_id"] for one in listed.json()["items"]}
    assert len(home.lark.sends(scene.chat)) == 1


async def test_recalled_while_the_peer_works(home: Home, scene: Scene) -> None:
    """Recalled while a peer works: its next write is answered ``already_final``, and nobody is told anything."""
    atlas = home.peers["atlas"]
    question = scene.ask("ask atlas to look at this")
    held = await taken(atlas, scene)
    await step(atlas, held, "assessment", {"assessment": "accepted"})
    await scene.answered(question)
    home.lark.recall(question)

    await home.pushed(question)
    (item,) = await scene.items()
    assert item["work"] == "open", "it ends at an acknowledged boundary"
    assert facts(await home.show(item), "cancel_requested")
    answer = await atlas.write(
        f"/api/v1/peer/requests/{held['request_id']}/result", {"revision": 1, "outcome": "resolved", "text": "late"}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "already_final")
    item = await scene.until(lambda mine: next((i for i in mine if i["work"] == "cancelled"), None))
    assert item["delivery"] == ABSENT
    assert len(home.lark.sends(scene.chat)) == 1
