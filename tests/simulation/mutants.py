"""Wrong designs: each is a switch that patches one step or one row of the real code, and that an oracle must catch.

A mutant is a context manager; inside of it the real pump runs with the one thing wrong that its name says.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from sqlalchemy import bindparam, select, text, update

from returns import delivery
from returns.delivery import Event, State
from returns.ids import IdempotencyKey, Millis, ReturnId
from returns.ledger import attempts as attempt_ledger
from returns.ledger import checks, locators, moves, outbox, parts
from returns.ledger.lanes import SEND
from returns.ledger.prepared import Prepared
from returns.ledger.rivals import Rivals
from returns.ledger.tables import parts as part_table
from returns.ledger.tables import returns as return_table
from returns.ports import Accepted, Refusal, Refused, StorageUnavailable, Unknown, WindowPage
from returns.service import attempt as attempting
from returns.service import reading as reading_back
from returns.service import together


@dataclass(frozen=True)
class Mutant:
    """A wrong design, and the oracles of which one must speak first."""

    name: str
    caught_by: frozenset[str]
    wrong: Callable[[], AbstractContextManager[object]]
    first: int = 0
    """The seed to begin with where a rare coincidence is needed, so that the suite stays quick."""


def _table(changes: Mapping[tuple[State, Event], State]) -> AbstractContextManager[object]:
    return patch.object(delivery, "TRANSITIONS", {**delivery.TRANSITIONS, **changes})


def resends_unknown() -> AbstractContextManager[object]:
    """An unknown outcome leads to another send."""
    return _table(
        {
            (State.SENDING, Event.UNKNOWN): State.RETRY_PENDING,
            (State.SENDING, Event.LEASE_LOST): State.RETRY_PENDING,
        }
    )


def takes_not_found_for_not_sent() -> AbstractContextManager[object]:
    """What a search did not find is sent again."""
    return _table({(State.VERIFICATION_REQUIRED, Event.NO_MATCH): State.RETRY_PENDING})


class _Peeked(Exception):
    """Carries an attempt out of a transaction that is not kept."""


@contextmanager
def stores_the_attempt_after_the_send() -> Generator[None]:
    """The request leaves first, and is committed when its answer is there."""
    real_conclude = attempting.conclude

    async def peek(tools: Any, part_id: Any) -> Any:
        def look(connection: Any) -> None:
            raise _Peeked(
                attempt_ledger.begin(connection, part_id, tools.owner, tools.clock.now(), tools.policy, tools.authority)
            )

        try:
            await tools.transactions.run(look)
        except _Peeked as peeked:
            return peeked.args[0]

    async def conclude(tools: Any, attempt: Any, outcome: Any) -> None:
        now = tools.clock.now()
        begun = await tools.transactions.run(
            lambda c: attempt_ledger.begin(c, attempt.part_id, tools.owner, now, tools.policy, tools.authority)
        )
        if begun is not None:
            await real_conclude(tools, begun, outcome)

    with patch.object(attempting, "commit", peek), patch.object(attempting, "conclude", conclude):
        yield


def takes_a_timeout_for_a_refusal() -> AbstractContextManager[object]:
    """No answer is taken for no."""
    real = attempt_ledger.conclude

    def conclude(connection: Any, attempt: Any, outcome: Any, now: Any, policy: Any) -> bool:
        answer = Refused(Refusal.OFFLINE) if isinstance(outcome, Unknown) else outcome
        return real(connection, attempt, answer, now, policy)

    return patch.object(attempt_ledger, "conclude", conclude)


@contextmanager
def writes_blindly() -> Generator[None]:
    """Neither the state nor the fence that a write leaves is looked at."""

    def writing(columns: tuple[str, ...]) -> Prepared:
        return Prepared(update(part_table).where(part_table.c.part_id == bindparam("of_part")), columns)

    def held(connection: Any, part_id: Any, state: State, fence: int) -> Any:
        part = parts.load(connection, part_id)
        return None if part is None else replace(part, state=state, fence=fence)

    with (
        patch.object(moves, "_writing", writing),
        patch.object(attempt_ledger, "held", held),
        patch.object(checks, "held", held),
    ):
        yield


@contextmanager
def stores_the_locator_after_reading_it() -> Generator[None]:
    """Where the message is stays in memory until it was read back."""
    remembered: dict[str, Any] = {}
    real_claim, real_conclude = checks.claim, checks.conclude_reading

    def keep(_connection: Any, part: Any, locator: Any, _source: Any, _now: Any) -> Any:
        remembered[part.part_id] = locator
        return locators.Kept.KNOWN

    def claim(*arguments: Any) -> Any:
        check = real_claim(*arguments)
        if check is None or check.locator is not None or check.part_id not in remembered:
            return check
        return replace(check, locator=remembered[check.part_id], source=locators.Source.DIRECT)

    def conclude(connection: Any, check: Any, event: Any, now: Any, policy: Any, shown: Any = None) -> bool:
        if check.part_id in remembered:
            part = parts.load(connection, check.part_id)
            locators.keep(connection, part, check.locator, locators.Source.DIRECT, now)
        return real_conclude(connection, check, event, now, policy, shown)

    with (
        patch.object(attempt_ledger, "keep", keep),
        patch.object(checks, "claim", claim),
        patch.object(checks, "conclude_reading", conclude),
    ):
        yield


def fences_locators_by_the_lease() -> AbstractContextManager[object]:
    """A late answer is thrown away together with the hold."""
    return patch.object(attempt_ledger, "_note_late", lambda *_arguments: None)


@contextmanager
def verifies_by_id_alone() -> Generator[None]:
    """A message that can be read under its id is taken for the part."""

    def judge(reading: Any, locator: Any, _expected: Any) -> Event:
        if reading.locator.message_id != locator.message_id:
            return Event.MISMATCH
        return Event.RECALLED if reading.recalled else Event.PROVED

    async def landed(_tools: Any, check: Any, locator: Any, shown: Any) -> Event:
        return judge(shown, locator, check.expected)

    with patch.object(reading_back, "judge_where_it_landed", landed), patch.object(together, "judge", judge):
        yield


def sends_parts_before_the_one_ahead_is_proved() -> AbstractContextManager[object]:
    """The next part leaves as soon as the one ahead of it was sent, whatever became of it."""
    real = moves._follow

    def follow(connection: Any, part: Any, target: State, now: Millis) -> None:
        real(connection, part, target, now)
        if target is State.VERIFICATION_REQUIRED:
            moves.release_next(connection, part, now)

    return patch.object(moves, "_follow", follow)


@contextmanager
def takes_another_parts_message() -> Generator[None]:
    """A search takes what looks right, whoever else it may belong to."""
    with patch.object(checks, "rivals_of", lambda *_arguments: Rivals.NONE):
        yield


def makes_a_new_key_for_each_attempt() -> AbstractContextManager[object]:
    """The provider cannot recognise a repeated send."""
    real = attempt_ledger.begin

    def begin(connection: Any, part_id: Any, *others: Any) -> Any:
        attempt = real(connection, part_id, *others)
        if attempt is None:
            return None
        key = IdempotencyKey(f"k-{part_id[:30]}-{attempt.fence}")
        connection.execute(update(part_table).where(part_table.c.part_id == part_id).values(idempotency_key=key))
        return replace(attempt, key=key)

    return patch.object(attempt_ledger, "begin", begin)


@contextmanager
def claims_without_looking() -> Generator[None]:
    """What is under way is sent by whoever comes: neither its state nor its lease holds anybody back."""
    real = attempt_ledger.load

    def load(connection: Any, part_id: Any) -> Any:
        part = real(connection, part_id)
        if part is None or part.state is not State.SENDING:
            return part
        return replace(part, state=State.QUEUED, due_at=Millis(0), lease_until=None)

    def writing(columns: tuple[str, ...]) -> Prepared:
        return Prepared(update(part_table).where(part_table.c.part_id == bindparam("of_part")), columns)

    with patch.object(attempt_ledger, "load", load), patch.object(moves, "_writing", writing):
        yield


def concludes_absence_at_once() -> AbstractContextManager[object]:
    """The first complete search that finds nothing counts, however early it was made."""
    real = checks.claim

    def claim(*arguments: Any) -> Any:
        check = real(*arguments)
        return None if check is None else replace(check, settled_at=Millis(0))

    return patch.object(checks, "claim", claim)


def takes_the_first_page_for_the_whole() -> AbstractContextManager[object]:
    """A history is read no further than its first page."""
    from tests.simulation.provider import SimProvider

    real = SimProvider.list_window

    async def list_window(self: Any, route: Any, since: Any, cursor: Any) -> Any:
        page = await real(self, route, since, cursor)
        return replace(page, next_cursor=None) if isinstance(page, WindowPage) else page

    return patch.object(SimProvider, "list_window", list_window)


@contextmanager
def supersedes_what_was_attempted() -> Generator[None]:
    """A later revision replaces an answer that may have been told already."""
    waiting = (State.QUEUED, State.RETRY_PENDING, State.SENDING, State.VERIFICATION_REQUIRED)

    def supersede_from(connection: Any, return_id: Any, position: int, now: Any) -> int:
        rows = connection.execute(
            parts.selection().where(
                part_table.c.return_id == return_id,
                part_table.c.position >= position,
                part_table.c.state.in_([state.value for state in waiting]),
            )
        ).mappings()
        return sum(moves.move(connection, parts.from_row(row), Event.SUPERSEDED, now) for row in rows.all())

    def supersede_unattempted(connection: Any, subject: Any, *, before_revision: int, now: Any) -> int:
        older = connection.execute(
            select(return_table.c.return_id).where(
                return_table.c.subject_id == subject,
                return_table.c.revision < before_revision,
                return_table.c.kind == "answer",
            )
        ).scalars()
        return sum(supersede_from(connection, ReturnId(each), 0, now) > 0 for each in older.all())

    from tests.simulation import history

    table = {(state, Event.SUPERSEDED): State.SUPERSEDED for state in waiting}
    with (
        _table(table),
        patch.object(outbox, "supersede_from", supersede_from),
        patch.object(history, "supersede_unattempted", supersede_unattempted),
    ):
        yield


def sends_again_when_a_commit_is_lost() -> AbstractContextManager[object]:
    """An outcome that could not be stored is taken for one that did not happen."""
    real = attempting._recorded

    async def recorded(tools: Any, attempt: Any, outcome: Any) -> bool:
        if await real(tools, attempt, outcome):
            return True
        again = text(
            "UPDATE parts SET state = 'retry_pending', lane = :lane, due_at = :now, lease_owner = NULL,"
            " lease_until = NULL WHERE part_id = :part"
        )
        values = {"lane": SEND, "now": tools.clock.now(), "part": attempt.part_id}
        try:
            await tools.transactions.run(lambda c: c.execute(again, values))
        except StorageUnavailable:
            return False
        return True

    return patch.object(attempting, "_recorded", recorded)


def forgets_what_is_under_way_at_a_crash() -> AbstractContextManager[object]:
    """A send whose holder is gone is taken for one that was not made."""
    return _table({(State.SENDING, Event.LEASE_LOST): State.RETRY_PENDING})


def gives_up_by_sending() -> AbstractContextManager[object]:
    """When reading was not possible for too long, it is sent again."""
    return _table({(State.VERIFICATION_REQUIRED, Event.GAVE_UP): State.RETRY_PENDING})


def takes_an_answer_without_an_id_for_delivered() -> AbstractContextManager[object]:
    """Accepted is told as delivered, without reading it back."""
    real = attempt_ledger._await_reading

    def await_reading(connection: Any, part: Any, outcome: Accepted, now: Any, policy: Any) -> bool:
        moved = real(connection, part, outcome, now, policy)
        left = parts.load(connection, part.part_id)
        proved = {"verification": "direct", "delivered_at": now}
        return moved and left is not None and moves.move(connection, left, Event.PROVED, now, changes=proved)

    return patch.object(attempt_ledger, "_await_reading", await_reading)


def _of(*oracles: str) -> frozenset[str]:
    return frozenset(oracles)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("resends unknown", _of("duplicates"), resends_unknown),
    Mutant("stores the attempt after the send", _of("order"), stores_the_attempt_after_the_send),
    Mutant("takes a timeout for a refusal", _of("duplicates", "truth"), takes_a_timeout_for_a_refusal),
    Mutant("writes blindly", _of("duplicates", "truth", "ledger", "liveness"), writes_blindly, first=30),
    Mutant("takes not found for not sent", _of("duplicates"), takes_not_found_for_not_sent),
    Mutant("stores the locator after reading it", _of("order"), stores_the_locator_after_reading_it),
    Mutant("fences locators by the lease", _of("truth"), fences_locators_by_the_lease, first=400),
    Mutant("verifies by id alone", _of("truth"), verifies_by_id_alone),
    Mutant("parts out of order", _of("truth"), sends_parts_before_the_one_ahead_is_proved),
    Mutant("takes another part's message", _of("truth"), takes_another_parts_message, first=80),
    Mutant("a new key for each attempt", _of("duplicates"), makes_a_new_key_for_each_attempt),
    Mutant("claims without looking", _of("duplicates", "truth", "ledger"), claims_without_looking),
    Mutant("concludes absence at once", _of("truth"), concludes_absence_at_once),
    Mutant("takes the first page for the whole", _of("truth"), takes_the_first_page_for_the_whole),
    Mutant("supersedes what was attempted", _of("truth"), supersedes_what_was_attempted),
    Mutant("sends again when a commit is lost", _of("duplicates"), sends_again_when_a_commit_is_lost, first=350),
    Mutant("forgets what is under way at a crash", _of("duplicates"), forgets_what_is_under_way_at_a_crash),
    Mutant("gives up by sending", _of("duplicates", "truth"), gives_up_by_sending),
    Mutant("takes accepted for delivered", _of("truth"), takes_an_answer_without_an_id_for_delivered),
)

SOUND = Mutant("nothing wrong", frozenset(), nullcontext)
