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
    """Named, but asked nothing."""
    NO_WORDS = "no_words"
    """Sent something without words: a picture, a file, a sticker."""
    FAILED = "failed"
    """The runtime failed for good, and said nothing that may be told."""
    TIMED_OUT = "timed_out"
    """The turn ran out of time."""


SENTENCES: Final = {
    (Sentence.LATE, "en"): "(Your question reached me late, so this comes late too.)",
    (Sentence.LATE, "zh"): "（你的问题很晚才送达我，所以回复也晚了。）",
    (Sentence.NOT_OWNER, "en"): "in private I answer my owners only; please ask me in a group that I am in.",
    (Sentence.NOT_OWNER, "zh"): "私聊我只回答所有者；请在有我的群里 @我 提问。",
    (Sentence.EMPTY, "en"): (
        "Yes? Tell me what to look for: a file, a name in the code, a change, or who should take care of it."
    ),
    (Sentence.EMPTY, "zh"): "我在。请告诉我要找什么：文件、代码里的名字、某次改动，或者请谁来处理。",
    (Sentence.NO_WORDS, "en"): "I can read only words for now. Please write your question as text.",
    (Sentence.NO_WORDS, "zh"): "目前我只能读文字，请把问题写成文字发给我。",
    (Sentence.FAILED, "en"): "my runtime failed {attempts} times. Please ask again later.",
    (Sentence.FAILED, "zh"): "运行环境失败了 {attempts} 次，请稍后再问。",
    (Sentence.TIMED_OUT, "en"): (
        "I did not finish within {seconds} s, the limit for one question. A narrower question may fit."
    ),
    (Sentence.TIMED_OUT, "zh"): "没能在 {seconds} 秒（单个问题的时限）内完成，请把问题缩小一些再试。",
}
"""What is the reason of a refusal stands after words that say so, and therefore begins in the middle."""


def say(sentence: Sentence, language: Language, **values: int) -> str:
    """The sentence, with its numbers."""
    return SENTENCES[sentence, language].format(**values)


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
