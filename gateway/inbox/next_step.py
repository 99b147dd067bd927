"""What happens next to a request, in plain words: a pure function of its four axes and its turn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never

from manager.decisions.assessment import Assessment
from manager.decisions.assignment import Assignment
from manager.decisions.turn import TurnState
from manager.decisions.work import Work
from returns.delivery import Error, State


@dataclass(frozen=True, slots=True)
class Situation:
    """Where the revision that a request shows stands."""

    assignment: Assignment
    assessment: Assessment
    work: Work
    delivery: State | None
    """None while there is no answer."""
    error: Error | None
    turn: TurnState | None
    """None for a request of one peer to another."""
    notice: State | None = None
    """Of the newest notice that is not proved, and with which nothing more happens by itself."""
    waits: str | None = None
    """Why a turn that is queued was given back as if it had not begun: the fact's stable word."""


ARGUMENTS: Final[Mapping[str, str]] = {"verify": "", "found": " REF", "resend": " --reason …", "cancel": " --reason …"}
"""What each command takes behind the request's id."""

COMMAND: Final = re.compile(f"manager-inbox ({'|'.join(ARGUMENTS)})")


class Next(Enum):
    """What happens next; the value is the sentence in English, ``{receiver}`` the peer's name."""

    TURN = "The steward looks into it when its turn comes."
    CHAT_UNKNOWN = (
        "It waits, and nothing is said there: who reads the chat could not be learnt from Lark. Check the app's scope "
        "im:chat:readonly and the connection; it is tried again by itself."
    )
    NO_APP = "It waits: its app is not in the configuration. It goes on when the app is back there."
    INVESTIGATING = "The steward is looking into it."
    ASKER = "It waits for the asker's answer, or for what it was put off for."
    BROKEN = "The steward could not end its turn: see the timeline, then ask again."
    NOTICE_UNPROVED = (
        "What the steward said on the way is not proved to have arrived, so the asker may know nothing: look into the "
        "chat. To look by machine: manager-inbox verify; if it is there: manager-inbox found; if it is not: "
        "manager-inbox resend."
    )
    NOTICE_UNDELIVERABLE = (
        "What the steward said on the way did not arrive: see notice. Once that is cured: manager-inbox resend; "
        "else tell the asker yourself, then manager-inbox cancel."
    )
    NOTICE_REFUSED = (
        "What the steward said on the way is not told yet: Lark refused the app. Check credentials, scopes and state "
        "of the app; it is tried again slowly."
    )
    STORING = "It is on its way to {receiver}."
    TAKING_UP = "It waits for {receiver} to take it up."
    ASSESSING = "{receiver} has it and says next what it takes on."
    WORKING = "{receiver} is working on it and owes the result."
    WORKING_PARTLY = "{receiver} is working on the part it accepted; the rest is open."
    DEFERRED = "{receiver} put it off; it goes on when the named condition is met."
    REJECTED = "{receiver} declined; the asker is told why."
    TELLING = "The answer is on its way into the outbox."
    READ_BY_PEER = "Nothing: the result lies ready for the peer that asked."
    CANCELLED = "Nothing: it was cancelled."
    SENDING_NEXT = "The answer is sent next."
    HELD_BACK = "The rest of the answer waits until its earlier part is proved."
    UNDER_WAY = "A send is under way; its outcome is read back."
    RETRY_OFFLINE = "Lark could not be reached and nothing was sent: it is tried again."
    RETRY_LIMITED = "Lark asked to slow down and nothing was sent: it is tried again."
    RETRY_REFUSED = "Lark refused the app: check credentials, scopes and state of the app; it is tried again slowly."
    RETRY = "Lark did not accept it: it is tried again."
    READING = "A message is said to be it: that one is read back, which proves it or not."
    SEARCHING = "It may have been sent: the chat is read to find it; it is never sent again."
    READING_FAILS = (
        "It may have been sent, and the chat cannot be read: reading is tried again; check the app's scopes."
    )
    PROVED = "Nothing: the answer was read back and is proved."
    LOOK = (
        "Look into the chat. To look by machine: manager-inbox verify; if it is there: manager-inbox found; "
        "if it is not: manager-inbox resend."
    )
    LOOK_DIFFERENT = (
        "Look into the chat: what is there is not what was sent, or was taken back, or nothing is. To name another "
        "message: manager-inbox found; to have it told anew: manager-inbox resend."
    )
    LOOK_SEVERAL = (
        "Look into the chat: several messages could be this answer. manager-inbox verify lists them; "
        "say which one: manager-inbox found."
    )
    LOOK_UNREADABLE = (
        "Look into the chat, which cannot be read by machine: check the app's scopes, then manager-inbox verify."
    )
    NO_AUTHORITY = (
        "Nothing is told any more: the right to tell it there was revoked. To close it: manager-inbox cancel; "
        "once it is granted again: manager-inbox resend."
    )
    GONE = (
        "Nothing can be sent: the chat or the question is gone, or the bot is not in it. Tell the asker yourself, "
        "then manager-inbox cancel; if the bot is back there: manager-inbox resend."
    )
    REFUSED = (
        "Lark refused it for good: see the error. Once that is cured: manager-inbox resend; "
        "else tell the asker yourself, then manager-inbox cancel."
    )
    REPLACED = "Nothing: it was replaced or taken back before it was sent."


