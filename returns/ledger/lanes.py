"""The values of ``parts.lane``: what the pump has to look at. All its queries start from here."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from returns.delivery import Error, State

Lane: TypeAlias = Literal["send", "verify", "search"]

SEND: Final = "send"
"""To be sent, refused for now, or under way. At most one part of a return."""

VERIFY: Final = "verify"
"""To be read: its message is known."""

SEARCH: Final = "search"
"""To be looked for: it is not known where its message is, or whether there is one."""

LANES: Final[tuple[Lane, ...]] = (SEND, VERIFY, SEARCH)
"""Whatever is not settled and not held back is in one of these."""


def lane_of(state: State, error: Error | None = None, before: Lane | None = None) -> Lane | None:
    """The lane of a part in this state; a queued part behind an unproved one of its answer is held with none.

    ``error`` tells a part that has to be looked for from one that has to be read; where it does not, the part stays in
    the lane that it was in ``before``. The lane only says where to look: whoever takes the part asks for its locator.
    """
    match state:
        case State.QUEUED | State.SENDING | State.RETRY_PENDING:
            return SEND
        case State.VERIFICATION_REQUIRED if error is Error.PROVIDER_LOCATOR_UNAVAILABLE:
            return SEARCH
        case State.VERIFICATION_REQUIRED if error is Error.PROVIDER_VERIFICATION_UNAVAILABLE and before == SEARCH:
            return SEARCH
        case State.VERIFICATION_REQUIRED:
            return VERIFY
        case State.DELIVERED | State.EXPLICIT_UNVERIFIED | State.UNDELIVERABLE | State.SUPERSEDED:
            return None
