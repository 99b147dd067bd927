"""The gateway's database, read from outside: what it believes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, create_engine, select

from manager.ledger.tables import events, facts, question_routes, turns
from returns.ledger.tables import part_locators, parts, return_routes, returns


@dataclass(frozen=True)
class Part:
    """A part, its key and where it says that its message is."""

    part_id: str
    request_id: str
    return_id: str
    return_seq: int
    position: int
    kind: str
    chat_id: str
    reply_to: str | None
    state: str
    error: str | None
    key: str
    message_id: str | None


@dataclass(frozen=True)
class Turn:
    """A turn: when its question was asked, and the timeline's numbers and moments of what became of it."""

    request_id: str
    conversation_id: str
    asked_at: int
    received: tuple[int, int]
    started: tuple[int, int]
    decided: tuple[int, int]


def engine_of(database_url: str, file: Path) -> Engine:
    """An engine over PostgreSQL, or over the SQLite file when there is no URL."""
    if not database_url:
        return create_engine(f"sqlite:///{file}", connect_args={"timeout": 30})
    return create_engine(database_url.replace("postgresql://", "postgresql+psycopg://", 1))


def read_parts(engine: Engine) -> list[Part]:
    """Every part that there is."""
    query = (
        select(
            parts.c.part_id, parts.c.subject_id, parts.c.return_id, parts.c.return_seq, parts.c.position,
            returns.c.kind, return_routes.c.chat_id, return_routes.c.reply_to, parts.c.state, parts.c.error,
            parts.c.idempotency_key, part_locators.c.message_id,
        )
        .join(returns, returns.c.return_id == parts.c.return_id)
        .join(return_routes, return_routes.c.return_id == parts.c.return_id)
        .outerjoin(part_locators, part_locators.c.part_id == parts.c.part_id)
        .order_by(parts.c.return_seq, parts.c.position)
    )  # fmt: skip
    with engine.connect() as connection:
        return [Part(*row) for row in connection.execute(query)]


def read_requests(engine: Engine) -> dict[str, str]:
    """The request of each question's message."""
    with engine.connect() as connection:
        found = connection.execute(select(question_routes.c.message_id, question_routes.c.request_id)).all()
    return {row.message_id: row.request_id for row in found}


def read_turns(engine: Engine) -> list[Turn]:
    """Every turn that was decided."""
    wanted = ("received", "turn_started", "decided")
    with engine.connect() as connection:
        happened: dict[tuple[str, str], tuple[int, int]] = {}
        for row in connection.execute(select(facts).where(facts.c.fact.in_(wanted)).order_by(facts.c.seq)):
            happened.setdefault((row.request_id, row.fact), (row.seq, row.at))
        rows = connection.execute(select(turns.c.request_id, turns.c.conversation_id, turns.c.position)).all()
    return [
        Turn(*row, *(happened[row.request_id, fact] for fact in wanted))
        for row in rows
        if all((row.request_id, fact) in happened for fact in wanted)
    ]


def stored_events(engine: Engine, wanted: Sequence[str]) -> set[str]:
    """Which of the events are stored."""
    with engine.connect() as connection:
        found = connection.execute(select(events.c.event_id).where(events.c.event_id.in_(wanted)))
        return set(found.scalars())
