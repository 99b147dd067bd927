"""Text for terminals: nothing in it is obeyed, and it is as wide as it looks."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.inbox.language import wants_chinese
from gateway.inbox.positions import NoSuchPosition, decode, encode
from gateway.inbox.terminal import Cell, fit, pad, safe, table, width


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("plain", "plain"),
        ("two\nlines\tand  more ", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "]8;;http://xlink]8;;"),
        ("\x9b31mC1", "31mC1"),
        ("a\u202eb\u2066c\u200fd", "abcd"),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("nul\x00 bell\x07 back\x08", "nul bell back"),
        ("\ud800lone", "lone"),
        ("中文 ✅ emoji 😀", "中文 ✅ emoji 😀"),
        ("", ""),
    ],
)
def test_safe(given: str, expected: str) -> None:
    assert safe(given) == expected


@given(st.text(alphabet=st.characters()))
def test_safe_holds_no_control_and_no_direction(text: str) -> None:
    kept = safe(text)
    assert not [c for c in kept if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert safe(kept) == kept


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("中文", 4), ("ｆｕｌｌ", 8), ("é", 1), ("e\u0301", 1), ("😀", 2), ("한글", 4)]
)
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


@given(st.text(alphabet="ab中文😀é\u0301", max_size=40), st.integers(1, 30))
def test_fit_is_never_wider(text: str, columns: int) -> None:
    assert width(fit(text, columns)) <= columns
    assert fit(text, width(text) + 1) == text


def test_fit_says_that_something_is_left_out() -> None:
    assert fit("问题问题问题", 7) == "问题问…"
    assert fit("abc", 0) == ""


def test_a_table_is_aligned_in_columns() -> None:
    rows = [[Cell("中文"), Cell("one two three")], [Cell("abcdef", "red"), Cell("x")]]
    lines = table(("A", "B"), rows, 18)
    said = ["".join(cell.text for cell in line) for line in lines]
    assert said == ["A       B", "中文    one two t…", "abcdef  x"]
    assert lines[2][0].colour == "red"
    assert pad("中", 4) == "中  "


def test_a_table_that_is_not_on_a_terminal_is_not_cut() -> None:
    assert table(("A", "B"), [[Cell("x"), Cell("y" * 500)]], None)[1][1].text == "y" * 500


@pytest.mark.parametrize(
    ("header", "chinese"),
    [
        ("", False),
        ("zh-CN,zh;q=0.9,en;q=0.8", True),
        ("en-US,en;q=0.9,zh;q=0.8", False),
        ("zh", True),
        ("de, zh;q=0.5, en;q=0.4", True),
        ("en;q=0.5, zh;q=0.5", False),
        ("zh;q=0.5, en;q=0.5", True),
        ("zh;q=0", False),
        ("zh;q=nonsense, en;q=0.1", False),
        ("zh;q=1e9, en", False),
        ("zh;q=nan", False),
        ("*", False),
    ],
)
def test_the_language_of_a_reader(header: str, chinese: bool) -> None:
    assert wants_chinese(header) is chinese


@given(st.text(max_size=20), st.integers(0, 10**18 - 1))
def test_a_cursor_comes_back(key: str, position: int) -> None:
    assert decode(key, encode(key, str(position))) == str(position)


@given(st.text(max_size=60))
def test_any_other_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(NoSuchPosition):
        decode("inbox::0", cursor)


@pytest.mark.parametrize("position", ["", "x", "-1", "9" * 30, "1.5"])
def test_a_forged_position_is_refused(position: str) -> None:
    with pytest.raises(NoSuchPosition):
        decode("inbox::0", encode("inbox::0", position))


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(NoSuchPosition, match="without --cursor"):
        decode("inbox:delivered:0", encode("inbox::0", "5"))
