"""Reported kinds of trouble with mentions, other bots, echoes and threads, through the product: M1, M3, M5, M8, T1."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from providers.lark_double.model import EchoShape
from tests.support.reports import ASKER, QUESTION, Home, Scene, conclude, house

pytestmark = [pytest.mark.process, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

PLACE = "engine.py:1@"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Home]:
    """Both apps hear every message of their groups, so that what is not for them is theirs to leave alone."""
    async with house(tmp_path_factory.mktemp("listening")) as it:
        for app in (it.app, it.second):
            app.hears_all_group_messages = app.hears_bots = True
        yield it


@pytest_asyncio.fixture(loop_scope="module")
async def scene(home: Home) -> AsyncIterator[Scene]:
    yield await home.scene()
    home.lark.clear_faults()
    home.app.echo = EchoShape.NONE


async def left_alone(home: Home, scene: Scene) -> None:
    """Every push so far was answered 200, and none became a request; a question that follows is answered."""
    assert await scene.items() == []
    question = scene.ask()
    await scene.one(status="delivered")
    ours = home.lark.visible(scene.chat, sender=home.app.app_id)
    assert [seen.parent_id for seen in ours] == [question.message_id]


@pytest.mark.parametrize("shape", ["entry", "empty mentions", "no mentions"])
async def test_m1_everybody_is_not_the_steward(home: Home, scene: Scene, shape: str) -> None:
    """M1: @all as an entry without ids, with an empty list, or as bare text: not a question to the steward."""
    mention_all = "entry" if shape == "entry" else "text"
    put = {"event.message.mentions": []} if shape == "empty mentions" else {}
    said = home.lark.say(scene.chat, ASKER, QUESTION, mention_all=mention_all, put=put)
    await home.pushed(said)
    await left_alone(home, scene)


@pytest.mark.parametrize("mention_all", ["entry", "text"])
async def test_m1_everybody_and_the_steward(scene: Scene, mention_all: str) -> None:
    """M1: @all beside the steward's own mention: a question, and @all is not part of it."""
    question = scene.ask(mention_all=mention_all)
    item = await scene.one(status="delivered")
    assert "_user_1" not in item["question"]
    assert PLACE in scene.answers(question)[0]


async def test_m3_another_bots_mention(home: Home) -> None:
    """M3: the other bot is named: only that one answers, also for a person with the steward's name."""
    scene = await home.scene(bots=[home.app, home.second])
    question = scene.ask(app=home.second)
    item = await scene.one(status="delivered")
    assert [seen.sender for seen in home.lark.visible(scene.chat, by_app=True)] == [home.second.app_id]
    home.lark.add_person("namesake", home.app.name)
    named = home.lark.say(scene.chat, ASKER, QUESTION, mention=["namesake"])
    await home.pushed(named)
    await home.pushed(question)
    assert [one["request_id"] for one in await scene.items()] == [item["request_id"]]


async def test_m3_while_it_does_not_know_itself(tmp_path: Path) -> None:
    """M3: the steward's own id cannot be learnt: nothing is answered, /readyz says so, and nothing is lost."""
    async with house(tmp_path) as home:
        scene = await home.scene()
        await home.gateway.kill()
        home.lark.fault("http_500", "bot_info", times=None)
        await home.gateway.start()
        question = scene.ask()
        await home.pushed(question)
        assert await scene.items() == []
        ready = await home.ready()
        assert ready.status_code == 503
        assert ready.json()["checks"]["lark.default"]["status"] == "failed"
        home.lark.clear_faults()
        await scene.one(status="delivered")
        assert len(scene.answers(question)) == 1


async def test_m5_each_app_answers_for_itself(home: Home) -> None:
    """M5: two apps in one process: each hears its own events and answers with its own name and credentials."""
    scenes = [await home.scene(bots=[app]) for app in (home.app, home.second)]
    questions = [scene.ask(app=app) for scene, app in zip(scenes, (home.app, home.second), strict=True)]
    await scenes[0].settled(2)
    for scene, app, question in zip(scenes, (home.app, home.second), questions, strict=True):
        assert [seen.sender for seen in home.lark.replies(question)] == [app.app_id]
        assert {entry.app_id for entry in home.lark.requests(chat=scene.chat)} == {app.app_id}


