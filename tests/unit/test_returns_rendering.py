"""Markdown becomes documents that fit, and nothing is lost on the way."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from returns.decisions.cutting import cut_before, is_boundary, longest_prefix
from returns.decisions.document import Code, Document, Link, Rule, Text
from returns.decisions.fingerprint import clean, visible
from returns.decisions.markdown import blocks
from returns.decisions.rendering import EMPTY, render
from tests.support.returns import LIMIT, measure, visible_of

FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            "```",
            "````python",
            "~~~",
            "~~~~",
            "```py",
            "---",
            "| a | b |",
            "# Title",
            "- item",
            "  - under it",
            "  indented",
            "2. second",
            "三、第三",
            "> quote",
            "[t](https://x.org/a)",
            "![alt](https://x.org/a.png)",
            "[t](javascript:alert(1))",
            "`code [t](https://x.org)`",
            "https://x.org/a?b=c",
            "你好，世界",
            "👨‍👩‍👧👍🏽🇩🇪🇫🇷",
            "مرحبا",
            "e\u0301\u0302",
            "\x00\x1b[0m",
            "\ud800",
            "",
            "   ",
        ]
    ),
    st.text(max_size=60),
)
MARKDOWN = st.lists(FRAGMENTS, max_size=40).map("\n".join)


def squeezed(text: str) -> str:
    """All that is not space: cuts fall on spaces, and empty lines are layout."""
    return "".join(text.split())


def whole(markdown: str) -> Document:
    """The document before it is cut."""
    return tuple(paragraph for block in blocks(markdown) for paragraph in block.paragraphs)


@given(MARKDOWN, st.integers(320, 2000))
@settings(max_examples=300)
@example("a" * 1000, 320)
@example("```python\n" + "x = 1\n" * 200 + "```", 320)
@example("| a | b |\n" * 50, 320)
@example("[t](https://x.org/" + "a" * 1500 + ")", 320)
def test_nothing_is_lost_and_every_part_fits(markdown: str, limit: int) -> None:
    documents = render(markdown, measure=measure, limit_bytes=limit)
    assert documents
    assert all(measure(document) <= limit for document in documents)
    assert squeezed(visible_of(documents)) == squeezed(visible(whole(markdown)))


@given(MARKDOWN)
@settings(max_examples=300)
def test_what_is_not_markup_of_ours_is_told_as_written(markdown: str) -> None:
    """Taking out fences and link syntax by hand gives what a person reads."""
    told, fence = [], None
    for line in clean(markdown).split("\n"):
        opened = re.fullmatch(r"[ \t]*(`{3,}|~{3,})(.*)", line)
        if fence is None and opened and not (opened[1][0] == "`" and "`" in opened[2]):
            fence = opened[1]
        elif fence is None:
            told.append(line if "`" in line else re.sub(r"(?<!!)\[t\]\((https://[^\s()]+)\)", r"t (\1)", line))
        elif len(line.strip()) >= len(fence) and not line.strip().strip(fence[0]):
            fence = None
        else:
            told.append(line)
    if not re.search(r"\[(?!t\]|alt\])", "".join(told)):  # brackets of no fragment may make other links
        assert squeezed(visible(whole(markdown))) == squeezed("\n".join(told))


CHARACTERS = ["e\u0301", "👨\u200d👩\u200d👧", "👍🏽", "🇩🇪", "🇫🇷", "\u1100\u1161\u11a8", "1\ufe0f\u20e3", "你", "x"]


@given(st.lists(st.sampled_from(CHARACTERS), min_size=20, max_size=300), st.integers(200, 400))
def test_no_cut_inside_a_character(characters: list[str], limit: int) -> None:
    documents = render("".join(characters), measure=measure, limit_bytes=limit)
    told: list[str] = []
    for document in documents:
        text = visible(document)
        while text:
            character = next(c for c in sorted(CHARACTERS, key=len, reverse=True) if text.startswith(c))
            told.append(character)
            text = text[len(character) :]
    assert told == characters


@pytest.mark.parametrize(
    ("text", "at"),
    [("e\u0301x", 1), ("👨‍👩", 1), ("👨‍👩", 2), ("👍🏽", 1), ("🇩🇪🇫🇷", 1), ("🇩🇪🇫🇷", 3), ("1\ufe0f\u20e3", 1), ("각", 1)],
)
def test_these_are_one_character(text: str, at: int) -> None:
    text = unicodedata.normalize("NFD", text) if text == "각" else text
    assert not is_boundary(text, at)


@pytest.mark.parametrize(("text", "at"), [("ab", 1), ("🇩🇪🇫🇷", 2), ("你好", 1), ("👍🏽x", 2), ("a", 0), ("a", 1)])
def test_these_are_two(text: str, at: int) -> None:
    assert is_boundary(text, at)


def test_a_cut_falls_after_a_space_where_there_is_one() -> None:
    assert cut_before("hello world", 8) == 6
    assert cut_before("x" * 1000, 700) == 700
    assert cut_before("e" + "\u0301" * 1000, 600) == 600


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 6000))
def test_the_longest_prefix(count: int, limit: int, guess: int) -> None:
    asked: list[int] = []

    def fits(n: int) -> bool:
        asked.append(n)
        return n <= limit

    assert longest_prefix(count, fits, guess) == min(count, limit)
    assert len(asked) <= 30
    assert all(1 <= n <= count for n in asked)


class TestMarkup:
    """What becomes which node."""

    def one(self, markdown: str) -> Document:
        (document,) = render(markdown, measure=measure, limit_bytes=LIMIT)
        return document

    def test_literal_lines(self) -> None:
        markdown = '# Title\n\n**bold** _it_ ~~no~~\n- item\n> quote\n| a | b |\n|---|---|\n<at user_id="all"></at>'
        assert self.one(markdown) == tuple((Text(line),) if line else () for line in markdown.split("\n"))

    @pytest.mark.parametrize(
        ("markdown", "language", "code"),
        [
            ("```python\na = 1\n```", "python", "a = 1"),
            ("~~~\nx\n~~~~~", "", "x"),
            ("````md\n```\ninner\n```\n````", "md", "```\ninner\n```"),
            ("```\nnever closed", "", "never closed"),
            ("  ```c++ title=x\n  a\n    b\n  ```", "c++", "a\n  b"),
            ("```\n~~~\n```", "", "~~~"),
        ],
    )
    def test_fences(self, markdown: str, language: str, code: str) -> None:
        assert self.one(markdown) == ((Code(language, code),),)

    def test_no_fences(self) -> None:
        assert self.one("``` a ` b") == ((Text("``` a ` b"),),)
        assert self.one("``\nx\n``") == ((Text("``"),), (Text("x"),), (Text("``"),))

    def test_links(self) -> None:
        assert self.one("see [a](https://x.org/p_(q)?r=1#s), ok") == (
            (Text("see "), Link("a", "https://x.org/p_(q)?r=1#s"), Text(", ok")),
        )

    @pytest.mark.parametrize(
        "markdown",
        [
            "![a](https://x.org/i.png)",
            "[a](javascript:alert(1))",
            "[a](ftp://x.org)",
            "[a](https://)",
            "[a](https://x y)",
            "[a](<https://x.org>)",
            "`[a](https://x.org)`",
            "[a](/docs/a.md)",
            "https://x.org/a",
            "[a](https://user@x.org)",
        ],
    )
    def test_no_links(self, markdown: str) -> None:
        assert self.one(markdown) == ((Text(markdown),),)

    def test_a_code_span_ends(self) -> None:
        assert self.one("`x` [a](https://x.org)") == ((Text("`x` "), Link("a", "https://x.org")),)
        assert self.one("`` ` [a](https://x.org)") == ((Text("`` ` "), Link("a", "https://x.org")),)

    def test_rules(self) -> None:
        assert self.one("a\n---\nb") == ((Text("a"),), (Rule(),), (Text("b"),))
        assert self.one("a\n----\nb")[1] == (Text("----"),)

    @pytest.mark.parametrize("markdown", ["", "\n \n", "```\n```", "\x00"])
    def test_never_nothing(self, markdown: str) -> None:
        assert render(markdown, measure=measure, limit_bytes=LIMIT) == (EMPTY,)

    def test_control_characters_go(self) -> None:
        """X5."""
        assert self.one("a\x00\x07\x1b[31mb\ud83d\tc") == ((Text("a[31mb\tc"),),)

    def test_x4(self) -> None:
        assert self.one("done ✅ ⚠ a@b.com 🀄👨‍👩‍👧") == ((Text("done ✅ ⚠ a@b.com 🀄👨‍👩‍👧"),),)


class TestCuts:
    """Where parts end."""

    def test_code_stays_whole_where_it_fits(self) -> None:
        code = "```python\n" + "x = 1\n" * 40 + "```"
        documents = render("intro\n" * 30 + code, measure=measure, limit_bytes=1200)
        holders = [d for d in documents if any(isinstance(n, Code) for p in d for n in p)]
        assert len(holders) == 1
        assert (Code("python", "\n".join(["x = 1"] * 40)),) in holders[0]

    def test_code_too_large_is_cut_between_lines(self) -> None:
        lines = [f"line_{n} = {n}" for n in range(300)]
        documents = render("```python\n" + "\n".join(lines) + "\n```", measure=measure, limit_bytes=1000)
        blocks_ = [node for d in documents for p in d for node in p]
        assert len(blocks_) > 3
        assert all(isinstance(node, Code) and node.language == "python" for node in blocks_)
        assert [line for node in blocks_ for line in node.text.split("\n")] == lines

    def test_a_table_stays_whole_where_it_fits(self) -> None:
        table = "\n".join(f"| {n} | value |" for n in range(10))
        documents = render("text\n" * 20 + table + "\nend", measure=measure, limit_bytes=1000)
        holders = [d for d in documents if "| 0 | value |" in visible(d)]
        assert len(holders) == 1
        assert table in visible(holders[0])

    def test_a_table_too_large_tells_its_head_again(self) -> None:
        head = ["| name | value |", "|:-----|-------|"]
        rows = [f"| {n} | value |" for n in range(100)]
        documents = render("before\n" + "\n".join(head + rows) + "\nafter", measure=measure, limit_bytes=1000)
        told = [visible(document).split("\n") for document in documents]
        tables = [[line for line in lines if line.startswith("|")] for lines in told]
        tables = [lines for lines in tables if lines]
        assert len(tables) > 3
        assert all(lines[:2] == head for lines in tables)
        assert [line for lines in tables for line in lines[2:]] == rows
        assert (told[0][0], told[-1][-1]) == ("before", "after")

    def test_a_head_too_large_is_told_once(self) -> None:
        head = "| " + "a" * 700 + " |\n|---|\n"
        documents = render(head + "| row of the table | \n" * 40, measure=measure, limit_bytes=900)
        assert visible_of(documents).count("|---|") == 1

    @pytest.mark.parametrize("mark", ["- ", "* ", "1. ", "2) ", "（3）", "四、", "5、"])
    def test_a_list_stays_whole_where_it_fits(self, mark: str) -> None:
        items = f"{mark}first\n  more of it\n\n{mark}second\n  - under it\n  ```\n  x = 1\n  ```\n{mark}third"
        documents = render("text\n" * 25 + items + "\nend", measure=measure, limit_bytes=1000)
        (holder,) = (document for document in documents if "first" in visible(document))
        assert "third" in visible(holder)
        assert len(documents) > 1

    def test_a_list_too_large_is_cut_between_its_items(self) -> None:
        items = [f"- item {n}\n  what is said of {n}\n  - under {n}" for n in range(40)]
        documents = render("\n".join(items), measure=measure, limit_bytes=1000)
        assert len(documents) > 3
        for document in documents:
            lines = visible(document).split("\n")
            assert lines[0].startswith("- item")
            assert lines[-1].startswith("  - under")
        assert visible_of(documents) == "\n".join(items)

    def test_an_item_too_large_for_a_part_is_cut_where_it_can_be(self) -> None:
        documents = render("- a\n  " + "word " * 400 + "\n- b", measure=measure, limit_bytes=900)
        assert len(documents) > 1
        assert squeezed(visible_of(documents)) == "-a" + "word" * 400 + "-b"

    def test_parts_neither_begin_nor_end_empty(self) -> None:
        documents = render("\n\n".join(["word " * 30] * 40), measure=measure, limit_bytes=900)
        assert len(documents) > 5
        assert all(document[0] and document[-1] for document in documents)

    def test_a_limit_that_holds_nothing(self) -> None:
        with pytest.raises(ValueError, match="single character"):
            render("hello", measure=measure, limit_bytes=20)


@pytest.mark.parametrize(
    "markdown",
    [
        "word " * 52_000,
        "a" * 262_144,
        "你" * 87_000,
        "line of text\n" * 20_000,
        "```\n" + "x = 1\n" * 43_000 + "```",
        "`" * 262_144,
        "` `` " * 52_000,
        "[a](https://x.org) " * 13_000,
        "[" * 262_144,
        "[a](https://x.org(b" * 13_000,
        "| a | b |\n" * 26_000,
        "|-" + " " * 262_000 + "x",
        "- item\n" * 37_000,
        "- item\n  under it\n\n" * 13_000,
        "é" * 131_072,
        "e" + "\u0301" * 131_000,
    ],
    ids=lambda m: repr(m[:12]),
)
def test_large_input_is_measured_little(markdown: str) -> None:
    """256 KiB cost a bounded number of bytes measured: no quadratic work."""
    measured = 0

    def counting(document: Document) -> int:
        nonlocal measured
        size = measure(document)
        measured += size
        return size

    documents = render(markdown, measure=counting, limit_bytes=LIMIT)
    total = sum(measure(document) for document in documents)
    assert measured < 12 * total + 2_000_000
    assert squeezed(visible_of(documents)) == squeezed(visible(whole(markdown)))


@pytest.mark.parametrize("row", ["|", "|a"])
def test_the_rest_of_a_table_is_not_measured_for_each_part(row: str) -> None:
    """Very many short rows under one head: what is measured is about what is told, twice."""
    measured = 0

    def counting(document: Document) -> int:
        nonlocal measured
        measured += len(document)
        return measure(document)

    documents = render("|a|\n|-|\n" + f"{row}\n" * 30_000, measure=counting, limit_bytes=LIMIT)
    told = sum(len(document) for document in documents)
    assert told == 30_000 + 2 * len(documents)
    assert measured < 3 * told
