"""Scenarios of the ledgers run over both databases: their folder carries the address of the one that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.databases import KINDS, carry
from tests.support.postgresql import Server

OVER_BOTH = ("test_returns_", "test_receiving_", "test_handover_", "test_operators_")
OF_FILES = ("test_handover_commands",)
"""Commands open the database that the settings name: there it is a file."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    named = metafunc.module.__name__.rpartition(".")[2]
    both = named.startswith(OVER_BOTH) and not named.startswith(OF_FILES)
    said = any("carried_database" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if both and "tmp_path" in metafunc.fixturenames and not said:
        metafunc.parametrize("carried_database", KINDS, indirect=True)


@pytest.fixture(autouse=True)
def carried_database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which database the test's folder has."""
    kind: str = getattr(request, "param", "sqlite")
    if kind == "sqlite":
        yield kind
        return
    folder: Path = request.getfixturevalue("tmp_path")
    server: Server = request.getfixturevalue("postgresql_server")
    with server.migrated() as url:
        carry(folder, url)
        yield kind
