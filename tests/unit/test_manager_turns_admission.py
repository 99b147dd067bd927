"""Admission over every combination of what can be known."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from manager.decisions.admission import (
    Ask,
    Converse,
    Held,
    Hold,
    Ignore,
    Ignored,
    Known,
    Standing,
    Tell,
    admit,
    audience_of,
    is_addressed,
    is_external,
    standing,
)
from manager.decisions.decision import Audience
from manager.decisions.inbound import Mention, MessageReceived, Sender, SenderKind
from manager.decisions.policy import AppPolicy
from manager.ids import OpenId
from returns.ids import ThreadId
from tests.support.turns import ANNA, AT_STEWARD, OWNER, STEWARD, TENANT, message

POLICIES = [
    AppPolicy("cli", frozenset({OWNER}), groups, private)
    for groups in ("mentioned", "listed")
    for private in ("owners", "open")
]
NOTHING = Known(STEWARD, False, False, False, Converse.NONE, None, False)


def every_known() -> list[Known]:
    bools = (False, True)
    return [
        Known(*values)
        for values in itertools.product((STEWARD, None), bools, bools, bools, Converse, (None, False, True), bools)
    ]


def every_message() -> list[MessageReceived]:
    senders = [
        Sender(person, kind, tenant)
        for person in (ANNA, OWNER, STEWARD, None)
        for kind in SenderKind
        for tenant in (TENANT, "other", None)
    ]
    return [
        message(sender=sender, private=private, mentions=mentions, thread_id=thread, text="hello")
        for sender in senders
        for private in (True, False)
        for mentions in ((), (AT_STEWARD,))
        for thread in (None, ThreadId("omt"))
    ]


def test_every_combination_keeps_the_promises() -> None:
    for policy, known, asked in itertools.product(POLICIES, every_known(), every_message()):
        verdict = admit(asked, policy, known)
        if isinstance(verdict, Ask):
            check_asked(asked, policy, known, verdict)
        if isinstance(verdict, Tell):
            assert asked.private
            assert asked.sender.open_id not in {OWNER, None}
            assert policy.private == "owners" or is_external(asked, known.external_chat)
            assert not known.told
        if isinstance(verdict, Hold):
            assert verdict.reason is (Held.OWN_ID_UNKNOWN if known.own_id is None else Held.POSSIBLE_ECHO)


def check_asked(asked: MessageReceived, policy: AppPolicy, known: Known, verdict: Ask) -> None:
    assert asked.sender.kind is SenderKind.USER
    assert known.own_id is not None
    assert asked.sender.open_id != known.own_id
    assert not known.own_message
    assert not known.unsettled_content
    assert known.converse is not Converse.REVOKED
    owner_in_private = asked.private and asked.sender.open_id == OWNER
    assert (verdict.audience is Audience.PRIVATE) == owner_in_private
    if known.converse is Converse.OWNER:
        return
    if asked.private:
        assert owner_in_private or (policy.private == "open" and not is_external(asked, known.external_chat))
        return
    assert policy.groups == "mentioned"
    assert not is_external(asked, known.external_chat)
    assert asked.mentions or (asked.thread_id and known.answered_here)


@pytest.mark.parametrize(
    ("changes", "known", "verdict"),
    [
        ({}, {}, Ask(Audience.SHARED)),
        ({"mentions": ()}, {}, Ignore(Ignored.NOT_ADDRESSED)),
        ({"mentions": (), "thread_id": ThreadId("t")}, {"answered_here": True}, Ask(Audience.SHARED)),
        (
            {"mentions": (), "thread_id": ThreadId("t"), "text": " "},
            {"answered_here": True},
            Ignore(Ignored.NOT_ADDRESSED),
        ),
        ({"mentions": ()}, {"answered_here": True}, Ignore(Ignored.NOT_ADDRESSED)),
        ({}, {"own_id": None}, Hold(Held.OWN_ID_UNKNOWN)),
        ({}, {"unsettled_content": True}, Hold(Held.POSSIBLE_ECHO)),
        ({"mentions": ()}, {"unsettled_content": True}, Ignore(Ignored.NOT_ADDRESSED)),
        ({}, {"own_message": True, "own_id": None}, Ignore(Ignored.OWN)),
        ({}, {"external_chat": True}, Ignore(Ignored.EXTERNAL)),
        ({}, {"external_chat": True, "converse": Converse.OWNER}, Ask(Audience.SHARED)),
        ({}, {"external_chat": True, "converse": Converse.POLICY}, Ignore(Ignored.EXTERNAL)),
        ({"private": True}, {}, Tell()),
        ({"private": True}, {"told": True}, Ignore(Ignored.NOT_OWNER)),
        ({"private": True, "sender": Sender(OWNER, SenderKind.USER, TENANT)}, {}, Ask(Audience.PRIVATE)),
        ({"private": True, "sender": Sender(None, SenderKind.USER, TENANT)}, {}, Ignore(Ignored.NOT_OWNER)),
    ],
)
def test_single_verdicts(changes: dict[str, Any], known: dict[str, Any], verdict: object) -> None:
    values = {name: getattr(NOTHING, name) for name in Known.__slots__}
    assert admit(message(**changes), POLICIES[0], Known(**(values | known))) == verdict


@pytest.mark.parametrize(
    ("mention", "called"),
    [
        (Mention("@_user_1", STEWARD, "Steward"), True),
        (Mention("@_user_1", OpenId(STEWARD + "x"), "Steward"), False),
        (Mention("@_all", None, "所有人"), False),
        (Mention("@_all", OpenId(""), "所有人"), False),
    ],
)
def test_a_mention_is_its_exact_id(mention: Mention, called: bool) -> None:
    assert is_addressed(message(mentions=(mention,)), STEWARD, answered_here=False) is called


def test_standing_never_gives_more_than_admission() -> None:
    for policy, converse, external, private, person in itertools.product(
        POLICIES, Converse, (None, False, True), (False, True), (ANNA, OWNER, None)
    ):
        known = Known(STEWARD, False, False, False, converse, external, False)
        asked = message(private=private, sender=Sender(person, SenderKind.USER, TENANT))
        verdict = admit(asked, policy, known)
        found = standing(private=private, sender=person, policy=policy, converse=converse, external=external)
        assert (found is Standing.ADMITTED) == isinstance(verdict, Ask)


def test_private_material_is_for_owners_in_private_alone() -> None:
    for private, person in itertools.product((False, True), (ANNA, OWNER, None)):
        audience = audience_of(private=private, sender=person, policy=POLICIES[0])
        assert (audience is Audience.PRIVATE) == (private and person == OWNER)
