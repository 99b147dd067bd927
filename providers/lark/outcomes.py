"""The one table that says what became of a send, and what a read did not tell.

Pure. A send is accepted (there is a message id), definitely refused (of which kind), or unknown; when in doubt it is
unknown, because only a definite refusal allows another send.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias, assert_never

import aiohttp

from providers.lark import codes
from providers.lark.answers import MIN_WAIT_MS, Answer, Exchange, NoAnswer, NoToken
from providers.lark.fields import as_id
from returns.ids import ChatId, MessageId, ThreadId
from returns.ports import (
    Accepted,
    Locator,
    Missing,
    NotPermitted,
    Refusal,
    Refused,
    SendOutcome,
    Unknown,
    Unreachable,
)

TOO_MANY_REQUESTS: Final = 429
FIRST_SERVER_ERROR: Final = 500

NEVER_POSSIBLE: Final = (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)
"""Raised before anything was tried: the settings are wrong."""

ReadFailure: TypeAlias = Missing | NotPermitted | Unreachable


class Endpoint(Enum):
    """Where a message was sent; some codes mean different things at each."""

    CREATE = "create"
    """``POST /open-apis/im/v1/messages``: a plain message in a chat."""
    REPLY = "reply"
    """``POST /open-apis/im/v1/messages/{message_id}/reply``: a reply."""


_REFUSALS: Final = {Endpoint.CREATE: codes.ANY_SEND, Endpoint.REPLY: codes.REPLY}


def send_outcome(endpoint: Endpoint, exchange: Exchange, asked: ChatId) -> SendOutcome:
    """What became of a message that was to go to the chat ``asked``."""
    match exchange:
        case Answer():
            return _answered(endpoint, exchange, asked)
        case NoAnswer():
            return unanswered(exchange)
        case NoToken():
            return exchange.refused
        case _:
            assert_never(exchange)


def unanswered(exchange: NoAnswer) -> Refused | Unknown:
    """What became of a request without an answer."""
    if not exchange.left:
        return Refused(Refusal.CONFIGURATION if issubclass(exchange.error, NEVER_POSSIBLE) else Refusal.OFFLINE)
    return Unknown(f"no answer: {exchange.error.__name__}")


def _answered(endpoint: Endpoint, answer: Answer, asked: ChatId) -> SendOutcome:
    if answer.code == codes.SUCCESS:
        return _located(answer, asked)
    if answer.status >= FIRST_SERVER_ERROR:
        return Unknown(f"HTTP {answer.status}", answer.code, answer.log_id)
    refusal = _refusal(endpoint, answer)
    if refusal is not None:
        limited = refusal is Refusal.RATE_LIMITED
        wait = answer.retry_after_ms if limited else None
        return Refused(refusal, answer.code, wait, answer.log_id, limited and answer.code in codes.CHAT_LIMITED)
    if answer.code is None:
        return Unknown(f"no code in an answer with HTTP {answer.status}", None, answer.log_id)
    return Unknown(f"code {answer.code}", answer.code, answer.log_id)


def _refusal(endpoint: Endpoint, answer: Answer) -> Refusal | None:
    if answer.code is not None and answer.code in codes.UNSURE:
        return None
    known = _REFUSALS[endpoint].get(answer.code) if answer.code is not None else None
    if known is None and answer.status == TOO_MANY_REQUESTS:
        return Refusal.RATE_LIMITED
    return known


def _located(answer: Answer, asked: ChatId) -> Accepted | Unknown:
    """Success is a message id. The chat is the one that was answered, so that reading back finds a wrong one."""
    message_id = as_id(answer.data.get("message_id"))
    if message_id is None:
        return Unknown("success without a message id", answer.code, answer.log_id)
    thread_id = as_id(answer.data.get("thread_id"))
    locator = Locator(
        MessageId(message_id),
        ChatId(as_id(answer.data.get("chat_id")) or asked),
        None if thread_id is None else ThreadId(thread_id),
    )
    return Accepted(locator, answer.log_id)


def read_failure(exchange: Exchange) -> ReadFailure:
    """Why a read told nothing. Not found, not permitted and not reachable are three different things."""
    match exchange:
        case Answer():
            return _read_refused(exchange)
        case NoAnswer():
            return Unreachable()
        case NoToken(refused=Refused(refusal=Refusal.CONFIGURATION, code=code)):
            return NotPermitted(code)
        case NoToken(refused=refused):
            return Unreachable(refused.retry_after_ms)
        case _:
            assert_never(exchange)


def _read_refused(answer: Answer) -> ReadFailure:
    if answer.status >= FIRST_SERVER_ERROR:
        return Unreachable(answer.retry_after_ms)
    if answer.code in codes.RATE_LIMITED or answer.status == TOO_MANY_REQUESTS:
        return Unreachable(answer.retry_after_ms or MIN_WAIT_MS)
    if answer.code is None:
        return Unreachable(answer.retry_after_ms)
    if answer.code in codes.MESSAGE_MISSING or answer.code in codes.MESSAGE_RECALLED:
        return Missing()
    if answer.code in codes.READ_FORBIDDEN:
        return NotPermitted(answer.code)
    return Unreachable(answer.retry_after_ms)


def is_stale(exchange: Exchange) -> bool:
    """Whether the answer says that the token is not accepted."""
    return isinstance(exchange, Answer) and exchange.code in codes.STALE_TOKEN


def is_broken(exchange: Exchange) -> bool:
    """Whether asking again at once may tell more: no answer, a server error, no code, a stale token.

    Not after a time limit: whoever asks tries again later, and what hangs would hold its place for longer.
    """
    match exchange:
        case Answer():
            broken = exchange.code is None and exchange.status != TOO_MANY_REQUESTS
            return broken or exchange.status >= FIRST_SERVER_ERROR or is_stale(exchange)
        case NoAnswer():
            never = TimeoutError if exchange.left else (TimeoutError, *NEVER_POSSIBLE)
            return not issubclass(exchange.error, never)
        case NoToken():
            return False
        case _:
            assert_never(exchange)
