"""Who is listened to and told, through the whole product: private chats, other tenants, grants by command, two apps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.reports import OWNER, QUESTION, STRANGER, Home, Scene, conclude, house

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

GRANT = {
    "grant_id", "principal", "resource", "effect", "audience", "granted_by", "created_at", "expires_at", "revoked_at",
}  # fmt: skip


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    async with house(tmp_path_factory.mktemp("access"), returns={"http_timeout_s": 20}) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def scene(home: Home) -> AsyncIterator[Scene]:
    yield await home.scene()
    home.lark.clear_faults()


async def grants_of(home: Home, item: dict[str, Any], *options: str) -> list[dict[str, Any]]:
    """The grants of an item's conversation."""
    listed = await home.gateway.command("grants", "list", *options)
    return [grant for grant in listed["items"] if grant["resource"] == item["conversation"]]


async def revoke(home: Home, item: dict[str, Any]) -> None:
    (grant,) = await grants_of(home, item)
    await home.gateway.command("grants", "revoke", grant["grant_id"], "--reason", "enough")


async def test_a_private_chat_of_an_owner(home: Home) -> None:
    """An owner is answered in private without a mention, and the inbox does not show what was asked."""
    scene = await home.private_scene(OWNER)
    question = home.lark.say(scene.chat, OWNER, QUESTION)
    item = await scene.one(status="delivered")
    assert "engine.py:1@" in scene.answers(question)[0]
    assert item["question"] == "(private)"
    shown = await home.gateway.command("inbox", "show", item["request_id"])
    assert QUESTION not in str(shown)
    assert "engine.py" not in str(shown)


async def test_private_material_stays_private(home: Home, scene: Scene) -> None:
    """A private workspace answers an owner in private; in a group the same owner gets nothing of it."""
    private = await home.private_scene(OWNER)
    asked = "where is the class Safe defined?"
    question = home.lark.say(private.chat, OWNER, asked)
    (said,) = await private.answered(question)
    assert "safe.py:1@" in said
    in_group = scene.ask(asked, who=OWNER)
    (told,) = await scene.answered(in_group)
    assert "safe.py" not in told
    assert "vault" not in told


async def test_a_private_question_for_a_private_peer(home: Home) -> None:
    """An owner's private question may go to a private peer; its result comes back there, and stands in no inbox."""
    vera = await home.peer("vera", "vaults", audience="private")
    scene = await home.private_scene(OWNER)
    question = home.lark.say(scene.chat, OWNER, "ask vera to count the coins in the cellar")
    held = await conclude(vera, scene, "seven coins")
    assert held["purpose"] == "count the coins in the cellar"
    item = await scene.one(status="delivered")
    assert scene.answers(question)[-1].endswith("seven coins")
    shown = str(await home.show(item))
    assert item["question"] == "(private)"
    assert "coins" not in shown
    assert "cellar" not in shown


async def test_a_private_chat_of_a_stranger(home: Home) -> None:
    """Anyone else is told once, in one sentence, that private questions are for owners; then nothing more."""
    scene = await home.private_scene(STRANGER)
    first = home.lark.say(scene.chat, STRANGER, QUESTION)
    item = await scene.one(status="delivered")
    assert item["work"] == "declined"
    assert scene.answers(first) == ["In private I answer my owners only; please ask me in a group that I am in."]
    second = home.lark.say(scene.chat, STRANGER, QUESTION, at=first.create_time + 5)
    await home.pushed(second)
    assert len(await scene.items()) == 1
    assert len(scene.seen()) == 1
    assert home.lark.reactions(second) == []


async def test_another_tenants_chat(home: Home) -> None:
    """An external chat gets neither receipt nor answer, until an owner grants it."""
    scene = await home.scene(external=True)
    question = scene.ask()
    (item,) = await scene.until(lambda mine: [one for one in mine if one["work"] == "cancelled"])
    assert item["delivery"]["status"] == "absent"
    again = scene.ask(at=question.create_time + 5)
    await home.pushed(again)
    assert len(await scene.items()) == 1
    assert scene.seen() == []
    assert home.lark.reactions(question) == home.lark.reactions(again) == []
    assert home.lark.sends(scene.chat) == []
    await home.gateway.command(
        "grants", "add", "--principal", "steward:default", "--effect", "converse", "--resource", item["conversation"]
    )
    granted = scene.ask(at=question.create_time + 10)
    await scene.answered(granted)
    assert len(scene.seen()) == 1


async def test_somebody_from_another_tenant(home: Home, scene: Scene) -> None:
    """A person of another tenant who asks in one of ours is not answered."""
    home.lark.add_person("visitor", outside=True)
    said = scene.ask(who="visitor")
    await home.pushed(said)
    assert await scene.items() == []
    assert home.lark.reactions(said) == []


