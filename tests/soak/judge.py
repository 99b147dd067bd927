"""The local Lark judges: what is visible there, held against the inbox and the ledger, question by question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from providers.lark_double.asking import Visible
from providers.lark_double.journal import Entry
from tests.soak.ledger import Part, Turn
from tests.soak.questions import Question, number_of
from tests.soak.town import Town

UNSENT = {"queued", "superseded", "undeliverable"}
"""States that say that no message is there."""
FIRST_SERVER_ERROR = 500
TELLING = {230049}
"""Codes that do not say whether the message was accepted."""
CLAIMING_MS = 2_000
"""A turn is claimed so long, at most, before its timeline says that it started."""
SETTLED = {"delivered", "explicit_unverified", "undeliverable"}


def judge(
    town: Town,
    items: Mapping[str, dict[str, Any]],
    requests: Mapping[str, str],
    parts: Sequence[Part],
    turns: Sequence[Turn],
) -> None:
    """Fill the run's counts and everything that is wrong."""
    counts = town.counts
    counts.asked, counts.parts = len(town.asked), len(parts)
    counts.pushes = sum(len(push.attempts) for push in town.lark.pushes(event_type="im.message.receive_v1"))
    seen = [message for place in town.places if place.root is None for message in _bots(town, place.chat)]
    counts.messages = len(seen)
    by_key = _messages_by_key(town, seen)
    counts.duplicated = _duplicates(town, seen, by_key)
    owned = {part.key for part in parts}
    counts.wrong += [f"a message of ours that no part owns: {key}" for key in by_key if key not in owned]
    _every_question(town, items, requests, parts, by_key)
    _every_part(town, parts, by_key)
    _every_send(town)
    _order(town, parts, by_key)
    _turns_in_order(town, turns)
    if not counts.balances():
        counts.wrong.append("the counts do not add up")


def _bots(town: Town, chat: Any) -> list[Visible]:
    return town.lark.visible(chat, by_app=True)


def _messages_by_key(town: Town, seen: Sequence[Visible]) -> dict[str, list[Visible]]:
    found: dict[str, list[Visible]] = defaultdict(list)
    for message in seen:
        found[town.lark.world.messages[message.message_id].uuid or "(none)"].append(message)
    return found


def _duplicates(town: Town, seen: Sequence[Visible], by_key: Mapping[str, Sequence[Visible]]) -> int:
    """Messages too many: under one key, or of the same words where they were asked for less often."""
    keyed = sum(len(messages) - 1 for messages in by_key.values())
    asked = Counter((question.number, question.message.chat_id, question.message.thread_id) for question in town.asked)
    chats = {seen.message_id: town.lark.world.messages[seen.message_id].chat_id for seen in seen}
    told = Counter(
        (number, chats[message.message_id], message.thread_id, message.text)
        for message in seen
        if (number := number_of(message.text)) is not None
    )
    worded = sum(max(0, count - asked[number, chat, thread]) for (number, chat, thread, _), count in told.items())
    parents = Counter((message.parent_id, message.text) for message in seen if message.thread_id is None)
    plain = sum(count - 1 for count in parents.values())
    return max(keyed, worded, plain)


def _every_question(
    town: Town,
    items: Mapping[str, dict[str, Any]],
    requests: Mapping[str, str],
    parts: Sequence[Part],
    by_key: Mapping[str, Sequence[Visible]],
) -> None:
    counts = town.counts
    of_request: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        of_request[part.request_id].append(part)
    for question in town.asked:
        acknowledged = town.acknowledged(question)
        counts.acknowledged += acknowledged
        request = requests.get(question.message_id)
        if request is None:
            counts.never_taken += not acknowledged
            counts.lost += acknowledged
            if acknowledged:
                counts.wrong.append(f"question {question.number} was acknowledged and is in no ledger")
            continue
        item = items.get(request)
        if item is None:
            counts.lost += 1
            counts.wrong.append(f"question {question.number} is in no inbox")
            continue
        _one(town, question, item, of_request[request], by_key)


