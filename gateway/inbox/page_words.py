"""The pages' own words, in two languages. The names of states and errors stay as they are everywhere."""

from __future__ import annotations

from collections.abc import Mapping

ENGLISH: Mapping[str, str] = {
    "title": "Inbox",
    "all": "all",
    "older": "Older",
    "newest": "Newest",
    "empty": "There is nothing here.",
    "sign_in": "Sign in",
    "sign_out": "Sign out",
    "token": "Operator's token",
    "token_where": "It is gateway.operator_token of steward.toml, or the content of operator.token in the data folder.",
    "wrong_token": "This is not the operator's token.",
    "asked": "Asked",
    "receiver": "Receiver",
    "steward": "the steward",
    "assignment": "Assignment",
    "assessment": "Assessment",
    "work": "Work",
    "delivery": "Delivery",
    "needs_you": "Needs you",
    "next": "Next",
    "timeline": "Timeline",
    "lineage": "Lineage",
    "parent": "asked for by",
    "children": "asked for",
    "conversation": "Conversation",
    "parts": "parts",
    "attempts": "attempts",
    "back": "Back to the list",
    "unknown": "There is no such request.",
    "trouble": "The database cannot be read just now. Try again in a moment.",
}

CHINESE: Mapping[str, str] = {
    "title": "收件箱",
    "all": "全部",
    "older": "更早",
    "newest": "最新",
    "empty": "这里没有内容。",
    "sign_in": "登录",
    "sign_out": "退出",
    "token": "操作员令牌",
    "token_where": "即 steward.toml 的 gateway.operator_token，或数据目录中 operator.token 的内容。",
    "wrong_token": "这不是操作员令牌。",
    "asked": "提问时间",
    "receiver": "接收方",
    "steward": "管家",
    "assignment": "分派",
    "assessment": "评估",
    "work": "工作",
    "delivery": "送达",
    "needs_you": "需要处理",
    "next": "下一步",
    "timeline": "时间线",
    "lineage": "来龙去脉",
    "parent": "来自",
    "children": "派生",
    "conversation": "会话",
    "parts": "部分",
    "attempts": "次发送",
    "back": "返回列表",
    "unknown": "没有这个请求。",
    "trouble": "现在读不到数据库，请稍后再试。",
}


def words(*, chinese: bool) -> Mapping[str, str]:
    """The words of one language."""
    return CHINESE if chinese else ENGLISH
