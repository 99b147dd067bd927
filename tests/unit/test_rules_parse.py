"""What a question asks, by rules."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions.decision import PeerCard, Said
from providers.runtimes.rules.intents import Intent
from providers.runtimes.rules.parse import Manner, Parsed, parse
from providers.runtimes.rules.terms import Kind
from tests.support.workspaces import PEERS


def ask(
    question: str, quoted: str | None = None, history: tuple[str, ...] = (), peers: tuple[PeerCard, ...] = PEERS
) -> Parsed:
    return parse(
        question,
        None if quoted is None else Said("", "asker", quoted),
        [Said("", "asker", text) for text in history],
        peers,
    )


@pytest.mark.parametrize(
    ("question", "name", "purpose"),
    [
        ("ask bob to review returns/pump.py", "bob", "review returns/pump.py"),
        ("Ask BOB to fix it", "bob", "fix it"),
        ("please ask bob to fix it", "bob", "fix it"),
        ("Could you please ask @bob to fix it?", "bob", "fix it?"),
        ("Hi, ask bob to fix it", "bob", "fix it"),
        ("The pump hangs. Ask bob to look at it", "bob", "look at it"),
        ("ask bob about the timeout", "bob", "about the timeout"),
        ("tell bob to stop", "bob", "stop"),
        ("bob: look at this", "bob", "look at this"),
        ("Bob：看看超时", "bob", "看看超时"),
        ("@bob: look", "bob", "look"),
        ("release-notes: write 1.2", "release-notes", "write 1.2"),
        ("ask release-notes to write 1.2", "release-notes", "write 1.2"),
        ("让 bob 看看超时", "bob", "看看超时"),
        ("让bob看看超时", "bob", "看看超时"),
        ("请 bob 检查一下 a.py", "bob", "检查一下 a.py"),
        ("请小王看一下索引", "小王", "看一下索引"),
        ("小王：看一下索引", "小王", "看一下索引"),
        ("把 pump 的问题转给 bob", "bob", "把 pump 的问题"),
        ("转给 bob：请检查超时", "bob", "请检查超时"),
        ("转给 bob。", "bob", "转给 bob。"),
        ("能不能请 bob 看看？", "bob", "看看？"),
        ("麻烦让 bob 看看", "bob", "看看"),
        ("要不让 bob 看看", "bob", "看看"),
        ("ask old-timer to tell", "old-timer", "tell"),
        # a name that nobody knows is told as such
        ("ask ghost to draft the plan", "ghost", "draft the plan"),
        ("please ask Ghost-2 to draft the plan", "Ghost-2", "draft the plan"),
        ("转给 ghost", "ghost", "转给 ghost"),
        ("把这个问题转给 ghost 处理", "ghost", "处理"),
        ("让 ghost 看看哪里有 bug", "ghost", "看看哪里有 bug"),
        ("让 ghost 写一份报告", "ghost", "写一份报告"),
        ("请 ghost 检查一下", "ghost", "检查一下"),
        # corrections
        ("ask bob to fix a.py\n更正：让 小王 修 a.py", "小王", "fix a.py\n更正：让 小王 修 a.py"),
        (
            "ask bob to fix a.py\nCorrection: ask release-notes to do it",
            "release-notes",
            "fix a.py\nCorrection: ask release-notes to do it",
        ),
        ("ask bob to fix a.py\nAlso: b.py", "bob", "fix a.py\nAlso: b.py"),
    ],
)
def test_named(question: str, name: str, purpose: str) -> None:
    named = ask(question).named
    assert named is not None
    assert (named.name, named.purpose) == (name, purpose)


@pytest.mark.parametrize(
    "question",
    [
        "don't ask bob to do that",
        "where do we ask bob to confirm?",
        "who asked bob to do that?",
        "did you ask bob to do it?",
        "What does `ask bob to deploy` do?",
        'what does "ask bob to deploy" mean',
        "> ask bob to deploy\nwhat is this?",
        "```\nask bob to deploy\n```\nwhat is this?",
        "where is “让 bob 看看” written",
        "ask them to stop",
        "ask someone to look",
        "ask me to go",
        "ask the team to go",
        "ghost: look at this",
        "TODO: look at this",
        "where: bob",
        "请问 announce 在哪里",
        "请问 bob 是谁",
        "请帮我看一下 manager/ports.py",
        "请 review 一下 returns/pump.py",
        "请看 returns/pump.py",
        "不要让 bob 改",
        "别让 bob 改",
        "不用转给 bob",
        "为什么转给 bob",
        "怎么让 gateway 重启",
        "哪里把消息转给 bob？",
        "让 DeliveryProvider 支持重试要改哪里",
        "让 returns/pump.py 更快",
        "让我看看",
        "bobby: hello",
        "ask bob-2x about it",
        "where is bob.py",
        "转给谁",
    ],
)
def test_not_named(question: str) -> None:
    assert ask(question).named is None


def test_a_name_needs_its_end() -> None:
    named = ask("ask bobby to look").named
    assert named is not None
    assert named.name == "bobby"


NAMES = ["ask bob to deploy", "bob: deploy", "让 bob 部署", "转给 bob", "请 bob 检查"]


@given(st.text(max_size=120), st.sampled_from(NAMES))
def test_never_names_a_peer_found_only_in_the_quote(question: str, command: str) -> None:
    if "bob" in question.casefold():
        return
    parsed = ask(question, quoted=f"{command}\n{question}", history=(command,))
    assert parsed.named is None or parsed.named.name != "bob"


@given(
    st.text(max_size=400),
    st.one_of(st.none(), st.text(max_size=100)),
    st.lists(st.text(min_size=1, max_size=8), max_size=3),
)
def test_never_raises(question: str, quoted: str | None, names: list[str]) -> None:
    parsed = ask(question, quoted, peers=tuple(PeerCard(name, (), (), stopped=False) for name in names))
    if parsed.named is not None:
        assert parsed.named.name
        assert parsed.named.purpose or not question.strip()


FRAGMENTS = st.sampled_from(
    [
        "ask ",
        "bob",
        " to ",
        "@",
        "@a",
        ",",
        " ",
        "\n",
        "把",
        "请",
        "让",
        "转给",
        "我",
        "`",
        '"',
        "“",
        "'",
        ":",
        "：",
        "更正：",
        ".",
        "/",
        "a/",
        "_",
        "a_",
        "x.py",
        "please ",
        "-",
        ">",
        "```",
    ]
)


@given(st.lists(FRAGMENTS, max_size=60).map("".join))
def test_never_raises_on_what_looks_like_its_grammar(question: str) -> None:
    ask(question, quoted=question)


@pytest.mark.parametrize(
    "piece",
    [
        "@a",
        "把",
        "@我",
        ",",
        "\n",
        "`",
        "“",
        "a_",
        "a/",
        "a.",
        "please ",
        "请",
        "帮我",
        '"',
        "'",
        "ask bob ",
        "when was ",
        "```",
        "@,",
        "你好",
        "12",
        "更正：",
        "A",
        "aB",
    ],
)
def test_cost_does_not_explode(piece: str) -> None:
    """A hostile question of the greatest length costs little: a pattern that explodes takes for ever."""
    began = time.process_time()
    ask(piece * (8000 // len(piece)))
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("question", "kind", "text", "line"),
    [
        ("where is returns/delivery.py", Kind.PATH, "returns/delivery.py", None),
        ("show returns/delivery.py:42", Kind.PATH, "returns/delivery.py", 42),
        ("show `returns/delivery.py:42@1a2b3c4`", Kind.PATH, "returns/delivery.py", 42),
        ("show ids.py line 7", Kind.PATH, "ids.py", 7),
        ("看一下 ids.py 第 7 行", Kind.PATH, "ids.py", 7),
        ("看一下pyproject.toml", Kind.PATH, "pyproject.toml", None),
        ("who changed the Makefile?", Kind.PATH, "Makefile", None),
        ("cat /etc/passwd", Kind.PATH, "/etc/passwd", None),
        ("show ../x.py", Kind.PATH, "../x.py", None),
        ("show ~/.ssh/id_rsa", Kind.PATH, "~/.ssh/id_rsa", None),
        ("DeliveryProvider在哪里定义", Kind.IDENTIFIER, "DeliveryProvider", None),
        ("where is send_message()?", Kind.IDENTIFIER, "send_message", None),
        ("where is Pump.run?", Kind.IDENTIFIER, "Pump.run", None),
        ("where is `announce`?", Kind.IDENTIFIER, "announce", None),
        ("announce 是谁写的", Kind.IDENTIFIER, "announce", None),
        ('where do we say "not found here"?', Kind.LITERAL, "not found here", None),
        ("why commit 8405181?", Kind.COMMIT, "8405181", None),
        ("what is 1a2b3c4d?", Kind.COMMIT, "1a2b3c4d", None),
        ("why was commit abcd made", Kind.COMMIT, "abcd", None),
        ("where is the timeout", Kind.WORD, "timeout", None),
        ("退货政策在哪里", Kind.WORD, "退货政策", None),
    ],
)
def test_first_term(question: str, kind: Kind, text: str, line: int | None) -> None:
    terms = ask(question).terms
    assert (terms[0].kind, terms[0].text, terms[0].line) == (kind, text, line)


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("where is X?", Intent.WHERE),
        ("which file has X", Intent.WHERE),
        ("X 在哪里", Intent.WHERE),
        ("X 在哪个文件", Intent.WHERE),
        ("what changed recently?", Intent.CHANGED),
        ("what changed in X", Intent.CHANGED),
        ("recent commits", Intent.CHANGED),
        ("最近改了什么", Intent.CHANGED),
        ("what has changed since 2024-01-01", Intent.CHANGED),
        ("最近有哪些提交", Intent.CHANGED),
        ("what did alice change?", Intent.CHANGED),
        ("who changed X?", Intent.WHO),
        ("who wrote X", Intent.WHO),
        ("who last edited X", Intent.WHO),
        ("谁改的 X", Intent.WHO),
        ("X 是谁写的", Intent.WHO),
        ("who is the author of X", Intent.WHO),
        ("why was X made", Intent.WHY),
        ("为什么改 X", Intent.WHY),
        ("what is X", Intent.WHAT),
        ("what does X do", Intent.WHAT),
        ("什么是 X", Intent.WHAT),
        ("X 是什么", Intent.WHAT),
        ("show X", Intent.SHOW),
        ("please show X", Intent.SHOW),
        ("看一下 X", Intent.SHOW),
        ("where is X used", Intent.USES),
        ("哪里用到 X", Intent.USES),
    ],
)
def test_intents(question: str, intent: Intent) -> None:
    assert intent in ask(question.replace("X", "`foo`")).intents


@pytest.mark.parametrize(
    ("question", "manner"),
    [
        ("", Manner.SMALL_TALK),
        ("   ?", Manner.SMALL_TALK),
        ("hello!", Manner.SMALL_TALK),
        ("谢谢", Manner.SMALL_TALK),
        ("在吗？", Manner.SMALL_TALK),
        ("Hi there", Manner.SMALL_TALK),
        ("help", Manner.HELP),
        ("/help", Manner.HELP),
        ("What can you do?", Manner.HELP),
        ("你能做什么？", Manner.HELP),
        ("帮助", Manner.HELP),
        ("你是谁", Manner.HELP),
        ("Please draft a release announcement", Manner.WORK),
        ("review a.py for races", Manner.WORK),
        ("帮我写一份报告", Manner.WORK),
        ("翻译 README.md", Manner.WORK),
        ("where is it?", Manner.VAGUE),
        ("why?", Manner.VAGUE),
        ("为什么？", Manner.VAGUE),
        ("where is a.py?", Manner.LOOK_UP),
        ("最近改了什么", Manner.LOOK_UP),
        ("why was the last commit made?", Manner.LOOK_UP),
    ],
)
def test_manner(question: str, manner: Manner) -> None:
    assert ask(question).manner is manner


def test_the_quote_and_the_history_lend_terms_only_to_what_points_at_them() -> None:
    assert [term.text for term in ask("who changed it?", quoted="see shop/prices.py please").terms] == [
        "shop/prices.py"
    ]
    assert [term.text for term in ask("谁改的？", quoted="`total` 在这里").terms] == ["total"]
    assert [term.text for term in ask("who changed it?", history=("where is `total`?",)).terms] == ["total"]
    assert [term.text for term in ask("who changed `cart`?", quoted="see shop/prices.py").terms] == ["cart"]
    assert ask("最近改了什么", history=("where is `total`?",)).terms == ()
