"""A request's way through a peer, over a real socket and a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from manager.decisions.decision import Answer, Ask, Decline, Defer, Delegate, Evidence
from tests.support.handover import House, house


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


ITEM = {
    "request_id", "revision", "intent", "from", "parent", "purpose", "received_at", "assignment", "assessment",
    "work", "due_at",
}  # fmt: skip


async def test_the_whole_way(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.ask("ask atlas to count the files")
    decision = Delegate(
        "ATLAS",
        "Count the files",
        evidence=(Evidence("src/a.py:3", "abcdef0", "read", "x = 1"),),
        questions=("which?",),
        owed=("a number",),
        omissions=("tests",),
    )
    await home.decide(request, decision)
    assert await home.axes(request) == ("stored", "pending", "open")
    assert await home.told(request) == [
        ("notice", "Handed over to atlas. atlas has not reported in yet, so the request waits for it.")
    ]

    listed = await atlas.list()
    assert listed.status == 200
    assert listed.body["next_cursor"] is None
    (item,) = listed.body["items"]
    assert set(item) == ITEM
    assert item["request_id"] == request
    assert (item["from"], item["parent"], item["intent"]) == ("steward", None, "consultation")
    assert item["received_at"] == "2027-01-15T08:00:00.000Z"

    read = (await atlas.read(request)).body
    assert read["brief"] == {
        "purpose": "Count the files",
        "messages": [
            {
                "at": "2027-01-15T08:00:00.000Z",
                "author": "asker",
                "text": "ask atlas to count the files",
                "kind": "question",
            }
        ],
        "constraints": [],
        "rejected": [],
        "evidence": [{"source": "src/a.py:3", "revision": "abcdef0", "status": "read", "excerpt": "x = 1"}],
        "questions": ["which?"],
        "owed": ["a number"],
        "omissions": ["tests"],
    }
    assert read["previous"] == []
    assert read["result"] is None

    presented = await atlas.post(request, "presented", turn=None)
    assert presented.status == 200
    attempt = presented.body["attempt"]
    assert await home.axes(request) == ("presented", "pending", "open")
    assert (await atlas.post(request, "assessment", assessment="accepted", attempt=attempt)).status == 200
    assert (await atlas.post(request, "progress", text="half", attempt=attempt)).status == 200
    assert await home.axes(request) == ("presented", "accepted", "open")
    assert len(await home.told(request)) == 1  # acceptance and progress need no message
    done = await atlas.post(request, "result", outcome="resolved", text="**42** files\n\n- a", attempt=attempt)
    assert done.status == 200
    assert await home.axes(request) == ("presented", "accepted", "resolved")
    kind, text = (await home.told(request))[1]
    assert kind == "answer"
    first, _, rest = text.partition("\n")
    assert first == "From atlas:"
    assert "42" in rest

    assert (await atlas.list()).body["items"] == []
    (item,) = (await atlas.list("?state=all")).body["items"]
    assert item["work"] == "resolved"
    assert (await atlas.read(request)).body["result"]["text"] == "**42** files\n\n- a"
    names = [fact for fact, _, _ in await home.facts(request)]
    assert names == [
        "received", "decided", "routed", "assigned", "stored", "presented", "assessed", "progress", "result",
        "resolved",
    ]  # fmt: skip


async def test_what_the_steward_decides_by_itself(home: House) -> None:
    answered = await home.ask("q")
    await home.decide(answered, Answer("it is *here*"))
    assert await home.axes(answered) == ("unassigned", "pending", "resolved")
    assert [kind for kind, _ in await home.told(answered)] == ["answer"]
    assert (await home.current(answered)).newest.receiver is None

    asked = await home.ask("q")
    await home.decide(asked, Ask("which one?"))
    assert await home.axes(asked) == ("unassigned", "pending", "open")
    assert await home.told(asked) == [("notice", "which one?")]

    deferred = await home.ask("q")
    await home.decide(deferred, Defer("no disk", "ops", "the disk is back"))
    assert await home.axes(deferred) == ("unassigned", "pending", "open")
    ((kind, text),) = await home.told(deferred)
    assert kind == "notice"
    assert all(word in text for word in ("no disk", "ops", "the disk is back"))

    declined = await home.ask("q", language="zh")
    await home.decide(declined, Decline("没有权限"))
    assert await home.axes(declined) == ("unassigned", "pending", "declined")
    assert await home.told(declined) == [("answer", "没有权限")]


async def test_an_unknown_and_an_invisible_peer_are_told_alike(home: House) -> None:
    await home.peer("secret", audience="private")
    unknown, hidden = await home.ask("q"), await home.ask("q")
    await home.decide(unknown, Delegate("secres", "q"))
    await home.decide(hidden, Delegate("secret", "q"))
    told = [await home.told(request) for request in (unknown, hidden)]
    assert told[0][0][1].replace("secres", "secret") == told[1][0][1]
    gaps = [next(d for f, _, d in await home.facts(r) if f == "unresolved") for r in (unknown, hidden)]
    assert [gap["gap"] for gap in gaps] == ["unknown_peer", "audience"]
    assert all("secre" not in str(gap) for gap in gaps)  # what somebody wrote stands in no fact
    for request in (unknown, hidden):
        assert await home.axes(request) == ("unassigned", "pending", "declined")
        assert (await home.current(request)).newest.receiver is None
        assert told[0][0][0] == "answer"


async def test_a_private_conversation_reaches_a_private_peer(home: House) -> None:
    await home.peer("secret", audience="private")
    request = await home.ask("q", private=True, conversation="c_private")
    await home.decide(request, Delegate("Secret", "q"))
    assert await home.axes(request) == ("stored", "pending", "open")


async def test_a_stopped_peer_gets_nothing_new_but_concludes_what_it_holds(home: House) -> None:
    atlas = await home.peer("atlas")
    await home.peer("boris")
    held = await home.handed("atlas")
    await home.stop("atlas")
    late = await home.handed("atlas")
    assert await home.axes(late) == ("unassigned", "pending", "declined")
    assert await home.told(late) == [("answer", "atlas is stopped and takes no requests, so nobody has this one.")]
    await atlas.accept(held)
    delegation = {"to": "boris", "parent": held, "brief": {"purpose": "p"}}
    refused = await atlas.write("POST", "/requests", delegation)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert (await atlas.post(held, "result", outcome="resolved", text="done")).status == 200


async def test_a_peer_that_is_away_is_not_passed_over(home: House) -> None:
    atlas = await home.peer("atlas")
    assert (await atlas.write("PUT", "/presence", {"state": "away"})).status == 200
    away = await home.handed("atlas")
    assert (await home.told(away))[0][1] == "Handed over to atlas. atlas is away now, so the request waits for it."
    assert (await atlas.write("PUT", "/presence", {"state": "available", "capacity": 2})).status == 200
    there = await home.handed("atlas", language="zh", question="让 atlas 看看")
    assert (await home.told(there))[0][1] == "已转给 atlas 处理。atlas 的结果会发到这里。"
    assert await home.axes(away) == await home.axes(there) == ("stored", "pending", "open")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("why is the payment ledger slow", "stored"),
        ("支付系统的退款为什么失败", "stored"),
        ("why is the sky blue", "unassigned"),
        ("please tell me about the payment", "unassigned"),
    ],
)
async def test_unnamed(home: House, question: str, expected: str) -> None:
    await home.peer("atlas", says=("payment ledger and billing", "支付与退款"))
    await home.peer("boris", says=("search index relevance",))
    request = await home.ask(question)
    await home.decide(request, Delegate(None, question))
    assert (await home.axes(request))[0] == expected
    routed = [detail for fact, _, detail in await home.facts(request) if fact in {"routed", "unresolved"}]
    assert len(routed) == 1
    assert routed[0].get("receiver") == ("atlas" if expected == "stored" else None)


async def test_a_tie_is_unresolved_and_named(home: House) -> None:
    await home.peer("atlas", says=("payment ledger",))
    await home.peer("boris", says=("ledger of payment and search index",))
    request = await home.ask("where is the payment ledger of the search")
    await home.decide(request, Delegate(None, "q"))
    assert await home.axes(request) == ("unassigned", "pending", "declined")
    assert "atlas and boris" in (await home.told(request))[0][1]


async def test_nobody_fits_and_what_was_not_read_is_said(home: House) -> None:
    request = await home.ask("q")
    await home.decide(request, Delegate(None, "q", omissions=("`notes.md` was not read",)))
    assert (await home.told(request))[0][1].splitlines()[1:] == ["- `notes.md` was not read"]


async def test_rejection_ends_the_request_and_is_told_once(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.post(request, "presented")
    assert (await atlas.post(request, "assessment", assessment="rejected", reason="not mine")).status == 200
    assert await home.axes(request) == ("presented", "rejected", "declined")
    told = await home.told(request)
    assert [kind for kind, _ in told] == ["notice", "answer"]
    assert told[1][1].count("not mine") == 1
    assert "atlas" in told[1][1]
    again = await atlas.post(request, "assessment", assessment="accepted")
    assert (again.status, again.code) == (409, "already_final")
    refused = await atlas.post(request, "result", outcome="resolved", text="after all")
    assert (refused.status, refused.code) == (409, "not_assessed")
    full = await atlas.post(request, "result", outcome="declined", text="in full: no")
    assert full.status == 200
    assert (await home.told(request))[2][1].endswith("in full: no")
    assert (await atlas.post(request, "result", outcome="declined", text="again")).code == "already_final"


async def test_deferral_is_told_once_and_may_change(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.post(request, "presented")
    deferral = {"assessment": "deferred", "reason": "on leave", "resume_condition": "monday", "owner": "atlas"}
    assert (await atlas.post(request, "assessment", **deferral)).status == 200
    assert (await atlas.post(request, "assessment", **deferral | {"reason": "longer"})).status == 200
    assert await home.axes(request) == ("presented", "deferred", "open")
    told = await home.told(request)
    assert [kind for kind, _ in told] == ["notice", "notice"]
    assert "on leave" in told[1][1]
    assert (await atlas.post(request, "result", outcome="resolved", text="x")).code == "not_assessed"
    partly = {"assessment": "partially_accepted", "accepted_scope": ["a", "b"], "remaining": "c"}
    assert (await atlas.post(request, "assessment", **partly)).status == 200
    read = (await atlas.read(request)).body
    assert (read["accepted_scope"], read["remaining"], read["assessment"]) == ("a\nb", "c", "partially_accepted")
    assert (await atlas.post(request, "result", outcome="resolved", text="x")).status == 200


async def test_a_deferred_request_may_be_declined(home: House) -> None:
    atlas = await home.peer("atlas")
    request = await home.handed("atlas")
    await atlas.post(request, "presented")
    deferral = {"assessment": "deferred", "reason": "r", "resume_condition": "c", "owner": "o"}
    await atlas.post(request, "assessment", **deferral)
    assert (await atlas.post(request, "result", outcome="declined", text="no")).status == 200
    assert await home.axes(request) == ("presented", "deferred", "declined")


async def test_a_name_makes_no_link_and_a_result_calls_nobody(home: House) -> None:
    request = await home.ask("q")
    await home.decide(request, Delegate("[x](https://example.org)`y`", "q"))
    assert await home.told(request) == [
        ("answer", "I know no peer called x(https://example.org)y, so nobody has this request.")
    ]
    atlas = await home.peer("atlas")
    held = await home.handed("atlas")
    await atlas.accept(held)
    await atlas.post(held, "result", outcome="resolved", text="@all <at id=all></at> done")
    assert (await home.told(held))[1] == ("answer", "From atlas:\n\n@all <at id=all></at> done")


async def test_a_private_conversations_words_stand_in_no_fact(home: House) -> None:
    atlas = await home.peer("atlas", says=("payroll figures",))
    request = await home.ask("what do the payroll figures say", private=True, conversation="c_p")
    await home.decide(request, Delegate(None, "payroll figures"))
    await atlas.accept(request)
    await atlas.post(request, "progress", text="the payroll is large")
    await atlas.post(request, "result", outcome="resolved", text="payroll: large")
    facts = str(await home.facts(request))
    assert "payroll" not in facts
    assert "oc_" not in facts
    assert "om_" not in facts
    assert "ou_" not in facts
