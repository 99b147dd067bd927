"""Having a part looked for once more: it is read, or the history searched, at once."""

from __future__ import annotations

from sqlalchemy import Connection

from returns.decisions.looks import Unsure
from returns.delivery import Event, unread
from returns.ids import Millis
from returns.ledger.disproved import disproved, only_read
from returns.ledger.facts import Fact
from returns.ledger.locators import Source, locator_of, set_aside
from returns.ledger.moves import Told, move, note
from returns.ledger.parts import Part


def unsure(connection: Connection, part: Part) -> Unsure:
    """What is known of a part that may be there."""
    return Unsure(part.state, part.error, part.updated_at, only_read(connection, part))


def look(connection: Connection, part: Part, give_up_at: Millis, now: Millis, *, further: bool) -> None:
    """Have it looked for until ``give_up_at`` (milliseconds); nothing changes where somebody is looking.

    A message that an operator named and that turned out to be another one is set aside, so that the history is
    searched; ``further``: also one that the send's own answer named.
    """
    if part.leased(now):
        note(connection, part, now, Fact.LOOK_AGAIN)
        return
    who = disproved(connection, part)
    if who is not None and (further or who is Source.OPERATOR):
        set_aside(connection, part, now)
    else:
        who = None
    changes = {"failures": 0, "give_up_at": give_up_at}
    error = unread(located=locator_of(connection, part.part_id) is not None)
    told = Told(Fact.LOOK_AGAIN, {"set_aside": None if who is None else who.value})
    move(connection, part, Event.LOOK_AGAIN, now, error=error, changes=changes, told=told)
