"""An answer of several parts, told as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from returns.delivery import MAY_BE_THERE, NOT_SENT, Error, State, Verification, needs_operator, worst
from returns.ids import Millis


@dataclass(frozen=True, slots=True)
class Standing:
    """A part as everybody may see it."""

    state: State
    error: Error | None = None
    verification: Verification | None = None
    attempts: int = 0
    needs_configuration: bool = False
    delivered_at: Millis | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What an answer's delivery shows."""

    status: State
    error: Error | None
    verification: Verification | None
    parts: int
    delivered_parts: int
    attempts: int
    delivered_at: Millis | None
    needs_operator: bool


def summarise(parts: Sequence[Standing]) -> Summary:
    """Tell the parts of an answer, in order, as one. Raises ``ValueError`` for none."""
    states = [part.state for part in parts]
    status = worst(states)
    delivered = states.count(State.DELIVERED)
    return Summary(
        status=status,
        error=parts[states.index(status)].error,
        verification=_verification(parts),
        parts=len(parts),
        delivered_parts=delivered,
        attempts=sum(part.attempts for part in parts),
        delivered_at=max(part.delivered_at or Millis(0) for part in parts) if delivered == len(parts) else None,
        needs_operator=any(needs_operator(part.state, needs_configuration=part.needs_configuration) for part in parts),
    )


def of_answer(returns: Sequence[Sequence[Standing]]) -> list[Standing]:
    """The parts that an answer is made of: of its return, and of those which that one replaces, the oldest first.

    A part that repeats what turned out to be delivered is shown as that, whatever becomes of it by itself: the asker
    has been told. It may not have been sent, or not arrived, or be there as a second copy; its own facts say which.
    One that was definitely not sent says nothing of what it repeats: where that may be there, it is shown.
    """
    found: list[Standing] = []
    for standings in returns:
        kept = kept_of_replaced(len(found), len(standings))
        repeated = [*found[kept:], *standings[len(found) - kept :]]
        found = found[:kept] + [_told(*twins) for twins in zip(repeated, standings, strict=True)]
    return found


def _told(before: Standing, standing: Standing) -> Standing:
    """What shows of a part that repeats ``before``: the one of both that was proved first, or else the later one.

    Or, where the later one is known not to be there, the one of which that is not known.
    """
    if before.state is not State.DELIVERED:
        return before if standing.state in NOT_SENT and before.state in MAY_BE_THERE else standing
    proved_again = standing.state is State.DELIVERED
    return standing if proved_again and _proved_at(standing) < _proved_at(before) else before


def _proved_at(standing: Standing) -> Millis:
    return standing.delivered_at or Millis(0)


def kept_of_replaced(replaced_parts: int, replacing_parts: int) -> int:
    """How many parts of a return stay in the answer when another one replaces it.

    The return that replaces it carries its unproved part and those after it, so that the first ones, all proved, stay.
    """
    return max(0, replaced_parts - replacing_parts)


def _verification(parts: Sequence[Standing]) -> Verification | None:
    """Reconciled as soon as one part was; direct if what is proved so far all was."""
    ways = {part.verification for part in parts if part.verification is not None}
    if not ways:
        return None
    return Verification.RECONCILED if Verification.RECONCILED in ways else Verification.DIRECT
