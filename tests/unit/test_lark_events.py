"""Events as values: both envelopes, every shape that was seen in the field, and nothing that raises."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manager.decisions.inbound import (
    BotAdded,
    BotRemoved,
    ChatDisbanded,
    MessageRecalled,
    MessageReceived,
    Misshapen,
    SenderKind,
    Unwanted,
)
from providers.lark.events import parse_event
from returns.ids import AppName

APP = AppName("default")
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PEOPLE = ("im.message.receive_v1", "im.message.recalled_v1", "im.chat.disbanded_v1")
KNOWN = (*PEOPLE, "im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1")


def event(event_type: str, body: object, **header: object) -> dict[str, Any]:
    return {
        "schema": "2.0",
        "header": {
            "event_id": "ev-1",
            "event_type": event_type,
            "create_time": "1608725989000",
            "token": "vtok",
            "app_id": "cli_own",
            "tenant_key": "t1",
            **header,
        },
        "event": body,
    }


def received(text: object = "@_user_1 hello", message_type: str = "text", **changes: object) -> dict[str, Any]:
    content = json.dumps({"text": text}) if message_type == "text" else text
    message: dict[str, object] = {
        "message_id": "om_1",
        "create_time": "1609073151345",
        "chat_id": "oc_1",
        "chat_type": "group",
        "message_type": message_type,
        "content": content,
        "mentions": [{"key": "@_user_1", "id": {"open_id": "ou_bot", "user_id": None}, "name": "Bot"}],
        **changes,
    }
    sender = {"sender_id": {"open_id": "ou_1", "union_id": "on_1"}, "sender_type": "user", "tenant_key": "t1"}
    return event("im.message.receive_v1", {"sender": sender, "message": message})


def accepted(payload: dict[str, Any]) -> MessageReceived:
    parsed = parse_event(APP, payload)
    assert isinstance(parsed, MessageReceived), parsed
    return parsed


def misshapen(payload: dict[str, Any]) -> str:
    parsed = parse_event(APP, payload)
    assert isinstance(parsed, Misshapen), parsed
    return parsed.field


def test_a_message_whole() -> None:
    got = accepted(received(thread_id="omt_1", parent_id="om_0", root_id="om_r"))
    assert (got.message_id, got.chat_id, got.thread_id, got.parent_id) == ("om_1", "oc_1", "omt_1", "om_0")
    assert (got.private, got.text, got.created_at, got.message_type) == (False, "@_user_1 hello", 1609073151345, "text")
    assert (got.sender.open_id, got.sender.kind, got.sender.tenant_key) == ("ou_1", SenderKind.USER, "t1")
    assert [(one.key, one.open_id, one.name) for one in got.mentions] == [("@_user_1", "ou_bot", "Bot")]
    assert not got.mentions_all
    envelope = got.envelope
    assert (envelope.app, envelope.event_id, envelope.tenant_key) == (APP, "ev-1", "t1")
    assert (envelope.event_type, envelope.created_at) == ("im.message.receive_v1", 1608725989000)


def test_root_and_parent_make_no_thread() -> None:
    assert accepted(received(root_id="om_r", parent_id="om_r")).thread_id is None
    assert accepted(received(thread_id="")).thread_id is None


@pytest.mark.parametrize(
    ("chat_type", "private"), [("p2p", True), ("group", False), ("topic_group", False), ("private", False)]
)
def test_only_p2p_is_private(chat_type: str, private: bool) -> None:
    assert accepted(received(chat_type=chat_type)).private is private


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("user", SenderKind.USER),
        ("bot", SenderKind.BOT),
        ("app", SenderKind.BOT),
        ("anonymous", SenderKind.UNKNOWN),
        (None, SenderKind.UNKNOWN),
        (7, SenderKind.UNKNOWN),
    ],
)
def test_who_writes(said: object, kind: SenderKind) -> None:
    payload = received()
    payload["event"]["sender"]["sender_type"] = said
    assert accepted(payload).sender.kind is kind


@pytest.mark.parametrize("mentions", [None, []])
@pytest.mark.parametrize(
    ("text", "everybody"), [("@_all lunch", True), ("x@_allies", False), ("@_all", True), ("hi", False)]
)
def test_everybody_named_in_the_words_alone(mentions: object, text: str, everybody: bool) -> None:
    assert accepted(received(text, mentions=mentions)).mentions_all is everybody


def test_everybody_named_in_an_entry() -> None:
    entry = {"key": "@_all", "name": "所有人", "id": {"open_id": "", "union_id": "", "user_id": ""}}
    bot = {"key": "@_user_1", "id": {"open_id": "ou_bot"}, "name": "Bot"}
    got = accepted(received("@_all @_user_1 hi", mentions=[entry, bot]))
    assert got.mentions_all
    assert [one.open_id for one in got.mentions] == ["ou_bot"]


def test_everybody_named_in_a_post_but_not_in_its_code() -> None:
    def post(node: dict[str, object]) -> str:
        return json.dumps({"title": "", "content": [[node]]})

    assert accepted(received(post({"tag": "at", "user_id": "@_all"}), "post", mentions=[])).mentions_all
    assert accepted(received(post({"tag": "text", "text": "@_all"}), "post", mentions=[])).mentions_all
    assert not accepted(received(post({"tag": "code_block", "text": "@_all"}), "post", mentions=[])).mentions_all


@pytest.mark.parametrize(
    "without", ["mentions", "create_time", "parent_id", "root_id", "thread_id", "update_time", "content"]
)
def test_optional_fields_may_be_missing_or_null(without: str) -> None:
    payload = received()
    payload["event"]["message"].pop(without, None)
    accepted(payload)
    payload["event"]["message"][without] = None
    accepted(payload)


@pytest.mark.parametrize("sender", [None, {}, {"sender_id": None, "sender_type": "user"}, {"sender_id": {}}])
def test_a_sender_may_be_unknown(sender: object) -> None:
    payload = received()
    payload["event"]["sender"] = sender
    assert accepted(payload).sender.open_id is None


@pytest.mark.parametrize("field", ["message_id", "chat_id", "chat_type", "message_type"])
@pytest.mark.parametrize("value", [None, 7, [], {}, "", "a b", "x" * 121, "ü", "\x00"])
def test_needed_fields_of_a_message(field: str, value: object) -> None:
    payload = received()
    payload["event"]["message"][field] = value
    assert misshapen(payload) == f"event.message.{field}"
    del payload["event"]["message"][field]
    assert misshapen(payload) == f"event.message.{field}"


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("event",), [], "event"),
        (("event",), None, "event"),
        (("event", "message"), "om_1", "event.message"),
        (("event", "sender"), [], "event.sender"),
        (("event", "sender", "sender_id"), "ou_1", "event.sender.sender_id"),
        (("event", "sender", "sender_id", "open_id"), 5, "event.sender.sender_id.open_id"),
        (("event", "message", "mentions"), {}, "event.message.mentions"),
        (("event", "message", "mentions"), ["x"], "event.message.mentions"),
        (("event", "message", "mentions"), [{"id": {}}], "event.message.mentions"),
        (("event", "message", "thread_id"), 5, "event.message.thread_id"),
        (("event", "message", "content"), {"text": "hi"}, "event.message.content"),
        (("event", "message", "content"), "not json", "event.message.content"),
        (("event", "message", "content"), "[" * 100_000, "event.message.content"),
        (("event", "message", "content"), '{"text":5}', "event.message.content"),
        (("header", "event_id"), None, "header.event_id"),
        (("header", "event_type"), 5, "header.event_type"),
        (("header",), "x", "header.event_id"),
    ],
)
def test_wrong_types_name_their_field(path: tuple[str, ...], value: object, field: str) -> None:
    payload = received()
    holder = payload
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    assert misshapen(payload) == field


def test_an_event_without_an_id_is_the_same_event_again() -> None:
    payload = received()
    del payload["header"]["event_id"]
    first, again = parse_event(APP, payload), parse_event(APP, copy.deepcopy(payload))
    assert first.envelope.event_id == again.envelope.event_id
    payload["event"]["message"]["message_id"] = "om_2"
    assert parse_event(APP, payload).envelope.event_id != first.envelope.event_id
    assert len(first.envelope.event_id) <= 120


def test_the_body_digest_is_of_the_event_alone() -> None:
    one, other = received(), received()
    other["header"]["token"] = "rotated"
    other["event"] = dict(reversed(other["event"].items()))
    assert parse_event(APP, one).envelope.body_digest == parse_event(APP, other).envelope.body_digest
    other["event"]["message"]["content"] = '{"text":"something else"}'
    assert parse_event(APP, one).envelope.body_digest != parse_event(APP, other).envelope.body_digest


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("1609073151345", 1609073151345),
        (1609073151345, 1609073151345),
        ("1609073151", 1609073151000),
        ("1603977298000000", 1603977298000),
        ("", None),
        ("soon", None),
        ("-1609073151345", None),
        ("0", None),
        (True, None),
        (1.5e12, None),
        ("9" * 400, None),
        ("١٦٠٩٠٧٣١٥١٣٤٥", None),
    ],
)
def test_times_are_told_by_their_size(said: object, moment: int | None) -> None:
    assert accepted(received(create_time=said)).created_at == moment


def test_characters_that_nobody_sees_are_gone() -> None:
    raw = '{"text":"a\x00b\x1f\\u0007c\\ud800d\\r\\ne\\tf \\ud83d\\ude00"}'
    payload = received()
    payload["event"]["message"]["content"] = raw
    payload["event"]["message"]["mentions"][0]["name"] = "A\n\x1b[31mB"
    got = accepted(payload)
    assert got.text == "abcd\ne\tf 😀"
    assert got.mentions[0].name == "A [31mB"


def test_the_same_content_has_the_same_digest_however_it_is_written() -> None:
    def digest(content: str) -> str:
        return accepted(received(content, "post")).content_digest

    sent = '{"title":"","content":[[{"tag":"text","text":"hi"}]]}'
    shown = '{"content": [[{"text": "hi", "style": ["bold"], "tag": "text"}]], "title": ""}'
    assert digest(sent) == digest(shown) == digest(f'{{"zh_cn":{sent}}}')
    assert digest(sent) != digest(sent.replace("hi", "ho"))
    assert accepted(received("hi")).content_digest != accepted(received('{"text":"hi"}', "novelty")).content_digest


@pytest.mark.parametrize("body", [{"message_id": "om_1", "chat_id": "oc_1", "recall_type": "message_owner"}])
def test_a_recall(body: dict[str, object]) -> None:
    got = parse_event(APP, event("im.message.recalled_v1", body))
    assert isinstance(got, MessageRecalled)
    assert (got.message_id, got.chat_id) == ("om_1", "oc_1")
    assert misshapen(event("im.message.recalled_v1", {"chat_id": "oc_1"})) == "event.message_id"


@pytest.mark.parametrize(("said", "external"), [(True, True), (False, False), (None, None), ("true", None)])
def test_the_bot_comes(said: object, external: bool | None) -> None:
    got = parse_event(APP, event("im.chat.member.bot.added_v1", {"chat_id": "oc_1", "external": said}))
    assert isinstance(got, BotAdded)
    assert (got.chat_id, got.external) == ("oc_1", external)


def test_the_bot_goes_and_a_chat_ends() -> None:
    assert isinstance(parse_event(APP, event("im.chat.member.bot.deleted_v1", {"chat_id": "oc_1"})), BotRemoved)
    assert isinstance(parse_event(APP, event("im.chat.disbanded_v1", {"chat_id": "oc_1"})), ChatDisbanded)
    assert misshapen(event("im.chat.disbanded_v1", {"chat_id": 5})) == "event.chat_id"


@pytest.mark.parametrize("kind", ["im.message.reaction.created_v1", "im.message.message_read_v1", "never.heard_v9"])
@pytest.mark.parametrize("body", [{}, None, "x", []])
def test_everything_else_is_of_no_interest(kind: str, body: object) -> None:
    got = parse_event(APP, event(kind, body))
    assert isinstance(got, Unwanted)
    assert got.envelope.event_type == kind


def test_the_old_envelope() -> None:
    payload: dict[str, Any] = {
        "ts": "1502199207.7171419",
        "uuid": "bc447199",
        "token": "vtok",
        "type": "event_callback",
        "event": {"type": "p2p_chat_create", "app_id": "cli_own", "tenant_key": "t1"},
    }
    got = parse_event(APP, payload)
    assert isinstance(got, Unwanted)
    assert (got.envelope.event_id, got.envelope.event_type) == ("bc447199", "p2p_chat_create")
    assert (got.envelope.created_at, got.envelope.tenant_key) == (1502199207717, "t1")
    payload["event"]["type"] = "im.message.receive_v1"
    assert isinstance(parse_event(APP, payload), Unwanted)
    assert misshapen({"event": {"type": "x"}}) == "uuid"
    assert misshapen({"uuid": "u-1"}) == "event.type"


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["om_1", "oc_1", "p2p"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=10,
)
FIELDS = (
    *("schema", "header", "event", "uuid", "ts", "type", "event_id", "event_type", "message", "sender", "sender_id"),
    *("message_id", "chat_id", "chat_type", "message_type", "content", "mentions", "key", "id", "open_id", "name"),
)
SHAPED = st.recursive(
    st.one_of(JSON, st.sampled_from(KNOWN)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6)),
    max_leaves=12,
)
RESULTS = (MessageReceived, MessageRecalled, BotAdded, BotRemoved, ChatDisbanded, Unwanted, Misshapen)


@unhurried
@given(st.dictionaries(st.sampled_from(FIELDS), SHAPED, max_size=6))
def test_no_json_makes_it_raise(payload: dict[str, object]) -> None:
    assert isinstance(parse_event(APP, payload), RESULTS)


@unhurried
@given(st.sampled_from(KNOWN), SHAPED)
def test_no_body_of_a_known_type_makes_it_raise(kind: str, body: object) -> None:
    assert isinstance(parse_event(APP, event(kind, body)), RESULTS)


@unhurried
@given(st.sampled_from(["text", "post", "interactive", "todo", "vote", "file", "novelty"]), JSON, st.text(max_size=5))
def test_no_content_makes_it_raise(message_type: str, content: object, tail: str) -> None:
    payload = received(json.dumps(content) + tail, "image")
    payload["event"]["message"]["message_type"] = message_type
    assert isinstance(parse_event(APP, payload), RESULTS)


@unhurried
@given(st.data())
def test_one_changed_field_is_never_worse_than_misshapen(data: st.DataObject) -> None:
    payload = received(thread_id="omt_1", parent_id="om_0")
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            places.append((value, key))
            if isinstance(inner, dict | list):
                walk(inner)

    walk(payload)
    holder, key = data.draw(st.sampled_from(places))
    holder[key] = data.draw(JSON)
    assert isinstance(parse_event(APP, payload), RESULTS)
