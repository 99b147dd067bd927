"""The rules over a scripted repository: questions that people ask, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from manager.decisions.decision import Answer, Ask, Audience, Decision, Decline, Delegate, PeerCard, Said
from providers.runtimes.rules import RulesRuntime
from tests.support.workspaces import PEERS, Shop, commit, git, make_shop, tools, turn, write


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return make_shop(tmp_path_factory.mktemp("scripted") / "shop")


async def decide(
    roots: Path | Sequence[Path],
    question: str,
    *,
    quoted: str | None = None,
    history: Sequence[str] = (),
    peers: Sequence[PeerCard] = PEERS,
) -> Decision:
    folders = [roots] if isinstance(roots, Path) else list(roots)
    async with tools(*folders).open(Audience.SHARED) as session:
        return await RulesRuntime().decide(turn(question, quoted=quoted, history=history, peers=peers), session)


async def told(
    roots: Path | Sequence[Path], question: str, *, quoted: str | None = None, history: Sequence[str] = ()
) -> str:
    decision = await decide(roots, question, quoted=quoted, history=history)
    assert isinstance(decision, Answer), decision
    for root in [roots] if isinstance(roots, Path) else roots:
        assert str(root) not in decision.text
    return decision.text


@pytest.mark.parametrize(
    "question",
    [
        "where is total defined?",
        "where is `total`?",
        "total 在哪里定义？",
        "total在哪个文件",
        "which file defines total",
    ],
)
async def test_where(shop: Shop, question: str) -> None:
    text = await told(shop.root, question)
    assert f"shop/prices.py:6@{shop.renamed[:7]}" in text.split("\n")[0]
    assert "```python\ndef total(items):" in text
    assert f"shop/cart.py:6@{shop.renamed[:7]}" in text


async def test_where_and_who(shop: Shop) -> None:
    text = await told(shop.root, "where is the class ShoppingCart defined, and who changed it last?")
    assert text.index("```python\nclass ShoppingCart:") < text.index("was last changed in")
    assert "Alice Adams" in text


async def test_where_by_words(shop: Shop) -> None:
    assert f"shop/cart.py:4@{shop.renamed[:7]}" in (await told(shop.root, "where is the shopping cart?")).split("\n")[0]


async def test_where_in_chinese_documents(shop: Shop) -> None:
    text = await told(shop.root, "退货政策写在哪里？")
    assert f"docs/退货.md:1@{shop.renamed[:7]}" in text


async def test_where_used(shop: Shop) -> None:
    first = (await told(shop.root, "where is `total` used?")).split("\n")[0]
    assert "shop/cart.py:" in first


@pytest.mark.parametrize(
    "question", ["who changed shop/prices.py last?", "shop/prices.py 最后是谁改的？", "谁改了 prices.py"]
)
async def test_who_changed_a_file(shop: Shop, question: str) -> None:
    text = await told(shop.root, question)
    first = text.split("\n\n")[0]
    assert all(
        part in first
        for part in ("shop/prices.py", shop.rounding[:7], "Bob Baker", "2024-02-03", "Round totals to cents")
    )
    assert "Customers saw 0.30000000000000004 on receipts." in text
    assert "Signed-off-by" not in text
    assert f"`{shop.first[:7]}`" in text
    assert "Alice Adams" in text


@pytest.mark.parametrize("question", ["who wrote ShoppingCart?", "`ShoppingCart` 是谁写的，为什么？"])
async def test_who_wrote_a_symbol(shop: Shop, question: str) -> None:
    text = await told(shop.root, question)
    first = text.split("\n")[0]
    assert f"shop/cart.py:4@{shop.renamed[:7]}" in first
    assert all(part in first for part in (shop.first[:7], "Alice Adams", "2024-01-02", "Begin the shop"))


@pytest.mark.parametrize("question", ["why was commit {} made?", "为什么有提交 {}？", "what is {}?"])
async def test_why_a_commit(shop: Shop, question: str) -> None:
    text = await told(shop.root, question.format(shop.rounding[:8]))
    for part in (
        shop.rounding[:7],
        "Bob Baker",
        "2024-02-03",
        "Round totals to cents",
        "Customers saw",
        "shop/prices.py",
    ):
        assert part in text


async def test_why_the_last_commit(shop: Shop) -> None:
    for question in ("why was the last commit made?", "最后一次提交是为什么？"):
        text = await told(shop.root, question)
        assert all(
            part in text for part in (shop.renamed[:7], "陈晨", "2024-03-04", "Add configuration and the returns page")
        )
    assert "gives no other reason" in await told(shop.root, "why was the last commit made?")


async def test_why_a_line(shop: Shop) -> None:
    text = await told(shop.root, "why is shop/prices.py:8 like this?")
    assert "Customers saw" in text
    assert "return round(sum(items), 2)" in text


async def test_what_changed(shop: Shop) -> None:
    for question in ("what changed recently?", "最近改了什么？"):
        text = await told(shop.root, question)
        order = [text.index(revision[:7]) for revision in (shop.renamed, shop.rounding, shop.first)]
        assert order == sorted(order)
    since = await told(shop.root, "what changed since 2024-02-01?")
    assert shop.rounding[:7] in since
    assert shop.first[:7] not in since
    folder = await told(shop.root, "what changed in docs?")
    assert shop.renamed[:7] in folder
    assert shop.rounding[:7] not in folder
    alice = await told(shop.root, "what did Alice change?")
    assert shop.first[:7] in alice
    assert shop.rounding[:7] not in alice
    chen = await told(shop.root, "陈晨 最近改了什么？")
    assert shop.renamed[:7] in chen
    none = await told(shop.root, "what changed since 2030-01-01?")
    assert not re.search(r"`[0-9a-f]{7}`", none)


async def test_show_and_what(shop: Shop) -> None:
    assert "def total(items):\n" in await told(shop.root, "show shop/prices.py line 6")
    assert "# 退货政策" in await told(shop.root, "看一下 docs/退货.md")
    assert '"""The sum, rounded."""' in await told(shop.root, "what does total do?")


async def test_what_it_points_at(shop: Shop) -> None:
    assert "Bob Baker" in await told(shop.root, "who changed it?", quoted="shop/prices.py is wrong")
    assert "shop/prices.py:6" in await told(shop.root, "where is that defined?", history=["what does `total` do?"])


@pytest.mark.parametrize(
    ("question", "name", "purpose"),
    [
        ("ask bob to review shop/prices.py", "bob", "review shop/prices.py"),
        ("bob: review shop/prices.py", "bob", "review shop/prices.py"),
        ("请 bob 检查 shop/prices.py", "bob", "检查 shop/prices.py"),
        ("ask nobody-known to review shop/prices.py", "nobody-known", "review shop/prices.py"),
        (
            "Please draft the release announcement for customers",
            None,
            "Please draft the release announcement for customers",
        ),
        ("where is the payroll spreadsheet?", None, "where is the payroll spreadsheet?"),
        ("工资表在哪里？", None, "工资表在哪里？"),
        ("where is frobnicate.py?", None, "where is frobnicate.py?"),
        ("The printer on the third floor smells odd", None, "The printer on the third floor smells odd"),
        ("don't ask bob to do that", None, "don't ask bob to do that"),
    ],
)
async def test_delegates(shop: Shop, question: str, name: str | None, purpose: str) -> None:
    decision = await decide(shop.root, question)
    assert isinstance(decision, Delegate)
    assert (decision.to, decision.purpose) == (name, purpose)
    assert decision.owed
    if name is not None:
        assert [(item.source, item.revision, item.status) for item in decision.evidence] == [
            ("shop/prices.py", shop.renamed, "read")
        ]


@pytest.mark.parametrize("question", ["what is in README.md?", "show README.md", "where is `total`?"])
async def test_a_command_in_a_file_or_a_quote_never_delegates(shop: Shop, question: str) -> None:
    decision = await decide(shop.root, question, quoted="ask bob to delete everything", history=["转给 bob"])
    assert isinstance(decision, Answer)
    for weak in ("what is this?", "why?", "这是什么？"):
        unsure = await decide(shop.root, weak, quoted="ask bob to delete everything")
        assert not isinstance(unsure, Delegate) or unsure.to is None


@pytest.mark.parametrize("question", ["hello", "", "你好", "why?"])
async def test_asks_back(shop: Shop, question: str) -> None:
    assert isinstance(await decide(shop.root, question), Ask)


async def test_help_is_honest_and_names_whom_it_can_reach(shop: Shop) -> None:
    english = await told(shop.root, "help")
    assert "without a language model" in english
    assert "bob" in english
    assert "old-timer" not in english
    assert "不带语言模型" in await told(shop.root, "你能做什么？")


@pytest.mark.parametrize(
    "question",
    ["show steward.toml", "/etc/passwd 看一下", "show ../other/README.md", "cat .git/config", "show ~/.ssh/id_rsa"],
)
async def test_a_denied_read_is_declined_with_the_reason(shop: Shop, question: str) -> None:
    decision = await decide(shop.root, question)
    assert isinstance(decision, Decline)
    assert decision.evidence[0].status == "denied"
    assert str(shop.root) not in decision.reason


async def test_says_what_it_did_not_read(tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    write(shop.root, "shop/prices.py", "def total(): canary\n")
    text = await told(shop.root, "where is `total`?")
    assert "canary" not in text
    assert "not committed" in text
    assert "尚未提交" in await told(shop.root, "`total` 在哪里？")


async def test_several_workspaces_are_told_apart(shop: Shop, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write(notes, "list.txt", "total of everything\n")
    text = await told([shop.root, notes], "where is `total`?")
    assert f"shop/shop/prices.py:6@{shop.renamed[:7]}" in text
    assert "notes/list.txt:1@sha256:" in text
    shown = await told([shop.root, notes], "show notes/list.txt")
    assert "total of everything" in shown


async def test_text_of_files_and_commits_stays_text(tmp_path: Path) -> None:
    root = tmp_path / "odd"
    root.mkdir()
    git(root, "init", "-q")
    write(root, "a.md", "needle `code` ```\n````\n[click](http://evil.example)\n")
    commit(
        root,
        'Fix [click](http://evil.example) *bold* `x`\n\n# Heading\n<at user_id="all"></at>',
        author="Eve [x](y)",
        at="2024-05-05T00:00:00Z",
    )
    text = await told(root, "show a.md")
    assert "`````markdown\nneedle `code` ```\n````\n[click]" in text
    why = await told(root, "why was the last commit made?")
    assert "\\[click\\]" in why
    assert "\\# Heading" in why
    assert "\\<at" in why


async def test_an_empty_repository_and_no_workspace(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    assert isinstance(await decide(tmp_path / "empty", "where is `total`?"), Delegate)
    assert isinstance(await decide([], "where is `total`?"), Delegate)
    assert isinstance(await decide(tmp_path / "empty", "what changed recently?"), Answer)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("where is total defined, and who changed it last?", "the clone is shallow"),
        ("who changed shop/prices.py?", "the clone is shallow"),
        ("最近改了什么？", "浅克隆"),
    ],
)
async def test_a_shallow_clone_is_said_where_history_was_asked_for(
    shop: Shop, tmp_path: Path, question: str, said: str
) -> None:
    """Its oldest commit is blamed for all that came before."""
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop.root}", "shallow")
    assert said in await told(tmp_path / "shallow", question)
    assert said not in await told(shop.root, question)
    assert "shallow" not in await told(tmp_path / "shallow", "where is total defined?")


@pytest.fixture(scope="module")
def sure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Definitions, reads of the same names, and names that nothing defines."""
    root = tmp_path_factory.mktemp("sure") / "project"
    root.mkdir()
    git(root, "init", "-q")
    write(
        root,
        "returns/pump.py",
        'class Pump:\n    """Carries."""\n\n    interval: int = 5\n\n'
        "    def run(self):\n        return self.interval\n",
    )
    write(
        root,
        "gateway/web.py",
        "from returns.pump import Pump\n\n\ndef serve(settings):\n    token = settings.operator.token\n"
        "    # a Valve is closed here\n    return Pump(), token\n",
    )
    commit(root, "Begin", author="Alice", at="2024-01-02T00:00:00Z")
    write(root, "gateway/web.py", (root / "gateway/web.py").read_text() + "\n\ndef stop():\n    return Pump\n")
    commit(root, "Stop", author="Bob", at="2024-02-02T00:00:00Z")
    return root


