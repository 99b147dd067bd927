"""A return as operators speak of it: an answer, or a notice where there is no answer."""

from __future__ import annotations

from dataclasses import dataclass

from returns.delivery import Error, State
from returns.ids import ReturnId


@dataclass(frozen=True, slots=True)
class AnswerNow:
    """A return of a subject as it stands."""

    return_id: ReturnId
    revision: int
    status: State
    error: Error | None
    kind: str = "answer"
    needs_configuration: bool = False
    """Said of notices."""
