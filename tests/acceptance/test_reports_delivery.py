"""What becomes of an answer when something is wrong with chat, question, app or message, through the whole product."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from providers.lark_double.model import Message
from tests.support.reports import QUESTION, Home, Scene, house

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

ITEM = {
    "request_id", "conversation", "question", "asked_at", "receiver", "assignment", "assessment", "work", "delivery",
    "needs_operator", "next",
}  # fmt: skip
DELIVERY = {"status", "error", "verification", "parts", "delivered_parts", "attempts", "delivered_at"}
PRIVATE_ID = re.compile(r"\b(?:oc|om|omt|ou|on)_[0-9a-z]{8,}")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    async with house(tmp_path_factory.mktemp("delivery")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def scene(home: Home) -> AsyncIterator[Scene]:
    yield await home.scene()
    home.lark.clear_faults()


async def asked_and_held(scene: Scene) -> tuple[Message, Any]:
    """A question whose turn waits right before it is read again."""
    held = scene.fault("hold_before", "get")
    question = scene.ask()
    await scene.lark.wait_held(held.fault_id)
    return question, held


async def ended(scene: Scene, status: str, error: str | None, *, operator: bool) -> dict[str, Any]:
    """The chat's only request, once its delivery is there."""
    item = await scene.one(status=status, error=error)
    assert item["needs_operator"] is operator
    assert set(item) >= ITEM
    assert set(item["delivery"]) == DELIVERY
    return item


async def test_an_answer_that_is_proved(home: Home, scene: Scene) -> None:
    """The item and its delivery have exactly the documented names and types."""
    question = scene.ask()
    item = await ended(scene, "delivered", None, operator=False)
    told = item["delivery"]
    counts = (told["parts"], told["delivered_parts"], told["attempts"], told["verification"])
    assert counts == (1, 1, 1, "direct")
    assert item["asked_at"] == _iso(question.create_time)
    assert item["asked_at"] <= told["delivered_at"]
    assert (item["question"], item["receiver"]) == (QUESTION, None)
    assert (item["assignment"], item["assessment"], item["work"]) == ("unassigned", "pending", "resolved")
    listed = await home.gateway.command("inbox", "list", "--limit", "1")
    assert listed["items"] == [item]
    shown = await home.gateway.command("inbox", "show", item["request_id"])
    assert [entry["at"] for entry in shown["timeline"]] == sorted(entry["at"] for entry in shown["timeline"])
    assert {"received", "delivered"} <= {entry["fact"] for entry in shown["timeline"]}


