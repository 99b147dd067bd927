"""What a person reads, and its digest."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from returns.decisions.bodies import from_json, to_json
from returns.decisions.document import Code, Document, Image, Link, Rule, Text
from returns.decisions.fingerprint import clean, fingerprint, normalise, visible

ANY_TEXT = st.text(st.characters(exclude_categories=()))
NODES = st.one_of(
    st.builds(Text, ANY_TEXT),
    st.builds(Link, ANY_TEXT, ANY_TEXT),
    st.builds(Code, ANY_TEXT, ANY_TEXT),
    st.just(Rule()),
    st.builds(Image, ANY_TEXT),
)
DOCUMENTS = st.lists(st.lists(NODES).map(tuple)).map(tuple)


@given(ANY_TEXT)
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert fingerprint(once) == fingerprint(text)
    assert len(fingerprint(text)) == 64


@given(ANY_TEXT)
def test_cleaned_text_can_be_sent(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert all(ch in "\n\t" or unicodedata.category(ch) not in {"Cc", "Cs"} for ch in cleaned)
    assert clean(cleaned) == cleaned


@given(DOCUMENTS)
def test_a_stored_body_comes_back_as_it_was(document: Document) -> None:
    assert from_json(to_json(document)) == document


def test_an_unknown_stored_node_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        from_json('[[["card","x"]]]')


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\r\nb", "a\nb"),
        ("a  \nb\t\n", "a\nb"),
        ("\n\na\n", "a"),
        ("cafe\u0301", "caf\u00e9"),
        ("a\x00b\x1b", "ab"),
        ("a\ud800b", "ab"),
        ("a\n\nb", "a\nb"),  # whether an empty paragraph survives is the provider's matter
    ],
)
def test_what_reads_the_same_is_the_same(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"), [("a b", "ab"), ("a", "A"), ("👩‍👧", "👩👧"), ("a\nb", "a b"), (" a", "a"), ("1", "2")]
)
def test_what_reads_otherwise_is_not(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_what_a_person_reads() -> None:
    document: Document = (
        (Text("see "), Link("the code", "https://x.org/a"), Text(".")),
        (Link("https://x.org", "https://x.org"),),
        (),
        (Code("python", "a = 1\nb = 2"),),
        (Rule(),),
        (Image("img_1"),),
    )
    assert visible(document) == "see the code (https://x.org/a).\nhttps://x.org\n\na = 1\nb = 2\n---\n[image]"