CHINESE: dict[Next, str] = {
    Next.TURN: "轮到时，管家会去查。",
    Next.CHAT_UNKNOWN: (
        "正在等待，暂时不会在那里说话：没能从飞书得知谁能看到这个聊天。"
        "请检查应用权限 im:chat:readonly 和网络；会自行重试。"
    ),
    Next.NO_APP: "正在等待：配置里没有它的应用。应用放回配置后会继续。",
    Next.INVESTIGATING: "管家正在查。",
    Next.ASKER: "等提问者回答，或等约定的条件。",
    Next.BROKEN: "管家没能完成这一轮：请看时间线，再问一次。",
    Next.NOTICE_UNPROVED: (
        "管家中途说的话未能证实送达，提问者可能还不知情：请到聊天里看。让机器再查：manager-inbox verify；"
        "若在：manager-inbox found；若不在：manager-inbox resend。"
    ),
    Next.NOTICE_UNDELIVERABLE: (
        "管家中途说的话没有送达：请看 notice。解决之后：manager-inbox resend；"
        "否则自行告诉提问者，再用 manager-inbox cancel。"
    ),
    Next.NOTICE_REFUSED: "管家中途说的话还没发出：飞书拒绝了应用。请检查凭证、权限和应用状态；会慢慢重试。",
    Next.STORING: "正在交给 {receiver}。",
    Next.TAKING_UP: "等 {receiver} 来取。",
    Next.ASSESSING: "{receiver} 已看到，接下来会说明接受多少。",
    Next.WORKING: "{receiver} 正在处理，欠一个结果。",
    Next.WORKING_PARTLY: "{receiver} 正在处理接受的部分，其余未定。",
    Next.DEFERRED: "{receiver} 暂缓，条件满足后继续。",
    Next.REJECTED: "{receiver} 没有接受，会把原因告诉提问者。",
    Next.TELLING: "答复正在进入发件箱。",
    Next.READ_BY_PEER: "无需处理：结果已备好，等委托方来读。",
    Next.CANCELLED: "无需处理：已取消。",
    Next.SENDING_NEXT: "答复即将发送。",
    Next.HELD_BACK: "前一部分证实之后，再发其余部分。",
    Next.UNDER_WAY: "正在发送，之后会读回核实。",
    Next.RETRY_OFFLINE: "连不上飞书，什么都没有发出：稍后重试。",
    Next.RETRY_LIMITED: "飞书要求放慢，什么都没有发出：稍后重试。",
    Next.RETRY_REFUSED: "飞书拒绝了应用：请检查凭证、权限和应用状态；会慢慢重试。",
    Next.RETRY: "飞书没有接受：稍后重试。",
    Next.READING: "已知是哪一条消息：正在读回核实。",
    Next.SEARCHING: "可能已发出：正在读聊天记录查找，不会重发。",
    Next.READING_FAILS: "可能已发出，但读不到聊天记录：会再读；请检查应用权限。",
    Next.PROVED: "无需处理：答复已读回并证实。",
    Next.LOOK: (
        "请到聊天里看。让机器再查：manager-inbox verify；若在：manager-inbox found；若不在：manager-inbox resend。"
    ),
    Next.LOOK_DIFFERENT: (
        "请到聊天里看：那里的内容与发出的不同，或已被撤回，或已不在。"
        "指明另一条：manager-inbox found；重新告知：manager-inbox resend。"
    ),
    Next.LOOK_SEVERAL: (
        "请到聊天里看：有几条消息都可能是这个答复。manager-inbox verify 会列出；指明哪一条：manager-inbox found。"
    ),
    Next.LOOK_UNREADABLE: "请到聊天里看，机器读不到那里：请检查应用权限，再用 manager-inbox verify。",
    Next.NO_AUTHORITY: (
        "不再告知：在那里告知的权限已被收回。了结：manager-inbox cancel；重新授权后：manager-inbox resend。"
    ),
    Next.GONE: (
        "发不出去：聊天或问题已不在，或机器人不在其中。请自行告诉提问者，再用 manager-inbox cancel；"
        "机器人若已回去：manager-inbox resend。"
    ),
    Next.REFUSED: (
        "飞书最终拒绝：请看错误。解决之后：manager-inbox resend；否则自行告诉提问者，再用 manager-inbox cancel。"
    ),
    Next.REPLACED: "无需处理：发送之前已被替换或撤回。",
}


def next_step(at: Situation) -> Next:
    """What happens next."""
    if at.work is Work.CANCELLED and at.delivery in (None, *ENDED):
        return Next.CANCELLED
    if at.delivery is not None:
        return _of_delivery(at.delivery, at.error)
    match at.work:
        case Work.OPEN:
            return NOTICES.get(at.notice) or _of_assignment(at)
        case Work.RESOLVED | Work.DECLINED:
            return Next.READ_BY_PEER if at.turn is None else Next.TELLING
        case Work.CANCELLED:
            return Next.CANCELLED
        case _:
            assert_never(at.work)


