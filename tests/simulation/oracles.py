"""What must be true of every history, judged while it runs and when it has ended.

Each oracle knows the plan, the world's truth and what is durable, and nothing of how the code under test works:

- ``duplicates``: at most one message a part, under a key that is the part's for good;
- ``order``: nothing is sent whose attempt is not durable, nothing is read whose locator is not, and no part before
  the one ahead of it was proved;
- ``truth``: a settled row agrees with the world and with what was shown to a worker, and what the provider told a
  worker that lives on is not forgotten;
- ``liveness``: when faults have stopped, every part settles or waits for a person, with a reason;
- ``ledger``: summaries, lanes, leases and facts agree with the parts.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from returns.decisions import replay
from returns.decisions.document import Document
from returns.decisions.fingerprint import visible
from returns.delivery import IllegalTransition
from returns.ids import ReturnId, SubjectId
from returns.ports import Accepted, Locator, Reading, ReadOutcome, Route, SendOutcome, WindowOutcome, WindowPage
from tests.simulation.loop import START_MS, Life
from tests.simulation.provider import Watch
from tests.support.replay import PART_COLUMNS, parts_of

if TYPE_CHECKING:
    from tests.simulation.history import History, PartOf

SETTLED = {"delivered", "explicit_unverified", "undeliverable", "superseded"}
NEEDS_SOMEONE = {"explicit_unverified", "undeliverable"}
WORST_FIRST = (
    "undeliverable",
    "explicit_unverified",
    "verification_required",
    "retry_pending",
    "sending",
    "queued",
    "superseded",
    "delivered",
)
LANES = {"sending": ("send",), "retry_pending": ("send",), "verification_required": ("verify", "search")}
PARTS = (
    "SELECT part_id, state, error, verification, needs_configuration, lane, attempts, lease_owner, lease_until,"
    " placement, last_attempt_at FROM parts"
)
SHOWN = " ".join(["SELECT return_id, position,", ", ".join(PART_COLUMNS), "FROM parts"])


@dataclass
class Search:
    """The pages of one history that a life has read so far."""

    began: int
    since: int
    shown: set[str] = field(default_factory=set)
    """Messages that were shown as they are."""


class Judge(Watch):
    """The oracles of one history."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._sends: Counter[str] = Counter()
        """Requests that left, by part."""
        self._heard: list[tuple[Life, PartOf, str]] = []
        """Locators that a life was told by the answer to its send."""
        self._proofs: set[tuple[str, str]] = set()
        """Parts and messages that were shown to be each other's, by a reading of a durable locator."""
        self._read: set[Reading] = set()
        """What was shown of single messages."""
        self._open: dict[tuple[tuple[str, str, str | None], str], Search] = {}
        """Searches that go on, by the life, the place and the cursor of the next page."""
        self._searches: list[tuple[str, str | None, Search]] = []
        self._questions = {planned.question for planned in history.plan.returns}
        self._clocks_agree = not any(each.what == "clock" for each in history.plan.happenings)
        history.world.on_accept = self._accepted

    # While it runs

    def sends(self, life: Life, route: Route, document: Document, key: str) -> None:
        history = self._history
        part = history.by_key.get(key)
        if part is None:
            history.problem("duplicates", "a send under a key that is no part's")
            return
        self._sends[part.name] += 1
        history.note(f"sends {part.name}")
        rows = history.database.look(
            "SELECT attempts, placement FROM parts WHERE part_id = ? AND idempotency_key = ?", part.part_id, key
        )
        if not rows or rows[0][0] < self._sends[part.name]:
            history.problem("order", f"{part.name} is sent and its attempt is not durable")
        if visible(document) != part.text or (route.chat_id, route.thread_id) != (
            part.planned.chat,
            part.planned.thread,
        ):
            history.problem("truth", f"{part.name} is sent with another content or to another place")
        if part.position:
            before = history.database.look(
                "SELECT state FROM parts WHERE return_seq = (SELECT return_seq FROM parts WHERE part_id = ?)"
                " AND position < ?",
                part.part_id,
                part.position,
            )
            if any(state != "delivered" for (state,) in before):
                history.problem("truth", f"{part.name} is sent before the part ahead of it is proved")

    def heard(self, life: Life, key: str, outcome: SendOutcome) -> None:
        history = self._history
        part = history.by_key.get(key)
        if part is not None and isinstance(outcome, Accepted):
            self._heard.append((life, part, outcome.locator.message_id))

    def _accepted(self, message: Any, key: str) -> None:
        history = self._history
        history.accepted(message, key)
        part = history.by_key.get(key)
        if part is not None and sum(history.world.accepted[each] for each in part.keys) > 1:
            history.problem("duplicates", f"{part.name} was accepted twice")

    def reads(self, life: Life, locator: Locator) -> None:
        history = self._history
        if locator.message_id in self._questions:
            return
        if not history.database.look("SELECT 1 FROM part_locators WHERE message_id = ?", locator.message_id):
            history.problem("order", f"{locator.message_id} is read and its locator is not durable")

    def was_read(self, life: Life, locator: Locator, outcome: ReadOutcome, deed: str) -> None:
        history = self._history
        history.note(f"read {locator.message_id}: {deed}")
        if isinstance(outcome, Reading) and outcome.locator.message_id == locator.message_id:
            self._read.add(outcome)
            self._shown(outcome)

    def _shown(self, reading: Reading, thread: str | None = None) -> None:
        """A worker sees this now. It proves the part whose message it is, if that is durably known to be it.

        ``thread``: it was shown so that a thread can have been begun on it.
        """
        history = self._history
        message = history.world.find(reading.locator.message_id)
        part = history.by_key.get(message.key or "") if message else None
        if part is None or message is None or reading.recalled or not reading.ours or reading.visible != part.text:
            return
        if (
            _in_place(reading, part, thread or message.thread)
            and self._located(part.part_id) == reading.locator.message_id
        ):
            self._proofs.add((part.name, reading.locator.message_id))

    def _located(self, part_id: str) -> str | None:
        rows = self._history.database.look("SELECT message_id FROM part_locators WHERE part_id = ?", part_id)
        return rows[0][0] if rows else None

    def was_listed(
        self, life: Life, route: Route, since: int, cursor: str | None, outcome: WindowOutcome, deed: str
    ) -> None:
        history = self._history
        history.note(f"listed from {cursor}: {deed}")
        place = (life.name, route.chat_id, route.thread_id)
        search = Search(history.loop.now_ms(), since) if cursor is None else self._open.pop((place, cursor), None)
        if not isinstance(outcome, WindowPage):
            return
        for reading in outcome.readings:
            # A lie that the message itself and the chat's history tell alike is one that nobody could see through.
            alike = route.thread_id is None and reading in self._read
            self._shown(reading, reading.locator.thread_id if alike else None)
        if search is None:
            return
        if deed == "ok":
            search.shown.update(each.locator.message_id for each in outcome.readings)
        if outcome.next_cursor is None:
            self._searches.append((route.chat_id, route.thread_id, search))
        else:
            self._open[place, outcome.next_cursor] = search

    # When it has ended

    def conclude(self) -> None:
        """Look at everything. The lives that lived to the end are still alive."""
        history = self._history
        rows = {row[0]: row for row in history.database.look(PARTS)}
        located = dict(history.database.look("SELECT part_id, message_id FROM part_locators"))
        for part in history.parts:
            row = rows.get(part.part_id)
            if row is not None:
                self._part(part, row, located.get(part.part_id), rows)
        for life, part, message_id in self._heard:
            if not life.dead and located.get(part.part_id) != message_id and message_id not in located.values():
                history.problem("truth", f"{part.name}: the provider named {message_id}, and it was forgotten")
        self._ledger(rows)

    def _part(self, part: PartOf, row: tuple[Any, ...], locator: str | None, rows: dict[str, Any]) -> None:
        history = self._history
        (_, state, error, verification, _, lane, attempts, owner, _, placement, attempted) = row
        messages = [message for message in history.world.messages if message.key in part.keys]
        told = bool(messages or self._sends[part.name])
        if len(messages) > 1:
            history.problem("duplicates", f"{part.name} is there {len(messages)} times")
        if owner is not None or lane is not None:
            history.problem("liveness", f"{part.name} is {state} ({error}) at the end, in lane {lane}, held by {owner}")
        if state in ("superseded", "queued") and (told or attempts):
            history.problem("truth", f"{part.name} is {state}, and was sent")
        match state:
            case "delivered":
                self._delivered(part, locator, placement, verification)
            case "undeliverable" if messages:
                history.problem("truth", f"{part.name} is undeliverable ({error}), and it is in the chat")
            case "explicit_unverified":
                self._unverified(part, error, attempted)
            case "queued":
                ahead = [rows[other.part_id][1] for other in history.parts if _ahead(other, part)]
                if error != "earlier_part_unverified" or not any(each in NEEDS_SOMEONE for each in ahead):
                    history.problem("liveness", f"{part.name} is queued at the end ({error}) behind {ahead}")
            case _ if state not in SETTLED:
                history.problem("liveness", f"{part.name} is {state} ({error}) at the end")

    def _delivered(self, part: PartOf, locator: str | None, placement: str, verification: str | None) -> None:
        history = self._history
        message = history.world.find(locator or "")
        if message is None:
            history.problem("truth", f"{part.name} is delivered, and there is no such message")
            return
        if message.key not in part.keys:
            history.problem("truth", f"{part.name} is delivered by another one's message")
            return
        parent = part.planned.question if placement == "reply" else None
        here = (part.planned.question, message.message_id)
        threads = {part.planned.thread} if part.planned.thread else {None, *map(history.world.threads.get, here)}
        if message.thread not in threads or (message.chat, message.parent, message.text, message.ours) != (
            part.planned.chat,
            parent,
            part.text,
            True,
        ):
            history.problem("truth", f"{part.name} is delivered to another place")
        if (part.name, message.message_id) not in self._proofs:
            history.problem("truth", f"{part.name} is delivered, and no reading proved it")
        told = any(other is part and named == locator for _, other, named in self._heard)
        if verification not in ("direct", "reconciled") or (verification == "direct" and not told):
            history.problem("truth", f"{part.name} is delivered {verification}, and no answer named it")

    def _unverified(self, part: PartOf, error: str | None, attempted: int | None) -> None:
        """That it cannot be proved is always honest; the reason must be true as well."""
        history = self._history
        if attempted is None:
            history.problem("truth", f"{part.name} is explicit_unverified without an attempt")
            return
        messages = [message for message in history.world.messages if message.key in part.keys]
        if error == "no_match_found" and not self._is_absent(part, attempted, messages):
            history.problem("truth", f"{part.name} has no_match_found, and no complete search could say so")
        if error == "provider_message_recalled" and not any(
            message.recalled for message in history.world.messages if message.ours and message.chat == part.planned.chat
        ):
            history.problem("truth", f"{part.name} has provider_message_recalled, and nothing was recalled")
        if error not in REASONS:
            history.problem("truth", f"{part.name} has {error} as a reason for not being proved")

    def _is_absent(self, part: PartOf, attempted: int, messages: list[Any]) -> bool:
        """Whether complete searches of every place where its messages stood by then showed none of them."""
        chat, planned, threads = part.planned.chat, part.planned.thread, self._history.world.threads
        said = {
            place: [search for at, of, search in self._searches if (at, of) == (chat, place)]
            for place in (planned, threads.get(part.planned.question))
        }
        absent = {
            place: [search for search in searches if self._proves_absence(search, attempted, messages)]
            for place, searches in said.items()
        }
        began = max((search.began for search in absent[planned]), default=None)
        if began is None:
            return False
        inside = [each for each in messages if each.thread != planned and each.message_id not in threads]
        return all(each.sent_at > began or absent.get(each.thread) for each in inside)

    def _proves_absence(self, search: Search, attempted: int, messages: list[Any]) -> bool:
        settle = self._history.policy.settle_ms if self._clocks_agree else -START_MS
        if search.began < attempted + settle or (self._clocks_agree and search.since > attempted):
            return False
        return not any(message.message_id in search.shown and not message.recalled for message in messages)

    def _replay(self) -> None:
        """The facts alone give the parts again."""
        history = self._history
        try:
            told = replay.fold(
                replay.Recorded(SubjectId(subject), ReturnId(of), position, at, fact, json.loads(detail))
                for subject, of, position, at, fact, detail in history.database.look(
                    "SELECT subject_id, return_id, position, at, fact, detail FROM return_facts ORDER BY seq"
                )
            )
        except (replay.BrokenHistory, IllegalTransition) as error:
            history.problem("ledger", f"the facts cannot have happened: {error}")
            return
        shown = {
            (row[0], row[1]): dict(zip(PART_COLUMNS, row[2:], strict=True)) for row in history.database.look(SHOWN)
        }
        for key, folded in parts_of(told).items():
            if shown.pop(key, None) != folded:
                history.problem("ledger", f"the facts tell something else of part {key}: {folded}")
        if shown:
            history.problem("ledger", f"the facts tell nothing of {sorted(shown)}")

    def _ledger(self, rows: dict[str, Any]) -> None:
        history = self._history
        look = history.database.look
        for subject, latest, status, _error, parts, delivered, attempts, needs in look(
            "SELECT subject_id, return_id, status, error, parts, delivered_parts, attempts, needs_operator FROM answers"
        ):
            of_answer = look(
                "SELECT state, attempts, needs_configuration FROM parts WHERE return_id = ? ORDER BY position", latest
            )
            states = [state for state, *_ in of_answer]
            fold = (
                min(states, key=WORST_FIRST.index),
                len(states),
                states.count("delivered"),
                sum(each for _, each, _ in of_answer),
                any(state in NEEDS_SOMEONE or (state == "retry_pending" and each) for state, _, each in of_answer),
            )
            if fold != (status, parts, delivered, attempts, bool(needs)):
                history.problem("ledger", f"the answer of {subject} shows {status}, its parts {states}")
        for part_id, state, _e, _v, _c, lane, *_rest in rows.values():
            if state in SETTLED and lane is not None:
                history.problem("ledger", f"{part_id} is {state} in lane {lane}")
            if state in LANES and lane not in LANES[state]:
                history.problem("ledger", f"{part_id} is {state} in lane {lane}")
        self._replay()
        for detail in look("SELECT detail FROM return_facts WHERE fact = 'fault'"):
            history.problem("ledger", f"a fault: {detail}")
        for (detail,) in look("SELECT detail FROM return_facts WHERE fact = 'unknown'"):
            if json.loads(detail).get("reason") == "fault":
                history.problem("ledger", "a fault while sending")


REASONS = {
    "provider_verification_unavailable",
    "provider_message_missing",
    "provider_message_recalled",
    "provider_delivery_mismatch",
    "ambiguous_match",
    "no_match_found",
    "return_authorization_unavailable",
}


def _in_place(reading: Reading, part: PartOf, thread: str | None) -> bool:
    """Whether a message is shown in its place; it stands in the thread."""
    planned = part.planned
    if (reading.locator.chat_id, reading.locator.thread_id) != (planned.chat, planned.thread or thread):
        return False
    return planned.thread is not None or reading.parent_id in (planned.question, None)


def _ahead(other: PartOf, part: PartOf) -> bool:
    return other.number == part.number and other.position < part.position
