"""Reported kinds of trouble with what is written, both ways through the whole product: X1, X4, X8, languages, 60 KB."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.support.reports import ASKER, QUESTION, Home, Scene, conclude, house, taken

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

LARK_LIMIT = 30 * 1024
CODE = "def f():\n\treturn '''a'''\n\n```not the end```\n~~~\n# 中文 ✅"
FAMILY = "done ✅ ⚠ a@b.com 🀄👨‍👩‍👧"
WRITINGS = {
    "Chinese": "结论：引擎的速度是三。请看《设计》第二节，“引号”与全角标点——都要到达。",
    "emoji": f"{FAMILY} 🏳️‍🌈 👍🏽 1️⃣ 🇨🇳 e\u0301",
    "right to left": "התשובה היא 42, בקובץ engine.py. الإجابة هي «محرك» في السطر 1.",
    "markup that calls": '<at user_id="all">everyone</at> @_all @all @_user_1 **not a call**',
    "control characters": "a\u0001b\u001bc\u202ed\u202ce\ttab",
    "math and shell": "a_b_c * d * e ~~x~~ $HOME `x` <script>alert(1)</script> &amp; 1 < 2 > 0",
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    async with house(tmp_path_factory.mktemp("content")) as it:
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def scene(home: Home) -> Scene:
    return await home.scene()


def squeezed(text: str) -> str:
    """Without what layout may change: white space."""
    return "".join(text.split())


async def told(home: Home, scene: Scene, text: str) -> list[str]:
    """What the chat shows of a peer's answer ``text``: its parts, all proved at the first reading."""
    scribe = await home.peer("scribe")
    question = scene.ask("ask scribe to say it")
    await conclude(scribe, scene, text)
    item = await scene.one(status="delivered")
    assert item["delivery"]["verification"] == "direct"
    _, *parts = scene.answers(question)
    assert len(parts) == item["delivery"]["parts"] == item["delivery"]["attempts"]
    return parts


async def test_x1_a_code_block_comes_in_whole(home: Home, scene: Scene) -> None:
    """X1: code in a post, with fences inside it, reaches the peer in a longer fence, character for character."""
    scribe = await home.peer("scribe")
    nodes = [{"tag": "at", "user_id": home.app.app_id}, {"tag": "text", "text": " ask scribe to review this:"}]
    code = [{"tag": "code_block", "language": "PYTHON", "text": CODE}]
    home.lark.say_post(scene.chat, ASKER, [nodes, code, [{"tag": "text", "text": "thanks"}]])
    item = await taken(scribe, scene)
    (message,) = item["brief"]["messages"]
    assert f"````PYTHON\n{CODE}\n````" in message["text"] or f"````python\n{CODE}\n````" in message["text"]
    assert message["text"].endswith("thanks")


async def test_x1_a_code_block_goes_out_whole(home: Home, scene: Scene) -> None:
    """X1: a fenced block with fences inside is one block of code in the chat, character for character."""
    (part,) = await told(home, scene, f"before\n\n````python\n{CODE}\n````\n\nafter")
    blocks = [node for node in posted(home, scene) if node["tag"] == "code_block"]
    assert [block["text"] for block in blocks] == [CODE]
    assert part.startswith("From scribe:")
    assert part.endswith("after")


def posted(home: Home, scene: Scene) -> list[dict[str, str]]:
    """The nodes of the chat's last post as they read back."""
    last = home.lark.visible(scene.chat, by_app=True)[-1]
    assert last.msg_type == "post"
    return [node for row in json.loads(last.content)["content"] for node in row]


async def test_x4_emoji_beside_an_address(home: Home, scene: Scene) -> None:
    """X4: "name@host" beside emoji is sent and shown as it is, in a question and in an answer."""
    scribe = await home.peer("scribe")
    question = scene.ask(f"ask scribe to say {FAMILY}")
    item = await conclude(scribe, scene, FAMILY)
    assert item["purpose"].endswith(FAMILY)
    assert (await scene.one(status="delivered"))["question"].endswith(FAMILY)
    assert scene.answers(question)[-1].endswith(FAMILY)
    assert [entry.code for entry in home.lark.sends(scene.chat)] == [0, 0]


