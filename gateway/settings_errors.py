"""What is wrong with a configuration, said so that it can be put right; never with a value that may be secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Loc: TypeAlias = tuple[str | int, ...]
"""A key as pydantic names it: ``("apps", 0, "app_id")``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: in which file or environment variable, at which key, and why."""

    where: str
    key: str
    reason: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.key, self.reason) if part)


class SettingsError(Exception):
    """The configuration is refused; each line names file (or environment variable), key and reason."""

    code = "bad_configuration"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def key_of(loc: Loc) -> str:
    """The key as one writes about it: ``apps[0].app_id``."""
    key = ""
    for step in loc:
        key += f"[{step}]" if isinstance(step, int) else f".{step}" if key else step
    return key
