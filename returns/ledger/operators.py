"""What an operator may ask of a delivery: to look again, to look at a message, to send the rest anew, to stop.

Looking sends nothing. Sending anew is a new return that replaces the one that could not be proved: the caller has
looked first, and says so by the part as it stands then. ``lock_chats_of`` keeps other writers out of what is read here
before it is acted upon.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final, cast

from sqlalchemy import Connection, func, select, update

from returns.decisions.looks import LOOK_FOR_MS
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import MAY_BE_THERE, NOT_SENT, WAITING, Error, Event, State
from returns.ids import MessageId, Millis, ReturnId, SubjectId
from returns.ledger.answer_now import AnswerNow
from returns.ledger.disproved import disproved
from returns.ledger.facts import Fact
from returns.ledger.locators import Holder, Kept, Source, holders, keep, locator_of, set_aside
from returns.ledger.locking import lock_chats_of
from returns.ledger.looking import look, unsure
from returns.ledger.moves import Told, move, note, write
from returns.ledger.outbox import NewReturn, ReturnKind, enqueue, supersede_from
from returns.ledger.parts import Part, body_of, from_row, route_of, selection, way_of
from returns.ledger.prepared import Row
from returns.ledger.repeating import Earlier, earlier, may_be_there, repeated_by
from returns.ledger.tables import answers, part_bodies, parts, returns
from returns.ledger.wakeups import RETURNS, announce
from returns.ports import Locator

GIVE_UP_AFTER_MS: Final = ReturnsPolicy().give_up_after_ms


class Naming(Enum):
    """What came of an operator's naming a message."""

    LOOKING = "looking"
    """It is read next."""
    NOT_OPEN = "not_open"
    """The answer has no part that waits for a proof."""
    ANOTHERS = "anothers"
    """It is the message of another part."""
    LOCATED = "located"
    """The provider itself named another message, and that is not disproved."""


def answer_of(connection: Connection, subject: SubjectId) -> AnswerNow | None:
    """The subject's answer, or None while there is none."""
    row = connection.execute(
        select(answers.c.return_id, answers.c.revision, answers.c.status, answers.c.error).where(
            answers.c.subject_id == subject
        )
    ).first()
    if row is None:
        return None
    error = cast("str | None", row.error)
    return AnswerNow(ReturnId(row.return_id), row.revision, State(row.status), None if error is None else Error(error))


def look_again(
    connection: Connection, subject: SubjectId, now: Millis, *, give_up_after_ms: int = GIVE_UP_AFTER_MS
) -> bool:
    """Have the unproved parts of the subject's answer read or looked for at once; False if there is none.

    A reading that fails is tried again for ``give_up_after_ms``. A message that an operator named and that turned out
    to be another one is set aside, so that the part is looked for.
    """
    lock_chats_of(connection, subject)
    answer = answer_of(connection, subject)
    return answer is not None and look_at(connection, answer, now, give_up_after_ms=give_up_after_ms)


def look_at(
    connection: Connection,
    answer: AnswerNow,
    now: Millis,
    *,
    give_up_after_ms: int = GIVE_UP_AFTER_MS,
    further: bool = False,
) -> bool:
    """As ``look_again``, of this return, under ``lock_chats_of``.

    ``further``: also a message that the send's own answer named, and that proved to be another one, is set aside.
    """
    found = _open(connection, answer, MAY_BE_THERE, waiting=True)
    for part in found:
        waits = newest(connection, part).state in WAITING  # and its chat with it
        give_up_at = Millis(now + (min(give_up_after_ms, LOOK_FOR_MS) if waits else give_up_after_ms))
        for each in copies(connection, part):
            look(connection, each, give_up_at, now, further=further)
    announce(connection, RETURNS)
    return bool(found)


def look_further(connection: Connection, part: Part, now: Millis, *, give_up_after_ms: int = GIVE_UP_AFTER_MS) -> bool:
    """Have the part and what it repeats looked for once more, where the last look is not enough; False if it is.

    It is not where only a message was read that is not the part, or where it ended too long ago (``looks``).
    """
    found = [each for each in copies(connection, part) if _needs_look(connection, each, now)]
    for each in found:
        look(connection, each, Millis(now + give_up_after_ms), now, further=True)
    return bool(found)


def _needs_look(connection: Connection, part: Part, now: Millis) -> bool:
    return part.state is State.EXPLICIT_UNVERIFIED and unsure(connection, part).needs_look(now)


def copies(connection: Connection, part: Part) -> list[Part]:
    """The part, and what it repeats that may be there, too."""
    return [part, *may_be_there(connection, part)]


def unproved(connection: Connection, answer: AnswerNow, *, waiting: bool = False) -> Part | None:
    """The first part of the answer that was attempted and is not proved, or cannot be delivered.

    Not one that repeats what is delivered: the asker has that. Where it was definitely not sent anew, and what it
    repeats may be there, that is the one; ``waiting``: also where it waits to be sent anew. Under ``lock_chats_of`` it
    stays as it is until the transaction ends.
    """
    return next(iter(_open(connection, answer, MAY_BE_THERE | {State.UNDELIVERABLE}, waiting=waiting)), None)


def newest(connection: Connection, part: Part) -> Part:
    """The part, or the last one that repeats it."""
    later = repeated_by(connection, part)
    if not later:
        return part
    return_id, position = later[-1]
    query = selection().where(parts.c.return_id == return_id, parts.c.position == position)
    return from_row(cast("Row", connection.execute(query).mappings().one()))