def _one(
    town: Town, question: Question, item: Mapping[str, Any], parts: Sequence[Part], by_key: Mapping[str, Any]
) -> None:
    """An answer that is there in full, or a row that says who must act and why."""
    counts, delivery = town.counts, item["delivery"]
    status = delivery["status"]
    if status == "delivered":
        answer = [part for part in parts if part.kind == "answer"]
        whole = len(answer) == delivery["parts"] == delivery["delivered_parts"]
        if not whole or not all(len(by_key.get(part.key, ())) == 1 for part in answer):
            counts.wrong.append(f"question {question.number} is called delivered, and Lark has not exactly its parts")
        counts.answered += 1
        counts.declined += item["work"] == "declined"
        said = [number_of(message.text) for part in answer for message in by_key.get(part.key, ())]
        if item["work"] != "declined" and question.number not in said:
            counts.wrong.append(f"question {question.number} was answered with something else")
    elif item["needs_operator"] and delivery["error"]:
        what = f"{status}/{delivery['error']}"
        counts.waiting[what] = counts.waiting.get(what, 0) + 1
    else:
        counts.lost += 1
        where = f"{item['assignment']}/{item['work']}/{status}/{delivery['error']}"
        counts.wrong.append(f"question {question.number} has neither an answer nor anybody who must act: {where}")
    for part in parts:
        for message in by_key.get(part.key, ()):
            if number_of(message.text) not in (None, question.number):
                counts.wrong.append(f"question {question.number} was answered with another one's answer")
            if message.thread_id is None and message.parent_id != question.message_id:
                counts.wrong.append(f"question {question.number}'s answer replies to something else")


def _every_part(town: Town, parts: Sequence[Part], by_key: Mapping[str, Sequence[Visible]]) -> None:
    """What the ledger says of each part agrees with what Lark has."""
    for part in parts:
        there = by_key.get(part.key, ())
        name = f"part {part.position} of a {part.kind}"
        if part.state == "delivered" and [message.message_id for message in there] != [part.message_id]:
            town.counts.wrong.append(f"{name} is called delivered, and its message is not that one")
        elif part.state in UNSENT and there:
            town.counts.wrong.append(f"{name} is {part.state}, and Lark has it")
        elif part.state not in SETTLED | UNSENT:
            town.counts.wrong.append(f"{name} is still {part.state}/{part.error}")


def _every_send(town: Town) -> None:
    """What may have been accepted is never sent again: only a definite refusal is followed by another request."""
    sends: dict[str, list[Entry]] = defaultdict(list)
    for entry in town.lark.sends():
        sends[entry.uuid or "(none)"].append(entry)
    for entries in sends.values():
        if any(not _refused(entry) for entry in entries[:-1]):
            town.counts.wrong.append("a part was sent again although it may have been accepted")


def _refused(entry: Entry) -> bool:
    """Whether the answer says for certain that there is no message."""
    unclear = entry.status is None or entry.status == 0 or entry.status >= FIRST_SERVER_ERROR
    return not unclear and not entry.committed and entry.code not in (None, 0, *TELLING)


def _order(town: Town, parts: Sequence[Part], by_key: Mapping[str, Sequence[Visible]]) -> None:
    """Answers of a chat set out in the order of their decisions; the parts of one stand in their order."""
    first: dict[str, int] = {}
    for entry in town.lark.sends():
        first.setdefault(entry.uuid or "", entry.number)
    set_out: dict[str, list[tuple[int, int]]] = defaultdict(list)
    stand: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for part in parts:
        if part.position == 0 and part.key in first:
            set_out[part.chat_id].append((part.return_seq, first[part.key]))
        for message in by_key.get(part.key, ()):
            stand[part.return_id].append((part.position, town.lark.world.messages[message.message_id].order))
    for what, groups in (("answers of a chat", set_out), ("parts of an answer", stand)):
        for pairs in groups.values():
            numbers = [number for _, number in sorted(pairs)]
            if numbers != sorted(numbers):
                town.counts.wrong.append(f"{what} are out of order")


def _turns_in_order(town: Town, turns: Sequence[Turn]) -> None:
    """Of two questions that a conversation had before the later one was begun, the earlier one is decided first.

    When a conversation's first turn began is not known: it is claimed, then asks Lark about the chat, and only after
    that says its timeline that it started.
    """
    conversations: dict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        conversations[turn.conversation_id].append(turn)
    for conversation in conversations.values():
        first = min(conversation, key=lambda turn: turn.started[0])
        for earlier, later in combinations(sorted(conversation, key=lambda turn: turn.asked_at), 2):
            if later is first:
                continue
            in_hand = earlier.received[0] < later.started[0] and earlier.received[1] + CLAIMING_MS < later.started[1]
            if in_hand and earlier.asked_at < later.asked_at and earlier.decided[0] > later.decided[0]:
                town.counts.wrong.append("two questions of a conversation were decided against their order")
