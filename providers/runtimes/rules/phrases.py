"""What the rules say, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from manager.decisions.language import Language

_EN: Final[Mapping[str, str]] = {
    "defined": "{what} is defined at {where}:",
    "likely": "The most likely place is {where}:",
    "mentioned": "{what} is mentioned at {where}:",
    "no_definition": "I found no definition of {what}; the nearest mention is at {where}:",
    "no_class": "I found no class {what}.",
    "no_function": "I found no function {what}.",
    "nearest": "The nearest mention is at {where}:",
    "searched": "searched {spaces} for {what}: no match",
    "searched_together": "searched {spaces} for {what}: no place has them together",
    "searched_weak": "searched {spaces} for {what}: only mentioned in passing",
    "used": "{what} is used at {where}:",
    "here": "{where}:",
    "file": "The file is {where}.",
    "files": "These files fit:",
    "also": "Also:",
    "more": "There are more places than are listed here.",
    "more_count": "… and {count} more.",
    "commit": "{commit} by {author}, {date}: “{subject}”",
    "reason": "The reason it gives:",
    "no_reason": "Its message gives no other reason.",
    "changed_files": "It changed {files}.",
    "and_others": "{files} and {count} more",
    "blamed": "{where} was last changed in {commit} by {author}, {date}: “{subject}”.",
    "last_of": "{what} was last changed in {commit} by {author}, {date}: “{subject}”.",
    "earlier": "Before that:",
    "latest": "The latest changes:",
    "latest_of": "The latest changes of {what}:",
    "by_author": "The latest commits by {what}:",
    "none_since": "No commit of {what} since {since}.",
    "none_of": "No commit of {what} in the history that was read.",
    "whole": "the workspace",
    "older": "There are older ones.",
    "last_commit": "The last commit is {commit} by {author}, {date}: “{subject}”.",
    "uncommitted": "There are changes that are not committed{names}; they were not read.",
    "unread": "Not read: {what}.",
    "cut": "(cut here)",
    "what_to_look_for": (
        "What shall I look for? Name a file, a function, a commit or a person, for example: where is `main` defined?"
    ),
    "vague": "What is it about? Name a file, a function, a commit or a person, and I will look it up.",
    "decline": "{what} may not be read: {reason}.",
    "help": (
        "I am this group's steward, in the form without a language model: I follow fixed rules, and I look things "
        "up in {spaces}. I do not guess: what I say comes with path, line and commit.\n\nAsk me, in English or "
        "Chinese:\n\n"
        "- where is `parse_event` defined?\n- what changed recently? what changed in docs?\n"
        "- who changed pyproject.toml last?\n"
        "- why was the last commit made? why was commit 1a2b3c4 made?\n- show README.md line 12\n\n"
        "For anything that needs work or judgement, name who shall do it: `ask NAME to …` or `NAME: …`. "
    ),
    "help_peers": "I can hand over to {peers}.",
    "help_no_peers": "Nobody is registered yet whom I could hand over to.",
    "owed": "an answer to the question, with what it rests on",
    "no_spaces": "no workspace (none is open to this conversation)",
}

_ZH: Final[Mapping[str, str]] = {
    "defined": "{what} 定义在 {where}：",
    "likely": "最可能的位置是 {where}：",
    "mentioned": "{what} 出现在 {where}：",
    "no_definition": "没有找到 {what} 的定义；最接近的出现位置是 {where}：",
    "no_class": "没有找到类 {what}。",
    "no_function": "没有找到函数 {what}。",
    "nearest": "最接近的出现位置是 {where}：",
    "searched": "在 {spaces} 里查找 {what}：没有匹配",
    "searched_together": "在 {spaces} 里查找 {what}：没有同时出现的地方",
    "searched_weak": "在 {spaces} 里查找 {what}：只是顺带提到",
    "used": "{what} 用在 {where}：",
    "here": "{where}：",
    "file": "文件是 {where}。",
    "files": "符合的文件：",
    "also": "还有：",
    "more": "还有更多位置没有列出。",
    "more_count": "……另有 {count} 处。",
    "commit": "{commit}，{author}，{date}：“{subject}”",
    "reason": "提交里写的原因：",
    "no_reason": "提交信息里没有写别的原因。",
    "changed_files": "改动了 {files}。",
    "and_others": "{files} 等共 {total} 个文件",
    "blamed": "{where} 最后由 {author} 于 {date} 在 {commit} 中修改：“{subject}”。",
    "last_of": "{what} 最后由 {author} 于 {date} 在 {commit} 中修改：“{subject}”。",
    "earlier": "更早的：",
    "latest": "最近的改动：",
    "latest_of": "{what} 最近的改动：",
    "by_author": "{what} 最近的提交：",
    "none_since": "自 {since} 以来 {what} 没有提交。",
    "none_of": "在读到的历史里没有 {what} 的提交。",
    "whole": "整个工作区",
    "older": "还有更早的。",
    "last_commit": "最后一次提交是 {commit}，{author}，{date}：“{subject}”。",
    "uncommitted": "有尚未提交的改动{names}，没有读取。",
    "unread": "没有读取：{what}。",
    "cut": "（到此截断）",
    "what_to_look_for": "要我查什么？请给出文件、函数、提交或人名，例如：`main` 在哪里定义？",
    "vague": "具体是指什么？请给出文件、函数、提交或人名，我就去查。",
    "decline": "{what} 不允许读取：{reason}。",
    "help": (
        "我是这个群的管家，目前是不带语言模型的形式：按固定规则，在{spaces}里查找。"
        "我不猜测，说的每一点都附上路径、行号和提交。\n\n可以用中文或英文问我：\n\n"
        "- `parse_event` 在哪里定义？\n- 最近改了什么？docs 最近有什么改动？\n- pyproject.toml 最后是谁改的？\n"
        "- 为什么有最后一次提交？提交 1a2b3c4 的原因是什么？\n- 看一下 README.md 第 12 行\n\n"
        "需要动手或判断的事，请说明交给谁：`让 NAME …`、`请 NAME …`、`转给 NAME` 或 `NAME：…`。"
    ),
    "help_peers": "我可以转交给 {peers}。",
    "help_no_peers": "目前还没有登记可以转交的同伴。",
    "owed": "对问题的回答，并说明依据",
    "no_spaces": "工作区（本会话目前没有开放的工作区）",
}

_REASONS_ZH: Final[Mapping[str, str]] = {
    "git's own files are never read": "git 自己的文件从不读取",
    "configuration and credentials are never read": "配置和凭据从不读取",
    "this part of the workspace is private to the steward or its owner": "工作区的这一部分不对外开放",
    "a path is between 1 and 1024 characters long": "路径长度要在 1 到 1024 个字符之间",
    "only paths inside the workspace are read, not absolute ones": "只读取工作区内的路径，不读取绝对路径",
    "a path must not lead out of the workspace": "路径不能指向工作区之外",
    "this is no path of a file": "这不是文件路径",
    "this is a folder": "这是文件夹",
    "git does not track this at the pinned commit": "在所读的提交里 git 没有跟踪它",
    "there is no such file in the workspace": "工作区里没有这个文件",
    "this is a symbolic link; links are not followed": "这是符号链接，不跟随链接",
    "this is a submodule; it would have to be declared as a workspace of its own": "这是子模块，需要单独声明为工作区",
    "this is a git repository; it would have to be declared as a workspace of its own": (
        "这是另一个 git 仓库，需要单独声明为工作区"
    ),
    "this is a link, no file, or may not be opened": "这是链接、不是文件，或无法打开",
    "only regular files are read": "只读取普通文件",
    "this file has a second name, which may be outside the workspace": "这个文件还有别的名字，可能在工作区之外",
    "this is a binary file": "这是二进制文件",
    "there is no such line": "没有这一行",
    "git is not installed": "没有安装 git",
    "git could not read this repository": "git 无法读取这个仓库",
    "this workspace has no git history": "这个工作区没有 git 历史",
    "no workspace is open to this conversation": "本会话没有开放的工作区",
    "the folder is not there any more": "文件夹已经不在了",
    "the repository has no commit yet": "仓库还没有提交",
    "the clone is shallow: older commits are not here": "这是浅克隆，没有更早的提交",
    "the file is longer than what is looked at": "文件太长，只看了一部分",
}


def say(language: Language, phrase: str, **values: object) -> str:
    """A phrase in ``language`` with its values."""
    return (_ZH if language == "zh" else _EN)[phrase].format(**values)


def reason_in(language: Language, reason: str) -> str:
    """A host's reason in ``language``, where there is a translation."""
    return _REASONS_ZH.get(reason, reason) if language == "zh" else reason
