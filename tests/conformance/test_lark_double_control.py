"""The local Lark driven from another process: the command, and everything under ``/_control``."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator

import httpx
import pytest

from providers.lark_double.server import LarkDouble
from tests.support.double import APP_ID, SECRET, Caller, calling, control, running, sink


@pytest.fixture
async def double() -> AsyncGenerator[LarkDouble]:
    async with running() as it:
        yield it


@pytest.fixture
async def url(double: LarkDouble) -> str:
    return double.control_url


async def test_the_command_serves_until_it_is_ended() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from gateway.cli.lark_double import lark_double; lark_double()",
        *("--port", "0", "--json", "--chat", "dev", "--person", "alice"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        settings = json.loads(await process.stdout.readline())
        async with httpx.AsyncClient(base_url=settings["url"], trust_env=False) as http, sink() as hook:
            caller = Caller(http, settings["app_id"], settings["app_secret"])
            await control(settings["url"], "set_webhook", app=settings["app_id"], url=hook.url)
            said = await control(
                settings["url"], "say", chat="dev", person="alice", text="hello", mention=[settings["app_id"]]
            )
            got = (await hook.wait(1))[0].payload(settings["encrypt_key"])
            assert got["event"]["message"]["message_id"] == said["message_id"]
            assert got["event"]["sender"]["sender_id"]["open_id"] == settings["person_open_id"]
            assert (await caller.reply(said["message_id"], "hi")).json()["code"] == 0
            seen = await control(settings["control_url"], "wait", **{"for": "replies"}, message=said["message_id"])
            assert [reply["text"] for reply in seen] == ["hi"]
            await asyncio.to_thread(process.send_signal, signal.SIGTERM)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_taken_port_is_said_plainly(double: LarkDouble) -> None:
    port = double.url.rpartition(":")[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from gateway.cli.lark_double import lark_double; lark_double()",
        *("--port", port),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert f"cannot listen at 127.0.0.1:{port}" in said.decode()
    assert "Traceback" not in said.decode()


async def test_people_chats_and_what_they_do(double: LarkDouble, url: str) -> None:
    await control(url, "person", key="bob", name="Bob Li")
    chat = await control(url, "chat", name="ops", people=["alice", "bob"], bots=[APP_ID], form="thread")
    said = await control(url, "say", chat="ops", person="bob", text="hello @{alice}", mention=[APP_ID])
    assert said["thread_id"].startswith("omt_")
    reply = await control(url, "say", chat="ops", person="alice", text="yes?", reply_to=said["message_id"])
    assert (reply["thread_id"], reply["parent_id"]) == (said["thread_id"], said["message_id"])
    post = [[{"tag": "text", "text": "see "}, {"tag": "at", "user_id": APP_ID}]]
    posted = await control(url, "say_post", chat=chat["chat_id"], person="bob", paragraphs=post, title="T")
    await control(url, "edit", message=reply["message_id"], text="changed")
    await control(url, "recall", message=said["message_id"])
    left = await control(url, "react", message=posted["message_id"], who="alice", emoji_type="OK")
    assert [
        item["operator"]["operator_type"] for item in await control(url, "reactions", message=posted["message_id"])
    ] == ["user"]
    await control(url, "unreact", reaction_id=left["reaction_id"])
    seen = await control(url, "visible", chat="ops")
    assert [(item["text"], item["recalled"], item["edited"]) for item in seen] == [
        ("", True, False),
        ("changed", False, True),
        ("T\nsee @Steward", False, False),
    ]
    await control(url, "delete", message=posted["message_id"])
    assert len(await control(url, "visible", chat="ops", present=True)) == 1
    private = await control(url, "private_chat", person="bob", app=APP_ID)
    assert (private["mode"], private["people"]) == ("p2p", ["bob"])
    await control(url, "remove_bot", chat="ops", app=APP_ID)
    await control(url, "add_bot", chat="ops", app=APP_ID)
    await control(url, "dissolve", chat="ops")
    assert len(await control(url, "pushes", app=APP_ID, state="unsent")) == 8
    assert await control(url, "open_id", app=APP_ID, who="bob") == double.open_id(APP_ID, "bob")


async def test_faults_held_requests_and_waiting(double: LarkDouble, url: str) -> None:
    async with calling(double) as caller:
        chat = double.chat_of("dev").chat_id
        fault = await control(url, "fault", kind="hold_after", operations=["send"])
        sending = asyncio.create_task(caller.send(chat, "held", uuid="u-1"))
        await control(url, "wait", **{"for": "held"}, fault_id=fault["fault_id"])
        assert [item["text"] for item in await control(url, "visible", chat="dev")] == ["held"]
        sends = await control(url, "sends", chat="dev")
        assert (sends[0]["committed"], sends[0]["status"], sends[0]["uuid"]) == (True, None, "u-1")
        assert await control(url, "release") == 1
        assert (await sending).json()["code"] == 0
        assert len(await control(url, "wait", **{"for": "sends"}, finished=True)) == 1
        await control(url, "fault", kind="error", code=230022, times=None)
        assert (await caller.send(chat)).json()["code"] == 230022
        await control(url, "clear_faults")
        await control(url, "offline")
        with pytest.raises(httpx.TransportError):
            await caller.send(chat)
        await control(url, "online")
        await control(url, "expire_tokens", app=APP_ID)
        assert (await caller.send(chat)).json()["code"] == 99991663
        await caller.login()
        await control(url, "forbid_history", app=APP_ID)
        assert (await caller.list(chat)).json()["code"] == 230027
        assert [entry["code"] for entry in await control(url, "reads", app=APP_ID)] == [230027]


async def test_time_and_knobs(double: LarkDouble, url: str) -> None:
    await control(url, "scale", scale=0)
    before = await control(url, "now")
    assert await control(url, "advance", seconds=3600) - before == 3_600_000
    knobs = await control(url, "knobs", limits=False, uuid_repeat="ignored", repush_after_s=[1, 2], push_timeout_s=1)
    assert (knobs["limits"], knobs["uuid_repeat"], knobs["repush_after_s"]) == (False, "ignored", [1.0, 2.0])
    assert double.knobs.push_timeout_s == 1.0
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.post(f"{url}/_control/knobs", json={"limits": "no"})).status_code == 400


async def test_events_on_demand(double: LarkDouble, url: str) -> None:
    async with sink() as hook:
        await control(url, "set_webhook", app=APP_ID, url=hook.url)
        push = await control(url, "push_event", app=APP_ID, event_type="x_v1", event={"a": 1}, event_id="e-1")
        await control(url, "push_again", push=push["push_id"], new_event=True)
        said = double.say("dev", "alice", "unheard")
        await control(url, "push_message", app=APP_ID, message=said.message_id)
        await hook.wait(3)
        await control(url, "wait", **{"for": "pushes"}, state="delivered", count=3)
        await control(url, "hold_pushes", app=APP_ID)
        double.say("dev", "alice", "hello", mention=[APP_ID])
        assert await control(url, "release_pushes", app=APP_ID, reverse=True) == 1
        await hook.wait(4)
        assert (await control(url, "challenge", app=APP_ID))["ok"] is False


async def test_apps_can_be_added_and_changed(double: LarkDouble, url: str) -> None:
    added = await control(url, "app", app_id="cli_new", app_secret=SECRET, name="New", echo="app", hears_bots=True)
    assert added["bot_open_id"] == double.open_id("cli_new", "cli_new")
    assert (double.app_of("cli_new").echo.value, double.app_of("cli_new").hears_bots) == ("app", True)
    await control(url, "app", app_id="cli_new", hears_all_group_messages=True)
    assert double.app_of("cli_new").hears_all_group_messages
    settings = await control(url, "settings")
    assert [app["app_id"] for app in settings["apps"]] == [APP_ID, "cli_new"]
    assert settings["url"] == double.url
    dump = await control(url, "dump")
    assert [chat["name"] for chat in dump["chats"]] == ["dev"]


@pytest.mark.parametrize(
    ("action", "body", "wanted"),
    [
        ("nonsense", {}, (404, "not_found")),
        ("visible", {"chat": "nowhere"}, (404, "not_found")),
        ("visible", {}, (400, "invalid_request")),
        ("fault", {"kind": "nonsense"}, (400, "invalid_request")),
        ("react", {"message": "om_nowhere", "who": "alice", "emoji_type": "OK"}, (404, "not_found")),
        ("wait", {"for": "visible", "chat": "dev", "timeout_s": 0.01}, (408, "not_seen")),
        ("wait", {"for": "rain"}, (400, "invalid_request")),
    ],
)
async def test_wrong_requests_are_told_what_is_wrong(
    double: LarkDouble, url: str, action: str, body: dict, wanted: tuple
) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.post(f"{url}/_control/{action}", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == wanted
    assert response.json()["error"]["message"]


async def test_asking_by_get(double: LarkDouble) -> None:
    double.say("dev", "alice", "hello")
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.get(f"{double.url}/_control/visible", params={"chat": "dev"})
    assert [item["text"] for item in response.json()["result"]] == ["hello"]
