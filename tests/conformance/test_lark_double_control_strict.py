"""The control API takes nothing that it does not know, says what is possible instead, and changes nothing then."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator
from copy import deepcopy
from dataclasses import asdict, dataclass, fields

import httpx
import pytest

from providers.lark_double.control_table import ACTIONS, ASKING, LOOKS, PUSH_STATES, fields_of
from providers.lark_double.faults import FAULTY_OPERATIONS, USES, FaultKind
from providers.lark_double.model import Knobs
from providers.lark_double.operations import Operation
from providers.lark_double.server import LarkDouble
from tests.support.double import APP_ID, running

ALTERED = {"drop": ["event.message.mentions"], "put": {"event.x": 1}}
EXAMPLES: dict[str, dict] = {
    "app": {
        "app_id": APP_ID,
        "app_secret": "other",
        "encrypt_key": "",
        "verification_token": "t",
        "webhook_url": None,
        "name": "Other",
        "hears_all_group_messages": True,
        "hears_bots": True,
        "hears_at_all": False,
        "sees_user_ids": False,
        "enabled": True,
        "echo": "as_user",
    },
    "set_webhook": {"app": APP_ID, "url": None},
    "person": {"key": "bob", "name": "Bob", "outside": True},
    "open_id": {"app": APP_ID, "who": "alice"},
    "chat": {
        "name": "ops",
        "people": ["alice", "carol"],
        "bots": APP_ID,
        "mode": "topic",
        "form": "thread",
        "external": True,
    },
    "private_chat": {"person": "alice", "app": APP_ID},
    "say": {
        "chat": "dev",
        "person": "alice",
        "text": "see @{alice}",
        "mention": [APP_ID],
        "mention_all": "entry",
        "reply_to": "$message",
        "in_thread": True,
        "at": 1_700_000_000_000,
        **ALTERED,
        "headers": {"X-Lark-Signature": "no"},
        "silent": False,
    },
    "say_post": {
        "chat": "dev",
        "person": "alice",
        "paragraphs": [[{"tag": "text", "text": "see"}, {"tag": "at", "user_id": APP_ID}]],
        "title": "",
        "reply_to": "$message",
        "in_thread": False,
        "at": 1_700_000_000_000,
    },
    "bot_says": {"chat": "dev", "app": APP_ID, "text": "hello", "mention": "alice"},
    "edit": {"message": "$message", "text": "changed"},
    "recall": {"message": "$message", "recall_type": "group_owner"},
    "delete": {"message": "$message"},
    "react": {"message": "$message", "who": "alice", "emoji_type": "THUMBSUP"},
    "unreact": {"reaction_id": "$reaction"},
    "add_bot": {"chat": "empty", "app": APP_ID, "by": "alice"},
    "remove_bot": {"chat": "dev", "app": APP_ID, "by": "alice"},
    "dissolve": {"chat": "dev", "by": "alice", "keep_history": False},
    "forget_chat": {"chat": "dev"},
    "fault": {
        "kind": "error",
        "operations": ["send", "reply"],
        "app": APP_ID,
        "chat": "dev",
        "times": None,
        "skip": 0,
        "code": 230020,
        "http_status": 400,
    },
    "release": {"fault_id": "$fault", "go_on": False},
    "clear_faults": {},
    "advance": {"seconds": 0.5},
    "scale": {"scale": 2},
    "expire_tokens": {"app": APP_ID},
    "forbid_history": {"app": APP_ID, "chat": "dev", "forbidden": True},
    "mute": {"chat": "dev", "muted": True},
    "hide": {"message": "$message"},
    "reveal": {"message": "$message"},
    "disable": {"app": APP_ID, "disabled": True},
    "knobs": {
        "uuid_repeat": "refused",
        "limits": False,
        "bare_429": True,
        "fresh_repush": False,
        "wall_timestamps": True,
        "push_timeout_s": 2,
        "challenge_timeout_s": 0.5,
        "repush_after_s": [1, 2.5],
        "chat_per_second": 7,
        "app_per_second": 8,
        "app_per_minute": 9,
        "max_edits": 0,
    },
    "offline": {},
    "online": {},
    "push_event": {
        "app": APP_ID,
        "event_type": "x_v1",
        "event": {"a": 1},
        "event_id": "e",
        "at": 1,
        **ALTERED,
        "headers": {},
    },
    "push_message": {"app": APP_ID, "message": "$message", "event_id": "e", **ALTERED},
    "push_again": {"push": "$push", "event_id": "e", "message_id": "om_other", "new_event": True},
    "hold_pushes": {"app": APP_ID},
    "release_pushes": {"app": APP_ID, "reverse": True},
    "repush": {"app": APP_ID, "timeout_s": 1},
    "challenge": {"app": APP_ID, "challenge": "c", "token": ""},
    "visible": {"chat": "dev", "by_app": False, "sender": "alice", "present": True},
    "replies": {"message": "$message"},
    "requests": {
        "operations": "send",
        "app": APP_ID,
        "chat": "dev",
        "committed": True,
        "finished": True,
        "message": "om",
    },
    "sends": {"app": APP_ID, "chat": "dev", "committed": True, "finished": True, "message": "om"},
    "reads": {"app": APP_ID, "chat": "dev", "committed": True, "finished": True, "message": "om"},
    "pushes": {"app": APP_ID, "event_type": "x", "message": "om", "state": "unsent"},
    "reactions": {"message": "$message", "app": APP_ID},
    "held": {"fault_id": "$fault"},
    "wait": {"for": "visible", "chat": "dev", "count": 1, "timeout_s": 5},
    "dump": {},
    "settings": {},
    "now": {},
}
"""Every action with every field that goes with the others."""

NOT_TOGETHER = {"fault": {"seconds", "message_id"}}
REFERENCES = {
    "app": "app",
    "bots": "app",
    "chat": "chat",
    "person": "person",
    "by": "person",
    "who": "person or app",
    "sender": "person or app",
    "mention": "person or app",
    "message": "message",
    "reply_to": "message",
    "reaction_id": "reaction",
    "push": "push",
    "fault_id": "fault",
}
FILTERS = {(action, "message") for action in ("requests", "sends", "reads", "pushes")}
"""Ids that may be of messages that are not there any more, or never were."""


@dataclass
class Scene:
    """A double with something of everything, its clock stopped, and a client of its control API."""

    double: LarkDouble
    http: httpx.AsyncClient
    there: dict[str, str]

    async def post(self, action: str, body: dict, **query: str) -> httpx.Response:
        return await self.http.post(f"/_control/{action}", content=json.dumps(body), params=query)

    def example(self, action: str) -> dict:
        body = deepcopy(EXAMPLES[action])
        return {name: self.there.get(value, value) if isinstance(value, str) else value for name, value in body.items()}

    def state(self) -> str:
        """All that an action could change."""
        world = self.double.world
        return repr(
            (
                self.double.dump(),
                self.double.clock.scale,
                asdict(self.double.knobs),
                *(sorted(kept.items()) for kept in (world.people, world.chats, world.messages, world.reactions)),
                sorted(world.apps.items()),
                sorted(self.double.faults.armed.items()),
            )
        )

    async def refused(self, action: str, body: dict, *words: str, status: int = 400) -> None:
        """It is refused in these words, and nothing has changed."""
        before = self.state()
        answer = await self.post(action, body)
        assert answer.status_code == status, (body, answer.text)
        error = answer.json()["error"]
        assert error["code"] == {400: "invalid_request", 404: "not_found"}[status]
        for word in words:
            assert word in error["message"], (body, error)
        assert self.state() == before, body


@pytest.fixture(scope="module")
def no_tls() -> ssl.SSLContext:
    """Nothing here speaks TLS; a client that makes a context of its own takes most of a test's time for it."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.fixture
