"""What the owner configured about listening: who may ask, where, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from manager.ids import OpenId
from returns.ids import AppName


@dataclass(frozen=True, slots=True)
class AppPolicy:
    """Who is listened to through one app. Private: holds people's ids."""

    app_id: str
    owners: frozenset[OpenId]
    groups: Literal["mentioned", "listed"]
    """``mentioned``: every group of the own tenant, when named. ``listed``: only chats that an owner granted."""
    private: Literal["owners", "open"]


@dataclass(frozen=True, slots=True)
class StewardPolicy:
    """The bounds of listening and of turns; all times in milliseconds."""

    turn_timeout_ms: int
    late_after_ms: int
    lease_ms: int
    max_parallel_turns: int
    apps: Mapping[AppName, AppPolicy]
    recalled_question: Literal["say_nothing", "answer_in_chat"] = "say_nothing"
    """What becomes of an answer whose question was taken back after it was decided."""
