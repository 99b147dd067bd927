"""The table of reported kinds in ``tests/README.md`` names every kind, and tests that are there and name it too."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
KINDS = [
    "D1",
    "D2",
    "D3",
    "D4",
    "D6",
    "D8",
    "D9",
    "D10",
    "R2",
    "R3",
    "R5",
    "R6",
    "R7",
    "R8",
    "R12",
    "R16",
    "E1",
    "E2",
    "E3",
    "E4",
    "A1",
    "A3",
    "A5",
    "S1",
    "S2",
    "M1",
    "M3",
    "M5",
    "M8",
    "T1",
    "X1",
    "X4",
    "X8",
    "O3",
]
ROW = re.compile(r"^\| ([A-Z]\d+) \| [^|]+ \| (.+) \|$", re.MULTILINE)


def table() -> dict[str, list[str]]:
    text = (TESTS / "README.md").read_text(encoding="utf-8")
    return {kind: re.findall(r"`([^`]+)`", tests) for kind, tests in ROW.findall(text)}


def naming(source: str, kind: str) -> list[str]:
    """The tests whose name, docstring, class's docstring or comment-free body names the kind."""
    tree = ast.parse(source)
    whole = re.compile(rf"\b{kind}\b")
    spelt = re.compile(rf"_{kind.lower()}_")
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and (spelt.search(node.name) or whole.search(ast.get_docstring(node) or ""))
    ]


def test_every_kind_has_its_row() -> None:
    assert list(table()) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_names_tests_of_its_kind(kind: str) -> None:
    named = table()[kind]
    assert named
    for entry in named:
        path, _, name = entry.partition("::")
        source = (TESTS / path).read_text(encoding="utf-8")
        if name:
            assert name in naming(source, kind), entry
        else:
            assert re.search(rf"\b{kind}\b", source), entry
