"""Handing a finished result over to the way back, in the transaction that commits it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, cast

from sqlalchemy import Connection, exists, func, insert, select

from returns.decisions.bodies import to_json
from returns.decisions.document import Document
from returns.decisions.fingerprint import fingerprint, visible
from returns.decisions.keys import body_digest, chat_key, idempotency_key, part_id, route_digest
from returns.delivery import WAITING, Event, State
from returns.ids import ChatKey, Millis, ReturnId, SubjectId
from returns.ledger import answers
from returns.ledger.facts import Fact, record
from returns.ledger.lanes import SEND
from returns.ledger.locking import lock_chat, lock_chats_of
from returns.ledger.moves import move
from returns.ledger.parts import from_row, selection
from returns.ledger.prepared import Prepared, Row
from returns.ledger.tables import part_bodies, parts, return_routes, returns
from returns.ledger.wakeups import RETURNS, announce
from returns.ports import Route

_RETURN: Final = Prepared(
    insert(returns).returning(returns.c.seq),
    ("return_id", "subject_id", "revision", "kind", "replaces", "app", "chat_key", "parts", "created_at"),
)
_ROUTE: Final = Prepared(insert(return_routes), ("return_id", "chat_id", "thread_id", "reply_to", "asked_at"))
_PART: Final = Prepared(
    insert(parts),
    (
        "part_id",
        "return_id",
        "return_seq",
        "position",
        "subject_id",
        "app",
        "chat_key",
        "state",
        "lane",
        "due_at",
        "idempotency_key",
        "route_digest",
        "body_digest",
        "fingerprint",
        "updated_at",
    ),
)
_BODY: Final = Prepared(insert(part_bodies), ("part_id", "document"))


_WAITING: Final = tuple(state.value for state in WAITING)


class ReturnKind(Enum):
    """What a return is to its subject."""

    ANSWER = "answer"
    """What the subject was about; its delivery is followed."""
    NOTICE = "notice"
    """Something told on the way."""


@dataclass(frozen=True, slots=True)
class NewReturn:
    """A return to be committed. Its route and documents are private."""

    return_id: ReturnId
    subject: SubjectId
    revision: int
    kind: ReturnKind
    route: Route
    documents: tuple[Document, ...]
    """One a part, in order."""
    replaces: ReturnId | None
    place: int | None = None
    """Of the subject among all: answers are listed in this order."""
    asked_at: Millis | None = None
    """When the subject was asked, by the provider's clock: none of it can have been sent before. None: not known."""


def new_return(
    *,
    return_id: ReturnId,
    subject: SubjectId,
    revision: int,
    kind: ReturnKind,
    route: Route,
    documents: tuple[Document, ...],
    replaces: ReturnId | None = None,
    place: int | None = None,
    asked_at: Millis | None = None,
) -> NewReturn:
    """A return with at least one part. Raises ``ValueError`` for none."""
    if not documents:
        raise ValueError("a return has at least one part")
    return NewReturn(return_id, subject, revision, kind, route, documents, replaces, place, asked_at)


def enqueue(connection: Connection, new: NewReturn, now: Millis) -> None:
    """Commit the return with all its parts, queued; an answer becomes what its subject's delivery speaks of."""
    key = chat_key(new.route.app, new.route.chat_id)
    lock_chat(connection, key)
    inserted = _RETURN.only(
        connection,
        {
            "return_id": new.return_id,
            "subject_id": new.subject,
            "revision": new.revision,
            "kind": new.kind.value,
            "replaces": new.replaces,
            "app": new.route.app,
            "chat_key": key,
            "parts": len(new.documents),
            "created_at": now,
        },
    )
    _ROUTE.run(
        connection,
        {
            "return_id": new.return_id,
            "chat_id": new.route.chat_id,
            "thread_id": new.route.thread_id,
            "reply_to": new.route.reply_to,
            "asked_at": new.asked_at,
        },
    )
    for position, document in enumerate(new.documents):
        _insert_part(connection, new, key, cast("int", inserted["seq"]), position, document, now)
    record(connection, new.subject, new.return_id, None, now, Fact.RETURN_QUEUED, _queued(new))
    if new.kind is ReturnKind.ANSWER:
        answers.open_answer(connection, new.subject, new.return_id, new.revision, now, place=new.place)
    announce(connection, RETURNS)