def _iso(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def test_nothing_private_is_shown_or_logged(home: Home, scene: Scene) -> None:
    """No message, chat or person id stands in the inbox, the timeline, the metrics or the log."""
    scene.ask()
    item = await scene.one(status="delivered")
    async with home.gateway.operator() as http:
        metrics = (await http.get("/metrics")).text
    for words in (
        json.dumps(await home.gateway.inbox()), json.dumps(await home.show(item)), metrics, home.gateway.output(),
    ):  # fmt: skip
        assert PRIVATE_ID.findall(words) == []


@pytest.mark.parametrize("how", ["removed", "dissolved", "gone"])
async def test_the_bot_is_not_in_the_chat_any_more(home: Home, scene: Scene, how: str) -> None:
    """Removed, dissolved, or unknown to Lark before the answer: undeliverable, the way is gone, an operator is told."""
    _, held = await asked_and_held(scene)
    if how == "removed":
        home.lark.remove_bot(scene.chat, home.app)
    elif how == "dissolved":
        home.lark.dissolve(scene.chat, keep_history=True)
    else:
        scene.fault("error", "reply", code=232011)
    home.lark.release(held)
    await ended(scene, "undeliverable", "original_route_unavailable", operator=True)
    assert scene.seen() == []


async def test_the_chat_is_muted(home: Home, scene: Scene) -> None:
    """Bots may not speak there: undeliverable, refused by the provider."""
    _, held = await asked_and_held(scene)
    home.lark.mute(scene.chat)
    home.lark.release(held)
    item = await ended(scene, "undeliverable", "provider_rejected", operator=True)
    assert item["delivery"]["attempts"] == 1
    assert scene.seen() == []


@pytest.mark.parametrize("code", [230013, 230018, 230053])
async def test_the_bot_may_not_speak_there(scene: Scene, code: int) -> None:
    """No availability, group settings, stopped by the user: the same."""
    scene.fault("error", "reply", code=code)
    scene.ask()
    await ended(scene, "undeliverable", "provider_rejected", operator=True)


@pytest.mark.parametrize("code", [230001, 230022, 230025, 230028, 230099])
async def test_the_content_is_refused(scene: Scene, code: int) -> None:
    """Content or audit: undeliverable, and not tried again."""
    scene.fault("error", "reply", code=code)
    scene.ask()
    item = await ended(scene, "undeliverable", "content_refused", operator=True)
    assert item["delivery"]["attempts"] == len(scene.lark.sends(scene.chat)) == 1


@pytest.mark.parametrize("code", [99991672, 99991662])
async def test_only_configuration_can_cure_it(scene: Scene, code: int) -> None:
    """A missing scope, a disabled app: tried again slowly, and an operator is told; cured, it is delivered."""
    fault = scene.fault("error", "reply", code=code, times=None)
    question = scene.ask()
    await ended(scene, "retry_pending", "provider_rejected", operator=True)
    await scene.lark.wait_for(lambda: fault.struck >= 2, 10, "another attempt")
    fault.left = 0
    await ended(scene, "delivered", None, operator=False)
    assert len(scene.answers(question)) == 1


async def test_lark_is_offline_for_a_while(home: Home, scene: Scene) -> None:
    """Offline: refused before anything left, tried again; back online: delivered, once, and nobody had to act."""
    question, _ = await asked_and_held(scene)
    await home.lark.go_offline()
    try:
        item = await ended(scene, "retry_pending", "provider_offline", operator=False)
        attempts = item["delivery"]["attempts"]
        await scene.until(lambda mine: mine[0]["delivery"]["attempts"] > attempts)
    finally:
        await home.lark.go_online()
    await ended(scene, "delivered", None, operator=False)
    assert len(scene.answers(question)) == 1


async def test_the_id_of_another_chats_message(home: Home, scene: Scene) -> None:
    """Lark names a message of another chat as ours: what is read is not what was sent, and nothing is sent again."""
    elsewhere = home.lark.say((await home.scene()).chat, "mei", "something else")
    scene.fault("other_chat", "reply", message_id=elsewhere.message_id)
    question = scene.ask()
    item = await ended(scene, "explicit_unverified", "provider_delivery_mismatch", operator=True)
    await home.verify(item, expect=3)
    assert len(scene.answers(question)) == len(home.lark.sends(scene.chat)) == 1


async def test_the_id_of_another_answer(home: Home) -> None:
    """Lark names a message that is another answer's: as good as no id, so it is looked for, and never sent again."""
    other = await home.scene()
    first = other.ask()
    await other.one(status="delivered")
    again = await home.scene()
    again.fault("other_chat", "reply", message_id=home.lark.replies(first)[0].message_id)
    question = again.ask()
    item = await again.one(status="delivered")
    assert item["delivery"]["verification"] == "reconciled"
    assert len(again.answers(question)) == len(home.lark.sends(again.chat)) == 1


async def test_recalled_before_it_was_proved(home: Home, scene: Scene) -> None:
    """The answer was taken back before it was read: not proved, and not sent again."""
    scene.fault("recall_after", "reply")
    scene.ask()
    item = await ended(scene, "explicit_unverified", "provider_message_recalled", operator=True)
    await home.verify(item, expect=3)
    assert len(home.lark.sends(scene.chat)) == 1


async def test_the_history_may_not_be_read(home: Home, scene: Scene) -> None:
    """No answer to the send and no right to search: shown as unknown; given the right, ``verify`` settles it."""
    home.lark.forbid_history(chat=scene.chat)
    scene.fault("drop_after", "reply")
    question = scene.ask()
    item = await ended(scene, "verification_required", "provider_verification_unavailable", operator=False)
    await home.gateway.command("inbox", "verify", item["request_id"], expect=3)
    home.lark.forbid_history(chat=scene.chat, forbidden=False)
    proved = await home.verify(item, expect=0)
    assert (proved["delivery"]["status"], proved["delivery"]["verification"]) == ("delivered", "reconciled")
    assert len(scene.answers(question)) == len(home.lark.sends(scene.chat)) == 1


async def test_the_history_may_not_be_read_until_it_is_given_up(tmp_path: Path) -> None:
    """``give_up_after_s`` is over: ``explicit_unverified``, as it could not be looked for; ``verify`` may find it."""
    async with house(tmp_path, returns={"give_up_after_s": 3}) as home:
        scene = await home.scene()
        home.lark.forbid_history(chat=scene.chat)
        scene.fault("drop_after", "reply")
        scene.ask()
        item = await ended(scene, "explicit_unverified", "provider_verification_unavailable", operator=True)
        await home.verify(item, expect=3)
        home.lark.forbid_history(chat=scene.chat, forbidden=False)
        await home.verify(item, expect=0)
        await ended(scene, "delivered", None, operator=False)
        assert len(home.lark.sends(scene.chat)) == 1


async def test_exit_codes_of_verify(home: Home, scene: Scene) -> None:
    """0: proved. 3: it still needs someone. 1: there is no such request. Looking again sends nothing."""
    scene.fault("reset_before", "reply")
    scene.ask()
    item = await ended(scene, "explicit_unverified", "no_match_found", operator=True)
    await home.verify(item, expect=3)
    assert len(home.lark.sends(scene.chat)) == 1
    other = await home.scene()
    other.ask()
    await home.verify(await other.one(status="delivered"), expect=0)
    error = await home.gateway.command("inbox", "verify", "r_none", expect=1)
    assert error["error"]["code"] == "not_found"


async def test_the_two_names_of_the_inbox(home: Home, scene: Scene) -> None:
    """``manager-inbox`` is ``lark-steward inbox``, and its list is the HTTP API's."""
    scene.ask()
    await scene.one(status="delivered")
    command = Path(sys.executable).with_name("manager-inbox")
    process = await asyncio.create_subprocess_exec(
        str(command), "--json", "--limit", "100",
        env={"LARK_STEWARD_CONFIG": str(home.gateway.settings.config)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert json.loads(out)["items"] == await home.gateway.inbox()


class TestRecalledQuestions:
    async def test_before_its_turn_decides(self, home: Home, scene: Scene) -> None:
        """Recalled while its turn waits: cancelled, and nothing is said."""
        question, held = await asked_and_held(scene)
        home.lark.recall(question)
        await home.pushed(question)
        home.lark.release(held)
        item = await scene.one(status="absent")
        item = await scene.until(lambda mine: next((i for i in mine if i["work"] == "cancelled"), None))
        assert not item["needs_operator"]
        assert home.lark.sends(scene.chat) == []

    async def test_known_only_by_reading(self, home: Home, scene: Scene) -> None:
        """The recall's event is lost: the question is read once more before it is decided."""
        question, held = await asked_and_held(scene)
        self.lose_the_recall(home, question)
        home.lark.release(held)
        item = await scene.until(lambda mine: next((i for i in mine if i["work"] == "cancelled"), None))
        assert item["delivery"]["status"] == "absent"
        assert home.lark.sends(scene.chat) == []

    async def test_while_its_answer_waits(self, home: Home, scene: Scene) -> None:
        """Recalled after its answer was refused for now: it is not told any more."""
        scene.fault("error", "reply", code=99991672, times=None)
        question = scene.ask()
        await ended(scene, "retry_pending", "provider_rejected", operator=True)
        home.lark.recall(question)
        item = await scene.until(lambda mine: next((i for i in mine if i["work"] == "cancelled"), None))
        home.lark.clear_faults()
        item = await scene.until(
            lambda mine: next((i for i in mine if i["delivery"]["status"] in {"undeliverable", "superseded"}), None)
        )
        assert not item["needs_operator"]
        assert scene.seen() == []

    async def test_known_only_by_the_refusal(self, home: Home, scene: Scene) -> None:
        """R12, W1: 230011 on the reply, and the policy is to say nothing: the work is cancelled."""
        question, held = await asked_and_held(scene)
        waiting = scene.fault("hold_before", "reply")
        home.lark.release(held)
        await home.lark.wait_held(waiting.fault_id)
        self.lose_the_recall(home, question)
        home.lark.release(waiting)
        item = await scene.one(status="undeliverable", error="original_route_unavailable")
        item = await scene.until(lambda mine: next((i for i in mine if i["work"] == "cancelled"), None))
        assert not item["needs_operator"]
        assert scene.seen() == []
        assert len(home.lark.sends(scene.chat)) == 1

    @staticmethod
    def lose_the_recall(home: Home, question: Message) -> None:
        """Recall a question so that no event tells of it."""
        home.app.subscribed = frozenset({"im.message.receive_v1"})
        home.lark.recall(question)
        home.app.subscribed = None


async def test_r12_answered_in_the_chat_instead(tmp_path: Path) -> None:
    """R12: a definite 230011 lets one plain message take the reply's place; an outcome that is not known does not."""
    async with house(tmp_path, returns={"recalled_question": "answer_in_chat"}) as home:
        certain, unknown, threaded = [await home.scene() for _ in range(3)]
        root = home.lark.say(threaded.chat, "mei", "a thread")
        waiting = {scene.chat.chat_id: scene.fault("hold_before", "reply") for scene in (certain, unknown, threaded)}
        questions = []
        for scene, how in ((certain, {}), (unknown, {}), (threaded, {"reply_to": root, "in_thread": True})):
            questions.append(scene.ask(**how))
            await home.lark.wait_held(waiting[scene.chat.chat_id].fault_id)  # they arrive in this order
        for question in questions:
            TestRecalledQuestions.lose_the_recall(home, question)
        home.lark.release(waiting[certain.chat.chat_id])
        home.lark.release(waiting[threaded.chat.chat_id])
        await home.lark.wait_request("list", chat=unknown.chat)  # the gateway waits for that answer no longer
        home.lark.release(waiting[unknown.chat.chat_id])
        items = await certain.settled(3)
        said = [(item["delivery"]["status"], item["delivery"]["error"]) for item in items]
        assert said == [
            ("delivered", None),
            ("explicit_unverified", "no_match_found"),
            ("undeliverable", "original_route_unavailable"),
        ]
        replied, plain = home.lark.sends(certain.chat)
        assert (replied.operation, plain.operation) == ("reply", "send")
        assert replied.uuid != plain.uuid
        assert len(certain.seen()) == 1
        assert [entry.operation for entry in home.lark.sends(unknown.chat)] == ["reply"]
        assert [entry.operation for entry in home.lark.sends(threaded.chat)] == ["reply"]
        assert unknown.seen() == threaded.seen() == []
