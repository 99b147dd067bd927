"""How the way back behaves; the values of the ``[returns]`` section, in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ReturnsPolicy:
    """What an operator can set. The defaults are the documented ones."""

    readback_delay_ms: int = 500
    """From an accepted send to its first reading."""
    settle_ms: int = 30_000
    """A search that found nothing counts only if it began this long after the attempt."""
    give_up_after_ms: int = 86_400_000
    """How long reading is tried after the attempt."""
    app_per_second: int = 50
    app_per_minute: int = 1000
    chat_per_second: int = 5
    lease_ms: int = 30_000
    """How long a part is held without a sign of life of its holder."""
    retry_first_ms: int = 1_000
    retry_max_ms: int = 300_000
    recalled_question: Literal["say_nothing", "answer_in_chat"] = "say_nothing"
