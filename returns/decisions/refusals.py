"""What a definite refusal means for a part: the event, and how long to wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from returns.decisions.policy import ReturnsPolicy
from returns.decisions.retry import STALE_TOKEN_AT_ONCE, backoff_ms, retry_after_ms, slow_ms
from returns.delivery import Event
from returns.ids import PartId
from returns.ports import Refusal, Refused


@dataclass(frozen=True, slots=True)
class Refusing:
    """What a plan depends on."""

    part: PartId
    failures: int
    """Refusals in a row before this one."""
    can_move_to_chat: bool
    """The attempt was a reply outside a thread."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The event to apply, and the delay in ms for states that wait."""

    event: Event
    delay_ms: int = 0


def after_send(refused: Refused, of: Refusing, policy: ReturnsPolicy) -> Plan:
    """The plan for a send that was refused."""
    match refused.refusal:
        case Refusal.OFFLINE | Refusal.RATE_LIMITED | Refusal.STALE_TOKEN | Refusal.CONFIGURATION:
            return before_send(refused, of, policy)
        case Refusal.NOT_ALLOWED:
            return Plan(Event.REFUSED_NOT_ALLOWED)
        case Refusal.CONTENT:
            return Plan(Event.REFUSED_CONTENT)
        case Refusal.ROUTE_GONE:
            return Plan(Event.ROUTE_GONE)
        case Refusal.QUESTION_RECALLED:
            in_chat = policy.recalled_question == "answer_in_chat" and of.can_move_to_chat
            return Plan(Event.MOVED_TO_CHAT if in_chat else Event.QUESTION_RECALLED)
        case _:
            assert_never(refused.refusal)


def before_send(refused: Refused, of: Refusing, policy: ReturnsPolicy) -> Plan:
    """The plan when not even the token could be had; it says nothing about chat or content, so all is tried again."""
    failures = of.failures + 1
    match refused.refusal:
        case Refusal.OFFLINE:
            return Plan(Event.REFUSED_OFFLINE, backoff_ms(of.part, failures, policy))
        case Refusal.RATE_LIMITED:
            return Plan(Event.REFUSED_RATE_LIMITED, retry_after_ms(of.part, failures, refused.retry_after_ms, policy))
        case Refusal.STALE_TOKEN:
            at_once = failures <= STALE_TOKEN_AT_ONCE
            return Plan(Event.REFUSED_STALE_TOKEN, 0 if at_once else backoff_ms(of.part, failures, policy))
        case (
            Refusal.CONFIGURATION
            | Refusal.NOT_ALLOWED
            | Refusal.CONTENT
            | Refusal.ROUTE_GONE
            | Refusal.QUESTION_RECALLED
        ):
            return Plan(Event.REFUSED_CONFIGURATION, slow_ms(of.part, failures, policy))
        case _:
            assert_never(refused.refusal)