async def scene(no_tls: ssl.SSLContext) -> AsyncGenerator[Scene]:
    async with (
        running() as double,
        httpx.AsyncClient(base_url=double.control_url, trust_env=False, verify=no_tls) as http,
    ):
        double.set_scale(0)
        double.create_chat("empty")
        message = double.say("dev", "alice", "hello", mention=[APP_ID])
        there = {
            "$message": message.message_id,
            "$reaction": double.react(message, "alice", "OK").reaction_id,
            "$push": double.pushes()[0].push_id,
            "$fault": double.fault("hold_before", "send").fault_id,
        }
        yield Scene(double, http, there)


def test_the_tables_are_whole() -> None:
    assert set(EXAMPLES) == set(ACTIONS)
    for action, example in EXAMPLES.items():
        assert set(example) == set(fields_of(action, example.get("for"))) - NOT_TOGETHER.get(action, set()) - (
            {"by_app", "sender", "present"} if action == "wait" else set()
        )
    assert set(ACTIONS["knobs"]) == {field.name for field in fields(Knobs)}
    assert set(FAULTY_OPERATIONS) == {operation.value for operation in Operation} - {"unknown"}
    assert PUSH_STATES == ("pending", "held", "delivered", "exhausted", "unsent")


async def test_the_table_has_the_actions_that_there_are(scene: Scene) -> None:
    answer = await scene.post("nonsense", {})
    assert answer.status_code == 404
    listed = answer.json()["error"]["message"].partition("there are: ")[2].split(", ")
    assert listed == sorted(ACTIONS)