@pytest.mark.parametrize("writing", WRITINGS)
async def test_x4_what_is_written_is_what_is_shown(home: Home, scene: Scene, writing: str) -> None:
    """X4: Chinese, emoji, right-to-left text and markup arrive as they are, control characters do not; no call."""
    text = WRITINGS[writing]
    (part,) = await told(home, scene, text)
    expected = "".join(char for char in text if char == "\t" or char >= " ")
    assert squeezed(part) == squeezed(f"From scribe:{expected}")
    last = home.lark.visible(scene.chat, by_app=True)[-1]
    assert home.lark.message_of(last.message_id).mentions == ()
    assert {node["tag"] for node in posted(home, scene)} <= {"text", "a", "code_block", "hr"}


@pytest.mark.parametrize("length", [2_000, 10_000, 60_000])
async def test_x8_length_is_bytes(home: Home, scene: Scene, length: int) -> None:
    """X8: 2k, 10k and 60k of Chinese and emoji: cut by serialised bytes, none refused, every character shown once."""
    unit = "长文本要按字节计算🀄👨‍👩‍👧e\u0301"
    text = "".join(f"{number:04d}{unit}" for number in range(length // (len(unit) + 4)))
    parts = await told(home, scene, text)
    whole = squeezed("".join(parts))
    assert whole == squeezed(f"From scribe:{text}")
    sizes = [len(json.dumps(entry.body, ensure_ascii=False).encode()) for entry in home.lark.sends(scene.chat)]
    assert max(sizes) <= LARK_LIMIT
    assert len(parts) >= len(text.encode()) // LARK_LIMIT + 1
    assert all(not part.startswith(("\u200d", "\ufe0f", "\u0301")) for part in parts), "cut inside a character"


@pytest.mark.parametrize("form", ["code", "lines", "one word"])
async def test_sixty_kilobytes_arrive_whole(home: Home, scene: Scene, form: str) -> None:
    """60 KB in one code block, in lines, and without any place to cut: nothing is lost, in order."""
    lines = [f"{number:05d} value = 引擎[{number}]  # ✅" for number in range(2_000)]
    text = {
        "code": "\n".join(["```python", *lines, "```"]),
        "lines": "\n".join(lines),
        "one word": "".join(f"{number:05d}字" for number in range(8_000)),
    }[form]
    assert len(text.encode()) > 60_000
    parts = await told(home, scene, text)
    whole = squeezed("".join(parts))
    numbers = range(8_000) if form == "one word" else range(2_000)
    positions = [whole.find(f"{number:05d}") for number in numbers]
    assert -1 not in positions
    assert positions == sorted(positions)
    shown = squeezed(text.removeprefix("```python").removesuffix("```"))
    assert whole.removeprefix(squeezed("From scribe:")) == shown


async def test_a_chinese_question_is_answered_in_chinese(home: Home, scene: Scene) -> None:
    """Chinese in, Chinese out: the question in the inbox, the place in the code, the handover's words."""
    question = scene.ask("类 Engine 定义在哪里？")
    item = await scene.one(status="delivered")
    assert item["question"] == "类 Engine 定义在哪里？"
    (said,) = scene.answers(question)
    assert "定义在" in said
    assert "engine.py:1@" in said
    other = await home.scene()
    await home.peer("scribe")
    handed = other.ask("请 scribe 写一份说明")
    (notice,) = await other.answered(handed)
    assert notice.startswith("已转给 scribe 处理。")


async def test_a_question_from_right_to_left(home: Home, scene: Scene) -> None:
    """Hebrew and Arabic around the same names: found, and the question stays as it was written."""
    asked = f"איפה מוגדר Engine? أين؟ {QUESTION}"
    question = scene.ask(asked)
    item = await scene.one(status="delivered")
    assert item["question"] == asked
    assert "engine.py:1@" in scene.answers(question)[0]
