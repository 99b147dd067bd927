"""Route and authority at the last moment: whatever is lost between two steps, nothing is sent or told after it.

Every cell is an answer (the steward's, or a peer's result), a moment between two effects of its delivery, and a thing
that happens there. What must be seen is written down beside it, not computed from the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy import select

from returns.decisions.fingerprint import visible
from returns.ledger import tables as returned
from returns.ports import Refusal, Refused
from tests.exploration.stage import FIRST, OTHER, SECOND, SETTLE_MS, Stage, Stages, stages
from tests.support.returns import Sent
from tests.support.turns import THREAD


@dataclass(frozen=True)
class Cell:
    """What must be seen in the end."""

    status: str
    error: str | None
    work: str
    operator: bool
    attempts: int
    shown: int = 0
    """How many of our messages stand in the chat."""
    fact: str | None = None
    """What the timeline says of the end."""
    quiet: bool = True
    """Nothing at all is asked of the provider for this answer after it happened. False: something may be."""


def gone(error: str, *, attempts: int = 0, shown: int = 0, work: str = "resolved", quiet: bool = True) -> Cell:
    return Cell(
        "undeliverable", error, work, operator=True, attempts=attempts, shown=shown, fact="undeliverable", quiet=quiet
    )


def unproved(error: str, *, attempts: int = 1, shown: int = 1, quiet: bool = True) -> Cell:
    return Cell(
        "explicit_unverified",
        error,
        "resolved",
        operator=True,
        attempts=attempts,
        shown=shown,
        fact="unverified",
        quiet=quiet,
    )


def proved(*, attempts: int = 1, shown: int = 1) -> Cell:
    return Cell(
        "delivered", None, "resolved", operator=False, attempts=attempts, shown=shown, fact="delivered", quiet=False
    )


REVOKED = "return_authorization_unavailable"
NO_ROUTE = "original_route_unavailable"
NO_READING = "provider_verification_unavailable"

# Where it can happen. Before a send: at the beginning, or with the token at hand. Committed: the attempt is durable and
# its first byte is not written. Accepted: the answer is not here yet. And so on, in the order of a delivery.
BEFORE_SEND = ("prepare:before", "prepare:after")
COMMITTED = "send:before"
ACCEPTED = "send:after"
BEFORE_READING = "look:direct"
IN_READING = "read:before"
READ = "read:after"
BEFORE_SEARCH = "look:before"
IN_SEARCH = "list:before"
SEARCHED = "list:after"
FOUND = "look:search"
BETWEEN_PARTS = "next part"
BEFORE_RETRY = "retry"
LOOK_AGAIN = "look again"

AUTHORITY_LOST = {
    **dict.fromkeys(BEFORE_SEND, gone(REVOKED)),
    COMMITTED: unproved(REVOKED, quiet=False),  # this one send was under way; it is not read back
    ACCEPTED: unproved(REVOKED),
    BEFORE_READING: unproved(REVOKED),
    IN_READING: proved(),  # what was being read is read
    READ: proved(),
    BEFORE_SEARCH: unproved(REVOKED),
    IN_SEARCH: unproved(REVOKED, quiet=False),  # the page is read; the message that it names is not
    SEARCHED: unproved(REVOKED),
    FOUND: unproved(REVOKED),
    BETWEEN_PARTS: gone(REVOKED, attempts=1, shown=1),
    BEFORE_RETRY: unproved(REVOKED, shown=0),
    LOOK_AGAIN: unproved(REVOKED),
}

LEFT = {
    **dict.fromkeys(BEFORE_SEND, gone(NO_ROUTE)),
    COMMITTED: gone(NO_ROUTE, attempts=1, quiet=False),  # refused by the provider
    ACCEPTED: unproved(NO_READING, quiet=False),
    BEFORE_READING: unproved(NO_READING, quiet=False),
    IN_READING: unproved(NO_READING, quiet=False),
    READ: proved(),
    BEFORE_SEARCH: unproved(NO_READING, quiet=False),
    IN_SEARCH: unproved(NO_READING, quiet=False),
    SEARCHED: unproved(NO_READING, quiet=False),
    FOUND: unproved(NO_READING, quiet=False),
    BETWEEN_PARTS: gone(NO_ROUTE, attempts=1, shown=1),
    BEFORE_RETRY: gone(NO_ROUTE, attempts=1),
    LOOK_AGAIN: unproved(NO_READING, quiet=False),
}

UNHEARD = LEFT | {  # only the provider's refusal tells
    **dict.fromkeys(BEFORE_SEND, gone(NO_ROUTE, attempts=1, quiet=False)),
    BETWEEN_PARTS: gone(NO_ROUTE, attempts=2, shown=1, quiet=False),
    BEFORE_RETRY: gone(NO_ROUTE, attempts=2, quiet=False),
}

STILL_VERIFIED = dict.fromkeys(
    (ACCEPTED, BEFORE_READING, IN_READING, READ, BEFORE_SEARCH, IN_SEARCH, SEARCHED, FOUND, LOOK_AGAIN), proved()
)

SUPERSEDED = Cell("superseded", None, "cancelled", operator=False, attempts=0, fact="superseded")

SAY_NOTHING = STILL_VERIFIED | {
    **dict.fromkeys(BEFORE_SEND, SUPERSEDED),
    COMMITTED: gone(NO_ROUTE, attempts=1, work="cancelled", quiet=False),
    BETWEEN_PARTS: Cell("superseded", None, "resolved", operator=False, attempts=1, shown=1, fact="superseded"),
    BEFORE_RETRY: gone(NO_ROUTE, attempts=1, work="cancelled"),
}

SAY_NOTHING_UNHEARD = STILL_VERIFIED | {
    **dict.fromkeys((*BEFORE_SEND, COMMITTED), gone(NO_ROUTE, attempts=1, work="cancelled", quiet=False)),
    BETWEEN_PARTS: gone(NO_ROUTE, attempts=2, shown=1, quiet=False),
    BEFORE_RETRY: gone(NO_ROUTE, attempts=2, work="cancelled", quiet=False),
}

IN_CHAT = STILL_VERIFIED | {
    **dict.fromkeys((*BEFORE_SEND, COMMITTED), proved(attempts=2)),
    BETWEEN_PARTS: proved(attempts=3, shown=2),
    BEFORE_RETRY: proved(attempts=3),
}

IN_CHAT_BUT_IN_A_THREAD = STILL_VERIFIED | {
    **dict.fromkeys((*BEFORE_SEND, COMMITTED), gone(NO_ROUTE, attempts=1, quiet=False)),
    BETWEEN_PARTS: gone(NO_ROUTE, attempts=2, shown=1, quiet=False),
    BEFORE_RETRY: gone(NO_ROUTE, attempts=2, quiet=False),
}

UNTOUCHED = STILL_VERIFIED | {
    **dict.fromkeys((*BEFORE_SEND, COMMITTED), proved()),
    BETWEEN_PARTS: proved(attempts=2, shown=2),
    BEFORE_RETRY: proved(attempts=2),
}

WHOLE_CHAT = {"bot_removed": LEFT, "chat_disbanded": LEFT, "thread_gone": UNHEARD}
GRANTS = dict.fromkeys(("grant_revoked", "grant_expired", "chat_opened"), AUTHORITY_LOST)
PEERS = {"peer_removed": AUTHORITY_LOST, "peer_stopped": UNTOUCHED}  # a stopped one concludes what it holds
RECALLS = {
    ("say_nothing", False): {"question_recalled": SAY_NOTHING, "recalled_unheard": SAY_NOTHING_UNHEARD},
    ("say_nothing", True): {"question_recalled": SAY_NOTHING, "recalled_unheard": SAY_NOTHING_UNHEARD},
    ("answer_in_chat", False): {"question_recalled": IN_CHAT, "recalled_unheard": IN_CHAT},
    ("answer_in_chat", True): {
        "question_recalled": IN_CHAT_BUT_IN_A_THREAD,
        "recalled_unheard": IN_CHAT_BUT_IN_A_THREAD,
    },
}
SPARES_OTHERS = {"question_recalled", "recalled_unheard", "peer_removed", "peer_stopped"}
"""What concerns one answer alone: others of the conversation go on."""


@dataclass(frozen=True)
class Case:
    """A row of the matrix: what happens, to whose answer, where."""

    author: str
    what: str
    wish: str
    thread: bool
    cells: dict[str, Cell]

    def __str__(self) -> str:
        return f"{self.author}-{self.what}-{self.wish}-{'thread' if self.thread else 'chat'}"


def rows() -> list[Case]:
    found = []
    for author in ("steward", "peer"):
        plain = WHOLE_CHAT | GRANTS | (PEERS if author == "peer" else {})
        found += [Case(author, what, "say_nothing", what == "thread_gone", cells) for what, cells in plain.items()]
        for thread in (False, True):
            for wish in ("say_nothing", "answer_in_chat"):
                found += [Case(author, what, wish, thread, cells) for what, cells in RECALLS[wish, thread].items()]
    return found


@pytest.fixture(scope="module")
def made() -> Iterator[Stages]:
    with stages() as found:
        yield found


@pytest.mark.parametrize("case", rows(), ids=str)
async def test_lost_at_the_last_moment(made: Stages, case: Case) -> None:
    wrong = []
    for moment, cell in case.cells.items():
        it = await made.new(case.author, thread=case.thread, parts=2 if moment == BETWEEN_PARTS else 1, wish=case.wish)
        await _play(it, case, moment)
        seen = await _seen(it, cell)
        if seen != cell:
            wrong.append(f"{case} at {moment}:\n   expected {cell}\n   but was  {seen}")
        if case.what == "question_recalled":
            assert "question_recalled" in await it.facts(it.subject)
        _only_where_it_was_asked(it, case)
        await _others(it, case)
    assert not wrong, "\n".join(wrong)


async def _seen(it: Stage, cell: Cell) -> Cell:
    """What became of it."""
    assert it.waiting is None, "it never came to this place"
    answer = await it.answer(it.subject)
    facts = await it.facts(it.subject)
    return Cell(
        answer.status,
        answer.error,
        await it.work(it.subject),
        operator=bool(answer.needs_operator),
        attempts=answer.attempts,
        shown=len(_ours(it)),
        fact=cell.fact if cell.fact in facts else f"none of {facts}",
        quiet=cell.quiet and it.provider.calls[it.happened_at :] == [],
    )


async def _play(it: Stage, case: Case, moment: str) -> None:
    happening = getattr(it, case.what)
    if moment in {BEFORE_SEARCH, IN_SEARCH, SEARCHED, FOUND}:
        it.provider.faults = ["lose"]
    if moment == BEFORE_RETRY:
        it.provider.faults = [Refused(Refusal.RATE_LIMITED)]
    if moment != LOOK_AGAIN:
        it.at(moment, happening)
        await it.drive()
        return
    it.provider.faults = ["lose"]
    it.provider.hide_for_ms = 10 * SETTLE_MS
    await it.drive()
    for each in it.provider.messages:
        each.hidden_until = 0
    assert (await it.answer(it.subject)).error == "no_match_found"
    it.at(LOOK_AGAIN, happening)
    await it.reach(LOOK_AGAIN)
    await it.look_again()


def _ours(it: Stage) -> list[Sent]:
    return [each for each in it.provider.messages if visible(each.document) != OTHER]


def _only_where_it_was_asked(it: Stage, case: Case) -> None:
    """Nothing of the answer stands anywhere but under its question, or plainly in its chat where that is wished."""
    ours = _ours(it)
    for each in ours:
        assert (each.chat_id, each.thread_id) == (it.question.chat_id, THREAD if case.thread else None)
        if each.parent_id != it.question.message_id:
            assert each.parent_id is None
            assert (case.wish, case.thread) == ("answer_in_chat", False)
    words = "\n".join(visible(each.document) for each in ours)
    assert words.count(FIRST) == (1 if ours else 0)
    assert words.count(SECOND) == (1 if len(ours) > 1 else 0)
    plain = [key for route, _, key in it.provider.sends if route.reply_to is None]
    replies = [key for route, _, key in it.provider.sends if route.reply_to is not None]
    assert not set(plain) & set(replies), "a plain message has a key of its own"
    assert not plain or it.question.message_id in it.provider.recalled
    assert all(route.chat_id == it.question.chat_id for route, _, _ in it.provider.sends)


async def _others(it: Stage, case: Case) -> None:
    """Another answer in the same conversation goes on, unless what happened concerns the whole of it."""
    before = len(it.provider.calls)
    await it.release_bystander()
    await it.drive()
    other = await it.answer(it.bystander)
    if case.what in SPARES_OTHERS:
        assert (other.status, await it.work(it.bystander)) == ("delivered", "resolved")
        return
    assert other.status == "undeliverable"
    asked = it.provider.calls[before:]
    assert asked == (["send"] if case.what == "thread_gone" else [])
    states = await it.all(select(returned.parts.c.lane).where(returned.parts.c.subject_id == it.bystander))
    assert [row.lane for row in states] == [None]
