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
    reads: int
    status: str
    verification: str | None

    @property
    def times_seen(self) -> int:
        """How often the answer is in the chat."""
        return self.replies.count(self.replies[-1]) if self.replies else 0


def judge(exhibits: Sequence[Exhibit]) -> tuple[str, ...]:
    """What is wrong; empty when the proof holds."""
    wrong: list[str] = []
    for exhibit in exhibits:
        if exhibit.status != "delivered":
            wrong.append(f"'{exhibit.question}' is {exhibit.status}, not delivered")
        if len(exhibit.replies) != exhibit.expected_replies:
            wrong.append(f"'{exhibit.question}' has {len(exhibit.replies)} replies, not {exhibit.expected_replies}")
        twice = [words for words, count in Counter(exhibit.replies).items() if count > 1]
        if twice:
            wrong.append(f"'{exhibit.question}' was answered twice with the same words")
    reconciled = sum(exhibit.verification == "reconciled" for exhibit in exhibits)
    if reconciled != 1:
        wrong.append(f"{reconciled} deliveries were reconciled, not 1")
    return tuple(wrong)