@pytest.mark.parametrize("action", ACTIONS)
async def test_every_field_is_taken(scene: Scene, action: str) -> None:
    answer = await scene.post(action, scene.example(action))
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("action", ACTIONS)
async def test_an_unknown_field_is_refused(scene: Scene, action: str) -> None:
    known = list(fields_of(action, EXAMPLES[action].get("for")))
    possible = f"its fields are: {', '.join(known)}" if known else "it takes none"
    await scene.refused(action, {**scene.example(action), "chatt": "dev"}, f"{action} has no field 'chatt'", possible)


@pytest.mark.parametrize("action", [action for action, taken in ACTIONS.items() if taken])
async def test_a_wrong_value_is_refused(scene: Scene, action: str) -> None:
    body = scene.example(action)
    for name, field in fields_of(action, body.get("for")).items():
        wrong = [-1, -0.5, True, "", [[1]], [{}], {"a b": 1}, {"a": [float("nan")]}]
        wrong += [] if field.nullable else [None]
        for value in wrong:
            if (value is True and "true or false" in field.must_be) or (value == "" and field.must_be == "text"):
                continue
            if field.must_be == "an object" and value == {"a b": 1}:
                continue
            if value == "" and field.must_be.startswith("text; "):
                continue
            await scene.refused(action, {**body, name: value}, f"{name} ")
        for value in (float("nan"), float("inf"), float("-inf"), "\ud800"):
            await scene.refused(action, {**body, name: value}, f"{name} has a number that is not finite")


NUMBERS = [
    (action, name)
    for action in ACTIONS
    for name, field in fields_of(action, EXAMPLES[action].get("for")).items()
    if "number" in field.must_be and "array" not in field.must_be
]


@pytest.mark.parametrize(("action", "name"), NUMBERS)
async def test_a_number_is_in_its_range(scene: Scene, action: str, name: str) -> None:
    body = scene.example(action)
    must_be = fields_of(action, body.get("for"))[name].must_be
    for value in ("1", 10**30, 10**400, *([1.5] if "whole" in must_be else [])):
        await scene.refused(action, {**body, name: value}, f"{name} must be {must_be}", "from")


@pytest.mark.parametrize("action", [a for a, taken in ACTIONS.items() if any(f.required for f in taken.values())])
async def test_a_missing_field_is_named(scene: Scene, action: str) -> None:
    body = scene.example(action)
    for name, field in fields_of(action, body.get("for")).items():
        if field.required:
            rest = {key: value for key, value in body.items() if key != name}
            await scene.refused(action, rest, f"{name} is missing")


@pytest.mark.parametrize("action", [action for action, taken in ACTIONS.items() if REFERENCES.keys() & taken.keys()])
async def test_what_is_not_there_is_said_to_be_unknown(scene: Scene, action: str) -> None:
    body = scene.example(action)
    for name in ACTIONS[action]:
        if name not in REFERENCES or (action, name) in FILTERS:
            continue
        words = f"{name}: there is no {REFERENCES[name]} 'nobody'"
        await scene.refused(action, {**body, name: "nobody"}, words, status=404)
        if name in {"bots", "mention"}:
            await scene.refused(action, {**body, name: ["alice", "nobody"]}, f"{name}: there is no", status=404)


