"""What a person reads of each type of message."""

from __future__ import annotations

import json

import pytest

from providers.lark.content import UnreadableContent, digest, readable, with_names


def post(*rows: list[dict[str, object]], title: str = "") -> str:
    return json.dumps({"title": title, "content": list(rows)})


@pytest.mark.parametrize(
    ("message_type", "content", "words"),
    [
        ("text", {"text": "@_user_1 看 [t](https://u.test)"}, "@_user_1 看 [t](https://u.test)"),
        ("text", {}, ""),
        ("image", {"image_key": "img_1"}, "[image]"),
        ("file", {"file_key": "f", "file_name": "a.pdf"}, "[file: a.pdf]"),
        ("file", {"file_key": "f"}, "[file]"),
        ("folder", {"file_name": "docs"}, "[folder: docs]"),
        ("audio", {"duration": 2000}, "[audio]"),
        ("media", {"file_name": "a.mp4"}, "[video: a.mp4]"),
        ("sticker", {}, "[sticker]"),
        ("share_chat", {"chat_id": "oc_private"}, "[shared chat]"),
        ("share_user", {"user_id": "ou_private"}, "[shared contact]"),
        ("merge_forward", {"content": "Merged and Forwarded Message"}, "[forwarded messages]"),
        ("hongbao", {"text": "x"}, "[red packet]"),
        ("location", {"name": "Beijing"}, "[location: Beijing]"),
        ("system", {"template": "{from_user} invited"}, "[system message]"),
        ("share_calendar_event", {"summary": "Sync"}, "[event: Sync]"),
        ("calendar", {"summary": "Sync"}, "[event: Sync]"),
        ("general_calendar", {}, "[event]"),
        ("video_chat", {"topic": "Stand-up"}, "[meeting: Stand-up]"),
        ("todo", {"summary": {"title": "", "content": [[{"tag": "text", "text": "do it"}]]}}, "[task: do it]"),
        ("todo", {"summary": 5}, "[task]"),
        ("vote", {"topic": "Lunch?", "options": ["a", 5, "b"]}, "[poll: Lunch?; a; b]"),
        ("novelty", {"any": "thing"}, "[novelty]"),
    ],
)
def test_each_type_has_words(message_type: str, content: object, words: str) -> None:
    assert readable(message_type, json.dumps(content)) == words


@pytest.mark.parametrize("message_type", ["text", "post", "image", "interactive", "novelty"])
def test_recalled_before_it_came(message_type: str) -> None:
    assert readable(message_type, "") == ""


@pytest.mark.parametrize("message_type", ["text", "post"])
@pytest.mark.parametrize("content", ["x", "[]", "5", '{"text":[],"content":5}', "{"])
def test_words_that_are_not_of_their_form(message_type: str, content: str) -> None:
    with pytest.raises(UnreadableContent):
        readable(message_type, content)


def test_a_file_without_json_is_a_file_all_the_same() -> None:
    assert readable("file", "x{") == "[file]"


def test_a_post_keeps_code_links_mentions_and_pictures() -> None:
    content = post(
        [{"tag": "at", "user_id": "@_user_1", "user_name": "Bot"}, {"tag": "text", "text": " why ", "style": ["bold"]}],
        [{"tag": "a", "href": "https://a.test", "text": "here"}, {"tag": "emotion", "emoji_type": "SMILE"}],
        [{"tag": "a", "href": "https://a.test", "text": "https://a.test"}],
        [{"tag": "code_block", "language": "GO", "text": "x := 1\n"}],
        [{"tag": "hr"}],
        [{"tag": "img", "image_key": "img_1"}],
        [{"tag": "media", "file_key": "f"}],
        [{"tag": "novelty", "text": "words"}],
        title="Title",
    )
    assert readable("post", content) == (
        "Title\n@_user_1 why \n[here](https://a.test)[SMILE]\nhttps://a.test\n"
        "```GO\nx := 1\n```\n---\n[image]\n[video]\nwords"
    )


@pytest.mark.parametrize(
    ("inside", "fence"), [("a", "```"), ("```\nb\n```", "````"), ("`````", "``````"), ("``", "```")]
)
def test_a_fence_is_longer_than_any_inside(inside: str, fence: str) -> None:
    content = post([{"tag": "code_block", "language": "", "text": inside}])
    assert readable("post", content) == f"{fence}\n{inside}\n{fence}"


def test_a_card_shows_what_it_has_left() -> None:
    card = {
        "title": "Alert",
        "elements": [
            [{"tag": "text", "text": "disk full "}, {"tag": "at", "user_id": "@_user_1"}],
            [{"tag": "button", "text": {"content": "Ack"}}],
            [{"tag": "note", "elements": [{"tag": "text", "text": "from cron"}]}],
        ],
    }
    assert readable("interactive", json.dumps(card)) == "Alert\ndisk full @_user_1\nAck\nfrom cron"
    assert readable("interactive", '{"title":null,"elements":[]}') == "[card]"


def test_names_take_the_place_of_keys() -> None:
    names = {"@_user_1": "Tom", "@_user_11": "王小明", "@_all": "all"}
    assert with_names("@_user_1, @_user_11 @_user_111 @_all", names) == "@Tom, @王小明 @_user_111 @all"
    assert with_names("@_user_1", {}) == "@_user_1"


def test_digests_of_what_is_not_json() -> None:
    assert digest("text", "x") == digest("text", "x") != digest("text", "y")
    assert digest("text", "[" * 100_000) != digest("text", "[" * 99_999)
    assert digest("text", "\ud800") != digest("text", "")
