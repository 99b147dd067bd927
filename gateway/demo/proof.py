"""Does the demo prove what it claims? Judged by what the local Lark saw, not by what the gateway says. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One question: what stands in the chat under it, and what the inbox says of its delivery."""

    question: str
    replies: tuple[str, ...]
    """What people see as replies to the question, in order; the last one is the answer."""
    expected_replies: int
    sends: int
    """Requests to send or reply that the local Lark got meanwhile."""
    reads: int
    """Requests to read a message or the history that it got meanwhile."""
    status: str
    verification: str | None

    @property
    def times_seen(self) -> int:
        """How often the answer is in the chat."""
        return self.replies.count(self.replies[-1]) if self.replies else 0


def judge(exhibits: Sequence[Exhibit]) -> tuple[str, ...]:
    """What is wrong; empty when the proof holds."""
    wrong = [why for exhibit in exhibits for why in _wrong_with(exhibit)]
    if not exhibits:
        wrong.append("nothing was asked")
    reconciled = sum(exhibit.verification == "reconciled" for exhibit in exhibits)
    if reconciled != 1:
        wrong.append(f"{reconciled} deliveries were reconciled, not 1")
    return tuple(wrong)


def _wrong_with(exhibit: Exhibit) -> list[str]:
    wrong: list[str] = []
    if exhibit.status != "delivered":
        wrong.append(f"'{exhibit.question}' is {exhibit.status}, not delivered")
    if len(exhibit.replies) != exhibit.expected_replies:
        wrong.append(f"'{exhibit.question}' has {len(exhibit.replies)} replies, not {exhibit.expected_replies}")
    if exhibit.sends != exhibit.expected_replies:
        wrong.append(f"'{exhibit.question}' was answered with {exhibit.sends} sends, not {exhibit.expected_replies}")
    if any(count > 1 for count in Counter(exhibit.replies).values()):
        wrong.append(f"'{exhibit.question}' was answered twice with the same words")
    return wrong
