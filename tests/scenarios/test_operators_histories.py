"""Random histories of one answer: whatever an operator orders, and however the chat, the gateways and the asker behave.

Each is told by ``tests/support/operators_steps.py`` and judged by ``tests/support/operators_judge.py``; more of them by
``python -m tests.support.operators_histories FIRST COUNT``.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path

import pytest

from providers.storage.migrate import sqlite_url
from providers.storage.schema import create_all
from returns.ports import Transactions
from tests.support.databases import KINDS, opened
from tests.support.operators_histories import history
from tests.support.postgresql import Server

SQLITE, POSTGRESQL = KINDS
BLOCKS = (
    (SQLITE, range(8)),
    (SQLITE, range(16, 24)),
    (SQLITE, range(44, 52)),
    (SQLITE, range(92, 100)),
    (POSTGRESQL, (21, 22, 23, 24)),
    (POSTGRESQL, (49, 50, 96, 97)),
)
"""Seeds, of which 22 and 97 find a correction that replaces what was sent anew, and 49 a refusal that hides a send."""

Opens = Callable[[], AbstractAsyncContextManager[Transactions]]


@pytest.fixture
def empty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kind: str) -> Iterator[Opens]:
    """Opens an empty database each time."""
    with ExitStack() as stack:
        if kind == SQLITE:
            yield _files(tmp_path_factory.mktemp("histories"))
            return
        server: Server = request.getfixturevalue("postgresql_server")
        yield lambda: opened(stack.enter_context(server.migrated()))


def _files(folder: Path) -> Opens:
    made = folder / "empty.db"
    create_all(made)
    names = itertools.count()

    def open_one() -> AbstractAsyncContextManager[Transactions]:
        return opened(sqlite_url(shutil.copy(made, folder / f"{next(names)}.db")))

    return open_one


@pytest.mark.parametrize(("kind", "seeds"), BLOCKS, ids=lambda each: each if isinstance(each, str) else f"{each[0]}")
async def test_the_chat_is_as_it_is_said_to_be(empty: Opens, seeds: Sequence[int]) -> None:
    for seed in seeds:
        await history(seed, empty())