@pytest.mark.parametrize("echo", [EchoShape.APP, EchoShape.OWN_ID, EchoShape.AS_USER])
async def test_m8_its_own_words_come_back(home: Home, scene: Scene, echo: EchoShape) -> None:
    """M8: what it said is pushed to it, as an app's, under its own id, or as the asker's: it does not answer itself."""
    home.app.echo = echo
    question = scene.ask(in_thread=False)
    await scene.one(status="delivered")
    (answer,) = home.lark.replies(question)
    await home.pushed(home.lark.message_of(answer.message_id))
    assert len(await scene.items()) == 1
    assert len(home.lark.sends(scene.chat)) == 1


async def test_m8_an_echo_in_its_own_thread(home: Home, scene: Scene) -> None:
    """M8: in a thread that it is part of, no mention is needed: its echo under the asker's name is no question."""
    home.app.echo = EchoShape.AS_USER
    root = home.lark.say(scene.chat, "mei", "let us talk about the engine")
    await home.pushed(root)
    question = scene.ask(reply_to=root, in_thread=True)
    await scene.one(status="delivered")
    (answer,) = home.lark.visible(scene.chat, by_app=True)
    await home.pushed(home.lark.message_of(answer.message_id))
    home.app.echo = EchoShape.NONE
    after = home.lark.say(scene.chat, ASKER, "and who changed engine.py last?", reply_to=question)
    items = await scene.settled(2)
    assert [item["question"] for item in items] == [QUESTION, "and who changed engine.py last?"]
    assert after.thread_id == answer.thread_id
    assert "Ada" in scene.seen()[1]
    assert len(home.lark.sends(scene.chat)) == 2


async def test_m8_another_bot_that_asks(home: Home) -> None:
    """M8: a bot names the steward: no question, so that two bots cannot keep each other talking."""
    scene = await home.scene(bots=[home.app, home.second])
    said = home.lark.bot_says(scene.chat, home.second, QUESTION, mention=[home.app.app_id])
    await home.pushed(said, home.app)
    await left_alone(home, scene)


async def test_t1_a_reply_is_not_a_thread(home: Home, scene: Scene) -> None:
    """T1: root_id and parent_id without thread_id: the same conversation, answered in the chat and not in a thread."""
    first = scene.ask()
    await scene.settled(1)
    second = scene.ask("who changed engine.py last?", reply_to=first)
    event = home.event(second).payload["event"]
    assert isinstance(event, dict)
    assert event["message"]["root_id"] == event["message"]["parent_id"] == first.message_id
    assert "thread_id" not in event["message"]
    one, other = await scene.settled(2)
    assert one["conversation"] == other["conversation"]
    assert [seen.thread_id for seen in home.lark.visible(scene.chat)] == [None] * 4


async def test_t1_a_thread_is_a_conversation_of_its_own(home: Home, scene: Scene) -> None:
    """T1: with thread_id it is another conversation; every part and notice stays in the thread and opens none."""
    scribe = await home.peer("scribe")
    await scene.answered(scene.ask())
    root = home.lark.say(scene.chat, "mei", "let us talk about the engine")
    question = scene.ask("ask scribe to say it", reply_to=root, in_thread=True)
    await conclude(scribe, scene, "said")
    outside, inside = await scene.settled(2)
    assert outside["conversation"] != inside["conversation"]
    thread = question.thread_id
    assert thread
    notice, answer = home.lark.visible(scene.chat, by_app=True)[1:]
    assert (notice.thread_id, answer.thread_id) == (thread, thread)
    assert len({seen.thread_id for seen in home.lark.visible(scene.chat)} - {None}) == 1
    assert answer.text.split() == ["From", "scribe:", "said"]


async def test_t1_in_a_topic_group(home: Home) -> None:
    """T1: where every message is a thread, two topics are two conversations, and no answer makes a third."""
    scene = await home.scene(mode="topic", form="thread")
    questions = [scene.ask(), scene.ask("who changed engine.py last?")]
    one, other = await scene.settled(2)
    assert one["conversation"] != other["conversation"]
    topics = {question.thread_id for question in questions}
    assert len(topics) == 2
    assert {seen.thread_id for seen in home.lark.visible(scene.chat, by_app=True)} == topics
    assert len(scene.seen()) == 2
