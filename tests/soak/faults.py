"""What can go wrong at Lark with one answer, as the local Lark does it in that answer's chat alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from providers.lark_double.asking import Visible
from providers.lark_double.faults import FaultKind
from providers.lark_double.model import Chat
from providers.lark_double.server import LarkDouble

SENDS = ("reply", "send")
HTTP_TIMEOUT_S = 6
"""What the gateway waits for Lark in these runs."""
TOO_LATE_S = 7.5
LATE_VISIBLE_S = 1.0
ELSEWHERE = "elsewhere"
"""The name of a chat that the bot is in, for answers that name the wrong message."""


@dataclass(frozen=True)
class Trouble:
    """One fault: what is armed before the question, and what is done once the message is there."""

    name: str
    arm: Callable[[LarkDouble, Chat], None]
    when_there: Callable[[LarkDouble, Chat, Visible], None] | None = None
    read_elsewhere: bool = False
    """What is read back is a message of the chat ``ELSEWHERE``."""


def _nothing(_lark: LarkDouble, _chat: Chat) -> None:
    pass


def _once(*kinds: FaultKind, seconds: float = 0.0, code: int = 0, times: int | None = 1) -> Callable[..., None]:
    def arm(lark: LarkDouble, chat: Chat) -> None:
        for kind in kinds:
            lark.fault(kind, SENDS, chat=chat, times=times, seconds=seconds, code=code)

    return arm


def _refused(code: int, times: int | None = 1) -> Callable[..., None]:
    return _once(FaultKind.ERROR, code=code, times=times)


def _history_forbidden(lark: LarkDouble, chat: Chat) -> None:
    lark.forbid_history(chat=chat)
    _once(FaultKind.DROP_AFTER)(lark, chat)


def _hidden(lark: LarkDouble, chat: Chat, *, lost: bool) -> None:
    lark.fault(FaultKind.HIDE, SENDS, chat=chat, seconds=LATE_VISIBLE_S)
    if lost:
        _once(FaultKind.DROP_AFTER)(lark, chat)


def elsewhere(lark: LarkDouble) -> Chat:
    """The other chat."""
    return next(each for each in lark.world.chats.values() if each.name == ELSEWHERE)


def _elsewhere(lark: LarkDouble, chat: Chat) -> None:
    message = lark.visible(elsewhere(lark))[0].message_id
    lark.fault(FaultKind.OTHER_CHAT, SENDS, chat=chat, message_id=message)


SLOW = frozenset({"accepts, answers too late", "never accepts, times out"})
"""These take as long as the gateway waits, so they do not share its life with others."""

TROUBLES: tuple[Trouble, ...] = (
    Trouble("no fault", _nothing),
    Trouble("accepts, the answer is lost", _once(FaultKind.DROP_AFTER)),
    Trouble("accepts, answers too late", _once(FaultKind.DELAY_AFTER, seconds=TOO_LATE_S)),
    Trouble("never accepts, times out", _once(FaultKind.DELAY_BEFORE, FaultKind.RESET_BEFORE, seconds=TOO_LATE_S)),
    Trouble("reset, nothing done", _once(FaultKind.RESET_BEFORE)),
    Trouble("accepts, then reset", _once(FaultKind.RESET_AFTER)),
    Trouble("accepts, half an answer", _once(FaultKind.TRUNCATED)),
    Trouble("500, nothing done", _once(FaultKind.HTTP_500)),
    Trouble("accepts, then 500", _once(FaultKind.HTTP_500_AFTER)),
    Trouble("502 of a proxy, nothing done", _once(FaultKind.HTML_502)),
    Trouble("accepts, then 502 of a proxy", _once(FaultKind.HTML_502_AFTER)),
    Trouble("accepts, success without an id", _once(FaultKind.NO_MESSAGE_ID)),
    Trouble("accepts, names another chat's message", _elsewhere, read_elsewhere=True),
    Trouble("code: the same message is being sent", _refused(230049)),
    Trouble("refused: content", _refused(230025)),
    Trouble("refused: the bot may not speak there", _refused(230013)),
    Trouble("refused: the bot is not in the chat", _refused(230002)),
    Trouble("refused: the chat is gone", _refused(232009)),
    Trouble("refused: the question was recalled", _refused(230011)),
    Trouble("refused: a missing scope, for good", _refused(99991672, times=None)),
    Trouble("refused once: a stale token", _refused(99991663)),
    Trouble("refused once: a rate limit", _once(FaultKind.RATE_LIMITED, seconds=1)),
    Trouble("accepts, recalled before it is read", _once(FaultKind.RECALL_AFTER)),
    Trouble(
        "accepts, deleted before it is read", _nothing, lambda lark, _chat, message: lark.delete(message.message_id)
    ),
    Trouble(
        "accepts, the chat is gone before it is read",
        _nothing,
        lambda lark, chat, _message: lark.dissolve(chat, keep_history=True),
    ),
    Trouble("accepts, the answer is lost, history forbidden", _history_forbidden),
    Trouble("accepts, readable a second later", lambda lark, chat: _hidden(lark, chat, lost=False)),
    Trouble("accepts, the answer is lost, readable a second later", lambda lark, chat: _hidden(lark, chat, lost=True)),
)
"""Every fault of the matrix but being offline, which is one of all chats."""

OFFLINE = "offline for a while"


def trouble(name: str) -> Trouble:
    """The fault of that name."""
    return next(each for each in TROUBLES if each.name == name)
