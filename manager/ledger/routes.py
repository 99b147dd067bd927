"""The route that each question came along: written once, when it is received. Private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, and_, bindparam, insert, select

from manager.ids import ConversationId, OpenId, RequestId
from manager.ledger.peers import REMOVED
from manager.ledger.tables import chats, conversations, peers, question_routes, requests, revisions
from returns.ids import AppName, ChatId, MessageId, ThreadId
from returns.ledger.prepared import Prepared

_ACTIVE = "active"

_KEEP: Final = Prepared(
    insert(question_routes),
    (
        "request_id",
        "revision",
        "app",
        "chat_id",
        "thread_id",
        "message_id",
        "sender_open_id",
        "content_digest",
    ),
)
_ROUTE: Final = Prepared(
    select(question_routes).where(
        question_routes.c.request_id == bindparam("request"), question_routes.c.revision == bindparam("revision")
    )
)
_OPENED: Final = Prepared(
    select(question_routes.c.request_id, question_routes.c.revision)
    .where(question_routes.c.app == bindparam("app"), question_routes.c.message_id == bindparam("message"))
    .order_by(question_routes.c.revision.desc())
)
_WAY_BACK: Final = Prepared(
    select(
        conversations.c.conversation_id,
        chats.c.app,
        chats.c.state,
        chats.c.private,
        chats.c.external,
        question_routes.c.recalled_at,
        peers.c.state.label("peer_state"),
    )
    .select_from(question_routes)
    .join(requests, requests.c.request_id == question_routes.c.request_id)
    .join(conversations, conversations.c.conversation_id == requests.c.conversation_id)
    .join(chats, chats.c.chat_ref == conversations.c.chat_ref)
    .outerjoin(
        revisions,
        and_(
            revisions.c.request_id == question_routes.c.request_id,
            revisions.c.revision == question_routes.c.revision,
        ),
    )
    .outerjoin(peers, peers.c.peer_id == revisions.c.receiver)
    .where(question_routes.c.request_id == bindparam("request"), question_routes.c.revision == bindparam("revision"))
)


@dataclass(frozen=True, slots=True)
class QuestionRoute:
    """Where a question came from: written once, when it is received. Private."""

    app: AppName
    chat_id: ChatId
    thread_id: ThreadId | None
    message_id: MessageId
    sender_open_id: OpenId | None
    content_digest: str


@dataclass(frozen=True, slots=True)
class WayBack:
    """What decides whether an answer may still go back along its route."""

    app: AppName
    conversation_id: ConversationId
    chat_active: bool
    """The bot is in the chat, as far as is known."""
    external: bool
    """A group that reaches into another tenant, as far as is known."""
    receiver_removed: bool
    """The peer that the revision was given to was taken out of the directory."""
    recalled: bool
    """The question was taken back."""


def keep_route(connection: Connection, request_id: RequestId, revision: int, route: QuestionRoute) -> None:
    """Write the route of a revision's question."""
    _KEEP.defer(
        connection,
        {
            "request_id": request_id,
            "revision": revision,
            "app": route.app,
            "chat_id": route.chat_id,
            "thread_id": route.thread_id,
            "message_id": route.message_id,
            "sender_open_id": route.sender_open_id,
            "content_digest": route.content_digest,
        },
    )


def route_of(connection: Connection, request_id: RequestId, revision: int) -> QuestionRoute | None:
    """The route of a revision's question; None for a peer's child request, which has none."""
    get = _ROUTE.first(connection, {"request": request_id, "revision": revision})
    if get is None:
        return None
    return QuestionRoute(
        app=AppName(cast("str", get["app"])),
        chat_id=ChatId(cast("str", get["chat_id"])),
        thread_id=cast("ThreadId | None", get["thread_id"]),
        message_id=MessageId(cast("str", get["message_id"])),
        sender_open_id=cast("OpenId | None", get["sender_open_id"]),
        content_digest=cast("str", get["content_digest"]),
    )


def request_of_message(connection: Connection, app: AppName, message_id: MessageId) -> tuple[RequestId, int] | None:
    """The request and revision that a question's message opened."""
    row = _OPENED.first(connection, {"app": app, "message": message_id})
    if row is None:
        return None
    return RequestId(cast("str", row["request_id"])), cast("int", row["revision"])


def standing(connection: Connection, request_id: RequestId, before: int) -> int | None:
    """The newest revision before ``before`` whose question's message was not taken back.

    A message that opened several revisions, because it was edited or stands again, is gone as a whole.
    """
    rows = connection.execute(
        select(question_routes.c.revision, question_routes.c.message_id, question_routes.c.recalled_at)
        .where(question_routes.c.request_id == request_id)
        .order_by(question_routes.c.revision.desc())
    ).all()
    gone = {row.message_id for row in rows if row.recalled_at is not None}
    return next((row.revision for row in rows if row.revision < before and row.message_id not in gone), None)


def added_to(connection: Connection, request_id: RequestId, revision: int) -> int | None:
    """The revision whose question the one of ``revision`` adds to: the newest earlier one of another message.

    None where it stands alone. What was taken back by the time that ``revision`` was opened is added to by nobody.
    """
    opened = and_(
        revisions.c.request_id == question_routes.c.request_id, revisions.c.revision == question_routes.c.revision
    )
    rows = connection.execute(
        select(
            question_routes.c.revision,
            question_routes.c.message_id,
            question_routes.c.recalled_at,
            revisions.c.created_at,
        )
        .join(revisions, opened)
        .where(question_routes.c.request_id == request_id, question_routes.c.revision <= revision)
        .order_by(question_routes.c.revision.desc())
    ).all()
    own = rows[0]
    gone = {row.message_id for row in rows if row.recalled_at is not None and row.recalled_at <= own.created_at}
    return next((row.revision for row in rows if row.message_id not in {own.message_id, *gone}), None)


def way_back(connection: Connection, request_id: RequestId, revision: int) -> WayBack | None:
    """The state of a revision's route, by keys alone; None where the revision came along none."""
    row = _WAY_BACK.first(connection, {"request": request_id, "revision": revision})
    if row is None:
        return None
    return WayBack(
        app=AppName(cast("str", row["app"])),
        conversation_id=ConversationId(cast("str", row["conversation_id"])),
        chat_active=row["state"] == _ACTIVE,
        external=bool(row["external"]) and not row["private"],
        receiver_removed=row["peer_state"] == REMOVED,
        recalled=row["recalled_at"] is not None,
    )
