"""Words that say nothing of what is looked for, in English and in Chinese."""

from __future__ import annotations

import re
from typing import Final

SLASHED: Final = frozenset(
    {"and/or", "either/or", "read/write", "n/a", "w/o", "yes/no", "on/off", "i/o", "he/she", "his/her", "/help"}
)

_STOP: Final = frozenset(
    re.findall(
        r"[\w']+",
        """
    a about above after again all also am an and any are aren't as ask at be because been before being but by
    can can't could did didn't do does doesn't doing don't done each else every everything exactly for from get
    gets give given go goes got had has have having he hello her here hers hey hi him his how i i'd i'm if in
    into is isn't it it's its just know let let's like look looking look lot made make makes many may maybe me
    might more most much must my need needs no not nothing now of off ok on once one only or other our out over
    own please pls really same say says see seem seems she should show shows so some somebody someone something
    still such take tell tells than thank thanks that that's the their them then there these they thing things
    this those through to together too under until up upon us use using very want wants was wasn't way we were
    what what's whatever when where where's which while who who's whom whose why will with without won't would
    yes yet you you're your yours lately recently recent last latest newest previous currently current actually
    originally ago today yesterday week month since find found locate located location lives live kept happen
    happens happened handle handled handles work works working mean means meaning explain describe defined
    define defines definition declared declaration implemented implements implementation responsible changed
    changes change changing wrote write written writes author authors authored edited edit modified modify
    touched touch introduced introduce added add created create committed reason reasons behind history log
    blame print display open view read search grep used uses usage usages called calls caller callers referenced
    references
    """,
    )
)
_SOFT: Final = frozenset(
    re.findall(
        r"[\w']+",
        """
    file files folder directory function functions class classes method methods variable variables constant
    constants module modules package code line lines commit commits repo repository project codebase source
    symbol field type place part
    """,
    )
)
EMPTY_HAN: Final = re.compile(
    "为什么|为何|为啥|有没有|是不是|能不能|可不可以|什么时候|什么意思|什么地方|是什么|什么是|"
    "什么|怎么工作|怎么实现|怎么用|怎么样|怎么|怎样|如何|在哪里|在哪儿|在哪|哪里|哪儿|哪个文件|"
    "哪些文件|哪个模块|哪一行|哪个|哪些|一下|这个|那个|这些|那些|可以|是否|能否|我们|你们|他们|"
    "帮忙|帮我|请问|告诉|知道|因为|所以|但是|还是|或者|以及|然后|已经|现在|最近|最后一次|最后|"
    "上次|上一次|最新|定义|位置|在|谁的|是谁|谁|作者|提交记录|提交|改动|变更|变化|修改|改了|"
    "改过|改的|改|写的|写了|写|加的|创建|引入|实现的|原因|历史|看一下|看看|看下|给我看|显示|"
    "打开|展示|列出|找一下|找到|搜索|查找|作用|解释|介绍|做什么|干什么|文件|函数|代码|模块|这段|"
    "这行|用到|调用|引用|更新了|哪|里面|里|中|"
    "[的了吗呢吧啊呀是我你他她它请这那么有和与被把给对从到做用行个次]"
)


def is_stop(word: str) -> bool:
    """Whether a Latin word says nothing of what is looked for."""
    return word.casefold().replace("’", "'") in _STOP


def is_soft(word: str) -> bool:
    """Whether a Latin word only says what sort of thing is looked for."""
    return word.casefold() in _SOFT
