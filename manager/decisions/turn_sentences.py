"""What the steward says of a turn itself, in the asker's language."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final, assert_never

from manager.decisions.decision import Answer, Ask, Decision, Decline, Defer, Delegate
from manager.decisions.language import Language


class Sentence(Enum):
    """A sentence about a turn."""

    LATE = "late"
    """The question was received long after it was written."""
    NOT_OWNER = "not_owner"
    """Somebody who may not ask in private."""
    EMPTY = "empty"
    """Named, but asked nothing in words: a bare mention, a picture, a file."""
    FAILED = "failed"
    """The runtime failed for good, and said nothing that may be told."""
    TIMED_OUT = "timed_out"
    """The turn ran out of time."""


SENTENCES: Final = {
    (Sentence.LATE, "en"): "(Your question reached me late, so this comes late too.)",
    (Sentence.LATE, "zh"): "（你的问题很晚才送达我，所以回复也晚了。）",
    (Sentence.NOT_OWNER, "en"): "In private I answer my owners only; please ask me in a group that I am in.",
    (Sentence.NOT_OWNER, "zh"): "私聊我只回答所有者；请在有我的群里 @我 提问。",
    (Sentence.EMPTY, "en"): (
        "Yes? Tell me in words what to look for: a file, a name in the code, a change, or who should see to it."
    ),
    (Sentence.EMPTY, "zh"): "我在。请用文字告诉我要找什么：文件、代码里的名字、某次改动，或者请谁来处理。",
    (Sentence.FAILED, "en"): "I could not work on this: my runtime failed {attempts} times. Please ask again later.",
    (Sentence.FAILED, "zh"): "这个问题我没能处理：运行环境失败了 {attempts} 次，请稍后再问。",
    (Sentence.TIMED_OUT, "en"): (
        "I did not finish within {seconds} s, the limit for one question. A narrower question may fit."
    ),
    (Sentence.TIMED_OUT, "zh"): "我没能在 {seconds} 秒（单个问题的时限）内完成，请把问题缩小一些再试。",
}


def say(sentence: Sentence, language: Language, **values: int) -> str:
    """The sentence, with its numbers."""
    return SENTENCES[sentence, language].format(**values)


def failed_because(reason: str, language: Language) -> str:
    """A failure whose reason the runtime gave for telling."""
    return f"I could not answer this: {reason}" if language == "en" else f"这个问题我没能回答：{reason}"


def said_late(decision: Decision, language: Language) -> Decision:
    """The decision, with one line that says it is late; a handover says it by a notice of its own."""
    late = say(Sentence.LATE, language)
    match decision:
        case Answer():
            return replace(decision, text=f"{late}\n\n{decision.text}")
        case Ask():
            return replace(decision, text=f"{late}\n\n{decision.text}")
        case Decline():
            return replace(decision, reason=f"{decision.reason}\n\n{late}")
        case Defer():
            return replace(decision, reason=f"{decision.reason}\n\n{late}")
        case Delegate():
            return decision
        case _:
            assert_never(decision)
