"""Parts as rows, typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, cast

from sqlalchemy import Connection, Select, bindparam, select

from returns.decisions.bodies import from_json
from returns.decisions.document import Document
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
from returns.ledger.lanes import Lane
from returns.ledger.locking import lock_chat_of
from returns.ledger.prepared import Prepared, Row
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
    lane: Lane | None
    due_at: Millis
    attempts: int
    failures: int
    last_attempt_at: Millis | None
    give_up_at: Millis | None
    fence: int
    lease_until: Millis | None
    idempotency_key: IdempotencyKey
    needs_configuration: bool
    placement: Literal["reply", "chat"]
    fingerprint: str
    replaces: ReturnId | None
    """The return that this one's replaces."""
    stopped: bool
    """Its answer was cancelled by an operator: nothing more of it is sent."""
    updated_at: Millis
    """Since when it stands as it does."""

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
    parts.c.needs_configuration,
    parts.c.placement,
    parts.c.fingerprint,
    returns.c.replaces,
    returns.c.stopped_at,
    parts.c.updated_at,
)


def selection() -> Select[*tuple[object, ...]]:
    """Select parts; pass each row, as a mapping, to ``from_row``."""
    return cast(
        "Select[*tuple[object, ...]]",
        select(*_COLUMNS).join(returns, returns.c.return_id == parts.c.return_id),
    )


_LOAD: Final = Prepared(selection().where(parts.c.part_id == bindparam("part")))
_ROUTE: Final = Prepared(
    select(
        return_routes.c.chat_id, return_routes.c.thread_id, return_routes.c.reply_to, return_routes.c.asked_at
    ).where(return_routes.c.return_id == bindparam("return_id"))
)
_BODY: Final = Prepared(select(part_bodies.c.document).where(part_bodies.c.part_id == bindparam("part")))


def from_row(values: Row) -> Part:
    """The part of a row of ``selection``, taken as a mapping."""
    return Part(
        part_id=PartId(cast("str", values["part_id"])),
        return_id=ReturnId(cast("str", values["return_id"])),
        return_seq=cast("int", values["return_seq"]),
        position=cast("int", values["position"]),
        subject=SubjectId(cast("str", values["subject_id"])),
        revision=cast("int", values["revision"]),
        kind=cast("str", values["kind"]),
        app=AppName(cast("str", values["app"])),
        chat_key=ChatKey(cast("str", values["chat_key"])),
        state=State(values["state"]),
        error=Error(values["error"]) if values["error"] is not None else None,
        lane=cast("Lane | None", values["lane"]),
        due_at=Millis(cast("int", values["due_at"])),
        attempts=cast("int", values["attempts"]),
        failures=cast("int", values["failures"]),
        last_attempt_at=cast("Millis | None", values["last_attempt_at"]),
        give_up_at=cast("Millis | None", values["give_up_at"]),
        fence=cast("int", values["fence"]),
        lease_until=cast("Millis | None", values["lease_until"]),
        idempotency_key=IdempotencyKey(cast("str", values["idempotency_key"])),
        needs_configuration=bool(values["needs_configuration"]),
        placement=cast('Literal["reply", "chat"]', values["placement"]),
        fingerprint=cast("str", values["fingerprint"]),
        replaces=cast("ReturnId | None", values["replaces"]),
        stopped=values["stopped_at"] is not None,
        updated_at=Millis(cast("int", values["updated_at"])),
    )


def load(connection: Connection, part_id: PartId) -> Part | None:
    """The part as it stands in this transaction."""
    row = _LOAD.first(connection, {"part": part_id})
    return None if row is None else from_row(row)


def held(connection: Connection, part_id: PartId, state: State, fence: int) -> Part | None:
    """The part, if it is still in the state and under the fence that a claim gave; else None. Locks its chat."""
    lock_chat_of(connection, part_id)
    part = load(connection, part_id)
    if part is None or part.state is not state or part.fence != fence:
        return None
    return part


def route_of(connection: Connection, part: Part) -> Route:
    """Where the part goes: its return's route, or the chat itself where the reply was given up. Private."""
    return way_of(connection, part)[0]


def way_of(connection: Connection, part: Part) -> tuple[Route, Millis | None]:
    """As ``route_of``, and when its subject was asked, by the provider's clock. Private."""
    row = _ROUTE.only(connection, {"return_id": part.return_id})
    route = Route(
        app=part.app,
        chat_id=ChatId(cast("str", row["chat_id"])),
        thread_id=cast("ThreadId | None", row["thread_id"]),
        reply_to=cast("MessageId | None", row["reply_to"]) if part.placement == "reply" else None,
    )
    return route, cast("Millis | None", row["asked_at"])


class NoLongerKept(Exception):
    """The part was settled so long ago that its text was forgotten: it cannot be sent anew. Tell the asker yourself."""

    code = "no_longer_kept"


def body_of(connection: Connection, part: Part) -> Document:
    """What the part says. Private. Raises ``NoLongerKept``."""
    row = _BODY.first(connection, {"part": part.part_id})
    if row is None:
        raise NoLongerKept("The text of this part is no longer kept.")
    return from_json(cast("str", row["document"]))
