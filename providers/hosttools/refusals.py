"""Why a look at the host gave nothing. Both end inside this package, as a status with a reason."""

from __future__ import annotations

from typing import Final

NOT_TRACKED: Final = "git does not track this at the pinned commit"
NO_SUCH_FILE: Final = "there is no such file in the workspace"
NOT_THERE: Final = frozenset({NOT_TRACKED, NO_SUCH_FILE})
"""Reasons that say that there is nothing to be read, rather than that it may not be."""


class Denied(Exception):
    """What was asked for may not be read; ``reason`` says why and names no path of the machine."""

    code = "denied"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unavailable(Exception):
    """A tool is missing, failed or ran out of time; ``reason`` names no path of the machine."""

    code = "unavailable"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
