"""A cell of the fault matrix: how one answer ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Moment(Enum):
    """When the gateway is killed."""

    NEVER = "not killed"
    BEFORE_ATTEMPT = "before the attempt is committed"
    BEFORE_BYTES = "attempt committed, no byte left"
    AFTER_BYTES = "request left, Lark has not acted"
    AFTER_ACTING = "Lark acted, no answer yet"
    BEFORE_RECORDED = "answered, nothing of it durable"
    BEFORE_READ = "outcome durable, before it is read back"
    BEFORE_PROOF = "read back, nothing of it durable"


SHORT = {
    "explicit_unverified": "unverified",
    "undeliverable": "undeliverable",
    "retry_pending": "waits",
    "superseded": "superseded",
}


class How(Enum):
    """How a cell is made."""

    PROCESS = "process"
    """`lark-steward serve`, killed with SIGKILL."""
    PUMP = "pump"
    """The real pump and the real Lark client over the real database, ended at that await."""


@dataclass(frozen=True)
class Outcome:
    """How an answer ended."""

    status: str
    error: str | None
    verification: str | None
    needs_operator: bool
    messages: int
    """Messages that Lark made for it."""
    requests: int
    """Requests to send it that reached Lark."""
    how: str

    def text(self) -> str:
        """The cell, short: the state (or its error), the number of messages, and a mark where a person must act."""
        state = self.verification if self.status == "delivered" else SHORT[self.status]
        error = f" `{self.error}`" if self.error else ""
        return f"{state}{error}, {self.messages}{' !' if self.needs_operator else ''}"


def comes(moment: Moment, undisturbed: Outcome) -> bool:
    """Whether the moment comes under a fault that ends so when nothing is killed."""
    if moment is Moment.AFTER_ACTING:
        return undisturbed.messages > 0
    if moment in (Moment.BEFORE_READ, Moment.BEFORE_PROOF):
        return undisturbed.status in ("delivered", "explicit_unverified")
    return True
