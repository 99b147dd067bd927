"""M8: an echo of ours must look to the receiving side as it looked to the sending one, whatever nodes it is made of."""

from __future__ import annotations

import json

import pytest

from manager.decisions.inbound import MessageReceived
from providers.lark.content import shown
from providers.lark.events import parse_event
from providers.lark.post import content, measure
from returns.decisions.fingerprint import fingerprint, visible
from returns.decisions.rendering import render
from returns.ids import AppName
from tests.support.webhook import message_event

ANSWERS = [
    "plain words",
    "code:\n\n```python\nclass Engine:\n    speed = 3\n```\n\nafter it",
    "a [link](https://example.org/x) and https://example.org",
    "above\n\n---\n\nbelow",
    "`a` | `b`\n\n- one\n- two\n\n中文 ✅ עברית",
]


@pytest.mark.parametrize("markdown", ANSWERS)
def test_a_post_of_ours_is_recognised_in_an_event(markdown: str) -> None:
    for document in render(markdown, measure=measure, limit_bytes=20_000):
        event = message_event()
        message = event["event"]["message"]
        message.update(message_type="post", content=json.dumps(json.loads(content(document))["zh_cn"]), mentions=[])
        got = parse_event(AppName("a"), event)
        assert isinstance(got, MessageReceived)
        assert got.shown is not None
        assert fingerprint(got.shown) == fingerprint(visible(document))


@pytest.mark.parametrize(
    ("message_type", "sent"), [("text", '{"text":"x"}'), ("image", "{}"), ("post", ""), ("post", "x"), ("post", "[]")]
)
def test_what_is_no_post_is_judged_by_its_words(message_type: str, sent: str) -> None:
    assert shown(message_type, sent) is None


def test_what_no_database_can_hold_is_left_out() -> None:
    post = {"title": "", "content": [[{"tag": "text", "text": "a\x00b\ud800c"}]]}
    assert shown("post", json.dumps(post)) == "abc"