async def test_a_revoked_grant_ends_the_conversation(home: Home, scene: Scene) -> None:
    """Admitting is a stored grant; revoked by command: no receipt, answer or send, until an owner grants it again."""
    scene.ask()
    item = await scene.one(status="delivered")
    (grant,) = await grants_of(home, item)
    assert set(grant) >= GRANT
    assert (grant["principal"], grant["effect"], grant["audience"]) == ("steward:default", "converse", "shared")
    assert grant["revoked_at"] is None
    await revoke(home, item)
    assert await grants_of(home, item) == []
    (ended,) = await grants_of(home, item, "--all")
    assert ended["revoked_at"].endswith("Z")
    in_chat = scene.ask("who changed engine.py last?")
    root = home.lark.say(scene.chat, "mei", "a thread")
    in_thread = scene.ask(reply_to=root, in_thread=True)
    for question in (in_chat, in_thread):
        await home.pushed(question)
        assert home.lark.reactions(question) == []
    assert len(await scene.items()) == 1
    assert len(home.lark.sends(scene.chat)) == 1
    await home.gateway.command(
        "grants", "add", "--principal", "steward:default", "--effect", "converse", "--resource", item["conversation"]
    )
    await scene.answered(scene.ask("why was the last commit made?"))
    assert len(home.lark.sends(scene.chat)) == 2


async def conversing(scene: Scene) -> dict[str, Any]:
    """A conversation that was admitted, and its first item."""
    await scene.answered(scene.ask())
    return await scene.one(status="delivered")


async def test_revoked_before_the_answer_was_sent(home: Home, scene: Scene) -> None:
    """Revoked while the turn works: the answer is not sent: ``undeliverable``, and the reason says so."""
    item = await conversing(scene)
    held = scene.fault("hold_before", "get")
    question = scene.ask("who changed engine.py last?")
    await home.lark.wait_held(held.fault_id)
    await revoke(home, item)
    home.lark.release(held)
    _, ended = await scene.settled(2)
    told = ended["delivery"]
    assert (told["status"], told["error"]) == ("undeliverable", "return_authorization_unavailable")
    assert told["attempts"] == 0
    assert ended["needs_operator"]
    assert scene.answers(question) == []
    assert len(home.lark.sends(scene.chat)) == 1


async def test_revoked_after_the_attempt(home: Home, scene: Scene) -> None:
    """Revoked while a send is under way: neither read nor sent any more: ``explicit_unverified``."""
    item = await conversing(scene)
    reads = len(home.lark.reads(scene.chat))
    held = scene.fault("hold_after", "reply")
    scene.ask("who changed engine.py last?")
    await home.lark.wait_held(held.fault_id)
    await revoke(home, item)
    home.lark.release(held)
    _, ended = await scene.settled(2)
    told = ended["delivery"]
    assert (told["status"], told["error"]) == ("explicit_unverified", "return_authorization_unavailable")
    assert (told["attempts"], ended["needs_operator"]) == (1, True)
    assert len(home.lark.sends(scene.chat)) == 2
    assert len(home.lark.reads(scene.chat)) == reads + 1, "only the question was read again"


async def test_the_peers_result_after_a_revocation(home: Home, scene: Scene) -> None:
    """Revoked while a peer works: its result is kept and told to nobody."""
    atlas = await home.peer("atlas")
    question = scene.ask("ask atlas to look at this")
    await scene.answered(question)
    (item,) = await scene.items()
    await home.lark.wait_for(lambda: len(home.lark.requests("get", chat=scene.chat)) >= 2, 10, "the notice's readback")
    await revoke(home, item)
    await conclude(atlas, scene, "secret")
    item = await scene.one(status="undeliverable")
    assert item["delivery"]["error"] == "return_authorization_unavailable"
    assert item["work"] == "resolved"
    assert len(scene.seen()) == 1


async def test_two_apps_two_conversations(home: Home) -> None:
    """One chat, two apps: two conversations, two grants; revoking one leaves the other alone."""
    scene = await home.scene(bots=[home.app, home.second])
    scene.ask()
    (first,) = await scene.settled(1)
    other = scene.ask(app=home.second)
    first, second = await scene.settled(2)
    assert first["conversation"] != second["conversation"]
    await revoke(home, first)
    (grant,) = await grants_of(home, second)
    assert grant["principal"] == "steward:second"
    silent = scene.ask(at=other.create_time + 5)
    await home.pushed(silent)
    await scene.answered(scene.ask("why was the last commit made?", app=home.second))
    assert len(await scene.items()) == 3
    assert [seen.sender for seen in home.lark.visible(scene.chat, by_app=True)].count(home.app.app_id) == 1
