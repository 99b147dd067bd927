"""The demo's words, in English and Chinese: each fact of a timeline as a person would say it. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

Language: TypeAlias = Literal["en", "zh"]
Said: TypeAlias = tuple[str, str]
"""English, Chinese."""
Fact: TypeAlias = Mapping[str, object]
"""``at``, ``fact`` and ``detail``, as the inbox shows it."""

FACTS: Mapping[str, Said] = {
    "received": ("written to the ledger; only then did Lark get its 200", "写入账本之后，才给飞书回 200"),
    "receipt": ("receipt: a reaction appears on the question", "回执：问题上出现一个表情"),
    "turn_started": ("the steward looks into it", "管家开始查证"),
    "investigated": (
        "read the code at a pinned revision: {read} pieces of evidence",
        "在固定的版本上读代码：{read} 条证据",
    ),
    "stored": (
        "handed to {receiver}, with purpose, the person's words and what is owed; not seen yet",
        "连同目的、原话和要交付的东西一起交给 {receiver}；对方还没看到",
    ),
    "presented": ("{receiver} has it in front of it", "{receiver} 已经看到"),
    "assessed": ("{receiver} assessed it: {assessment}", "{receiver} 的评估：{assessment}"),
    "result": ("{receiver} did the work and concluded: {outcome}", "{receiver} 做完了工作，结论：{outcome}"),
    "notice.delivered": (
        "the person was told who has it (one message, read back)",
        "已告诉提问的人现在由谁处理（一条消息，已读回核对）",
    ),
    "answer.attempt": (
        "the attempt is committed, then the answer's first byte goes out",
        "先记下这次发送，再发出回答的第一个字节",
    ),
    "answer.accepted": ("Lark accepted it; where it is was stored at once", "飞书已接收，消息位置立即入库"),
    "answer.unknown": (
        "the connection was cut before Lark answered: sent or not, nobody knows. It is NOT sent again",
        "飞书还没应答，连接就断了：没有人知道发没发出去。绝不重发",
    ),
    "answer.searched": (
        "instead, the chat's history is read, looking for exactly one message of ours",
        "而是翻看聊天记录，寻找唯一一条我们的消息",
    ),
    "answer.located.search": (
        "found it; its place is stored before it is read back",
        "找到了；先把位置入库，再读回核对",
    ),
    "answer.delivered": (
        "read back: same chat, sender, thread and words. Delivered",
        "读回核对：会话、发送者、话题、文字都一致。已送达",
    ),
    "answer.refused": ("Lark refused it for now; it was certainly not sent", "飞书暂时拒绝，确定没有发出"),
}

STATES: Mapping[str, str] = {
    "accepted": "接受",
    "partially_accepted": "部分接受",
    "deferred": "推迟",
    "rejected": "拒绝",
    "resolved": "已解决",
    "declined": "未办",
}

TITLES: Mapping[str, Said] = {
    "start": ("Starting a local Lark, the gateway and two peers …", "正在启动本地飞书、网关和两个同伴……"),
    "ready": (
        "Local Lark {lark} · gateway {gateway} · peers {peers}. The gateway and the peers are processes of their own.",
        "本地飞书 {lark} · 网关 {gateway} · 同伴 {peers}。网关和同伴各自是独立进程。",
    ),
    "cut": (
        "The local Lark will accept the first answer and cut the connection before it says so.",
        "本地飞书会收下第一条回答，但在应答之前切断连接。",
    ),
    "shallow": (
        "This clone is shallow: who changed something is known only as far back as it reaches.",
        "这是浅克隆：“谁改的”只能查到克隆下来的提交为止。",
    ),
    "asks": ("{who} asks: {text}", "{who} 提问：{text}"),
    "says": ("in the chat", "群里看到的"),
    "left_out": ("{lines} more lines", "还有 {lines} 行"),
    "saw": ("What the local Lark saw, and how each answer was proved", "本地飞书看到的，以及每个回答如何证明"),
    "and_notice": ("{sends} + {notices} notice", "{sends} + {notices} 条通知"),
    "proved": (
        "Every answer is in the chat exactly once, and each delivery is proved. {seconds} s.",
        "每个回答在群里恰好出现一次，每次送达都有证明。用时 {seconds} 秒。",
    ),
    "failed": ("The proof does not hold: {why}", "证明不成立：{why}"),
    "serving": (
        "Still up: inbox {gateway}/inbox (token in {token}). Ctrl-C ends it.",
        "仍在运行：收件箱 {gateway}/inbox（令牌在 {token}）。按 Ctrl-C 结束。",
    ),
    "not_git": (
        "The demo reads this project's own repository, and there is none at {path}. Clone the project with git.",
        "演示要读本项目自己的仓库，但 {path} 不是 git 仓库。请用 git 克隆本项目。",
    ),
    "no_git": ("The demo needs git, and there is none here. Install it.", "演示需要 git，但这里没有。请先安装。"),
    "no_commit": (
        "The demo reads the commit that is checked out at {path}, and git finds none: {why}",
        "演示要读 {path} 检出的提交，但 git 没有找到：{why}",
    ),
    "not_started": ("The demo could not start: {why}", "演示没能启动：{why}"),
    "too_long": ("The demo waited too long. What the processes said:\n{log}", "演示等得太久。各进程说的是：\n{log}"),
    "broken": (
        "The gateway does not answer any more ({why}). What the processes said:\n{log}",
        "网关不再应答（{why}）。各进程说的是：\n{log}",
    ),
}

COLUMNS: tuple[Said, ...] = (
    ("question", "问题"),
    ("in the chat", "群里"),
    ("sent", "发送"),
    ("read", "读取"),
    ("delivery", "送达"),
    ("proved by", "证明"),
)

QUESTIONS: Mapping[str, Said] = {
    "own": ("where is the class Pump defined, and who changed it last?", "类 Pump 在哪里定义？最后是谁改的？"),
    "handed": ("ask surveyor to count the lines of each folder", "让 surveyor 数一下每个目录的代码行数"),
}


def say(words: Said, language: Language, **values: object) -> str:
    """The sentence in one language, its places filled in."""
    return words[0 if language == "en" else 1].format_map(_Filling(values))


class Narrator:
    """Tells one request's timeline, each fact once and in its order, however the timeline grows."""

    def __init__(self, language: Language) -> None:
        self._language: Language = language
        self._told: Counter[str] = Counter()
        self._kinds: dict[object, object] = {}

    def new(self, timeline: Sequence[Fact], receiver: object) -> Iterator[str]:
        """The sentences for what was not told yet; facts that the story does not need are passed over."""
        seen: Counter[str] = Counter()
        for fact in timeline:
            key = json.dumps(fact, sort_keys=True)
            seen[key] += 1
            if seen[key] > self._told[key]:
                self._told[key] = seen[key]
                words = self._sentence(str(fact["fact"]), cast("Mapping[str, object]", fact["detail"]), receiver)
                if words is not None:
                    yield words

    def _sentence(self, name: str, detail: Mapping[str, object], receiver: object) -> str | None:
        if name == "return_queued":
            self._kinds[detail["return"]] = detail["kind"]
        if detail.get("read") == 0:
            return None
        told = f"{self._kinds.get(detail['return'])}.{name}" if "return" in detail else name
        words = FACTS.get(told) or FACTS.get(f"{told}.{detail.get('source')}")
        if words is None:
            return None
        values = {"receiver": receiver, **{key: self._named(value) for key, value in detail.items()}}
        return say(words, self._language, **values)

    def _named(self, value: object) -> object:
        """A state's name in the story's language."""
        return STATES.get(str(value), value) if self._language == "zh" else value


class _Filling(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "…"