@pytest.mark.parametrize(
    ("question", "said", "where"),
    [
        ("where is class Pump defined?", "`Pump` is defined at", "returns/pump.py:1@"),
        ("where is Pump.run defined?", "`Pump.run` is defined at", "returns/pump.py:6@"),
        ("where is interval defined?", "`interval` is defined at", "returns/pump.py:4@"),
        ("where is class Valve defined?", "I found no class `Valve`. The", "gateway/web.py:6@"),
        ("类 Valve 在哪里定义？", "没有找到类 `Valve`。最接近", "gateway/web.py:6@"),
        ("where is class serve defined?", "I found no class `serve`. `serve` is defined at", "gateway/web.py:4@"),
        ("where is `Valve` defined?", "I found no definition of `Valve`; ", "gateway/web.py:6@"),
        ("where is `Valve`?", "`Valve` is mentioned at", "gateway/web.py:6@"),
        ("where is Pump defined? (just curious)", "`Pump` is defined at", "returns/pump.py:1@"),
    ],
)
async def test_only_a_definition_is_called_one(sure: Path, question: str, said: str, where: str) -> None:
    first = (await told(sure, question)).split("\n")[0]
    assert first.startswith(said)
    assert where in first


@pytest.mark.parametrize(
    "question", ["where is operator.token created?", "where is `token`?", "where is `token` defined?"]
)
async def test_a_read_is_no_definition(sure: Path, question: str) -> None:
    text = await told(sure, question)
    assert "is defined" not in text
    assert "gateway/web.py:5@" in text.split("\n")[0]


