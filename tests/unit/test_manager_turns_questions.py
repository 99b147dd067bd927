"""From what was written to what was asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions.inbound import Mention
from manager.decisions.questions import (
    clean,
    corrected_question,
    edited_question,
    is_correction,
    own_name,
    question_text,
    visible_text,
)
from manager.ids import OpenId
from tests.support.turns import STEWARD

ME = Mention("@_user_1", STEWARD, "Steward")
BEN = Mention("@_user_2", OpenId("ou_ben"), "Ben")
TWELFTH = Mention("@_user_12", OpenId("ou_x"), "Twelfth")


@pytest.mark.parametrize(
    ("text", "mentions", "question"),
    [
        ("@_user_1 where is main?", (ME,), "where is main?"),
        ("where is main? @_user_1", (ME,), "where is main?"),
        ("tell @_user_2 @_user_1 about it", (ME, BEN), "tell @Ben about it"),
        ("@_user_12 @_user_1", (ME, TWELFTH), "@Twelfth"),
        ("@_user_1", (ME,), ""),
        ("  @_user_1\u3000你好 ", (ME,), "你好"),
        ("@_user_1 a\r\nb  \r\n\r\n", (ME,), "a\nb"),
        ("hi", (Mention("", STEWARD, ""),), "hi"),
        ("@_user_1 @_user_2", (ME, Mention("@_user_2", OpenId("ou_y"), "@_user_1")), "@@_user_1"),
        ("@_all hi @_user_1", (ME, Mention("@_all", None, "所有人")), "@所有人 hi"),
    ],
)
def test_the_question(text: str, mentions: tuple[Mention, ...], question: str) -> None:
    assert question_text(text, mentions, STEWARD) == question


def test_without_an_own_id_nobody_is_taken_out() -> None:
    assert question_text("@_user_1 hi", (ME,), None) == "@Steward hi"
    assert own_name((ME,), None) is None
    assert own_name((BEN, ME), STEWARD) == "Steward"
    assert own_name((BEN,), STEWARD) is None


def test_what_a_person_reads_has_every_name() -> None:
    assert visible_text("@_user_1 and @_user_2", (ME, BEN)) == "@Steward and @Ben"


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("更正：x", True),
        ("更正:x", True),
        ("补充：x", True),
        ("Correction: x", True),
        ("correction： x", True),
        ("ALSO: x", True),
        (" Also : x", True),
        ("Also x", False),
        ("Also, look: x", False),
        ("更正 x", False),
        ("x 更正：y", False),
        ("Corrections: x", False),
        ("", False),
    ],
)
def test_what_begins_a_correction(text: str, yes: bool) -> None:
    assert is_correction(text) is yes


def test_a_correction_stands_behind_what_it_corrects() -> None:
    assert corrected_question("a", "Also: b") == "a\nAlso: b"
    assert corrected_question("", "Also: b") == "Also: b"


@pytest.mark.parametrize(
    ("text", "name", "question"),
    [
        ("@Steward where?", "Steward", "where?"),
        ("where @Steward ?", "Steward", "where ?"),
        ("@Stewardess where?", "Steward", "@Stewardess where?"),
        ("@a.c x @abc", "a.c", "x @abc"),
        ("@Steward x", None, "@Steward x"),
    ],
)
def test_an_edited_question(text: str, name: str | None, question: str) -> None:
    assert edited_question(text, name) == question


@given(st.text(st.characters(codec=None), max_size=60))
def test_cleaning_leaves_what_every_database_holds(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert clean(cleaned) == cleaned


@given(st.text("ab @_user_12\n\t：:", max_size=40))
def test_a_question_is_trimmed_and_asked_again_is_the_same(text: str) -> None:
    question = question_text(text, (ME, BEN), STEWARD)
    assert question == question.strip()
    assert question_text(question, (), STEWARD) == question
