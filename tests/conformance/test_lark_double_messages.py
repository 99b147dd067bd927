"""The local Lark's message APIs, as its documentation has them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import httpx
import pytest

from providers.lark_double.server import LarkDouble
from tests.support.double import APP_ID, ENCRYPT_KEY, OTHER_APP_ID, SECRET, TOKEN, Caller, calling, running


@pytest.fixture
async def double() -> AsyncGenerator[LarkDouble]:
    async with running() as it:
        it.knobs.limits = False
        yield it


@pytest.fixture
async def caller(double: LarkDouble) -> AsyncGenerator[Caller]:
    async with calling(double) as it:
        yield it


def code(response: httpx.Response) -> int:
    return response.json()["code"]


async def test_a_sent_message_reads_back_in_its_answer_by_itself_and_in_the_history(
    double: LarkDouble, caller: Caller
) -> None:
    chat = double.chat_of("dev")
    sent = (await caller.send(chat.chat_id, "你好 🙂")).json()["data"]
    got = (await caller.get(sent["message_id"])).json()["data"]["items"]
    listed = (await caller.list(chat.chat_id)).json()["data"]
    assert got == [sent]
    assert listed == {"has_more": False, "items": [sent]}
    assert sent["sender"] == {"id": APP_ID, "id_type": "app_id", "sender_type": "app", "tenant_key": "7365a1b2c3d4e5f6"}
    assert json.loads(sent["body"]["content"]) == {"text": "你好 🙂"}
    assert sent["create_time"] == sent["update_time"]
    assert not {"root_id", "parent_id", "thread_id", "mentions"} & set(sent)


async def test_every_answer_names_the_call(double: LarkDouble, caller: Caller) -> None:
    response = await caller.send("oc_nowhere")
    assert response.status_code == 400
    assert response.headers["X-Tt-Logid"] == response.json()["error"]["log_id"]
    assert code(response) == 230034


async def test_replies_carry_root_and_parent(double: LarkDouble, caller: Caller) -> None:
    question = double.say("dev", "alice", "why?", mention=[APP_ID])
    first = (await caller.reply(question.message_id)).json()["data"]
    second = (await caller.reply(first["message_id"])).json()["data"]
    assert (first["root_id"], first["parent_id"]) == (question.message_id, question.message_id)
    assert (second["root_id"], second["parent_id"]) == (question.message_id, first["message_id"])
    assert "thread_id" not in first


async def test_reply_in_thread_begins_a_thread_that_every_later_reply_joins(double: LarkDouble, caller: Caller) -> None:
    chat = double.chat_of("dev")
    question = double.say("dev", "alice", "why?", mention=[APP_ID])
    first = (await caller.reply(question.message_id, reply_in_thread=True)).json()["data"]
    second = (await caller.reply(first["message_id"])).json()["data"]
    assert first["thread_id"] == second["thread_id"]
    assert first["thread_id"].startswith("omt_")
    for reply in (first, second):
        assert (reply["root_id"], reply["parent_id"]) == (question.message_id, question.message_id)
    in_chat = (await caller.list(chat.chat_id)).json()["data"]["items"]
    in_thread = (await caller.list(first["thread_id"], "thread")).json()["data"]["items"]
    assert [item["message_id"] for item in in_chat] == [question.message_id]
    assert in_chat[0]["thread_id"] == first["thread_id"]
    ids = [question.message_id, first["message_id"], second["message_id"]]
    assert [item["message_id"] for item in in_thread] == ids


@pytest.mark.parametrize("options", [{"mode": "topic"}, {"form": "thread"}])
async def test_where_everything_is_a_thread_a_plain_message_begins_one(
    double: LarkDouble, caller: Caller, options: dict[str, str]
) -> None:
    chat = double.create_chat("topics", ["alice"], [APP_ID], **options)
    sent = (await caller.send(chat.chat_id)).json()["data"]
    reply = (await caller.reply(sent["message_id"])).json()["data"]
    assert sent["thread_id"] == reply["thread_id"]
    listed = (await caller.list(chat.chat_id)).json()["data"]["items"]
    assert [item["message_id"] for item in listed] == [sent["message_id"]]


async def test_no_thread_where_none_may_begin(double: LarkDouble, caller: Caller) -> None:
    double.chat_of("dev").threads_allowed = False
    question = double.say("dev", "alice", "why?")
    assert code(await caller.reply(question.message_id, reply_in_thread=True)) == 230071


async def test_history_by_pages_in_both_orders_is_complete_and_repeats_nothing(
    double: LarkDouble, caller: Caller
) -> None:
    chat = double.chat_of("dev")
    said = [double.say("dev", "alice", f"number {number}").message_id for number in range(7)]
    for sort, wanted in (("ByCreateTimeAsc", said), ("ByCreateTimeDesc", said[::-1])):
        seen, token = [], ""
        while True:
            params = {"sort_type": sort, "page_size": 3} | ({"page_token": token} if token else {})
            page = (await caller.list(chat.chat_id, **params)).json()["data"]
            seen += [item["message_id"] for item in page["items"]]
            assert ("page_token" in page) == page["has_more"]
            if not page["has_more"]:
                break
            token = page["page_token"]
        assert seen == wanted


async def test_a_page_token_survives_new_messages_and_refuses_another_order(double: LarkDouble, caller: Caller) -> None:
    chat = double.chat_of("dev")
    said = [double.say("dev", "alice", str(number)).message_id for number in range(4)]
    desc = {"sort_type": "ByCreateTimeDesc", "page_size": 2}
    first = (await caller.list(chat.chat_id, **desc)).json()["data"]
    double.say("dev", "alice", "meanwhile")
    second = (await caller.list(chat.chat_id, page_token=first["page_token"], **desc)).json()["data"]
    assert [item["message_id"] for item in second["items"]] == said[1::-1]
    assert code(await caller.list(chat.chat_id, page_token=first["page_token"])) == 230001
    assert code(await caller.list(chat.chat_id, page_token="not one")) == 230001


async def test_the_window_is_in_whole_seconds_and_not_for_threads(double: LarkDouble, caller: Caller) -> None:
    chat = double.chat_of("dev")
    double.set_scale(0)
    second = double.clock.now() // 1000
    old = double.say("dev", "alice", "old", at=(second - 100) * 1000 + 999)
    new = double.say("dev", "alice", "new", at=second * 1000)

    async def within(**params: int) -> list[str]:
        items = (await caller.list(chat.chat_id, **params)).json()["data"]["items"]
        return [item["message_id"] for item in items]

    assert await within(start_time=second - 100, end_time=second - 100) == [old.message_id]
    assert await within(start_time=second - 99) == [new.message_id]
    assert await within(end_time=second) == [old.message_id, new.message_id]
    begun = (await caller.reply(new.message_id, reply_in_thread=True)).json()["data"]
    assert code(await caller.list(begun["thread_id"], "thread", start_time=second)) == 230001


@pytest.mark.parametrize("size", ["0", "51", "many"])
async def test_page_sizes_out_of_bounds_are_refused(double: LarkDouble, caller: Caller, size: str) -> None:
    assert code(await caller.list(double.chat_of("dev").chat_id, page_size=size)) == 230001


async def test_a_recalled_message_stays_in_the_history_without_its_words(double: LarkDouble, caller: Caller) -> None:
    chat = double.chat_of("dev")
    sent = (await caller.send(chat.chat_id, "secret")).json()["data"]["message_id"]
    assert code(await caller.call("DELETE", f"/im/v1/messages/{sent}")) == 0
    got = (await caller.get(sent)).json()["data"]["items"][0]
    listed = (await caller.list(chat.chat_id)).json()["data"]["items"][0]
    assert got["deleted"] is True
    assert "body" not in got
    assert listed["body"]["content"] == "This message was recalled"
    assert code(await caller.reply(sent)) == 230011
    assert code(await caller.call("DELETE", f"/im/v1/messages/{sent}")) == 230011
    assert [seen.recalled for seen in double.visible("dev")] == [True]
    double.delete(sent)
    assert code(await caller.get(sent)) == 230110
    assert code(await caller.reply(sent)) == 230110
    assert (await caller.list(chat.chat_id)).json()["data"]["items"] == []


async def test_only_own_messages_can_be_recalled_and_edited(double: LarkDouble, caller: Caller) -> None:
    question = double.say("dev", "alice", "why?")
    path = f"/im/v1/messages/{question.message_id}"
    edit = {"msg_type": "text", "content": '{"text":"changed"}'}
    assert code(await caller.call("DELETE", path)) == 230026
    assert code(await caller.call("PUT", path, json=edit)) == 230071


async def test_a_message_can_be_edited_twenty_times(double: LarkDouble, caller: Caller) -> None:
    sent = (await caller.send(double.chat_of("dev").chat_id)).json()["data"]
    path = f"/im/v1/messages/{sent['message_id']}"
    for number in range(20):
        edited = await caller.call("PUT", path, json={"msg_type": "text", "content": f'{{"text":"{number}"}}'})
        assert edited.json()["data"]["updated"] is True
    assert int(edited.json()["data"]["update_time"]) > int(sent["create_time"])
    assert code(await caller.call("PUT", path, json={"msg_type": "text", "content": '{"text":"x"}'})) == 230072
    assert double.visible("dev")[0].text == "19"
    assert code(await caller.call("PUT", path, json={"msg_type": "interactive", "content": "{}"})) == 230001


async def test_refusals_by_the_state_of_the_chat(double: LarkDouble, caller: Caller) -> None:
    chat = double.chat_of("dev")
    question = double.say("dev", "alice", "why?")
    double.mute(chat)
    assert code(await caller.send(chat.chat_id)) == 230035
    double.mute(chat, muted=False)
    double.forbid_history(chat=chat)
    assert code(await caller.list(chat.chat_id)) == 230027
    assert code(await caller.get(question.message_id)) == 0
    double.forbid_history(chat=chat, forbidden=False)
    double.remove_bot(chat, APP_ID)
    assert code(await caller.send(chat.chat_id)) == 230002
    assert code(await caller.reply(question.message_id)) == 230002
    assert code(await caller.get(question.message_id)) == 230002
    assert code(await caller.list(chat.chat_id)) == 230002
    double.add_bot(chat, APP_ID)
    double.dissolve(chat)
    assert code(await caller.send(chat.chat_id)) == 232009
    assert code(await caller.reply(question.message_id)) == 232009
    double.forget_chat(chat)
    assert code(await caller.send(chat.chat_id)) == 230034
    assert code(await caller.get(question.message_id)) == 99992354
    assert double.sends(committed=True) == []


async def test_people_are_reached_by_the_ids_of_the_calling_app_only(double: LarkDouble, caller: Caller) -> None:
    double.app(OTHER_APP_ID, SECRET)
    own, other = double.open_id(APP_ID, "alice"), double.open_id(OTHER_APP_ID, "alice")
    assert own != other
    body = {"msg_type": "text", "content": '{"text":"hello"}'}

    async def to(receive_id: str, id_type: str = "open_id") -> httpx.Response:
        params = {"receive_id_type": id_type}
        return await caller.call("POST", "/im/v1/messages", params=params, json={"receive_id": receive_id, **body})

    first = (await to(own)).json()["data"]
    second = (await to(double.add_person("alice").union_id, "union_id")).json()["data"]
    assert first["chat_id"] == second["chat_id"] == double.private_chat("alice", APP_ID).chat_id
    assert code(await to(other)) == 99992361
    assert code(await to("ou_nobody")) == 99992351
    assert code(await to(own, "telephone")) == 99992402


@pytest.mark.parametrize(
    ("msg_type", "content", "wanted"),
    [
        ("text", '{"text":""}', 230001),
        ("text", "{}", 230001),
        ("text", "not json", 230001),
        ("text", "[]", 230001),
        ("post", '{"title":"x","content":[[]]}', 230001),
        ("post", '{"zh_cn":{"content":[]}}', 230001),
        ("post", '{"zh_cn":{"content":[[{"tag":"blink"}]]}}', 230001),
        ("post", '{"zh_cn":{"content":[[{"tag":"a","text":"x","href":"not a link"}]]}}', 230001),
        ("post", '{"zh_cn":{"content":[[{"tag":"hr"},{"tag":"text","text":"x"}]]}}', 230001),
        ("post", '{"zh_cn":{"content":[[{"tag":"at","user_id":"ou_nobody"}]]}}', 230001),
        ("image", '{"image_key":"img_of_nobody"}', 230017),
        ("pigeon", "{}", 230001),
    ],
)
async def test_content_that_is_not_valid_is_refused(
    double: LarkDouble, caller: Caller, msg_type: str, content: str, wanted: int
) -> None:
    response = await caller.send(double.chat_of("dev").chat_id, msg_type=msg_type, content=content)
    assert code(response) == wanted
    assert double.visible("dev") == []


@pytest.mark.parametrize(("msg_type", "limit"), [("text", 150 * 1024), ("post", 30 * 1024)])
async def test_size_is_that_of_the_request_in_bytes(
    double: LarkDouble, caller: Caller, msg_type: str, limit: int
) -> None:
    chat = double.chat_of("dev")

    async def send(words: str) -> tuple[int, httpx.Response]:
        content = {"text": words} if msg_type == "text" else {"zh_cn": {"content": [[{"tag": "text", "text": words}]]}}
        body = {"receive_id": chat.chat_id, "msg_type": msg_type, "content": json.dumps(content, ensure_ascii=False)}
        raw = json.dumps(body, ensure_ascii=False).encode()
        params = {"receive_id_type": "chat_id"}
        return len(raw), await caller.call("POST", "/im/v1/messages", params=params, content=raw)

    without, _ = await send("")
    size, fits = await send("字" * ((limit - without) // 3) + "x" * ((limit - without) % 3))
    assert (size, code(fits)) == (limit, 0)
    size, too_long = await send("字" * ((limit - without) // 3) + "x" * ((limit - without) % 3 + 1))
    assert (size, code(too_long)) == (limit + 1, 230025)


async def test_tokens_last_two_hours_and_are_renewed_below_thirty_minutes(double: LarkDouble, caller: Caller) -> None:
    double.set_scale(0)
    first = await caller.login()
    assert first["expire"] == 7200
    assert "data" not in first
    double.advance(90 * 60)
    same = await caller.login()
    assert (same["tenant_access_token"], same["expire"]) == (first["tenant_access_token"], 1800)
    double.advance(1)
    new = await caller.login()
    assert new["tenant_access_token"] != first["tenant_access_token"]
    caller.token = first["tenant_access_token"]
    assert code(await caller.call("GET", "/bot/v3/info")) == 0
    double.advance(1799)
    assert code(await caller.call("GET", "/bot/v3/info")) == 99991663
    caller.token = new["tenant_access_token"]
    assert code(await caller.call("GET", "/bot/v3/info")) == 0
    double.expire_tokens(APP_ID)
    assert code(await caller.call("GET", "/bot/v3/info")) == 99991663


@pytest.mark.parametrize(
    ("app_id", "secret", "wanted"),
    [("", SECRET, 10003), ("nonsense", SECRET, 10003), ("cli_unknown", SECRET, 10014), (APP_ID, "wrong", 10015)],
)
async def test_wrong_credentials_answer_200_with_a_code(
    double: LarkDouble, app_id: str, secret: str, wanted: int
) -> None:
    async with calling(double, app_id, secret) as caller:
        response = await caller.http.post(
            "/open-apis/auth/v3/tenant_access_token/internal", json={"app_id": app_id, "app_secret": secret}
        )
    assert (response.status_code, code(response)) == (200, wanted)


async def test_requests_without_a_good_token_are_refused(double: LarkDouble, caller: Caller) -> None:
    path = "/open-apis/bot/v3/info"
    assert code(await caller.http.get(path)) == 99991661
    assert code(await caller.http.get(path, headers={"Authorization": "Bearer nonsense"})) == 99991671
    assert code(await caller.http.get(path, headers={"Authorization": "Bearer t-nonsense"})) == 99991663
    await caller.login()
    double.disable(APP_ID)
    assert code(await caller.call("GET", "/bot/v3/info")) == 99991662


async def test_what_there_is_no_api_for_answers_404(double: LarkDouble, caller: Caller) -> None:
    for method, path, wanted in (("POST", "/im/v1/images", 99991201), ("PATCH", "/im/v1/messages", 99991301)):
        response = await caller.call(method, path)
        assert (response.status_code, code(response)) == (404, wanted)


async def test_reactions(double: LarkDouble, caller: Caller) -> None:
    question = double.say("dev", "alice", "why?", mention=[APP_ID])
    path = f"/im/v1/messages/{question.message_id}/reactions"

    async def react(emoji: str) -> httpx.Response:
        return await caller.call("POST", path, json={"reaction_type": {"emoji_type": emoji}})

    first = (await react("OnIt")).json()["data"]
    again = (await react("OnIt")).json()["data"]
    double.react(question, "alice", "THUMBSUP")
    assert first["reaction_id"] == again["reaction_id"]
    assert first["operator"] == {"operator_id": APP_ID, "operator_type": "app"}
    assert code(await react("onit")) == 231001
    assert code(await caller.call("POST", path, json={})) == 231001
    listed = (await caller.call("GET", path)).json()["data"]["items"]
    assert [item["reaction_type"]["emoji_type"] for item in listed] == ["OnIt", "THUMBSUP"]
    only = (await caller.call("GET", path, params={"reaction_type": "OnIt"})).json()["data"]["items"]
    assert [item["reaction_id"] for item in only] == [first["reaction_id"]]
    theirs = listed[1]["reaction_id"]
    assert code(await caller.call("DELETE", f"{path}/{theirs}")) == 231007
    assert code(await caller.call("DELETE", f"{path}/{first['reaction_id']}")) == 0
    assert code(await caller.call("DELETE", f"{path}/{first['reaction_id']}")) == 231011
    double.recall(question)
    assert code(await react("OK")) == 231003


async def test_chats_members_bot_and_people(double: LarkDouble, caller: Caller) -> None:
    double.app(OTHER_APP_ID, SECRET)
    chat = double.create_chat("outside", ["alice", "bob"], [OTHER_APP_ID], external=True)
    dev = double.chat_of("dev")
    whole = (await caller.call("GET", f"/im/v1/chats/{dev.chat_id}")).json()["data"]
    assert (whole["chat_mode"], whole["group_message_type"], whole["external"]) == ("group", "chat", False)
    assert (whole["user_count"], whole["bot_count"]) == ("1", "1")
    assert whole["owner_id"] == double.open_id(APP_ID, "alice")
    part = (await caller.call("GET", f"/im/v1/chats/{chat.chat_id}")).json()["data"]
    assert part["external"] is True
    assert "owner_id" not in part
    assert code(await caller.call("GET", f"/im/v1/chats/{chat.chat_id}/members")) == 232011
    assert code(await caller.call("GET", "/im/v1/chats/oc_nowhere")) == 232006
    inside = (await caller.call("GET", f"/im/v1/chats/{dev.chat_id}/members/is_in_chat")).json()["data"]
    outside = (await caller.call("GET", f"/im/v1/chats/{chat.chat_id}/members/is_in_chat")).json()["data"]
    assert (inside, outside) == ({"is_in_chat": True}, {"is_in_chat": False})
    members = (await caller.call("GET", f"/im/v1/chats/{dev.chat_id}/members")).json()["data"]
    assert [member["name"] for member in members["items"]] == ["alice"]
    chats = (await caller.call("GET", "/im/v1/chats")).json()["data"]["items"]
    assert [item["chat_id"] for item in chats] == [dev.chat_id]
    bot = (await caller.call("GET", "/bot/v3/info")).json()
    assert bot["bot"]["open_id"] == double.open_id(APP_ID, APP_ID)
    assert "data" not in bot
    user = (await caller.call("GET", f"/contact/v3/users/{double.open_id(APP_ID, 'alice')}")).json()["data"]["user"]
    assert user["name"] == "alice"
    assert code(await caller.call("GET", "/contact/v3/users/nobody")) == 41012


async def test_two_apps_in_one_chat_know_people_under_different_ids(double: LarkDouble, caller: Caller) -> None:
    double.app(OTHER_APP_ID, SECRET, ENCRYPT_KEY, TOKEN)
    double.add_bot("dev", OTHER_APP_ID)
    question = double.say("dev", "alice", "why?", mention=[APP_ID, "bob"])
    async with calling(double, OTHER_APP_ID) as other:
        mine = (await caller.get(question.message_id)).json()["data"]["items"][0]
        theirs = (await other.get(question.message_id)).json()["data"]["items"][0]
    assert mine["sender"]["id"] == double.open_id(APP_ID, "alice")
    assert theirs["sender"]["id"] == double.open_id(OTHER_APP_ID, "alice")
    assert [mention["id"] for mention in mine["mentions"]] == [
        double.open_id(APP_ID, APP_ID),
        double.open_id(APP_ID, "bob"),
    ]
    by_union = (await caller.get(question.message_id, user_id_type="union_id")).json()["data"]["items"][0]
    assert by_union["sender"]["id"] == double.add_person("alice").union_id
    assert by_union["mentions"][0]["id"] == APP_ID
    assert double.visible("dev")[0].text == "@Steward @bob why?"