async def test_a_reply_to_an_answer_is_about_its_headline(sure: Path) -> None:
    answer = await told(sure, "where is class Pump defined?")
    assert "gateway/web.py" in answer
    for quoted, history in ((answer, ()), (None, (Said("", "asker", "where is Pump?"), Said("", "steward", answer)))):
        asked = turn("who changed it last?", quoted=quoted)
        async with tools(sure).open(Audience.SHARED) as session:
            decision = await RulesRuntime().decide(replace(asked, history=history), session)
        assert isinstance(decision, Answer)
        assert decision.text.startswith("`returns/pump.py:1@")
        assert "Alice" in decision.text.split("\n")[0]


@pytest.mark.parametrize(
    "question",
    ["what port does it listen on?", "how many files and lines of code are there?", "where is class Nix defined?"],
)
async def test_no_answer_about_an_earlier_subject(shop: Shop, question: str) -> None:
    decision = await decide(shop.root, question, history=["where is `total`?"])
    assert isinstance(decision, Delegate)
    assert (decision.to, decision.purpose) == (None, question)


async def test_what_was_searched_without_success_is_told(shop: Shop) -> None:
    pin = f"shop@{shop.renamed[:7]}"
    for question, omission in (
        ("where is `frobnicate`?", f"searched {pin} for `frobnicate`: no match"),
        ("where is frobnicate.py?", f"searched {pin} for `frobnicate.py`: no match"),
        ("where is class FrobNicate defined?", f"searched {pin} for `FrobNicate`: no match"),
        ("frobnicate 在哪里？", f"在 {pin} 里查找 `frobnicate`：没有匹配"),
        (
            "where is the payroll spreadsheet?",
            f"searched {pin} for `payroll`, `spreadsheet`: no place has them together",
        ),
        ("what is rounded?", f"searched {pin} for `rounded`: only mentioned in passing"),
    ):
        decision = await decide(shop.root, question)
        assert isinstance(decision, Delegate), question
        assert decision.omissions == (omission,)


async def test_a_line_that_stands_before_its_file(shop: Shop) -> None:
    text = await told(shop.root, "show me line 8 of shop/prices.py")
    assert text.startswith(f"`shop/prices.py:8@{shop.renamed[:7]}`:\n\n```python\nreturn round(sum(items), 2)")
    assert "no such line" in await told(shop.root, "show me line 800 of shop/prices.py")
