"""What a question asks, by rules."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions.decision import PeerCard, Said
from providers.runtimes.rules.defining import defined_as
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
        # a known name, in more forms
        ("问一下 bob：超时是多少", "bob", "超时是多少"),
        ("问 bob 超时是多少", "bob", "超时是多少"),
        ("帮我问问小王，索引在哪里", "小王", "索引在哪里"),
        ("请教一下 bob，超时是多少", "bob", "超时是多少"),
        ("have bob review a.py", "bob", "review a.py"),
        ("Please have @bob check the timeout", "bob", "check the timeout"),
        ("can bob review a.py?", "bob", "review a.py?"),
        ("Could bob please see to a.py?", "bob", "please see to a.py?"),
        ("can @bob tell us why?", "bob", "tell us why?"),
        ("@bob review a.py", "bob", "review a.py"),
        ("@steward @Bob, why is it slow?", "bob", "why is it slow?"),
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
        "问一下 ghost：超时是多少",
        "问 ghost 超时",
        "请教一下 ghost，超时",
        "have ghost review a.py",
        "can ghost review a.py?",
        "@ghost review a.py",
        "谁问 bob 了",
        "你问 bob 了吗",
        "访问 bob 的接口在哪里",
        "we have bob review everything, where is that written?",
        "have bob and alice met?",
        "can bob access the database?",
        "where is it said that @bob reviews?",
        "@bobby review a.py",
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
        "让x ",
        "问 bob ",
        "have bob ",
        "? can bob ",
        "@bob ",
        "(a",
        "(a) ",
        "（",
        "just ",
        "just curious ",
        "no rush",
        "? a",
        "line 1 ",
        "which file ",
        "它",
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
        ("show me line 41 of returns/service/pump.py", Kind.PATH, "returns/service/pump.py", 41),
        ("what is on lines 41 to 50 of `ids.py`?", Kind.PATH, "ids.py", 41),
        ("ids.py 的第7行是什么", Kind.PATH, "ids.py", 7),
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
        ("where is Pump.run defined?", Manner.LOOK_UP),
        ("where is `x`? please fix the bug", Manner.WORK),
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


def carried(question: str, *history: tuple[str, str], quoted: Said | None = None) -> list[tuple[str, int | None]]:
    said = [Said("", author, text) for author, text in history]
    return [(term.text, term.line) for term in parse(question, quoted, said, PEERS).terms]


SIGN_IN = (("asker", "where is `sign-in` handled?"), ("steward", "`sign-in` is mentioned at `web/login.py:3@1a2b3c4`:"))
PUMP = (
    "`Pump` is defined at `returns/service/pump.py:41@1a2b3c4`:\n\n```python\nclass Pump:\n```\n\n"
    "Also:\n\n- `gateway/composition.py:7@1a2b3c4` — `from returns.service.pump import Pump`"
)


@pytest.mark.parametrize(
    "question",
    [
        "what port does it listen on?",
        "how many files and lines of code are there?",
        "why does it retry?",
        "what changed recently?",
        "what changed this week?",
        "what is this project?",
        "why was the last commit made?",
        "最近改了什么？",
        "这个项目最近改了什么？",
        "应该监听哪个端口？",
        "got it, thanks",
    ],
)
def test_no_subject_is_carried_over_to_a_question_of_its_own(question: str) -> None:
    assert not {text for text, _ in carried(question, *SIGN_IN)} & {"sign-in", "web/login.py"}


@pytest.mark.parametrize(
    "question",
    [
        "who changed it?",
        "who changed it last?",
        "and why?",
        "why was that changed?",
        "which file is it in?",
        "who changed this file?",
        "show its history",
        "when was it last changed?",
        "谁改的？",
        "那是谁改的？",
        "为什么？",
        "这个文件是谁写的？",
        "它在哪里定义？",
    ],
)
def test_a_follow_up_carries_the_headline_subject_over(question: str) -> None:
    assert carried(question, *SIGN_IN) == [("web/login.py", 3)]
    pump = [("Pump", None), ("returns/service/pump.py", None)]
    assert carried(question, *SIGN_IN, ("asker", "where is Pump?"), ("steward", PUMP)) == pump
    assert carried(question, *SIGN_IN, quoted=Said("", "steward", PUMP.replace("`", ""))) == pump


@pytest.mark.parametrize(
    ("answer", "subject"),
    [
        ("The most likely place is `a/b.py:4@1a2b3c4`:", ("a/b.py", 4)),
        ("最可能的位置是 `a/b.py:4@sha256:0123456789ab`：", ("a/b.py", 4)),
        ("`a/b.py:4@1a2b3c4` was last changed in `5d6e7f8` by Alice, 2024-01-01: “see c.py”.", ("a/b.py", 4)),
        ("`a/b.py` was last changed in `5d6e7f8` by Alice, 2024-01-01: “see c.py”.", ("a/b.py", None)),
        ("`a/b.py` 最后由 Alice 于 2024-01-01 在 `5d6e7f8` 中修改：“c.py”。", ("a/b.py", None)),
        ("The latest changes of `docs`:\n\n- `5d6e7f8` by Alice — `c.py`", ("docs", None)),
        ("The last commit is `5d6e7f8` by Alice, 2024-01-01: “see c.py”.", ("5d6e7f8", None)),
        ("The file is `a/b.py@1a2b3c4`.", ("a/b.py", None)),
    ],
)
def test_the_headline_of_an_answer(answer: str, subject: tuple[str, int | None]) -> None:
    assert carried("who changed it?", ("asker", "where is `x`?"), ("steward", answer)) == [subject]


def test_an_answer_without_a_subject_leaves_the_one_before_it() -> None:
    told = ("steward", "These files fit:\n\n- `a.py@1a2b3c4`\n- `b.py@1a2b3c4`")
    assert carried("who changed it?", ("asker", "where is `x`?"), told) == [("x", None)]
    assert carried("who changed it?", told) == []


@pytest.mark.parametrize(
    "question",
    [
        "where is timeout defined? (just curious)",
        "where is timeout (just curious) defined?",
        "where is timeout defined, just curious",
        "just wondering, where is timeout defined?",
        "where is timeout defined? Thanks in advance, no rush!",
        "where is timeout defined? My colleague could not say.",
        "btw where is timeout defined?",
        "timeout 在哪里定义？（只是好奇）",
        "timeout 在哪里定义？不急",
    ],
)
def test_remarks_are_no_part_of_the_question(question: str) -> None:
    assert [term.text for term in ask(question).terms] == ["timeout"]


def test_what_only_looks_like_a_remark_stays() -> None:
    assert [term.text for term in ask("where is timeout? (see `pump.py`)").terms] == ["pump.py", "timeout"]
    assert [term.text for term in ask("where is timeout? in the cart module").terms] == ["timeout", "cart"]
    assert [term.text for term in ask("where is it?\n更正：timeout").terms] == ["timeout"]
    assert [term.text for term in ask('where do we say "just curious"?').terms] == ["just curious"]


def test_hostile_names_cost_little() -> None:
    began = time.process_time()
    ask("让x " * 2000)
    assert time.process_time() - began < 5


PYTHON_CLASS = ["class Pump(", "    Base,", "):", '    """It pumps."""', ""]


@pytest.mark.parametrize(
    ("name", "text", "path", "above", "spelt"),
    [
        ("Pump", "class Pump:", "a.py", [], "Pump"),
        ("pump", "class Pump:", "a.py", [], "Pump"),
        ("Pump", "class PumpTest:", "a.py", [], None),
        ("Pump", "class pump:", "a.py", [], None),
        ("run", "    async def run(self) -> None:", "a.py", PYTHON_CLASS, "run"),
        ("Pump.run", "    async def run(self) -> None:", "a.py", PYTHON_CLASS, "Pump.run"),
        ("Other.run", "    async def run(self) -> None:", "a.py", PYTHON_CLASS, None),
        ("prices.total", "def total(items):", "shop/prices.py", [], "prices.total"),
        ("cart.total", "def total(items):", "shop/prices.py", [], None),
        ("RATE", "RATE: Final = 3", "a.py", [], "RATE"),
        ("rate", "    rate: int = 3", "a.py", PYTHON_CLASS, "rate"),
        ("rate", "    rate: int", "a.py", PYTHON_CLASS, "rate"),
        ("rate", "    rate = 3", "a.py", ["def total():"], None),
        ("rate", "    rate=3,", "a.py", ["total("], None),
        ("token", "    token = operator.token", "a.py", ["class A:", "def c():"], None),
        ("operator.token", "    use(operator.token)", "a.py", [], None),
        ("operator.token", "token = operator.token", "a.py", [], None),
        ("token", "        self.token = token", "a.py", ["class A:", "    def b(self):"], None),
        ("total", "# total", "a.py", [], None),
        ("total", "total(1)", "a.py", [], None),
        ("Pump", "class Pump is described below", "docs/a.md", [], None),
        ("Shop", "# Shop", "README.md", [], None),
        ("LIMIT", "export const LIMIT = 3", "a.ts", [], "LIMIT"),
        ("Pump.Run", "func (p *Pump) Run() error {", "a.go", [], "Pump.Run"),
        ("main", "int main(int argc, char **argv) {", "a.c", [], "main"),
        ("main", "main()", "a.py", [], None),
        ("PORT", "#define PORT 80", "a.h", [], "PORT"),
    ],
)
def test_what_surely_defines(name: str, text: str, path: str, above: list[str], spelt: str | None) -> None:
    found = defined_as(name, text, path, above)
    assert (found.name if found else None) == spelt
