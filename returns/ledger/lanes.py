"""The values of ``parts.lane``: what the pump has to look at. All its queries start from here."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from returns.delivery import State

Lane: TypeAlias = Literal["send", "verify"]

SEND: Final = "send"
"""To be sent, refused for now, or under way. At most one part of a return."""

VERIFY: Final = "verify"
"""To be read or looked for."""


def lane_of(state: State) -> Lane | None:
    """The lane of a part in this state; a queued part behind an unproved one of its answer is held with none."""
    match state:
        case State.QUEUED | State.SENDING | State.RETRY_PENDING:
            return SEND
        case State.VERIFICATION_REQUIRED:
            return VERIFY
        case State.DELIVERED | State.EXPLICIT_UNVERIFIED | State.UNDELIVERABLE | State.SUPERSEDED:
            return None
