"""Requests in every situation, written by the rooms' own ledgers."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, update

from manager.decisions.brief import Brief
from manager.decisions.decision import Audience
from manager.ids import ConversationId, OpenId, RequestId
from manager.ledger import requests, tables
from manager.ledger.routes import QuestionRoute
from providers.storage.schema import create_all
from providers.storage.sync import open_sqlite
from returns.decisions.document import Text
from returns.delivery import Error, State, Verification
from returns.ids import AppName, ChatId, MessageId, Millis, ReturnId, SubjectId
from returns.ledger import answers
from returns.ledger import tables as return_tables
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ports import Route

ASKED = Millis(1_760_000_000_000)
PRIVATE_THINGS = ("oc_secret", "om_secret", "ou_secret", "omt_secret", "the private answer", "private question")
"""What no output may hold."""


def ask(
    connection: Connection,
    number: int,
    *,
    question: str = "Where is the parser?",
    private: bool = False,
) -> RequestId:
    """A question that was just received: ``r_<number>``."""
    request = RequestId(f"r_{number}")
    at = Millis(ASKED + number)
    requests.create_request(
        connection,
        request_id=request,
        conversation_id=ConversationId("c_1"),
        app=AppName("default"),
        private=private,
        audience=Audience.PRIVATE if private else Audience.SHARED,
        asked_at=at,
        language="en",
        late=False,
        question=question,
        brief=Brief(purpose=question),
        route=QuestionRoute(
            AppName("default"),
            ChatId("oc_secret"),
            None,
            MessageId(f"om_secret_{number}"),
            OpenId("ou_secret"),
            "d" * 64,
        ),
        now=at,
    )
    return request


def set_axes(connection: Connection, request: str, **columns: object) -> None:
    """Put a request's newest revision (numbered 1) into a situation."""
    connection.execute(update(tables.revisions).where(tables.revisions.c.request_id == request).values(**columns))


def answer(
    connection: Connection,
    request: str,
    state: State,
    error: Error | None = None,
    *,
    verification: Verification | None = None,
    revision: int = 1,
    number: int = 1,
) -> ReturnId:
    """An answer of one part, in ``state``."""
    now = Millis(ASKED + 10_000)
    return_id = ReturnId(f"ret_{request}_{number}")
    route = Route(AppName("default"), ChatId("oc_secret"), None, MessageId("om_secret"))
    view = requests.current(connection, RequestId(request))
    enqueue(
        connection,
        new_return(
            return_id=return_id,
            subject=SubjectId(request),
            revision=revision,
            kind=ReturnKind.ANSWER,
            route=route,
            documents=(((Text("the private answer"),),),),
            place=None if view is None else view.seq,
        ),
        now,
    )
    requests.note_answered(connection, RequestId(request), revision)
    delivered = Millis(now + 500) if state is State.DELIVERED else None
    parts = return_tables.parts
    connection.execute(
        update(parts)
        .where(parts.c.return_id == return_id)
        .values(
            state=state.value,
            error=error.value if error else None,
            verification=verification.value if verification else None,
            attempts=0 if state is State.QUEUED else 1,
            delivered_at=delivered,
        )
    )
    answers.refresh(connection, SubjectId(request), return_id, now)
    return return_id


def filled(folder: Path, count: int = 5) -> Path:
    """A database with ``count`` questions, ``r_0`` the oldest; a folder as ``gateway.data_dir``."""
    path = folder / "steward.db"
    create_all(path)
    with open_sqlite(path) as transactions:
        for number in range(count):
            transactions.run(lambda connection, number=number: ask(connection, number))
    return path
