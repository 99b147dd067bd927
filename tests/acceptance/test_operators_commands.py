"""The operator's commands on a real gateway before the local Lark: what people see is what the local Lark holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from providers.lark_double.model import Message
from tests.support.replay import check_export
from tests.support.world import World, world

pytestmark = pytest.mark.process

QUESTION = "where is Engine defined?"


class Ran:
    """A command that ended."""

    def __init__(self, code: int | None, out: bytes, err: bytes) -> None:
        self.code, self.out, self.err = code, out.decode(), err.decode()

    def json(self) -> Any:
        return json.loads(self.out)


async def inbox(here: World, *arguments: str) -> Ran:
    """``lark-steward inbox …``, which is ``manager-inbox``."""
    ran = Ran(*await here.gateway.run("inbox", *arguments))
    assert "Traceback" not in ran.err, ran.err
    return ran


async def unproved(here: World, text: str = QUESTION) -> tuple[Message, str]:
    """A question whose answer never arrived, and of which Lark said nothing."""
    here.lark.fault("reset_before", "reply")
    question = here.ask(text)
    items = await here.inbox_until(
        lambda found: found if found and found[0]["delivery"]["status"] == "explicit_unverified" else []
    )
    assert here.lark.replies(question) == []
    return question, items[0]["request_id"]


async def test_an_answer_that_did_not_arrive_is_sent_anew_by_an_operator(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        question, request = await unproved(here)
        assert (await inbox(here, "resend", request)).code == 2, "a reason is needed"
        ran = await inbox(here, "resend", "r_none", "--reason", "x", "--json")
        assert (ran.code, ran.json()["error"]["code"]) == (1, "not_found")
        needing = (await inbox(here, "list", "--needs-operator", "--json")).json()["items"]
        assert [item["request_id"] for item in needing] == [request]
        assert "manager-inbox resend" in needing[0]["next"]

        here.lark.forbid_history(chat=here.chat)
        ran = await inbox(here, "resend", request, "--reason", "not there", "--wait", "--json")
        assert (ran.code, ran.json()["command"]["outcome"]) == (3, "unreadable"), ran.out
        assert here.lark.replies(question) == []
        here.lark.forbid_history(chat=here.chat, forbidden=False)

        ran = await inbox(here, "resend", request, "--reason", "I looked: not there", "--as", "mei", "--wait", "--json")
        assert (ran.code, ran.json()["command"]["outcome"]) == (0, "queued"), ran.out
        await here.settled()
        assert len(here.lark.replies(question)) == 1
        shown = (await inbox(here, "show", request, "--json")).json()
        assert (shown["delivery"]["status"], shown["delivery"]["parts"]) == ("delivered", 1)
        told = {fact["fact"]: fact["detail"] for fact in shown["timeline"]}
        assert (told["resent"]["who"], told["resent"]["reason"]) == ("mei", "I looked: not there")
        assert told["return_queued"]["replaces"]
        ran = await inbox(here, "resend", request, "--reason", "once more", "--json")
        assert (ran.code, ran.json()["error"]["code"]) == (1, "not_resendable")
        assert len(here.lark.replies(question)) == 1


async def test_an_operator_says_which_message_it_is(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.lark.fault("drop_after", "reply")
        here.lark.forbid_history(chat=here.chat)
        first = here.ask(QUESTION)
        await here.inbox_until(lambda found: found and found[0]["delivery"]["status"] == "verification_required")
        reply = here.lark.replies(first)[0]
        request = (await here.gateway.inbox())[0]["request_id"]
        ran = await inbox(here, "found", request, reply.message_id, "--wait", "--json")
        assert ran.code == 0, ran.out
        assert ran.json()["delivery"]["status"] == "delivered"
        revealed = await inbox(here, "reveal", request)
        assert reply.message_id in revealed.out
        assert reply.message_id not in (await inbox(here, "show", request, "--json")).out


@pytest.mark.parametrize("moment", ["hold_before", "hold_after"])
async def test_killed_while_a_resend_looks(tmp_path: Path, moment: str) -> None:
    """The command is taken up again, and one message comes of it."""
    async with world(tmp_path) as here:
        question, request = await unproved(here)
        await killed_at(here, moment, "list", request, arrives=True)
        await here.inbox_until(lambda found: found[0]["delivery"]["status"] == "delivered")
        assert len(here.lark.replies(question)) == 1


@pytest.mark.parametrize(
    ("moment", "arrives", "error", "then"),
    [
        ("hold_before", False, "no_match_found", ("resend", "--reason", "not there", "--wait")),
        ("hold_before", True, "ambiguous_match", ("found", "1", "--wait")),
        ("hold_after", True, "ambiguous_match", ("found", "1", "--wait")),
    ],
)
async def test_killed_while_a_resend_sends(
    tmp_path: Path, moment: str, error: str, then: tuple[str, ...], *, arrives: bool
) -> None:
    """It is not sent once more: where it did not arrive, it waits for the operator again; where it did, it could be the
    first answer that came late, and the operator says so. One message comes of it."""
    async with world(tmp_path) as here:
        question, request = await unproved(here)
        await killed_at(here, moment, "reply", request, arrives=arrives)
        await here.inbox_until(
            lambda found: (
                (found[0]["delivery"]["status"], found[0]["delivery"]["error"]) == ("explicit_unverified", error)
            )
        )
        assert len(here.lark.replies(question)) == arrives
        command, *more = then
        assert (await inbox(here, command, request, *more)).code == 0
        await here.inbox_until(lambda found: found[0]["delivery"]["status"] == "delivered")
        assert len(here.lark.replies(question)) == 1


async def killed_at(here: World, moment: str, operation: str, request: str, *, arrives: bool) -> None:
    """Kill the gateway while a resend's request is under way, let that end with or without effect, and start anew."""
    held = here.lark.fault(moment, operation)
    assert (await inbox(here, "resend", request, "--reason", "not there")).code == 3
    await here.lark.wait_held(held.fault_id)
    await here.gateway.kill()
    here.lark.release(held, go_on=arrives)
    here.lark.clear_faults()
    await here.gateway.start()


async def test_stored_while_no_gateway_runs_and_done_when_one_does(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        question, request = await unproved(here)
        await here.gateway.stop()
        ran = await inbox(here, "resend", request, "--reason", "not there")
        assert ran.code == 3
        assert "no gateway runs here" in ran.err
        assert (await inbox(here, "note", request, "the chat was looked at")).code == 0
        assert (await inbox(here, "snooze", request, "--until", "2h")).code == 0
        assert (await inbox(here, "snooze", request, "--until", "soon")).code == 2
        assert (await inbox(here, "list", "--needs-operator", "--json")).json()["items"] == []
        exported = tmp_path / "export.jsonl"
        said = await inbox(here, "export", "--output", str(exported), "--json")
        assert (said.code, said.json()["rows"]["requests"]) == (0, 1)
        check_export(exported.read_text().splitlines())
        assert "om_" not in exported.read_text().replace("from_peer", "")
        await here.gateway.start()
        await here.inbox_until(lambda found: found[0]["delivery"]["status"] == "delivered")
        assert len(here.lark.replies(question)) == 1
        assert (await inbox(here, "cancel", request, "--reason", "late", "--json")).json()["error"][
            "code"
        ] == "already_final"
