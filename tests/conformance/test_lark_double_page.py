"""docs/local-lark.md is true: its tables are what there is, and its examples run."""

from __future__ import annotations

import ast
import inspect
import json
import re
from dataclasses import fields
from enum import Enum
from itertools import pairwise
from pathlib import Path

import httpx

from gateway.cli.lark_double import lark_double
from providers.lark_double.control_table import ACTING, ACTIONS, ASKING, BREAKING, LOOKS
from providers.lark_double.faults import FaultKind
from providers.lark_double.model import Knobs, UuidRepeat
from providers.lark_double.operations import Operation
from providers.lark_double.server import LarkDouble

PAGE = (Path(__file__).parents[2] / "docs" / "local-lark.md").read_text(encoding="utf-8")


def tables() -> list[list[list[str]]]:
    """The rows of each table, its headline first."""
    blocks = re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines() if "|---" not in line]
        for block in blocks
    ]


def rows(headline: str) -> dict[str, list[str]]:
    """The rows of all tables whose first column has that headline, by the name in it."""
    found = [row for table in tables() if table[0][0] == headline for row in table[1:]]
    assert len({row[0] for row in found}) == len(found) > 0
    return {row[0].strip("`"): row[1:] for row in found}


def docstrings(enum: type[Enum]) -> dict[str, str]:
    """What is said under each member."""
    body = ast.parse(inspect.getsource(enum)).body[0].body
    pairs = pairwise(body)
    return {
        enum[name.targets[0].id].value: said.value.value.replace("``", "`")
        for name, said in pairs
        if isinstance(name, ast.Assign) and isinstance(said, ast.Expr)
    }


def test_every_action_and_its_fields() -> None:
    written = {
        action: [(name, bold) for bold, name in re.findall(r"(\*\*)?`(\w+)`", cells[0])]
        for action, cells in rows("action").items()
    }
    there = {
        action: [(name, "**" if field.required else "") for name, field in taken.items()]
        for action, taken in ACTIONS.items()
    }
    assert written == there
    assert all(cells[1] for cells in rows("action").values())
    tables_of_actions = [[row[0].strip("`") for row in table[1:]] for table in tables() if table[0][0] == "action"]
    assert tables_of_actions == [list(ACTING), list(BREAKING), list(ASKING)]


def test_every_kind_of_fault_and_every_operation() -> None:
    assert {name: cells[0] for name, cells in rows("kind").items()} == docstrings(FaultKind)
    assert {name: cells[0] for name, cells in rows("operation").items()} == docstrings(Operation)
    assert set(rows("kind")) == {kind.value for kind in FaultKind}
    assert set(rows("operation")) == {operation.value for operation in Operation}


def test_every_knob_and_its_default() -> None:
    knobs = Knobs()
    there = {field.name: getattr(knobs, field.name) for field in fields(knobs)}
    written = {name: json.loads(cells[0].strip("`")) for name, cells in rows("knob").items()}
    assert written == {**there, "uuid_repeat": "original", "repush_after_s": list(knobs.repush_after_s)}
    assert all(f"`{repeat.value}`" in rows("knob")["uuid_repeat"][1] for repeat in UuidRepeat)


def test_every_flag_and_its_default() -> None:
    words = {"": "made up", None: "nowhere"}
    there = {
        option.opts[0]: "off" if option.is_flag else words.get(option.default, str(option.default))
        for option in lark_double.params
    }
    assert {name: cells[0].strip("`") for name, cells in rows("flag").items()} == there


def test_no_other_field_is_explained() -> None:
    taken = {name for fields_taken in [*ACTIONS.values(), *LOOKS.values()] for name in fields_taken}
    assert set(rows("field")) <= taken


async def test_the_examples_run() -> None:
    posts = re.findall(r"^curl http://127\.0\.0\.1:8900(/_control/\S+) -d '(.*)'$", PAGE, re.MULTILINE)
    gets = re.findall(r"^curl '?http://127\.0\.0\.1:8900(/_control/[^\s']+)'?$", PAGE, re.MULTILINE)
    assert len(posts) + len(gets) == len(re.findall(r"^curl ", PAGE, re.MULTILINE)) > 0
    async with LarkDouble.start() as double, httpx.AsyncClient(base_url=double.url, trust_env=False) as http:
        double.create_chat("dev", ["alice"], [double.app("cli_local0000000001", "secret")])
        for path, body in posts:
            if "set_webhook" not in path:
                answer = await http.post(path, content=body)
                assert answer.status_code == 200, (path, answer.text)
        for path in gets:
            answer = await http.get(path)
            assert answer.status_code == 200, (path, answer.text)
