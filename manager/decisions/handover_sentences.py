"""What the asker is told about a handover, in the asker's language, as Markdown."""

from __future__ import annotations

import re
from typing import Final, assert_never

from manager.decisions.language import Language
from manager.decisions.routing import Gap, Unresolved

_MARKUP: Final = re.compile(r"[\[\]`]")
_WAITS: Final = frozenset({"away", "unknown"})
_LONGEST_NAME: Final = 60


def plain(name: str) -> str:
    """A name on one line that makes neither a link nor code of itself; a very long one is cut."""
    line = " ".join(_MARKUP.sub("", name).split())
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1] + "…"


def handed_over(name: str, presence: str, language: Language) -> str:
    """The one notice of a handover."""
    shown = plain(name)
    if language == "zh":
        waits = (
            f"{shown} 现在不在，请求会等它回来。" if presence == "away" else f"{shown} 还没有上线，请求会一直等着它。"
        )
        return f"已转给 {shown} 处理。" + (waits if presence in _WAITS else f"{shown} 的结果会发到这里。")
    waits = (
        f"{shown} is away now, so the request waits for it."
        if presence == "away"
        else f"{shown} has not reported in yet, so the request waits for it."
    )
    return f"Handed over to {shown}. " + (waits if presence in _WAITS else "Its result will come here.")


def unresolved(route: Unresolved, wanted: str | None, language: Language) -> str:
    """Why nobody has the request: the exact gap, as far as the asker may know it."""
    name = plain(wanted or "")
    known = [plain(peer) for peer in route.known]
    match route.gap:
        case Gap.UNKNOWN | Gap.AUDIENCE:
            english = f"I know no peer called {name}, so nobody has this request."
            chinese = f"我不认识名叫 {name} 的同伴，所以没有人接手这个请求。"
        case Gap.STOPPED:
            stopped = known[0] if known else name
            english = f"{stopped} is stopped and takes no requests, so nobody has this one."
            chinese = f"{stopped} 已停用，不接受请求，所以没有人接手这一个。"
        case Gap.NOBODY:
            english = "Nothing I found answers this, and it fits no active peer's responsibilities: nobody has it."
            chinese = "我没有找到可以回答的内容，也没有在用的同伴的职责与它相符，所以没有人接手。"
        case Gap.TIE:
            english = f"Nothing I found answers this, and it fits {_all_of(known)}: nobody has it. Please name one."
            chinese = f"我没有找到可以回答的内容，而 {'、'.join(known)} 都适合，所以没有人接手。请点名其中一个。"
        case _:
            assert_never(route.gap)
    return english if language == "en" else chinese


def deferred(reason: str, owner: str, condition: str, language: Language) -> str:
    """The steward puts a question off."""
    if language == "zh":
        return f"这个问题先放一放：{reason}\n\n负责人：{owner}。继续的条件：{condition}"
    return f"This has to wait: {reason}\n\nOwner: {owner}. It goes on when: {condition}"


def peer_rejected(name: str, reason: str, language: Language) -> str:
    """A peer will not do it, in its own words."""
    head = f"{plain(name)} 没有接受这个请求：" if language == "zh" else f"{plain(name)} did not accept this:"
    return f"{head}\n\n{reason}"


def peer_deferred(name: str, reason: str, owner: str, condition: str, language: Language) -> str:
    """A peer puts it off, in its own words."""
    if language == "zh":
        return f"{plain(name)} 推迟了这个请求：\n\n{reason}\n\n负责人：{_line(owner)}\n\n继续的条件：{_line(condition)}"
    return f"{plain(name)} put this off:\n\n{reason}\n\nOwner: {_line(owner)}\n\nIt goes on when: {_line(condition)}"


def whose(name: str, language: Language) -> str:
    """The one line before a peer's words."""
    return f"{plain(name)} 的答复：" if language == "zh" else f"From {plain(name)}:"


def _all_of(names: list[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _line(text: str) -> str:
    return " ".join(text.split())