@pytest.mark.parametrize(
    ("action", "body", "words"),
    [
        ("fault", {"kind": "nonsense"}, ["kind must be one of", *(kind.value for kind in FaultKind)]),
        (
            "fault",
            {"kind": "hold_before", "operations": ["send", "sned"]},
            ["operations must be one of", *FAULTY_OPERATIONS],
        ),
        ("fault", {"kind": "hold_before", "operations": "unknown"}, ["operations must be one of"]),
        ("fault", {"kind": "hold_before", "operations": []}, ["operations must be one of"]),
        ("fault", {"kind": "error"}, ["code is missing"]),
        ("fault", {"kind": "delay_before"}, ["seconds is missing"]),
        ("fault", {"kind": "delay_after", "times": 0, "seconds": 1}, ["times must be"]),
        ("requests", {"operations": ["sned"]}, ["operations must be one of", "send"]),
        ("knobs", {"limits": False, "max_edits": -1}, ["max_edits must be a whole number from 0"]),
        ("knobs", {"max_edits": 1, "uuid_repeat": "never"}, ["original, refused, ignored"]),
        ("knobs", {"limits": False, "limit": True}, ["knobs has no field 'limit'", *ACTIONS["knobs"]]),
        ("knobs", {"push_timeout_s": True}, ["push_timeout_s must be a number"]),
        ("knobs", {"repush_after_s": [1, "2"]}, ["repush_after_s must be an array"]),
        ("knobs", {"repush_after_s": [1, -2]}, ["repush_after_s must be an array"]),
        ("wait", {"for": "rain"}, ["for must be one of", *LOOKS]),
        ("wait", {"for": "rain", "chat": "dev"}, ["for must be one of", *LOOKS]),
        ("wait", {"chat": "dev"}, ["for is missing", *LOOKS]),
        ("wait", {"for": "replies", "chat": "dev"}, ["wait has no field 'chat'", "for, count, timeout_s, message"]),
        ("wait", {"for": "visible"}, ["chat is missing"]),
        ("wait", {"for": ["visible"], "chat": "dev"}, ["for must be one of"]),
        ("forbid_history", {}, ["app or chat is missing"]),
        ("app", {"app_id": "cli_new"}, ["app_secret is missing"]),
        ("app", {"app_id": APP_ID, "enabled": False, "echo": "loud"}, ["echo must be one of: none, app"]),
        ("person", {"key": "alice", "name": "Alice"}, ["'alice' is there already as 'alice'"]),
        ("person", {"key": "alice", "outside": True}, ["'alice' is there already"]),
        ("say", {"chat": "dev", "person": "alice", "text": "x", "in_thread": True}, ["in_thread needs reply_to"]),
        ("say", {"chat": "empty", "person": "alice", "text": "x", "reply_to": "$message"}, ["of the same chat"]),
        ("set_webhook", {"app": APP_ID, "url": "127.0.0.1:8080"}, ["url must be an http:// or https:// URL"]),
        ("set_webhook", {"app": APP_ID, "url": "http://127.0.0.1:x/"}, ["url must be an http:// or https:// URL"]),
        ("set_webhook", {"app": APP_ID, "url": "http:///lark"}, ["url must be an http:// or https:// URL"]),
        ("push_event", {"app": APP_ID, "event_type": "x", "headers": {"A": "b\r\nC: d"}}, ["headers must be"]),
        ("push_event", {"app": APP_ID, "event_type": "x", "headers": {"A b": "c"}}, ["headers must be"]),
        ("push_event", {"app": APP_ID, "event_type": "x", "headers": {"A": 1}}, ["headers must be"]),
        ("react", {"message": "$message", "who": "alice", "emoji_type": "ok"}, ["emoji_type must be one of", "OK"]),
        ("chat", {"name": "x", "people": ["zoe", 7]}, ["people must be"]),
        ("say_post", {"chat": "dev", "person": "alice", "paragraphs": []}, ["paragraphs must be"]),
        ("say_post", {"chat": "dev", "person": "alice", "paragraphs": [["x"]]}, ["paragraphs must be"]),
        ("now", {"x" * 5000: 1}, ["now has no field 'xxx", "it takes none"]),
        ("now", {"\ud800": 1}, ["now has no field"]),
    ],
)
async def test_what_is_possible_is_said(scene: Scene, action: str, body: dict, words: list[str]) -> None:
    body = {name: scene.there.get(value, value) if isinstance(value, str) else value for name, value in body.items()}
    await scene.refused(action, body, *words)


@pytest.mark.parametrize("kind", FaultKind)
async def test_a_fault_is_told_only_what_it_uses(scene: Scene, kind: FaultKind) -> None:
    told = {"seconds": 1, "code": 230020, "http_status": 400, "message_id": "om_x"}
    used = USES.get(kind, frozenset())
    good = {"kind": kind.value, **{name: told[name] for name in used}}
    for name in told.keys() - used:
        await scene.refused("fault", {**good, name: told[name]}, f"{name} does nothing with {kind.value}")
    assert (await scene.post("fault", good)).status_code == 200


async def test_unknown_people_in_what_is_said_are_refused(scene: Scene) -> None:
    say = {"chat": "dev", "person": "alice"}
    words = "there is no person or app 'zoe'; there are: alice"
    await scene.refused("say", {**say, "text": "hi @{zoe}"}, f"text: {words}", status=404)
    post = {**say, "paragraphs": [[{"tag": "at", "user_id": "zoe"}]]}
    await scene.refused("say_post", post, f"paragraphs: {words}", status=404)
    await scene.refused("chat", {"name": "x", "people": ["zoe"], "bots": ["cli_x"]}, "there is no app", status=404)


