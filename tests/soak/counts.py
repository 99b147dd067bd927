"""What a run counted, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Counts:
    """One run. Everything under ``wrong`` must be empty."""

    database: str
    seed: int
    seconds: float
    asked: int = 0
    acknowledged: int = 0
    """Events whose 200 Lark has read."""
    answered: int = 0
    """Asked questions whose answer is delivered: each part exactly one visible message."""
    declined: int = 0
    """Of those, the ones that were told that there will be no answer."""
    waiting: dict[str, int] = field(default_factory=dict)
    """Questions that wait for an operator in the inbox, by status and reason."""
    never_taken: int = 0
    """Questions that no gateway acknowledged before Lark stopped pushing them."""
    duplicated: int = 0
    lost: int = 0
    parts: int = 0
    messages: int = 0
    """Messages of the bot that Lark has."""
    kills: int = 0
    kills_while_starting: int = 0
    starts: int = 0
    starts_that_got_ready: int = 0
    pushes: int = 0
    """Attempts of Lark to push an event."""
    faults: dict[str, int] = field(default_factory=dict)
    """Faults of Lark that struck, by kind."""
    settled_in_s: float = 0.0
    """From the end of the killing until nothing moved any more."""
    wrong: list[str] = field(default_factory=list)
    """Everything that breaks the promise or in which inbox and Lark disagree."""

    @property
    def waits(self) -> int:
        """Questions that wait for an operator."""
        return sum(self.waiting.values())

    def balances(self) -> bool:
        """Whether every asked question has exactly one end."""
        return self.asked == self.answered + self.waits + self.never_taken + self.lost

    def text(self) -> str:
        """A few lines for people."""
        waiting = ", ".join(f"{count} {what}" for what, count in sorted(self.waiting.items())) or "none"
        faults = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items())) or "none"
        ready = f"{self.starts_that_got_ready} got ready"
        lines = [
            f"soak on {self.database}, {self.seconds:.0f} s of killing, seed {self.seed}",
            f"  asked {self.asked}, acknowledged {self.acknowledged}, never taken {self.never_taken}",
            f"  answered {self.answered} (of these told that there is no answer: {self.declined})",
            f"  waiting for an operator {self.waits}: {waiting}",
            f"  duplicated {self.duplicated}, lost {self.lost}",
            f"  parts {self.parts}, messages of the bot at Lark {self.messages}",
            f"  kills {self.kills} ({self.kills_while_starting} while starting), starts {self.starts} ({ready})",
            f"  pushes {self.pushes}; faults {sum(self.faults.values())}: {faults}",
            f"  all settled {self.settled_in_s:.1f} s after the last kill",
        ]
        return "\n".join([*lines, *(f"  WRONG: {what}" for what in self.wrong)])
