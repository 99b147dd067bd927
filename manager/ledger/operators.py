"""What operators asked for: stored with who and when, closed once by whoever is first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from sqlalchemy import Connection, delete, insert, select, update

from manager.decisions.operators import Kind, Outcome
from manager.decisions.work import Work
from manager.ids import RequestId
from manager.ledger.inserting import insert_new
from manager.ledger.tables import operator_commands, requests, revisions, snoozes
from returns.ids import Millis, PartId, ReturnId

COMMANDS: Final = "operator_commands"
"""The topic that a command which waits is announced by."""

MOST_DESCENDANTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it stands."""

    seq: int
    command_id: str
    request_id: RequestId
    kind: Kind
    who: str
    reason: str | None
    return_id: ReturnId | None
    part_id: PartId | None
    outcome: Outcome | None
    due_at: Millis | None


def store(
    connection: Connection,
    *,
    command_id: str,
    request_id: RequestId,
    kind: Kind,
    who: str,
    reason: str | None,
    return_id: ReturnId | None,
    part_id: PartId | None,
    outcome: Outcome | None,
    waits: bool,
    due_at: Millis | None,
    now: Millis,
) -> None:
    """Keep a command; one that ``waits`` is taken up by ``waiting`` until it is closed."""
    connection.execute(
        insert(operator_commands).values(
            command_id=command_id,
            request_id=request_id,
            kind=kind.value,
            who=who,
            reason=reason,
            return_id=return_id,
            part_id=part_id,
            outcome=outcome.value if outcome else None,
            pending=1 if waits else None,
            due_at=due_at,
            created_at=now,
            done_at=None if waits else now,
        )
    )


def waiting(connection: Connection, limit: int, after: int = 0) -> tuple[Command, ...]:
    """The commands that wait, oldest first, after a sequence number."""
    query = (
        select(operator_commands)
        .where(operator_commands.c.pending == 1, operator_commands.c.seq > after)
        .order_by(operator_commands.c.seq)
        .limit(limit)
    )
    return tuple(_command(dict(row)) for row in connection.execute(query).mappings())


def waiting_for(connection: Connection, request_id: RequestId, kind: Kind) -> Command | None:
    """The command of this kind that waits for the request; None if there is none."""
    query = select(operator_commands).where(
        operator_commands.c.pending == 1,
        operator_commands.c.request_id == request_id,
        operator_commands.c.kind == kind.value,
    )
    row = connection.execute(query.order_by(operator_commands.c.seq).limit(1)).mappings().first()
    return None if row is None else _command(dict(row))


def by_id(connection: Connection, command_id: str) -> Command | None:
    """A command, or None."""
    query = select(operator_commands).where(operator_commands.c.command_id == command_id)
    row = connection.execute(query).mappings().first()
    return None if row is None else _command(dict(row))


def close(connection: Connection, command: Command, outcome: Outcome, now: Millis) -> bool:
    """End a command that waits; False if somebody else has ended it, and then nothing else may be done for it."""
    closed = connection.execute(
        update(operator_commands)
        .where(operator_commands.c.command_id == command.command_id, operator_commands.c.pending == 1)
        .values(pending=None, outcome=outcome.value, done_at=now)
    )
    return closed.rowcount == 1


def set_deadline(connection: Connection, request_id: RequestId, revision: int, due_at: Millis) -> Millis:
    """Give a revision that has no earlier deadline this one; the one that it has then."""
    mine = (revisions.c.request_id == request_id, revisions.c.revision == revision)
    connection.execute(
        update(revisions)
        .where(*mine, (revisions.c.due_at.is_(None)) | (revisions.c.due_at > due_at))
        .values(due_at=due_at)
    )
    return Millis(cast("int", connection.execute(select(revisions.c.due_at).where(*mine)).scalar_one()))


def open_descendants(connection: Connection, request_id: RequestId) -> tuple[RequestId, ...]:
    """The open requests that were made under a request, directly or not, parents first."""
    found: list[RequestId] = []
    parents = [request_id]
    while parents and len(found) < MOST_DESCENDANTS:
        children = connection.execute(
            select(requests.c.request_id, revisions.c.work)
            .join(
                revisions,
                (revisions.c.request_id == requests.c.request_id) & (revisions.c.revision == requests.c.revision),
            )
            .where(requests.c.parent_id.in_(parents))
            .order_by(requests.c.seq)
        ).all()
        parents = [RequestId(cast("str", child.request_id)) for child in children]
        found += [RequestId(cast("str", child.request_id)) for child in children if child.work == Work.OPEN.value]
    return tuple(found)


def snooze(connection: Connection, request_id: RequestId, until: Millis, who: str, now: Millis) -> None:
    """Leave a request alone until then; a moment that is over wakes it."""
    connection.execute(delete(snoozes).where(snoozes.c.request_id == request_id))
    if until > now:
        insert_new(connection, snoozes, [{"request_id": request_id, "until": until, "who": who}])


def _command(row: dict[str, object]) -> Command:
    outcome = cast("str | None", row["outcome"])
    return Command(
        seq=cast("int", row["seq"]),
        command_id=cast("str", row["command_id"]),
        request_id=RequestId(cast("str", row["request_id"])),
        kind=Kind(row["kind"]),
        who=cast("str", row["who"]),
        reason=cast("str | None", row["reason"]),
        return_id=cast("ReturnId | None", row["return_id"]),
        part_id=cast("PartId | None", row["part_id"]),
        outcome=None if outcome is None else Outcome(outcome),
        due_at=cast("Millis | None", row["due_at"]),
    )
