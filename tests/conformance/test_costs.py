"""What work costs follows what is pending, never what is stored: counted in steps of the database's own machine.

Each of the hot operations is carried out over a database with 8,000 answered questions, where a conversation has as
many lines as a turn is ever given, and over one with three times as many: it must take the same number of steps, and
none of its statements may walk a table that grows with history.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from providers.storage import readers
from providers.storage.schema import ROOMS
from providers.storage.sqlite import SqliteTransactions
from tests.support.cost_operations import OPERATIONS, Scene
from tests.support.costs import counted, plan
from tests.support.history import filled
from tests.support.storage import migrated

SMALL, LARGE = 8_000, 24_000
SAME = 1.2
FEW = {"peers", "peer_phrases", "snoozes", "app_speakers"}
"""Tables that hold a few rows, whatever happens."""
GROWING = frozenset(table for room in ROOMS for table in room.tables) - FEW


@asynccontextmanager
async def scene_of(folder: Path, count: int) -> AsyncIterator[Scene]:
    path = migrated(folder)
    filled(path, count)
    with patch.object(readers, "READERS", 1):  # which of several is free, and has read the schema, is chance
        opening = SqliteTransactions(path)
    async with opening as transactions:
        yield Scene(path, count, transactions)


Found = dict[str, tuple[int, tuple[str, ...]]]


async def measured(folder: Path, count: int) -> tuple[Path, Found]:
    """The steps and the statements of each operation."""
    found: Found = {}
    with counted() as work:
        async with scene_of(folder, count) as scene:
            for name, before, operation in OPERATIONS:
                await before(scene)
                work.start()
                await operation(scene)
                found[name] = work.steps, tuple(work.statements)
            return scene.path, found


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Path, Found], tuple[Path, Found]]:
    sizes = (SMALL, LARGE)
    small, large = (asyncio.run(measured(tmp_path_factory.mktemp(f"of_{size}"), size)) for size in sizes)
    return small, large


@pytest.mark.parametrize("name", [name for name, _, _ in OPERATIONS])
def test_an_operation_costs_the_same_whatever_is_stored(
    both: tuple[tuple[Path, Found], tuple[Path, Found]], name: str
) -> None:
    (_, small), (_, large) = both
    assert large[name][0] <= small[name][0] * SAME + 200, (small[name][0], large[name][0])


@pytest.mark.parametrize("name", [name for name, _, _ in OPERATIONS])
def test_no_statement_of_an_operation_walks_what_is_stored(
    both: tuple[tuple[Path, Found], tuple[Path, Found]], name: str
) -> None:
    _, (path, found) = both
    walks = [
        (line, statement)
        for statement in explainable(found[name][1])
        for line in walked(statement, plan(path, statement))
    ]
    assert not walks


def explainable(statements: tuple[str, ...]) -> set[str]:
    return {each for each in statements if each.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE", "INSERT"))}


def walked(statement: str, lines: list[str]) -> list[str]:
    """The lines of a plan that go through a whole table (or index) that grows with history."""
    aliases = {alias or table: table for table, alias in _FROM.findall(statement)}
    scans = [(line, aliases.get(scan[1], "")) for line in lines if (scan := re.match(r"SCAN (\w+)", line))]
    return [line for line, table in scans if table in GROWING]


_FROM = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+AS)?(?:\s+(?!WHERE|ON|SET|JOIN|LEFT|ORDER|LIMIT)([a-z_]\w*))?"
)


def test_a_walk_is_noticed(both: tuple[tuple[Path, Found], tuple[Path, Found]]) -> None:
    _, (path, _) = both
    for statement in (
        "SELECT text FROM messages WHERE author = 'asker'",
        "SELECT p.part_id FROM parts AS p WHERE p.state = 'delivered'",
        "SELECT r.seq FROM peers JOIN requests r ON r.from_peer = peers.peer_id",
        "UPDATE answers SET attempts = 0 WHERE error = 'x'",
    ):
        assert walked(statement, plan(path, statement)), statement
