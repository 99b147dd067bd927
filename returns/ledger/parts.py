"""Parts as rows, typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, RowMapping, Select, select

from returns.decisions.bodies import from_json
from returns.decisions.document import Document
from returns.decisions.policy import ReturnsPolicy
from returns.delivery import Error, State
from returns.ids import (
    AppName,
    ChatId,
    ChatKey,
    IdempotencyKey,
    MessageId,
    Millis,
    PartId,
    ReturnId,
    SubjectId,
    ThreadId,
)
from returns.ledger.tables import part_bodies, parts, return_routes, returns
from returns.ports import Route


@dataclass(frozen=True, slots=True)
class Part:
    """One part as it stands. Nothing private."""

    part_id: PartId
    return_id: ReturnId
    return_seq: int
    position: int
    subject: SubjectId
    revision: int
    kind: str
    app: AppName
    chat_key: ChatKey
    state: State
    error: Error | None
    lane: str | None
    due_at: Millis
    attempts: int
    failures: int
    last_attempt_at: Millis | None
    give_up_at: Millis | None
    fence: int
    lease_until: Millis | None
    idempotency_key: IdempotencyKey
    placement: Literal["reply", "chat"]
    fingerprint: str

    def leased(self, now: Millis) -> bool:
        """Whether somebody holds it."""
        return self.lease_until is not None and self.lease_until > now


_COLUMNS = (
    parts.c.part_id,
    parts.c.return_id,
    parts.c.return_seq,
    parts.c.position,
    parts.c.subject_id,
    returns.c.revision,
    returns.c.kind,
    parts.c.app,
    parts.c.chat_key,
    parts.c.state,
    parts.c.error,
    parts.c.lane,
    parts.c.due_at,
    parts.c.attempts,
    parts.c.failures,
    parts.c.last_attempt_at,
    parts.c.give_up_at,
    parts.c.fence,
    parts.c.lease_until,
    parts.c.idempotency_key,
    parts.c.placement,
    parts.c.fingerprint,
)


def selection() -> Select[*tuple[object, ...]]:
    """Select parts; pass each row, as a mapping, to ``from_row``."""
    return cast(
        "Select[*tuple[object, ...]]",
        select(*_COLUMNS).join(returns, returns.c.return_id == parts.c.return_id),
    )


def from_row(values: RowMapping) -> Part:
    """The part of a row of ``selection``, taken as a mapping."""
    return Part(
        part_id=PartId(values["part_id"]),
        return_id=ReturnId(values["return_id"]),
        return_seq=values["return_seq"],
        position=values["position"],
        subject=SubjectId(values["subject_id"]),
        revision=values["revision"],
        kind=values["kind"],
        app=AppName(values["app"]),
        chat_key=ChatKey(values["chat_key"]),
        state=State(values["state"]),
        error=Error(values["error"]) if values["error"] is not None else None,
        lane=values["lane"],
        due_at=Millis(values["due_at"]),
        attempts=values["attempts"],
        failures=values["failures"],
        last_attempt_at=values["last_attempt_at"],
        give_up_at=values["give_up_at"],
        fence=values["fence"],
        lease_until=values["lease_until"],
        idempotency_key=IdempotencyKey(values["idempotency_key"]),
        placement=values["placement"],
        fingerprint=values["fingerprint"],
    )


def load(connection: Connection, part_id: PartId) -> Part | None:
    """The part as it stands in this transaction."""
    row = connection.execute(selection().where(parts.c.part_id == part_id)).mappings().one_or_none()
    return None if row is None else from_row(row)


def held(connection: Connection, part_id: PartId, state: State, fence: int) -> Part | None:
    """The part, if it is still in the state and under the fence that a claim gave; else None."""
    part = load(connection, part_id)
    if part is None or part.state is not state or part.fence != fence:
        return None
    return part


def route_of(connection: Connection, part: Part) -> Route:
    """Where the part goes: its return's route, or the chat itself where the reply was given up. Private."""
    row = connection.execute(
        select(return_routes.c.chat_id, return_routes.c.thread_id, return_routes.c.reply_to).where(
            return_routes.c.return_id == part.return_id
        )
    ).one()
    reply_to: str | None = row.reply_to if part.placement == "reply" else None
    return Route(
        app=part.app,
        chat_id=ChatId(row.chat_id),
        thread_id=ThreadId(row.thread_id) if row.thread_id is not None else None,
        reply_to=MessageId(reply_to) if reply_to is not None else None,
    )


def body_of(connection: Connection, part: Part) -> Document:
    """What the part says. Private."""
    body = connection.execute(select(part_bodies.c.document).where(part_bodies.c.part_id == part.part_id)).scalar_one()
    return from_json(cast("str", body))


def give_up_at(now: Millis, policy: ReturnsPolicy) -> Millis:
    """Until when reading is tried after an attempt at ``now``."""
    return Millis(now + policy.give_up_after_ms)
