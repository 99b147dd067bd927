"""The demo's words, in English and Chinese: each fact of a timeline as a person would say it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]
Said: TypeAlias = tuple[str, str]
"""English, Chinese."""

FACTS: Mapping[str, Said] = {
    "received": ("committed to the ledger, then Lark got its 200", "先写入账本，再给飞书回 200"),
    "receipt": ("receipt: a reaction on the question", "回执：给问题加了一个表情"),
    "turn_started": ("the steward looks into it", "管家开始查证"),
    "investigated": (
        "read the code at a pinned revision: {read} pieces of evidence",
        "在固定的版本上读代码：{read} 条证据",
    ),
    "handed_over": (
        "handed to {receiver}, with purpose, messages and evidence",
        "连同目的、原话和证据一起交给 {receiver}",
    ),
    "stored": ("stored for {receiver}", "已存入 {receiver} 的收件箱"),
    "presented": ("{receiver} has it in front of it", "{receiver} 已经看到"),
    "assessed": ("{receiver} assessed it: {assessment}", "{receiver} 的评估：{assessment}"),
    "result": ("{receiver} worked and concluded: {outcome}", "{receiver} 完成工作：{outcome}"),
    "attempt": ("attempt committed, then the first byte is sent", "先记下这次发送，再发出第一个字节"),
    "accepted": ("Lark accepted it; where it is was stored at once", "飞书已接收，消息位置立即入库"),
    "unknown": (
        "the connection was cut before an answer: nobody knows whether it was sent. It is NOT sent again",
        "还没等到回答连接就断了：没有人知道发没发出去。绝不重发",
    ),
    "searched": (
        "read the chat's history, looking for exactly one message of ours",
        "翻看聊天记录，寻找唯一一条我们的消息",
    ),
    "located": ("found it; its place is stored before it is read back", "找到了；先把位置入库，再读回核对"),
    "delivered": (
        "read back: same chat, sender, thread and words. Delivered",
        "读回核对：会话、发送者、话题、文字都一致。已送达",
    ),
    "refused": ("Lark refused it for now; it was certainly not sent", "飞书暂时拒绝，确定没有发出"),
}

TITLES: Mapping[str, Said] = {
    "start": ("Starting a local Lark, the gateway and two peers …", "正在启动本地飞书、网关和两个同伴……"),
    "ready": (
        "Local Lark {lark} · gateway {gateway} · peers {peers}, each a process of its own",
        "本地飞书 {lark} · 网关 {gateway} · 同伴 {peers}，各自是独立进程",
    ),
    "cut": (
        "(The local Lark will accept the first answer and cut the connection before it says so.)",
        "（本地飞书会收下第一条回答，但在应答之前切断连接。）",
    ),
    "asks": ("{who} asks: {text}", "{who} 提问：{text}"),
    "says": ("in the chat", "群里看到的"),
    "saw": ("What the local Lark saw", "本地飞书看到的"),
    "proved": (
        "Every answer is in the chat exactly once, and each is proved. {seconds} s.",
        "每个回答在群里恰好出现一次，并且都有证明。用时 {seconds} 秒。",
    ),
    "failed": ("The proof does not hold: {why}", "证明不成立：{why}"),
    "serving": (
        "Still up: inbox {gateway}/inbox (token in {token}). Ctrl-C ends it.",
        "仍在运行：收件箱 {gateway}/inbox（令牌在 {token}）。按 Ctrl-C 结束。",
    ),
    "not_git": (
        "The demo reads this project's own repository, and there is none at {path}. Clone it with git.",
        "演示要读本项目自己的仓库，但 {path} 不是 git 仓库。请用 git 克隆。",
    ),
}

COLUMNS: tuple[Said, ...] = (
    ("question", "问题"),
    ("seen in the chat", "群里出现"),
    ("sends", "发送次数"),
    ("reads", "读取次数"),
    ("delivery", "送达"),
    ("proved by", "证明方式"),
)

QUESTIONS: Mapping[str, Said] = {
    "own": ("where is the class Pump defined, and who changed it last?", "类 Pump 在哪里定义？最后是谁改的？"),
    "handed": ("ask surveyor to count the lines of each folder", "让 surveyor 数一下每个目录的代码行数"),
}


def say(words: Said, language: Language, **values: object) -> str:
    """The sentence in one language, its places filled in."""
    return words[0 if language == "en" else 1].format_map(_Filling(values))


def fact(name: str, detail: Mapping[str, object], language: Language) -> str | None:
    """A fact in words; None for one that the story does not need."""
    words = FACTS.get(name)
    return None if words is None else say(words, language, **detail)


class _Filling(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "…"