def _queued(new: NewReturn) -> dict[str, str | int | bool | None]:
    return {
        "kind": new.kind.value,
        "revision": new.revision,
        "parts": len(new.documents),
        "replaces": new.replaces,
    }


def _insert_part(
    connection: Connection,
    new: NewReturn,
    key: ChatKey,
    seq: int,
    position: int,
    document: Document,
    now: Millis,
) -> None:
    part = part_id(new.return_id, position)
    body = to_json(document)
    _PART.run(
        connection,
        {
            "part_id": part,
            "return_id": new.return_id,
            "return_seq": seq,
            "position": position,
            "subject_id": new.subject,
            "app": new.route.app,
            "chat_key": key,
            "state": State.QUEUED.value,
            "lane": SEND if position == 0 else None,  # the others follow when the one before them is proved
            "due_at": now,
            "idempotency_key": idempotency_key(part, 0),
            "route_digest": route_digest(new.route),
            "body_digest": body_digest(body),
            "fingerprint": fingerprint(visible(document)),
            "updated_at": now,
        },
    )
    _BODY.run(connection, {"part_id": part, "document": body})


def supersede_unattempted(
    connection: Connection,
    subject: SubjectId,
    *,
    before_revision: int,
    now: Millis,
    resends_from: int | None = None,
) -> int:
    """Replace the subject's answers of earlier revisions of which nothing was attempted; the number of those answers.

    An answer that was begun is told to its end, also what an operator had sent anew of it; but resends of the revisions
    ``resends_from`` on are replaced where nothing of the resend was attempted. Notices are not touched.
    """
    lock_chats_of(connection, subject)
    begun = func.sum(parts.c.attempts) > 0
    replaceable = returns.c.replaces.is_(None)
    if resends_from is not None:
        replaceable |= returns.c.revision >= resends_from
    older = (
        connection.execute(
            select(returns.c.return_id)
            .join(parts, parts.c.return_id == returns.c.return_id)
            .where(
                returns.c.subject_id == subject,
                returns.c.revision < before_revision,
                returns.c.kind == ReturnKind.ANSWER.value,
                replaceable,
            )
            .group_by(returns.c.return_id)
            .having(~begun)
        )
        .scalars()
        .all()
    )
    return sum(supersede_from(connection, ReturnId(return_id), 0, now) > 0 for return_id in older)


def supersede_notices(connection: Connection, subject: SubjectId, revision: int, now: Millis) -> None:
    """Replace the notices of a revision of which nothing was accepted and nothing may have been.

    One that was begun is told to its end.
    """
    lock_chats_of(connection, subject)
    begun = parts.alias("begun")
    query = selection().where(
        parts.c.subject_id == subject,
        returns.c.revision == revision,
        returns.c.kind == ReturnKind.NOTICE.value,
        parts.c.state.in_(_WAITING),
        ~exists().where(begun.c.return_id == parts.c.return_id, begun.c.state.not_in(_WAITING)),
    )
    for row in connection.execute(query.order_by(parts.c.return_seq, parts.c.position)).mappings().all():
        move(connection, from_row(cast("Row", row)), Event.SUPERSEDED, now)


def supersede_from(connection: Connection, return_id: ReturnId, position: int, now: Millis) -> int:
    """Supersede the unattempted parts of a return from ``position`` on; the number of them."""
    rows = (
        connection.execute(
            selection()
            .where(
                parts.c.return_id == return_id,
                parts.c.position >= position,
                parts.c.attempts == 0,
                parts.c.state.in_(_WAITING),
            )
            .order_by(parts.c.position)
        )
        .mappings()
        .all()
    )
    return sum(move(connection, from_row(cast("Row", row)), Event.SUPERSEDED, now) for row in rows)