def _of_assignment(at: Situation) -> Next:
    match at.assignment:
        case Assignment.UNASSIGNED:
            return _of_turn(at.turn, at.waits)
        case Assignment.ASSIGNED:
            return Next.STORING
        case Assignment.STORED:
            return Next.TAKING_UP if at.assessment is Assessment.PENDING else _of_assessment(at.assessment)
        case Assignment.PRESENTED:
            return _of_assessment(at.assessment)
        case _:
            assert_never(at.assignment)


def _of_turn(turn: TurnState | None, waits: str | None) -> Next:
    match turn:
        case TurnState.QUEUED:
            return WAITS.get(waits, Next.TURN)
        case TurnState.RUNNING:
            return Next.INVESTIGATING
        case TurnState.DONE | None:
            return Next.ASKER
        case TurnState.FAILED | TurnState.CANCELLED:
            return Next.BROKEN
        case _:
            assert_never(turn)


def _of_assessment(assessment: Assessment) -> Next:
    match assessment:
        case Assessment.PENDING:
            return Next.ASSESSING
        case Assessment.ACCEPTED:
            return Next.WORKING
        case Assessment.PARTIALLY_ACCEPTED:
            return Next.WORKING_PARTLY
        case Assessment.DEFERRED:
            return Next.DEFERRED
        case Assessment.REJECTED:
            return Next.REJECTED
        case _:
            assert_never(assessment)


def _of_delivery(state: State, error: Error | None) -> Next:
    match state:
        case State.QUEUED:
            return Next.HELD_BACK if error is Error.EARLIER_PART_UNVERIFIED else Next.SENDING_NEXT
        case State.SENDING:
            return Next.UNDER_WAY
        case State.RETRY_PENDING:
            return RETRIES.get(error, Next.RETRY)
        case State.VERIFICATION_REQUIRED:
            return READINGS.get(error, Next.SEARCHING)
        case State.DELIVERED:
            return Next.PROVED
        case State.EXPLICIT_UNVERIFIED:
            return UNPROVED.get(error, Next.LOOK)
        case State.UNDELIVERABLE:
            return ENDS.get(error, Next.REFUSED)
        case State.SUPERSEDED:
            return Next.REPLACED
        case _:
            assert_never(state)


ENDED = (State.EXPLICIT_UNVERIFIED, State.UNDELIVERABLE, State.SUPERSEDED)
"""Where nothing is left to do for a request that nobody wants any more."""

WAITS: dict[str | None, Next] = {"chat_unknown": Next.CHAT_UNKNOWN, "app_not_configured": Next.NO_APP}
"""By the cause of a turn's waiting."""

NOTICES: dict[State | None, Next] = {
    State.EXPLICIT_UNVERIFIED: Next.NOTICE_UNPROVED,
    State.UNDELIVERABLE: Next.NOTICE_UNDELIVERABLE,
    State.RETRY_PENDING: Next.NOTICE_REFUSED,
}
RETRIES: dict[Error | None, Next] = {
    Error.PROVIDER_OFFLINE: Next.RETRY_OFFLINE,
    Error.PROVIDER_RATE_LIMITED: Next.RETRY_LIMITED,
    Error.PROVIDER_REJECTED: Next.RETRY_REFUSED,
}
READINGS: dict[Error | None, Next] = {
    Error.PROVIDER_DELIVERY_UNVERIFIED: Next.READING,
    Error.PROVIDER_LOCATOR_UNAVAILABLE: Next.SEARCHING,
    Error.PROVIDER_VERIFICATION_UNAVAILABLE: Next.READING_FAILS,
}
UNPROVED: dict[Error | None, Next] = {
    Error.PROVIDER_DELIVERY_MISMATCH: Next.LOOK_DIFFERENT,
    Error.PROVIDER_MESSAGE_RECALLED: Next.LOOK_DIFFERENT,
    Error.PROVIDER_MESSAGE_MISSING: Next.LOOK_DIFFERENT,
    Error.AMBIGUOUS_MATCH: Next.LOOK_SEVERAL,
    Error.PROVIDER_VERIFICATION_UNAVAILABLE: Next.LOOK_UNREADABLE,
    Error.RETURN_AUTHORIZATION_UNAVAILABLE: Next.NO_AUTHORITY,
}
ENDS: dict[Error | None, Next] = {
    Error.ORIGINAL_ROUTE_UNAVAILABLE: Next.GONE,
    Error.RETURN_AUTHORIZATION_UNAVAILABLE: Next.NO_AUTHORITY,
}


def say(step: Next, request_id: str, receiver: str | None, *, chinese: bool = False) -> str:
    """The sentence, with the peer's name in it, and each command with what it has to be given."""
    sentence = CHINESE[step] if chinese else step.value

    def whole(command: re.Match[str]) -> str:
        return f"{command[0]} {request_id}{ARGUMENTS[command[1]]}"

    named = sentence.replace("{receiver}", receiver or ("对方" if chinese else "the receiver"))
    return COMMAND.sub(whole, named)
