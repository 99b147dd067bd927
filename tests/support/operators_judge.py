"""What must be true when everything has healed: the chat itself is asked, and the database held against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Row, select

from manager.decisions.work import Work
from manager.ledger.tables import question_routes
from returns.delivery import State
from returns.ledger.tables import parts, returns
from tests.support.operators_world import World
from tests.support.replay import check_replay

NOT_THERE = (State.SUPERSEDED.value, State.UNDELIVERABLE.value)
WAITING = (State.QUEUED.value, State.RETRY_PENDING.value)
WITH_A_PERSON = (State.EXPLICIT_UNVERIFIED.value, State.UNDELIVERABLE.value)


@dataclass(frozen=True)
class Truth:
    """One moment at which nothing more happens by itself."""

    home: World
    item: dict
    rows: list
    """The parts of all answers, with their returns, in order."""
    questions: set[str]
    """Every message that asked."""
    resends: list[int]
    """The revisions for which something was sent anew."""

    @property
    def revision(self) -> int:
        return self.item["revision"]

    @property
    def status(self) -> str:
        return self.item["delivery"]["status"]

    @property
    def stands(self) -> bool:
        """Whether the question that the item speaks of was not taken back."""
        return self.home.asked.get(self.revision) not in self.home.provider.gone

    @property
    def anything_stands(self) -> bool:
        return not self.questions <= self.home.provider.gone

    def said(self, revision: int, words: str) -> int:
        """How often the chat has these words under that revision's question."""
        return self.home.provider.told()[self.home.asked[revision], words]

    def words(self) -> tuple[str, ...]:
        """What the revision that stands was answered with."""
        return self.home.words.get(self.revision, ())

    def words_of(self, row: Row) -> str:
        """What a part says: what is sent anew is the end of the answer."""
        return self.home.words[row.revision][row.position - row.of]

    def is_whole(self) -> bool:
        return all(self.said(self.revision, words) for words in self.words())

    def is_begun(self) -> bool:
        return any(self.said(self.revision, words) for words in self.words())


async def look(home: World) -> Truth:
    """Everything as it is now."""

    def rows(connection: Connection) -> list:
        columns = (*parts.c, returns.c.revision, returns.c.parts.label("of"))
        query = select(*columns).join(returns, returns.c.return_id == parts.c.return_id)
        return list(connection.execute(query.order_by(parts.c.return_seq, parts.c.position)).all())

    def questions(connection: Connection) -> set[str]:
        return set(connection.execute(select(question_routes.c.message_id)).scalars())

    read = home.transactions.read
    resends = list((await home.carried_out()).values())
    return Truth(home, await home.item(), await read(rows), await read(questions), resends)


async def problems(home: World) -> list[str]:
    """Everything that must not be, in words; none if all is well."""
    truth = await look(home)
    found = [*_sent_once(truth), *_states_are_true(truth), *_nothing_is_left(truth), *_item_is_true(truth)]
    try:
        await home.transactions.read(check_replay)
    except AssertionError as wrong:
        found.append(f"folding the facts gives something else: {str(wrong)[:500]}")
    return [*found, *described(truth)] if found else []


def described(truth: Truth) -> list[str]:
    """The item, its parts and the chat, for whoever has to understand it."""
    rows = (
        f"{row.return_id}.{row.position} of revision {row.revision}: {row.state} {row.error or ''}"
        f" lane {row.lane} attempts {row.attempts}"
        for row in truth.rows
    )
    item = {name: truth.item[name] for name in ("revision", "work", "needs_operator", "delivery")}
    return [f"item {item}", *rows, f"chat {dict(truth.home.provider.told())} gone {truth.home.provider.gone}"]


def _sent_once(truth: Truth) -> Iterator[str]:
    home = truth.home
    yield from (
        f"the key {key} may have arrived {count} times" for key, count in home.provider.arrived.items() if count > 1
    )
    for revision, answer in home.words.items():
        for words in answer:
            count = truth.said(revision, words)
            if count > 1 + truth.resends.count(revision):
                yield f"{words!r} is there {count} times, with {truth.resends.count(revision)} resends"


def _states_are_true(truth: Truth) -> Iterator[str]:
    """Of equal words every proof has a message of its own; what was definitely not sent is not there."""
    proved = Counter((row.revision, truth.words_of(row)) for row in truth.rows if row.state == State.DELIVERED.value)
    for (revision, words), count in proved.items():
        if count > truth.said(revision, words):
            yield f"{words!r} is delivered {count} times, and there {truth.said(revision, words)} times"
    for row in truth.rows:
        if row.state in NOT_THERE and truth.home.provider.message_of(row.idempotency_key) is not None:
            yield f"{row.return_id}.{row.position} is {row.state}, and there"


def _nothing_is_left(truth: Truth) -> Iterator[str]:
    """What waits and is never due waits behind a part that a person has to look at."""
    for row in truth.rows:
        if row.state not in WAITING or row.lane is not None:
            continue
        before = [each.state for each in truth.rows if each.return_id == row.return_id and each.position < row.position]
        if not any(state in WITH_A_PERSON for state in before):
            yield f"{row.return_id}.{row.position} is {row.state} for good"


def _item_is_true(truth: Truth) -> Iterator[str]:
    item, status = truth.item, truth.status
    if truth.home.cancelled:
        return
    if item["work"] == Work.CANCELLED.value:
        if truth.anything_stands:
            yield "it is cancelled, and a question stands"
        return
    if status in NOT_THERE and truth.stands:
        yield from _rest_is_not_there(truth)
    if item["needs_operator"]:
        return
    if item["work"] == Work.OPEN.value:
        yield "it is open, and nobody answers it"
    elif status != State.DELIVERED.value:
        if truth.stands or (truth.anything_stands and not truth.is_begun()):
            yield f"it is {status}, and nobody is asked"
    elif not truth.is_whole():
        yield "it is delivered, and not all of it is there"


def _rest_is_not_there(truth: Truth) -> Iterator[str]:
    proved = {
        truth.words_of(row)
        for row in truth.rows
        if row.revision == truth.revision and row.state == State.DELIVERED.value
    }
    for words in truth.words():
        if words not in proved and truth.said(truth.revision, words):
            yield f"it is {truth.status}, and {words!r} is there"
