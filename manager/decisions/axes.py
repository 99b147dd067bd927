"""What the three axes of a request have in common: an event that a state does not know moves nothing."""

from __future__ import annotations

from enum import Enum


class IllegalMove(Exception):
    """The state does not allow the event; nothing moved. The caller was wrong, the outcome is certain."""

    code = "illegal_move"

    def __init__(self, axis: str, state: Enum, event: Enum) -> None:
        super().__init__(f"{axis}: {event.value} is not possible from {state.value}.")
        self.axis = axis
        self.state = state
        self.event = event
