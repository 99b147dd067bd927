"""What came of an operator's command, in one sentence, in two languages."""

from __future__ import annotations

from collections.abc import Mapping

from manager.decisions.operators import Kind, Outcome

WAITING: Mapping[Kind, tuple[str, str]] = {
    Kind.VERIFY: (
        "It is stored: a gateway reads the chat for it, and sends nothing. `show` tells what came of it.",
        "已存下：由网关读聊天记录查找，不会发送任何内容。结果见 `show`。",
    ),
    Kind.FOUND: (
        "It is stored: a gateway reads that message. `show` tells what came of it.",
        "已存下：由网关读取那条消息。结果见 `show`。",
    ),
    Kind.RESEND: (
        "It is stored: a gateway reads the chat first, and sends it anew only if it is not there (see --wait, show).",
        "已存下：网关先读聊天记录，只有确实没有，才会重新发送。结果见 --wait、show。",
    ),
}
"""While it is not known what was read."""

ENDED: Mapping[Outcome, tuple[str, str]] = {
    Outcome.PROVED: ("The delivery is proved; nothing had to be sent.", "已证实送达，无需再发。"),
    Outcome.QUEUED: ("A new return with a key of its own is on its way.", "新的答复（使用新的键）已在途。"),
    Outcome.UNPROVED: ("It was looked for and is still not proved.", "查过了，仍未证实。"),
    Outcome.UNREADABLE: (
        "The chat may not or cannot be read, so nothing was sent. Cure that, then try again.",
        "聊天记录不许读或读不到，所以什么都没有发送。请先解决，再试一次。",
    ),
    Outcome.AMBIGUOUS: (
        "Several messages could be it, so nothing was sent. Say which one: manager-inbox found ID NUMBER.",
        "有几条消息都可能是它，所以什么都没有发送。请指明：manager-inbox found ID 编号。",
    ),
    Outcome.FORBIDDEN: (
        "It may not be told there now, so nothing was sent: a grant was revoked, or chat or question are gone.",
        "现在不能在那里告知，所以什么都没有发送：授权被收回，或聊天、问题已不在。",
    ),
    Outcome.NO_LONGER_KEPT: (
        "What it said is no longer kept, so nothing was sent. Tell the asker yourself, then manager-inbox cancel.",
        "答复内容已不再保存，所以什么都没有发送。请自行告诉提问者，再用 manager-inbox cancel。",
    ),
    Outcome.CHANGED: (
        "Another answer, or the question that stands, took its place, so nothing was sent. Look at the request again.",
        "答复已被替换，或以仍在的问题为准，所以什么都没有发送。请再看一次这个请求。",
    ),
    Outcome.CANCELLED: ("It is cancelled.", "已取消。"),
    Outcome.CANCEL_REQUESTED: (
        "Its receiver is told with its next write; if it says nothing, it is cancelled at its deadline.",
        "接收方下次写入时会得知；若一直不出声，到期即取消。",
    ),
    Outcome.NOTED: ("Noted.", "已记下。"),
    Outcome.SNOOZED: ("Snoozed.", "已暂缓提醒。"),
    Outcome.WOKEN: ("Not snoozed any more.", "已恢复提醒。"),
    Outcome.REVEALED: ("Shown, and recorded.", "已显示，并已记录。"),
}


def say(kind: Kind, outcome: Outcome | None, *, chinese: bool = False) -> str:
    """The sentence."""
    english, zh = WAITING[kind] if outcome is None else ENDED[outcome]
    return zh if chinese else english
