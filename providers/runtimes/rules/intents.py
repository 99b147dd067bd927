"""What somebody wants to know, by the words that ask for it in English and in Chinese."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final


class Intent(Enum):
    """What somebody wants to know."""

    WHERE = "where"
    USES = "uses"
    CHANGED = "changed"
    WHO = "who"
    WHY = "why"
    WHAT = "what"
    SHOW = "show"


INTENTS: Final[tuple[tuple[Intent, re.Pattern[str]], ...]] = tuple(
    (intent, re.compile(pattern, re.IGNORECASE | re.VERBOSE))
    for intent, pattern in (
        (
            Intent.WHERE,
            r"""\bwhere\b | \b(?:which|what)\s+(?:file|module|place|folder|directory|class|function|line)s?\b
            | \b(?:find|locate|search\s+for|grep)\b | \bdefin(?:ed|ition|es)\b | \bdeclared\b
            | 在哪|哪里|哪儿|哪个文件|哪些文件|哪个模块|哪个目录|哪一行|什么地方|何处|定义|位置|找一下|找到|找找
            |搜索|查找""",
        ),
        (
            Intent.USES,
            r"""\b(?:used|usages?|callers?|called|calls|references|referenced|uses)\b | 用到|调用|引用|使用了
            |被.{0,6}用""",
        ),
        (
            Intent.CHANGED,
            r"""\bwhat(?:'s|\s+has|\s+have|\s+is|\s+was|\s+were)?\s+(?:been\s+|recently\s+|just\s+)?chang(?:ed
            |ing)\b
            | \b(?:recent|latest|last|newest|previous)\s+(?:\d+\s+|few\s+)?(?:changes?|commits?|edits?|updates?
            |modifications?)\b
            | \b(?:changes?|commits|history|log)\s+(?:in|to|of|on|since|for|from|by)\b | \bwhat(?:'s|\s+is)\s+new\b
            | \bchanged\s+(?:in|since|recently|lately|last|yesterday|today)\b | \bchanges\s+lately\b
            | \bwhat\s+(?:did|has|have)\s+[\w.-]+(?:\s+[\w.-]+)?\s+(?:change|done|do|commit|work|push|chang|edit)
            | \bwhen\s+(?:was|were|did|is)\b.{0,80}\b(?:chang|add|edit|modif|creat|introduc|updat|commit|remov|writ)
            | 改了什么|改了哪些|改过|改动|变更|变化|修改了|更新了|最近.{0,12}(?:提交|改|更新|变)|历史|提交记录
            |有什么新|新的提交|什么时候.{0,12}[改加写]""",
        ),
        (
            Intent.WHO,
            r"""\bwho(?:'s|\s+has|\s+last|\s+first|\s+else|\s+originally|\s+recently)*\s+(?:chang|wrote|written
            |write|authored|add|edit|touch
                |modif|introduc|creat|made|commit|delet|remov|built|implement|updat|renam|broke|fix)
            | \bwho(?:'s|\s+is|\s+was|\s+are)\s+(?:the\s+)?(?:last\s+)?(?:author|committer|editor)
            | \bby\s+whom\b | \bauthors?\s+of\b | \bblame\b
            | 谁.{0,8}(?:改|写|加|提交|修改|动过|动了|删|创建|引入|实现|更新|做的)|(?:改|写|加|提交
            |创建).{0,6}是谁|是谁.{0,8}(?:改|写|加|提交|做)|作者""",
        ),
        (
            Intent.WHY,
            r"""\bwhy\b | \breasons?\s+(?:for|of|behind|why)\b | \bwhat(?:'s|\s+is|\s+was)\s+the\s+reason\b
            | \brationale\b | \bhow\s+come\b
            | 为什么|为何|为啥|原因|缘由|理由""",
        ),
        (
            Intent.SHOW,
            r"""(?:^|[.,;!?]\s*|\b(?:please|you|me|let's)\s+)(?:show|print|display|cat|open|view|read|list|see)\b
            | \blook\s+at\b | \bshow\s+me\b
            | 看一下|看看|看下|给我看|显示|打开|展示|列出|贴一下""",
        ),
        (
            Intent.WHAT,
            r"""\bwhat(?:'s|\s+is|\s+are|\s+does|\s+do|\s+was)\b | \bexplain\b | \bdescribe\b | \bhow\s+(?:does|do
            |is|are)\b | \bmeaning\s+of\b
            | 是什么|什么是|什么意思|做什么|干什么|干嘛|干啥|什么用|作用|怎么工作|怎么实现|怎么用|解释|介绍|讲讲
            |说说|是干""",
        ),
    )
)

LAST_COMMIT: Final = re.compile(
    r"\b(?:last|latest|newest|most\s+recent|previous)\s+commit\b|\bHEAD\b"
    r"|(?:最后|最近|上|最新|末)(?:的|一|一次|一个|次|个)*\s*(?:提交|commit)",
    re.IGNORECASE,
)

DEFINITION: Final = re.compile(r"\bdefin(?:ed|es|ition)\b|\bdeclared\b|定义", re.IGNORECASE)