def name_message(
    connection: Connection, part: Part, message: MessageId, now: Millis, *, give_up_after_ms: int = GIVE_UP_AFTER_MS
) -> Naming:
    """Take an operator's word for where the part's message is, and have it read: only that proves it."""
    if part.state not in MAY_BE_THERE:
        return Naming.NOT_OPEN
    known = locator_of(connection, part.part_id)
    if known is None or known[0].message_id != message:
        if holders(connection, part.app, [message]).get(message, Holder.DISPROVED) is not Holder.DISPROVED:
            return Naming.ANOTHERS
        if known is not None and known[1] is Source.DIRECT and disproved(connection, part) is None:
            return Naming.LOCATED
        set_aside(connection, part, now)
    route = route_of(connection, part)
    kept = keep(connection, part, Locator(message, route.chat_id, route.thread_id), Source.OPERATOR, now)
    if kept is Kept.ANOTHERS:
        return Naming.ANOTHERS
    # Whoever looks for it just now looks for nothing any more.
    changes = {"failures": 0, "give_up_at": now + give_up_after_ms, "fence": part.fence + 1}
    told = Told(Fact.LOCATED, {"source": Source.OPERATOR.value})
    move(connection, part, Event.LOCATED, now, changes=changes, told=told)
    return Naming.LOOKING


def give_up(connection: Connection, part: Part, now: Millis) -> bool:
    """Stop looking for now, because nothing could be read; False if somebody is looking."""
    return not part.leased(now) and move(connection, part, Event.GAVE_UP, now)


def send_anew(connection: Connection, part: Part, return_id: ReturnId, now: Millis, *, who: str, reason: str) -> bool:
    """Replace the answer from ``part`` on by a new return with keys of its own; False if it moved on meanwhile.

    Raises ``NoLongerKept`` (see ``is_kept``), and nothing is sent.
    The caller knows that the part was looked for, or that it was definitely not delivered, and that it may be told
    along its route. What was queued behind it becomes superseded; what was proved before it stays in the answer. Where
    the part was sent anew before, the new return replaces that one.
    """
    part = newest(connection, part)
    rest = _rest(connection, part)
    kind = ReturnKind(part.kind)
    documents = tuple(body_of(connection, each) for each in rest)
    if any(each.state not in WAITING | NOT_SENT for each in rest[1:]):
        return False  # one of those behind it was sent by itself
    if not write(connection, part, {"updated_at": now}):
        return False
    note(
        connection,
        part,
        now,
        Fact.RESENT,
        {
            "who": who,
            "reason": reason,
            "before": part.state.value,
            "before_error": part.error.value if part.error else None,
            "replaced_by": return_id,
        },
    )
    supersede_from(connection, part.return_id, part.position, now)
    route, asked_at = way_of(connection, part)
    new = NewReturn(return_id, part.subject, part.revision, kind, route, documents, part.return_id, asked_at=asked_at)
    enqueue(connection, new, now)
    return True


def is_kept(connection: Connection, part: Part) -> bool:
    """Whether the texts from ``part`` on are still there: retention forgets them in the end."""
    ids = [each.part_id for each in _rest(connection, newest(connection, part))]
    kept = select(func.count()).select_from(part_bodies).where(part_bodies.c.part_id.in_(ids))
    return connection.execute(kept).scalar_one() == len(ids)


def stop_sending(connection: Connection, subject: SubjectId, now: Millis) -> int:
    """Supersede what was not sent to the subject, also what was definitely refused; how many parts.

    A send that is under way, and what may have been sent, is followed to its end; what is definitely refused only then
    is superseded as well: ``stopped_at`` tells the refusal so (``attempts``).
    """
    lock_chats_of(connection, subject)
    connection.execute(
        update(returns).where(returns.c.subject_id == subject, returns.c.stopped_at.is_(None)).values(stopped_at=now)
    )
    rows = (
        connection.execute(
            selection()
            .where(parts.c.subject_id == subject, parts.c.state.in_([state.value for state in WAITING]))
            .order_by(parts.c.return_seq, parts.c.position)
        )
        .mappings()
        .all()
    )
    return sum(move(connection, from_row(cast("Row", row)), Event.SUPERSEDED, now) for row in rows)


def _parts(connection: Connection, answer: AnswerNow) -> list[Part]:
    query = selection().where(parts.c.return_id == answer.return_id).order_by(parts.c.position)
    return [from_row(cast("Row", row)) for row in connection.execute(query).mappings().all()]


def _open(connection: Connection, answer: AnswerNow, states: Collection[State], *, waiting: bool = False) -> list[Part]:
    """The answer's parts in these states, as they show, that repeat nothing of which the asker is known to have it."""
    owed = [part for part in _parts(connection, answer) if earlier(connection, part) is not Earlier.DELIVERED]
    hides = WAITING | NOT_SENT if waiting else NOT_SENT
    return [shown for part in owed if (shown := _shown(connection, part, hides)).state in states]


def _shown(connection: Connection, part: Part, hides: Collection[State]) -> Part:
    """The part, or what it repeats, where that may be there and the part is in a state that says nothing of it."""
    before = may_be_there(connection, part) if part.state in hides else []
    return before[0] if before else part


def _rest(connection: Connection, part: Part) -> list[Part]:
    answer = AnswerNow(part.return_id, part.revision, part.state, part.error)
    return [each for each in _parts(connection, answer) if each.position >= part.position]
