"""Briefs come back as they were written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions import brief as briefs
from manager.decisions.brief import Brief, BriefMessage, BriefUnreadable, MessageKind, Rejected
from manager.decisions.decision import Delegate, Evidence, Said

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
texts = st.lists(text, max_size=4).map(tuple)
a_brief = st.builds(
    Brief,
    purpose=text,
    messages=st.lists(st.builds(BriefMessage, text, text, text, st.sampled_from(MessageKind)), max_size=4).map(tuple),
    constraints=texts,
    rejected=st.lists(text | st.builds(Rejected, text, text), max_size=3).map(tuple),
    evidence=st.lists(
        text | st.builds(Evidence, source=text, revision=st.none() | text, status=text, excerpt=text), max_size=3
    ).map(tuple),
    questions=texts,
    owed=texts,
    omissions=texts,
)


@given(a_brief)
def test_round_trip(brief: Brief) -> None:
    assert briefs.from_json(briefs.to_json(brief)) == brief


def test_the_fields_are_the_contracts() -> None:
    message = BriefMessage("2027-01-15T08:00:00.000Z", "asker", "t", MessageKind.QUOTE)
    shown = briefs.to_object(Brief("p", (message,)))
    assert list(shown) == [
        "purpose", "messages", "constraints", "rejected", "evidence", "questions", "owed", "omissions",
    ]  # fmt: skip
    assert shown["messages"] == [{"at": "2027-01-15T08:00:00.000Z", "author": "asker", "text": "t", "kind": "quote"}]
    assert {kind.value for kind in MessageKind} == {"question", "correction", "quote"}


@given(a_brief, text)
def test_completing_keeps_what_was_there(brief: Brief, purpose: str) -> None:
    found = Evidence("a.py:1", "abcdef0", "read")
    decision = Delegate("atlas", purpose, (found,), ("q",), ("o",), ("left",))
    completed = briefs.complete(brief, decision)
    assert completed.messages == brief.messages
    assert completed.constraints == brief.constraints
    assert completed.rejected == brief.rejected
    assert completed.evidence == (*brief.evidence, found)
    assert completed.questions == (*brief.questions, "q")
    assert completed.omissions == (*brief.omissions, "left")
    assert completed.owed == ("o",)
    assert completed.purpose == (purpose or brief.purpose)


@pytest.mark.parametrize(
    "change",
    [{"purpose": 1}, {"messages": {}}, {"messages": ["x"]}, {"owed": [1]}, {"evidence": [1]}, {"rejected": [[]]}],
)
def test_what_is_not_a_brief_is_refused(change: dict) -> None:
    value = briefs.to_object(Brief("p")) | change
    with pytest.raises(BriefUnreadable):
        briefs.from_json(json.dumps(value))


@pytest.mark.parametrize("stored", ["", "[]", "null", "{}"])
def test_what_is_not_even_an_object_is_refused(stored: str) -> None:
    with pytest.raises(BriefUnreadable):
        briefs.from_json(stored)


def test_what_was_replied_to_goes_with_the_question_but_not_with_its_corrections() -> None:
    asked = BriefMessage("2027-01-15T08:00:00.000Z", "asker", "look into this", MessageKind.QUESTION)
    again = BriefMessage("2027-01-15T08:01:00.000Z", "asker", "Also: db-2", MessageKind.CORRECTION)
    alert = Said("2027-01-15T07:59:00.000Z", "bot", "disk full on db-1")
    decision = Delegate("atlas", "look into this")
    first = briefs.complete(Brief("p", (asked,)), decision, alert)
    assert first.messages == (BriefMessage(alert.at, "bot", alert.text, MessageKind.QUOTE), asked)
    assert briefs.complete(Brief("p", (asked, again)), decision, alert).messages == (asked, again)
