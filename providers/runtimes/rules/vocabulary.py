"""The words by which the rules know what is asked, in English and in Chinese."""

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
            | 在哪|哪里|哪儿|哪个文件|哪些文件|哪个模块|哪个目录|哪一行|什么地方|何处|定义|位置|找一下|找到|找找|搜索|查找""",
        ),
        (
            Intent.USES,
            r"""\b(?:used|usages?|callers?|called|calls|references|referenced|uses)\b | 用到|调用|引用|使用了|被.{0,6}用""",
        ),
        (
            Intent.CHANGED,
            r"""\bwhat(?:'s|\s+has|\s+have|\s+is|\s+was|\s+were)?\s+(?:been\s+|recently\s+|just\s+)?chang(?:ed|ing)\b
            | \b(?:recent|latest|last|newest|previous)\s+(?:\d+\s+|few\s+)?(?:changes?|commits?|edits?|updates?|modifications?)\b
            | \b(?:changes?|commits|history|log)\s+(?:in|to|of|on|since|for|from|by)\b | \bwhat(?:'s|\s+is)\s+new\b
            | \bchanged\s+(?:in|since|recently|lately|last|yesterday|today)\b | \bchanges\s+lately\b
            | \bwhat\s+(?:did|has|have)\s+[\w.-]+(?:\s+[\w.-]+)?\s+(?:change|done|do|commit|work|push|chang|edit)
            | \bwhen\s+(?:was|were|did|is)\b.*\b(?:chang|add|edit|modif|creat|introduc|updat|commit|remov|writ)
            | 改了什么|改了哪些|改过|改动|变更|变化|修改了|更新了|最近.{0,12}(?:提交|改|更新|变)|历史|提交记录|有什么新|新的提交|什么时候.{0,12}[改加写]""",
        ),
        (
            Intent.WHO,
            r"""\bwho(?:'s|\s+has|\s+last|\s+first|\s+else|\s+originally|\s+recently)*\s+(?:chang|wrote|written|write|authored|add|edit|touch
                |modif|introduc|creat|made|commit|delet|remov|built|implement|updat|renam|broke|fix)
            | \bwho(?:'s|\s+is|\s+was|\s+are)\s+(?:the\s+)?(?:last\s+)?(?:author|committer|editor)
            | \bby\s+whom\b | \bauthors?\s+of\b | \bblame\b
            | 谁.{0,8}(?:改|写|加|提交|修改|动过|动了|删|创建|引入|实现|更新|做的)|(?:改|写|加|提交|创建).{0,6}是谁|是谁.{0,8}(?:改|写|加|提交|做)|作者""",
        ),
        (
            Intent.WHY,
            r"""\bwhy\b | \breasons?\s+(?:for|of|behind|why)\b | \bwhat(?:'s|\s+is|\s+was)\s+the\s+reason\b | \brationale\b | \bhow\s+come\b
            | 为什么|为何|为啥|原因|缘由|理由""",
        ),
        (
            Intent.SHOW,
            r"""(?:^|[.,;!?]\s*|\b(?:please|you|me|let's)\s+)(?:show|print|display|cat|open|view|read|list|see)\b | \blook\s+at\b | \bshow\s+me\b
            | 看一下|看看|看下|给我看|显示|打开|展示|列出|贴一下""",
        ),
        (
            Intent.WHAT,
            r"""\bwhat(?:'s|\s+is|\s+are|\s+does|\s+do|\s+was)\b | \bexplain\b | \bdescribe\b | \bhow\s+(?:does|do|is|are)\b | \bmeaning\s+of\b
            | 是什么|什么是|什么意思|做什么|干什么|干嘛|干啥|什么用|作用|怎么工作|怎么实现|怎么用|解释|介绍|讲讲|说说|是干""",
        ),
    )
)

LAST_COMMIT: Final = re.compile(
    r"\b(?:last|latest|newest|most\s+recent|previous)\s+commit\b|\bHEAD\b"
    r"|(?:最后|最近|上|最新|末)(?:的|一|一次|一个|次|个)*\s*(?:提交|commit)",
    re.IGNORECASE,
)

WORK: Final = re.compile(
    r"""(?:\A|[\n.!?;]\s*)(?:(?:please|pls|kindly|hi|hello|hey|can\s+you|could\s+you|would\s+you|will\s+you|i\s+need\s+(?:you|someone|somebody)\s+to
        |we\s+need\s+(?:someone|somebody)\s+to|someone\s+(?:should|must|please)|let's|@\S+)[\s,]+){0,4}
        (?:re)?(?:review|draft|write|fix|implement|refactor|design|analy[sz]e|investigate|translate|summari[sz]e|compare|plan|prepare|create|build
        |add|update|audit|estimate|debug|migrate|optimi[sz]e|improve|deploy|release|rewrite|document|test|verify|research|propose|rename|remove
        |delete|run|send|schedule|make|organi[sz]e|book|restart|check|evaluate|assess|benchmark|proofread|polish)\b
      | (?:\A|[\n。！？；，])\s*(?:@\S+\s*)?(?:请|麻烦|能不能|可以|你|帮我|帮忙|给我|我们?需要|需要)*\s*(?:写|改写|修复|修改|改一下|翻译|评审|审查|审核|审一下|实现|设计|分析|总结|优化|重构
        |调研|排查|起草|准备|部署|发布|测试|验证|比较|对比|规划|评估|整理|安排|检查|润色|校对|生成|添加|增加|删除|重启|发一)""",
    re.IGNORECASE | re.VERBOSE,
)

HELP: Final = re.compile(
    r"""\s*(?:@\S+\s+)*/?(?:help(?:\s+me)?|usage|what\s+(?:can|do)\s+you\s+do|what\s+can\s+i\s+ask(?:\s+you)?|who\s+are\s+you|what\s+are\s+you|how\s+do(?:es)?\s+(?:you|this)\s+work
        |how\s+(?:do|can)\s+i\s+use\s+(?:you|this)|帮助|你能(?:够)?(?:做|干|帮我做)(?:些|点)?(?:什么|啥)|你会(?:做)?(?:些)?什么|你可以(?:做|干)(?:些)?什么|你是谁|你是什么|你有什么(?:用|功能)|怎么用(?:你)?|如何使用|能干(?:什么|啥|嘛))
        \s*(?:啊|呢|呀|吗)?\s*[?？!！.。~]*\s*""",
    re.IGNORECASE | re.VERBOSE,
)

SMALL_TALK: Final = re.compile(
    r"""\s*(?:@\S+\s+)*(?:hi|hello|hey|yo|hiya|good\s+(?:morning|afternoon|evening|night)|thanks?(?:\s+you)?(?:\s+(?:so|very)\s+much|\s+a\s+lot)?|thx|ty|cheers|ok(?:ay)?
        |great|nice|cool|good\s+(?:job|bot)|well\s+done|bye|ping|test|how\s+are\s+you(?:\s+doing)?|are\s+you\s+(?:there|alive|ok)|你好|您好|哈喽|嗨|早|早安|早上好|上午好|中午好|下午好|晚上好
        |晚安|谢谢|多谢|感谢|辛苦|辛苦了|好的|好|收到|明白|在吗|在不在|在么|嗯|哦|ok了|再见|拜拜|你好吗|不错)
        (?:\s*(?:there|all|everyone|team|steward|bot|again|啊|呀|哦|你|您|大家|了))*\s*[?？!！.。~,，]*\s*""",
    re.IGNORECASE | re.VERBOSE,
)

POINTING: Final = re.compile(
    r"\b(?:it|this|that|these|those|them|here|there|above)\b|它|这个|那个|这里|那里|这段|这行|上面|这条|该|此", re.IGNORECASE
)

SLASHED: Final = frozenset({"and/or", "either/or", "read/write", "n/a", "w/o", "yes/no", "on/off", "i/o", "he/she", "his/her", "/help"})

_STOP: Final = frozenset(
    """
    a about above after again all also am an and any are aren't as ask at be because been before being but by can can't could did didn't do does
    doesn't doing don't done each else every everything exactly for from get gets give given go goes got had has have having he hello her here hers hey hi him his how i i'd
    i'm if in into is isn't it it's its just know let let's like look looking look lot made make makes many may maybe me might more most much must my
    need needs no not nothing now of off ok on once one only or other our out over own please pls really same say says see seem seems she should show shows so some
    somebody someone something still such take tell tells than thank thanks that that's the their them then there these they thing things this
    those through to together too under until up upon us use using very want wants was wasn't way we were what what's whatever when where where's which while who who's
    whom whose why will with without won't would yes yet you you're your yours
    lately recently recent last latest newest previous currently current actually originally ago today yesterday week month since
    find found locate located location lives live kept happen happens happened handle handled handles work works working mean means meaning
    explain describe defined define defines definition declared declaration implemented implements implementation
    responsible changed changes change changing wrote write written writes author authors authored edited edit modified modify touched touch
    introduced introduce added add created create committed reason reasons behind history log blame print display open view read search grep
    used uses usage usages called calls caller callers referenced references
    """.split()
)
_SOFT: Final = frozenset(
    """
    file files folder directory function functions class classes method methods variable variables constant constants module modules package
    code line lines commit commits repo repository project codebase source symbol field type place part
    """.split()
)
EMPTY_HAN: Final = re.compile(
    "为什么|为何|为啥|有没有|是不是|能不能|可不可以|什么时候|什么意思|什么地方|是什么|什么是|什么|怎么工作|怎么实现|怎么用|怎么样|怎么|怎样|如何|在哪里|在哪儿|在哪|哪里|哪儿"
    "|哪个文件|哪些文件|哪个模块|哪一行|哪个|哪些|一下|这个|那个|这些|那些|可以|是否|能否|我们|你们|他们|帮忙|帮我|请问|告诉|知道|因为|所以|但是|还是|或者|以及|然后|已经|现在|最近"
    "|最后一次|最后|上次|上一次|最新|定义|位置|在|谁的|是谁|谁|作者|提交记录|提交|改动|变更|变化|修改|改了|改过|改的|改|写的|写了|写|加的|创建|引入|实现的|原因|历史|看一下|看看|看下|给我看"
    "|显示|打开|展示|列出|找一下|找到|搜索|查找|作用|解释|介绍|做什么|干什么|文件|函数|代码|模块|这段|这行|用到|调用|引用|更新了|哪|里面|里|中"
    "|[的了吗呢吧啊呀是我你他她它请这那么有和与被把给对从到做用行个次]"
)


def is_stop(word: str) -> bool:
    """Whether a Latin word says nothing of what is looked for."""
    return word.casefold().replace("’", "'") in _STOP


def is_soft(word: str) -> bool:
    """Whether a Latin word only says what sort of thing is looked for."""
    return word.casefold() in _SOFT
