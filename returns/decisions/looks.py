"""What a look for a message says, and for how long it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from returns.delivery import Error, State
from returns.ids import Millis

COUNTS_FOR_MS: Final = 10_000
"""How long "it is not there" counts: what was sent may turn up later, so what is sent anew later looks once more."""

LOOK_FOR_MS: Final = 600_000
"""How long that look may take before an operator is asked again."""

NOT_THERE: Final = frozenset(
    {
        Error.NO_MATCH_FOUND,
        Error.PROVIDER_MESSAGE_MISSING,
        Error.PROVIDER_MESSAGE_RECALLED,
        Error.PROVIDER_DELIVERY_MISMATCH,
    }
)
"""What a complete reading says of a message that is not there as it was sent."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """Something that was sent, and of which nobody knows whether it is there."""

    state: State
    error: Error | None
    since: Millis
    """Since when it stands so."""
    only_read: bool = False
    """Whether a message was read that is not it, and the history was not searched since."""

    def needs_look(self, now: Millis) -> bool:
        """Whether what is known is not enough to send it once more."""
        return self.only_read or is_stale(self.since, now)


class Before(Enum):
    """What comes before a part is sent that repeats what may be there."""

    NOTHING = "nothing"
    """It was looked for just now, and is not there."""
    LOOK = "look"
    """The last look is too old."""
    WAIT = "wait"
    """It is being looked for."""
    ASK = "ask"
    """It cannot be said that it is not there: an operator says what is to be done."""


def is_stale(since: Millis, now: Millis) -> bool:
    """Whether a look that ended ``since`` says nothing any more; one of a clock that was ahead never did."""
    return not 0 <= now - since <= COUNTS_FOR_MS


def before_sending(repeated: Sequence[Unsure], now: Millis) -> Before:
    """What comes before a part is sent that repeats these: the last look for each of them has to count still."""
    if any(each.state is State.VERIFICATION_REQUIRED for each in repeated):
        return Before.WAIT
    if any(each.error not in NOT_THERE for each in repeated):
        return Before.ASK
    return Before.LOOK if any(each.needs_look(now) for each in repeated) else Before.NOTHING
