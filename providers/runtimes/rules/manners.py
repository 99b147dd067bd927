"""What sort of message it is: work, a question about the steward, small talk. English and Chinese."""

from __future__ import annotations

import re
from typing import Final

WORK: Final = re.compile(
    r"""(?:\A|[\n!?;]|\.(?!\w))[ \t]{0,40}(?:(?:please|pls|kindly|hi|hello|hey|can\s+you|could\s+you|would\s+you
    |will\s+you|i\s+need\s+(?:you|someone|somebody)\s+to
        |we\s+need\s+(?:someone|somebody)\s+to|someone\s+(?:should|must|please)|let's|@[^\s,@]+)[\s,]{1,20}){0,4}
        (?:re)?(?:review|draft|write|fix|implement|refactor|design|analy[sz]e|investigate|translate|summari[sz]e
        |compare|plan|prepare|create|build
        |add|update|audit|estimate|debug|migrate|optimi[sz]e|improve|deploy|release|rewrite|document|test|verify
        |research|propose|rename|remove
        |delete|run|send|schedule|make|organi[sz]e|book|restart|check|evaluate|assess|benchmark|proofread|polish)\b
      | (?:\A|[\n。！？；，])[ \t]{0,40}(?:@[^\s@]+\s+)?(?:请|麻烦
      |能不能|可以|你|帮我|帮忙|给我|我们?需要|需要)*\s*(?:写
      |改写
      |修复|修改|改一下|翻译|评审|审查|审核|审一下|实现|设计|分析|总结|优化|重构
        |调研|排查|起草|准备|部署|发布|测试|验证|比较|对比|规划|评估|整理|安排|检查|润色|校对|生成|添加|增加|删除
        |重启|发一)""",
    re.IGNORECASE | re.VERBOSE,
)

HELP: Final = re.compile(
    r"""\s*(?:@[^\s@]+\s+){0,6}/?(?:help(?:\s+me)?|usage|what\s+(?:can|do)\s+you\s+do|what\s+can\s+i\s+ask(?:\s+you)?
    |who\s+are\s+you|what\s+are\s+you|how\s+do(?:es)?\s+(?:you|this)\s+work
        |how\s+(?:do|can)\s+i\s+use\s+(?:you|this)|帮助|你能(?:够)?(?:做|干|帮我做)(?:些|点)?(?:什么|啥)
        |你会(?:做)?(?:些)?什么|你可以(?:做|干)(?:些)?什么|你是谁|你是什么|你有什么(?:用|功能)|怎么用(?:你)?
        |如何使用|能干(?:什么|啥|嘛))
        \s*(?:啊|呢|呀|吗)?\s*[?？!！.。~]*\s*""",
    re.IGNORECASE | re.VERBOSE,
)

SMALL_TALK: Final = re.compile(
    r"""\s*(?:@[^\s@]+\s+){0,6}(?:hi|hello|hey|yo|hiya|good\s+(?:morning|afternoon|evening|night)
    |thanks?(?:\s+you)?(?:\s+(?:so|very)\s+much|\s+a\s+lot)?|thx|ty|cheers|ok(?:ay)?
        |great|nice|cool|good\s+(?:job|bot)|well\s+done|bye|ping|test|how\s+are\s+you(?:\s+doing)?
        |are\s+you\s+(?:there|alive|ok)|你好|您好|哈喽|嗨|早|早安|早上好|上午好|中午好|下午好|晚上好
        |晚安|谢谢|多谢|感谢|辛苦|辛苦了|好的|好|收到|明白|在吗|在不在|在么|嗯|哦|ok了|再见|拜拜|你好吗|不错)
        (?:\s*(?:there|all|everyone|team|steward|bot|again|啊|呀|哦|你|您|大家|了))*\s*[?？!！.。~,，]*\s*""",
    re.IGNORECASE | re.VERBOSE,
)
