"""What an operator can do with a request as it is shown: a page offers these and no others."""

from __future__ import annotations

from typing import cast

from gateway.inbox.items import ABSENT, Json
from manager.decisions.operators import Kind
from manager.decisions.work import Work
from returns.delivery import State

_UNPROVED = (State.EXPLICIT_UNVERIFIED.value, State.VERIFICATION_REQUIRED.value)
_ANEW = (State.EXPLICIT_UNVERIFIED.value, State.UNDELIVERABLE.value)


def possible(item: Json) -> frozenset[str]:
    """The names of the commands that would not be refused, as far as the item tells."""
    status, work = cast("Json", item["delivery"])["status"], item["work"]
    notice = cast("Json | None", item["notice"])
    if status == ABSENT and notice is not None:
        status = notice["status"]
    kinds = [Kind.NOTE, Kind.REVEAL]
    if status in _UNPROVED:
        kinds += [Kind.VERIFY, Kind.FOUND]
    if status in _ANEW and work != Work.CANCELLED.value:
        kinds.append(Kind.RESEND)
    if work == Work.OPEN.value or (work != Work.CANCELLED.value and status != State.DELIVERED.value):
        kinds.append(Kind.CANCEL)
    if item["needs_operator"]:
        kinds.append(Kind.SNOOZE)
    return frozenset(kind.value for kind in kinds)
