"""The pure parts of the local Lark: content, envelope, clock, limits."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.lark_double.changes import Changes
from providers.lark_double.clock import DoubleClock
from providers.lark_double.content import plain, read_back
from providers.lark_double.core import Core
from providers.lark_double.emojis import EMOJI_TYPES
from providers.lark_double.envelope import decrypt, encrypt, seal, sign
from providers.lark_double.errors import LarkError
from providers.lark_double.history import HistoryQuery, page
from providers.lark_double.limits import Limits
from providers.lark_double.messages import Draft, write
from providers.lark_double.model import App, Author, Chat, ChatForm, ChatMode, Knobs, Message, SenderKind

ALICE = Author(SenderKind.PERSON, "alice")
BOB = Author(SenderKind.PERSON, "bob")
KEY = "test-encrypt-key-0123456789abcdef"
SEALED = (
    "AAECAwQFBgcICQoLDA0OD79vjgL5NmGm/ETMaRM9Q8s0Mw7+ZTbefYcu2XfrluBq8t4+PHenSDe7dKmcza7yV4YlQOqKpQbGbjc4Lc+sfNl1"
    "c9kbF7PJSKPEKcFcE6J9"
)


def who(user_id: str) -> tuple[Author, str] | None:
    return {"ou_a": (ALICE, "Alice"), "ou_b": (BOB, "Bob")}.get(user_id)


@pytest.mark.parametrize(
    ("words", "shown", "named"),
    [
        ("plain", "plain", []),
        ('<at user_id="ou_a">Tom</at> hi', "@_user_1 hi", [ALICE]),
        (
            '<at user_id="ou_b"></at><at user_id="ou_a"></at><at user_id="ou_b">B</at>',
            "@_user_1@_user_2@_user_1",
            [BOB, ALICE],
        ),
        ("<at user_id='all'></at> lunch", "@_all lunch", []),
        ('<at user_id="ou_x">Nobody</at>', "@Nobody", []),
        ("<b>x</b> <i>y<u>z</u></i> <s>w</s>", "x yz w", []),
        ("<b>unbalanced", "<b>unbalanced", []),
        ("<b><i>crossed</b></i>", "<b><i>crossed</b></i>", []),
        ("a < b > c", "a < b > c", []),
        ("[t](https://u)", "[t](https://u)", []),
    ],
)
def test_text_as_it_reads_back(words: str, shown: str, named: list[Author]) -> None:
    content, mentions = read_back("text", json.dumps({"text": words}), who)
    assert json.loads(content) == {"text": shown}
    assert [mention.author for mention in mentions] == named


def test_a_post_reads_back_unwrapped_with_styles_and_keys() -> None:
    post = {
        "zh_cn": {
            "title": "T",
            "content": [
                [
                    {"tag": "text", "text": "a", "style": ["bold", "nonsense"], "un_escape": True},
                    {"tag": "a", "text": "t", "href": "https://u"},
                    {"tag": "at", "user_id": "ou_b"},
                    {"tag": "at", "user_id": "all"},
                ],
                [{"tag": "code_block", "language": "GO", "text": "x\n"}],
                [{"tag": "hr"}],
                [{"tag": "img", "image_key": "img_1"}],
                [],
            ],
        },
        "en_us": {"content": [[{"tag": "text", "text": "not shown"}]]},
    }
    content, mentions = read_back("post", json.dumps(post), who)
    assert json.loads(content) == {
        "title": "T",
        "content": [
            [
                {"tag": "text", "text": "a", "style": ["bold"]},
                {"tag": "a", "href": "https://u", "text": "t", "style": []},
                {"tag": "at", "user_id": "@_user_1", "user_name": "Bob", "style": []},
                {"tag": "at", "user_id": "@_all", "user_name": "all", "style": []},
            ],
            [{"tag": "code_block", "language": "GO", "text": "x\n"}],
            [{"tag": "hr"}],
            [{"tag": "img", "image_key": "img_1"}],
            [],
        ],
    }
    assert [mention.author for mention in mentions] == [BOB]
    assert plain("post", content) == "T\nat (https://u)@_user_1@_all\nx\n\n---\n[img]\n"


def test_markdown_reads_back_as_other_nodes() -> None:
    words = '**bold** [t](https://u)\n> quote\n- item\n---\n```GO\nx := 1\n```\n<at user_id="ou_a">A</at> bye'
    content, mentions = read_back("post", json.dumps({"zh_cn": {"content": [[{"tag": "md", "text": words}]]}}), who)
    paragraphs = json.loads(content)["content"]
    assert {node["tag"] for nodes in paragraphs for node in nodes} == {"text", "a", "hr", "code_block", "at"}
    assert [mention.author for mention in mentions] == [ALICE]
    assert "md" not in content
    assert "**" not in content


@given(st.lists(st.lists(st.text(), min_size=1), min_size=1))
def test_plain_nodes_read_back_as_they_were_sent(paragraphs: list[list[str]]) -> None:
    nodes = [[{"tag": "text", "text": words} for words in paragraph] for paragraph in paragraphs]
    content, _ = read_back("post", json.dumps({"zh_cn": {"content": nodes}}), who)
    assert [[node["text"] for node in nodes] for nodes in json.loads(content)["content"]] == paragraphs
    assert plain("post", content) == "\n".join("".join(paragraph) for paragraph in paragraphs)


def test_the_envelope_meets_the_documented_vectors() -> None:
    assert decrypt("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=", "test key") == "hello world"
    plain_challenge = '{"challenge":"ajls384kdjx98XX","token":"vtok-1","type":"url_verification"}'
    assert encrypt(plain_challenge, KEY, bytes(range(16))) == SEALED
    body = seal(json.loads(plain_challenge), KEY, bytes(range(16)))
    assert len(body) == 142
    wanted = "cbe519ca1f2dbe046604d171051efa7edc74d40ec71ebc3bea7130566f17aaf8"
    assert sign("1700000000", "nonce-abc", KEY, body) == wanted


@given(st.text(), st.text(min_size=1))
def test_what_is_encrypted_can_be_decrypted(words: str, key: str) -> None:
    assert decrypt(encrypt(words, key), key) == words


def test_the_emojis_are_those_that_the_documentation_lists() -> None:
    assert {"OK", "THUMBSUP", "DONE", "SMILE", "OnIt", "Typing", "GLANCE", "CrossMark", "18X", "2022"} <= EMOJI_TYPES
    assert len(EMOJI_TYPES) == 182


def frozen_clock() -> DoubleClock:
    return DoubleClock(1_700_000_000_000, 0.0)


def test_the_limits_that_lark_documents() -> None:
    clock = frozen_clock()
    limits = Limits(clock, Knobs())
    for _ in range(20):
        for _ in range(50):
            limits.call("cli_a", "send")
        with pytest.raises(LarkError) as refused:
            limits.call("cli_a", "send")
        assert refused.value.code == 99991400
        limits.call("cli_a", "get")
        limits.call("cli_b", "send")
        clock.advance(1)
    assert refused.value.retry_after_s == 1
    with pytest.raises(LarkError) as refused:
        limits.call("cli_a", "send")
    assert (refused.value.retry_after_s, refused.value.limit) == (40, 1000)
    for _ in range(5):
        limits.message("oc_1")
    with pytest.raises(LarkError) as refused:
        limits.message("oc_1")
    assert refused.value.code == 230020


async def test_the_clock_wakes_sleepers_when_it_is_moved() -> None:
    clock = frozen_clock()
    woken: list[int] = []
    changes = Changes()

    async def sleeper(seconds: int) -> None:
        await clock.sleep_until(1_700_000_000_000 + seconds * 1000)
        woken.append(seconds)
        changes.ring()

    async with asyncio.TaskGroup() as group:
        for seconds in (10, 20, 30):
            group.create_task(sleeper(seconds))
        await asyncio.sleep(0)
        clock.advance(20)
        await changes.until(lambda: len(woken) == 2, 5)
        assert sorted(woken) == [10, 20]
        clock.advance(10)
    assert clock.now() == 1_700_000_030_000


def test_the_clock_runs_at_its_scale() -> None:
    real = [100.0]
    clock = DoubleClock(0, 1.0, monotonic=lambda: real[0])
    real[0] += 1
    clock.set_scale(60)
    real[0] += 1
    assert clock.now() == 61_000
    clock.set_scale(0)
    real[0] += 1
    assert clock.now() == 61_000


@given(
    acts=st.lists(st.tuples(st.integers(0, 5_000), st.booleans(), st.booleans(), st.booleans()), max_size=30),
    page_size=st.integers(1, 5),
    descending=st.booleans(),
    window=st.tuples(st.none() | st.integers(0, 6), st.none() | st.integers(0, 6)),
)
def test_pages_of_a_history_are_what_a_plain_search_finds(
    acts: list[tuple[int, bool, bool, bool]], page_size: int, descending: bool, window: tuple[int | None, int | None]
) -> None:
    core = Core(frozen_clock())
    app = App("cli_a", "secret", "Bot", "tenant", "ou_bot")
    core.world.add_app(app)
    core.world.add_person("alice")
    chat = core.world.add_chat(Chat("oc_1", "dev", ChatMode.GROUP, ChatForm.CHAT, False, ["alice"], ["cli_a"], None, 0))
    written: list[Message] = []
    for at, in_thread, deleted, hidden in acts:
        draft = Draft("text", "{}", "{}", (), at=at)
        parent = written[0] if in_thread and written else None
        written.append(write(core.world, ALICE, chat, draft, parent=parent, in_thread=in_thread))
        written[-1].deleted = deleted
        written[-1].readable_at = 1 << 62 if hidden else 0
    threads = {message.thread_id for message in written} - {None}
    for container_type, container_id in [("chat", "oc_1"), *(("thread", str(thread)) for thread in threads)]:
        start_s, end_s = window if container_type == "chat" else (None, None)
        roots = set(core.world.thread_roots.values())
        wanted = sorted(
            (message.create_time, message.order)
            for message in written
            if not message.deleted
            and message.readable_at == 0
            and (start_s is None or message.create_time // 1000 >= start_s)
            and (end_s is None or message.create_time // 1000 <= end_s)
            and (
                message.thread_id == container_id
                if container_type == "thread"
                else message.thread_id is None or message.message_id in roots
            )
        )
        seen: list[tuple[int, int]] = []
        token = None
        while True:
            query = HistoryQuery(container_type, container_id, start_s, end_s, descending, page_size, token)
            found = page(core.world, app, query)
            assert len(found.messages) <= page_size
            seen += [(message.create_time, message.order) for message in found.messages]
            token = found.next_token
            if token is None:
                break
        assert seen == (wanted[::-1] if descending else wanted)
