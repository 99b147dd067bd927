"""Every request of the row_*.json files beside this, over a real socket against the real receiving side."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from gateway.webhook.handler import Limits
from providers.storage.schema import create_all
from tests.support.hostile import FOLDER, cases, door, request_of
from tests.support.webhook import exchange

CASES = cases()
UNAUTHENTIC = b'{"error":{"code":"unauthenticated","message":"This request is not authentic.","field":null}}'
QUICK = Limits(body_s=0.2)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables and no rows, to be copied: making one takes longer than a case."""
    path = tmp_path_factory.mktemp("empty") / "steward.db"
    create_all(path)
    return path


@pytest.fixture
def folder(empty: Path, tmp_path: Path) -> Path:
    """A folder with a database of its own."""
    for file in empty.parent.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", CASES)
async def test_request(name: str, folder: Path) -> None:
    case = CASES[name]
    expected: dict[str, Any] = case["expect"]
    async with door(folder, QUICK) as opened:
        answer = await exchange(opened.server.port, request_of(case))
        assert answer.status in statuses(expected["status"])
        assert await opened.rows() == expected.get("ledger", {})
        if "states" in expected:
            assert [state for state, _ in await opened.states()] == expected["states"]
        if answer.status == 401:
            assert answer.body == UNAUTHENTIC
        if answer.status == 200:
            assert answer.json == expected.get("json", {"msg": "success"})


SEQUENCES = cases("sequences")


@pytest.mark.parametrize("name", SEQUENCES)
async def test_sequence(name: str, folder: Path) -> None:
    sequence = SEQUENCES[name]
    async with door(folder) as opened:
        for step in sequence["steps"]:
            opened.clock.now_ms += step.get("after_s", 0) * 1000
            answer = await exchange(opened.server.port, request_of(step))
            assert answer.status == step["expect"]["status"]
        assert await opened.rows() == sequence["ledger"]
        assert [state for state, _ in await opened.states()] == sequence["states"]


def statuses(expected: int | list[int]) -> list[int]:
    """One status, or several where the network decides."""
    return expected if isinstance(expected, list) else [expected]


def test_every_row_of_receiving_has_a_file() -> None:
    assert {int(path.name.split("_")[1]) for path in FOLDER.glob("row_*.json")} == set(range(1, 16))
