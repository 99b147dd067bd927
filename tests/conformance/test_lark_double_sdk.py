"""The official client against the local Lark, and the local Lark's pushes into the official dispatcher.

If lark-oapi, unmodified, works with the double, the double is faithful on the wire as far as lark-oapi looks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from aiohttp import web

from providers.lark_double.server import LarkDouble
from tests.support.double import APP_ID, ENCRYPT_KEY, SECRET, TOKEN, Received, Sink, running, sink


@pytest.fixture
async def double() -> AsyncGenerator[LarkDouble]:
    async with running() as it:
        it.knobs.limits = False
        yield it


@pytest.fixture
async def hook(double: LarkDouble) -> AsyncGenerator[Sink]:
    async with sink() as it:
        double.set_webhook(APP_ID, it.url)
        yield it


@pytest.fixture
def sdk(double: LarkDouble) -> Any:
    import lark_oapi as lark
    from lark_oapi.core.token.manager import TokenManager

    TokenManager.cache.set(f"self_tenant_token:{APP_ID}", "", 0)  # it is shared by all clients of a process
    return lark.Client.builder().app_id(APP_ID).app_secret(SECRET).domain(double.url).build()


async def run(call: Callable[..., Any], request: Any) -> Any:
    """A synchronous call of the SDK in a thread, an asynchronous one here."""
    if asyncio.iscoroutinefunction(call):
        return await call(request)
    return await asyncio.to_thread(call, request)


async def login(sdk: Any) -> None:
    """Have the token cached: the SDK fetches it with blocking calls, even in its asynchronous methods."""
    from lark_oapi.core.token.manager import TokenManager

    await asyncio.to_thread(TokenManager.get_self_tenant_token, sdk._config)


@pytest.mark.parametrize("prefix", ["", "a"])
async def test_messages(double: LarkDouble, sdk: Any, prefix: str) -> None:
    from lark_oapi.api.im import v1 as im

    await login(sdk)
    chat = double.chat_of("dev")
    api = sdk.im.v1.message

    def method(name: str) -> Callable[..., Any]:
        return getattr(api, prefix + name)

    body = im.CreateMessageRequestBody.builder().receive_id(chat.chat_id).msg_type("text").uuid("sdk-1")
    body = body.content('{"text":"<b>hello</b> <at user_id=\\"' + double.open_id(APP_ID, "alice") + '\\">A</at>"}')
    create = im.CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body.build()).build()
    sent = await run(method("create"), create)
    again = await run(method("create"), create)
    assert (sent.code, sent.data.chat_id, sent.data.sender.id) == (0, chat.chat_id, APP_ID)
    assert json.loads(sent.data.body.content) == {"text": "hello @_user_1"}
    assert [mention.name for mention in sent.data.mentions] == ["alice"]
    assert again.data.message_id == sent.data.message_id
    headers = {name.lower(): value for name, value in sent.raw.headers.items()}
    assert headers["x-tt-logid"]  # get_log_id finds it in answers to synchronous calls only

    post = {"zh_cn": {"title": "答", "content": [[{"tag": "text", "text": "好"}], [{"tag": "hr"}]]}}
    reply_body = im.ReplyMessageRequestBody.builder().msg_type("post").content(json.dumps(post)).uuid("sdk-2")
    reply = im.ReplyMessageRequest.builder().message_id(sent.data.message_id).request_body(reply_body.build()).build()
    answered = await run(method("reply"), reply)
    assert (answered.code, answered.data.parent_id, answered.data.root_id) == (0, *[sent.data.message_id] * 2)

    get = im.GetMessageRequest.builder().message_id(answered.data.message_id).build()
    got = await run(method("get"), get)
    wanted = {"title": "答", "content": [[{"tag": "text", "text": "好", "style": []}], [{"tag": "hr"}]]}
    assert json.loads(got.data.items[0].body.content) == wanted

    query = im.ListMessageRequest.builder().container_id_type("chat").container_id(chat.chat_id)
    query = query.start_time(str(double.clock.now() // 1000 - 120)).sort_type("ByCreateTimeDesc").page_size(1)
    first = await run(method("list"), query.build())
    second = await run(method("list"), query.page_token(first.data.page_token).build())
    ids = [first.data.items[0].message_id, second.data.items[0].message_id]
    assert (ids, first.data.has_more, second.data.has_more) == (
        [answered.data.message_id, sent.data.message_id],
        True,
        False,
    )

    edit = im.UpdateMessageRequestBody.builder().msg_type("text").content('{"text":"edited"}').build()
    update = im.UpdateMessageRequest.builder().message_id(sent.data.message_id).request_body(edit).build()
    edited = await run(method("update"), update)
    assert (edited.code, edited.data.updated) == (0, True)

    delete = im.DeleteMessageRequest.builder().message_id(answered.data.message_id).build()
    assert (await run(method("delete"), delete)).code == 0
    late = im.ReplyMessageRequest.builder().message_id(answered.data.message_id)
    gone = await run(method("reply"), late.request_body(reply_body.uuid("sdk-3").build()).build())
    assert (gone.code, gone.raw.status_code) == (230011, 400)
    assert [(seen.text, seen.recalled) for seen in double.visible(chat)] == [("edited", False), ("", True)]


@pytest.mark.parametrize("prefix", ["", "a"])
async def test_reactions_chats_and_the_bot(double: LarkDouble, sdk: Any, prefix: str) -> None:
    import lark_oapi as lark
    from lark_oapi.api.contact import v3 as contact
    from lark_oapi.api.im import v1 as im

    await login(sdk)
    question = double.say("dev", "alice", "why?", mention=[APP_ID])
    reactions = sdk.im.v1.message_reaction
    emoji = im.Emoji.builder().emoji_type("OnIt").build()
    body = im.CreateMessageReactionRequestBody.builder().reaction_type(emoji).build()
    create = im.CreateMessageReactionRequest.builder().message_id(question.message_id).request_body(body).build()
    left = await run(getattr(reactions, f"{prefix}create"), create)
    assert (left.code, left.data.operator.operator_id) == (0, APP_ID)
    query = im.ListMessageReactionRequest.builder().message_id(question.message_id).reaction_type("OnIt").build()
    listed = await run(getattr(reactions, f"{prefix}list"), query)
    assert [item.reaction_id for item in listed.data.items] == [left.data.reaction_id]
    delete = im.DeleteMessageReactionRequest.builder().message_id(question.message_id)
    removed = await run(getattr(reactions, f"{prefix}delete"), delete.reaction_id(left.data.reaction_id).build())
    assert (removed.code, double.reactions(question)) == (0, [])

    chat_id = double.chat_of("dev").chat_id
    chat = await run(getattr(sdk.im.v1.chat, f"{prefix}get"), im.GetChatRequest.builder().chat_id(chat_id).build())
    assert (chat.data.name, chat.data.chat_mode, chat.data.external) == ("dev", "group", False)
    inside = im.IsInChatChatMembersRequest.builder().chat_id(chat_id).build()
    assert (await run(getattr(sdk.im.v1.chat_members, f"{prefix}is_in_chat"), inside)).data.is_in_chat is True
    members = im.GetChatMembersRequest.builder().chat_id(chat_id).build()
    people = await run(getattr(sdk.im.v1.chat_members, f"{prefix}get"), members)
    assert [item.name for item in people.data.items] == ["alice"]

    who = contact.GetUserRequest.builder().user_id(double.open_id(APP_ID, "alice")).user_id_type("open_id").build()
    assert (await run(getattr(sdk.contact.v3.user, f"{prefix}get"), who)).data.user.name == "alice"

    info = lark.BaseRequest.builder().http_method(lark.HttpMethod.GET).uri("/open-apis/bot/v3/info")
    bot = await run(getattr(sdk, f"{prefix}request"), info.token_types({lark.AccessTokenType.TENANT}).build())
    assert json.loads(bot.raw.content)["bot"]["open_id"] == double.open_id(APP_ID, APP_ID)


async def test_errors_and_limits_as_the_official_client_sees_them(double: LarkDouble, sdk: Any) -> None:
    from lark_oapi.api.im import v1 as im

    await login(sdk)
    get = im.GetMessageRequest.builder().message_id("om_nowhere").build()
    missing = await sdk.im.v1.message.aget(get)
    assert (missing.code, missing.raw.status_code, bool(missing.error["log_id"])) == (99992354, 400, True)
    double.fault("rate_limited", "get", seconds=7)
    limited = await sdk.im.v1.message.aget(get)
    assert (limited.code, limited.raw.status_code) == (99991400, 429)
    assert limited.raw.headers["x-ogw-ratelimit-reset"] == "7"
    double.fault("html_502", "get")
    with pytest.raises(json.JSONDecodeError):
        await sdk.im.v1.message.aget(get)


@pytest.fixture
def dispatched(hook: Sink) -> list[Any]:
    """What the official dispatcher hands to its handlers; it answers the pushes itself."""
    import lark_oapi as lark
    from lark_oapi.core.model import RawRequest

    seen: list[Any] = []
    dispatcher = (
        lark.EventDispatcherHandler.builder(ENCRYPT_KEY, TOKEN)
        .register_p2_im_message_receive_v1(seen.append)
        .register_p2_im_message_recalled_v1(seen.append)
        .register_p2_im_message_reaction_created_v1(seen.append)
        .register_p2_im_message_reaction_deleted_v1(seen.append)
        .register_p2_im_chat_member_bot_added_v1(seen.append)
        .register_p2_im_chat_member_bot_deleted_v1(seen.append)
        .register_p2_im_chat_disbanded_v1(seen.append)
        .build()
    )

    async def answer(received: Received) -> web.Response:
        request = RawRequest()
        request.uri, request.body, request.headers = "/lark/events", received.body, received.headers
        response = dispatcher.do(request)
        return web.Response(status=response.status_code, body=response.content)

    hook.answer = answer
    return seen


async def test_every_event_passes_the_official_dispatcher(
    double: LarkDouble, hook: Sink, dispatched: list[Any]
) -> None:
    chat = double.create_chat("events", ["alice"], [APP_ID])
    acts: list[Callable[[], Any]] = [
        lambda: double.say(chat, "alice", "为什么 @{bob}?", mention=[APP_ID]),
        lambda: double.react(double.visible(chat)[0].message_id, "alice", "OK"),
        lambda: double.unreact(double.reactions(double.visible(chat)[0].message_id)[0].reaction_id),
        lambda: double.recall(double.visible(chat)[0].message_id),
        lambda: double.remove_bot(chat, APP_ID),
        lambda: double.add_bot(chat, APP_ID),
        lambda: double.dissolve(chat),
    ]
    for number, act in enumerate(acts, 1):
        act()
        await double.wait_for(
            lambda number=number: len(double.pushes(state="delivered")) == number, 10, f"act {number}"
        )
    names = ["message.receive", "message.reaction.created", "message.reaction.deleted", "message.recalled"]
    names += ["chat.member.bot.deleted", "chat.member.bot.added", "chat.disbanded"]
    assert [event.header.event_type for event in dispatched] == [f"im.{name}_v1" for name in names]
    assert {push.attempts[0].status for push in double.pushes()} == {200}
    message = dispatched[0].event.message
    assert json.loads(message.content) == {"text": "@_user_1 为什么 @_user_2?"}
    assert [mention.id.open_id for mention in message.mentions] == [
        double.open_id(APP_ID, APP_ID),
        double.open_id(APP_ID, "bob"),
    ]
    assert dispatched[0].event.sender.sender_id.open_id == double.open_id(APP_ID, "alice")
    assert (message.chat_id, message.chat_type, message.message_type) == (chat.chat_id, "group", "text")


async def test_the_official_dispatcher_answers_the_challenge_and_refuses_a_wrong_signature(
    double: LarkDouble, hook: Sink, dispatched: list[Any]
) -> None:
    assert (await double.challenge(APP_ID, "challenge-1")).ok
    assert "X-Lark-Signature" not in hook.received[0].headers
    assert not (await double.challenge(APP_ID, "challenge-2", token="wrong")).ok
    push = double.push_message(APP_ID, double.say("dev", "alice", "hello"))
    await double.wait_pushed(push)
    assert push.state == "delivered"
    wrong = double.say("dev", "alice", "hello", mention=[APP_ID], headers={"X-Lark-Signature": "0" * 64})
    refused = await double.wait_for(lambda: [p for p in double.pushes(message_id=wrong.message_id) if p.attempts])
    assert refused[0].attempts[0].status == 500
    assert len(dispatched) == 1