@pytest.mark.parametrize("raw", [b"{", b"[]", b"7", b'"x"', b"null", b"\xff", b"[" * 100_000, b"9" * 5000])
async def test_a_body_that_is_no_object_is_refused(scene: Scene, raw: bytes) -> None:
    answer = await scene.http.post("/_control/now", content=raw)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert "the body must be a JSON object" in answer.json()["error"]["message"]


async def test_a_post_with_a_query_is_refused(scene: Scene) -> None:
    answer = await scene.post("clear_faults", {}, fault_id="x")
    assert answer.status_code == 400
    assert "in the body" in answer.json()["error"]["message"]
    assert scene.double.faults.armed


@pytest.mark.parametrize("action", [action for action in ACTIONS if action not in ASKING])
async def test_what_changes_something_does_not_answer_get(scene: Scene, action: str) -> None:
    before = scene.state()
    answer = await scene.http.get(f"/_control/{action}")
    assert answer.status_code == 400
    assert f"{action} changes something: POST it" in answer.json()["error"]["message"]
    assert scene.state() == before


@pytest.mark.parametrize("action", ASKING)
async def test_asking_by_get_takes_every_field(scene: Scene, action: str) -> None:
    query = {
        name: json.dumps(value) if value is True or value is False else value
        for name, value in scene.example(action).items()
    }
    answer = await scene.http.get(f"/_control/{action}", params=query)
    posted = await scene.post(action, scene.example(action))
    assert (answer.status_code, answer.json()) == (200, posted.json())


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("visible?chat=dev&present=yes", "present must be true or false"),
        ("visible?chat=dev&chat=dev", "chat is given more than once"),
        ("visible?chat=dev&chatt=dev", "visible has no field 'chatt'"),
        ("visible?", "chat is missing"),
        ("wait?for=visible&chat=dev&count=many", "count must be a whole number"),
        ("wait?for=visible&chat=dev&count=NaN", "count has a number that is not finite"),
        ("wait?for=visible&chat=dev&timeout_s=-1", "timeout_s must be a number from 0"),
        ("requests?operations=send&operations=sned", "operations must be one of"),
    ],
)
async def test_asking_wrongly_by_get(scene: Scene, path: str, words: str) -> None:
    answer = await scene.http.get(f"/_control/{path}")
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


async def test_several_operations_by_get(scene: Scene) -> None:
    answer = await scene.http.get("/_control/requests?operations=send&operations=reply")
    assert answer.json() == {"result": []}


async def test_a_known_app_is_changed(scene: Scene) -> None:
    changed = {"app_secret": "s2", "encrypt_key": "k2", "verification_token": "v2", "name": "N2"}
    await scene.post("app", {"app_id": APP_ID, "webhook_url": "http://127.0.0.1:1/x", **changed})
    app = scene.double.app_of(APP_ID)
    assert {name: getattr(app, name) for name in changed} == changed
    assert app.webhook_url == "http://127.0.0.1:1/x"
    await scene.post("app", {"app_id": APP_ID, "webhook_url": None})
    assert (app.webhook_url, app.name) == (None, "N2")


async def test_a_person_who_is_there_is_taken_as_they_are(scene: Scene) -> None:
    assert (await scene.post("person", {"key": "alice", "name": "alice", "outside": False})).status_code == 200


async def test_knobs_are_set_as_given(scene: Scene) -> None:
    answer = await scene.post("knobs", EXAMPLES["knobs"])
    assert answer.json()["result"] == EXAMPLES["knobs"]
    assert scene.double.knobs.repush_after_s == (1.0, 2.5)
    assert isinstance(scene.double.knobs.push_timeout_s, float)


@pytest.mark.parametrize(
    ("kind", "operations", "words"),
    [
        ("hold_before", "sned", "there is no operation 'sned'; there are: token, send"),
        ("hold_before", ("send", "sned"), "there is no operation 'sned'"),
        ("hold_before", "", "there is no operation ''"),
        ("hold_before", ("unknown",), "there is no operation 'unknown'"),
        ("rain", "send", "there is no kind of fault 'rain'; there are: delay_before"),
    ],
)
async def test_a_fault_that_could_never_strike_is_an_error(
    scene: Scene, kind: str, operations: str | tuple[str, ...], words: str
) -> None:
    armed = dict(scene.double.faults.armed)
    with pytest.raises(ValueError, match=words):
        scene.double.fault(kind, operations)
    assert scene.double.faults.armed == armed
