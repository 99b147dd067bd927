"""What is sent as a post, its size, and that what is read back shows the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.lark.post import content, create_body, document_of, measure, reply_body, text_document
from returns.decisions.document import Code, Document, Image, Link, Rule, Text
from returns.decisions.fingerprint import fingerprint, visible
from returns.ids import ChatId, IdempotencyKey

KEY = IdempotencyKey("k" * 50)
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORDS = st.text(max_size=40)
ADDRESSES = st.one_of(
    WORDS, st.sampled_from(["https://a.test/x?y=1", "mailto:a@b.test", "javascript:alert(1)", "a@b.test"])
)
NODES = st.one_of(st.builds(Text, WORDS), st.builds(Link, ADDRESSES, ADDRESSES))
ALONE = st.one_of(st.builds(Code, WORDS, WORDS), st.just(Rule()), st.builds(Image, WORDS)).map(lambda node: (node,))
DOCUMENTS = st.lists(st.one_of(st.lists(NODES, max_size=4).map(tuple), ALONE), min_size=1, max_size=6).map(tuple)


def sent(document: Document) -> list[list[dict[str, object]]]:
    body = json.loads(reply_body(document, KEY))
    return json.loads(body["content"])["zh_cn"]["content"]


def as_lark_reads_back(document: Document) -> dict[str, object]:
    nodes = [
        [{**node, "style": []} if node["tag"] in {"text", "a"} else node for node in row] for row in sent(document)
    ]
    return {"title": "", "content": nodes}


@unhurried
@given(DOCUMENTS)
def test_what_is_sent_reads_back_with_the_same_fingerprint(document: Document) -> None:
    assert fingerprint(visible(document_of(as_lark_reads_back(document)))) == fingerprint(visible(document))


@unhurried
@given(DOCUMENTS)
def test_only_plain_nodes_go_out(document: Document) -> None:
    tags = {node["tag"] for row in sent(document) for node in row}
    assert tags <= {"text", "a", "code_block", "hr", "img"}
    hrefs = [str(node["href"]) for row in sent(document) for node in row if node["tag"] == "a"]
    assert all(href.lower().startswith(("http://", "https://")) for href in hrefs)


@unhurried
@given(DOCUMENTS, st.text("oc_0123456789abcdef", min_size=1, max_size=120))
def test_the_measure_is_never_less_than_what_goes_out(document: Document, chat: str) -> None:
    assert measure(document) >= len(reply_body(document, KEY))
    assert measure(document) >= len(create_body(ChatId(chat), document, KEY))


def test_the_measure_is_bytes_of_the_escaped_request() -> None:
    empty = measure(((Text(""),),))
    assert measure(((Text("猫"),),)) == empty + 3
    assert measure(((Text("😀"),),)) == empty + 4
    assert measure(((Text('"'),),)) == empty + 4  # escaped in the content, and escaped again in the request
    assert measure(((Text("\n"),),)) == empty + 3


def test_the_nodes_as_lark_wants_them() -> None:
    document: Document = (
        (Text("see "), Link("docs", "https://a.test/")),
        (Code("python", "print(1)"),),
        (Rule(),),
        (Image("img_v2"),),
        (),
    )
    assert sent(document) == [
        [{"tag": "text", "text": "see "}, {"tag": "a", "text": "docs", "href": "https://a.test/"}],
        [{"tag": "code_block", "language": "python", "text": "print(1)"}],
        [{"tag": "hr"}],
        [{"tag": "img", "image_key": "img_v2"}],
        [{"tag": "text", "text": ""}],
    ]


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (Link("run", "javascript:alert(1)"), "run (javascript:alert(1))"),
        (Link("mail", "mailto:a@b.test"), "mail (mailto:a@b.test)"),
        (Link("a@b.test", "mailto:a@b.test"), "a@b.test (mailto:a@b.test)"),
        (Link("file", "docs/x.md"), "file (docs/x.md)"),
        (Link("docs/x.md", "docs/x.md"), "docs/x.md"),
        (Link("example.test", "https://example.test/"), "example.test (https://example.test/)"),
        (Link("x", "https://a b.test"), "x (https://a b.test)"),
    ],
)
def test_a_link_that_lark_would_refuse_or_change_goes_out_as_words(link: Link, words: str) -> None:
    assert sent(((link,),)) == [[{"tag": "text", "text": words}]]
    assert visible(((link,),)) == words


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("a@b.test", "mailto:a@b.test"),
        ("https://a.test", "https://a.test"),
        ("https://a.test", "https://a.test/"),
        ("a.test/x", "http://a.test/x"),
    ],
)
def test_links_that_lark_makes_of_words_read_back_as_words(text: str, href: str) -> None:
    post = {"title": "", "content": [[{"tag": "text", "text": "at "}, {"tag": "a", "text": text, "href": href}]]}
    assert visible(document_of(post)) == f"at {text}"


def test_a_post_reads_back_with_title_mentions_and_what_is_unknown() -> None:
    post = {
        "title": "Title",
        "content": [
            [
                {"tag": "at", "user_id": "@_user_1", "user_name": "Tom"},
                {"tag": "text", "text": " hi", "style": ["bold"]},
            ],
            [{"tag": "novelty", "text": "words"}, {"tag": "emotion", "emoji_type": "SMILE"}, "stray", {"no": "tag"}],
            [{"tag": "at", "user_id": "@_all"}],
            "not a row",
        ],
    }
    assert visible(document_of(post)) == "Title\n@Tom hi\nwords[SMILE]\n@all\n"
    assert visible(document_of({"en_us": post})) == visible(document_of(post))
    assert document_of({"title": 7, "content": {}}) == ()


def test_characters_that_cannot_be_sent_are_left_out_as_the_fingerprint_leaves_them_out() -> None:
    document = ((Text("a\x00b\ud800c\r\nd"), Text("\u2028e")),)
    assert sent(document) == [[{"tag": "text", "text": "abc\nd"}, {"tag": "text", "text": "\u2028e"}]]


def test_content_is_written_in_characters_not_escapes() -> None:
    assert "中文" in content(text_document("中文"))
