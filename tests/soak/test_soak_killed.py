"""A short soak of the real process on each database: the five-minute run is ``make soak``."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.soak.durable import acknowledged_is_durable
from tests.soak.run import soak
from tests.support.databases import KINDS, postgresql_server
from tests.support.postgresql import Server

__all__ = ["postgresql_server"]

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

KILLING_S = 7.0
DURABLE_S = 5.0
A_SECOND = 1.5


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest) -> object:
    """What ``gateway.database_url`` is: empty for SQLite."""
    if request.param == "sqlite":
        yield ""
        return
    server: Server = request.getfixturevalue("postgresql_server")
    with server.empty() as url:
        yield url


def kind_of(address: str) -> str:
    return "postgresql" if address else "sqlite"


async def test_killed_at_random(tmp_path: Path, address: str) -> None:
    """Nothing is sent twice, nothing is lost, and the inbox says nothing that Lark does not confirm."""
    seed = secrets.randbelow(1_000_000)
    print(f"seed {seed}")
    counts = await soak(
        tmp_path, seed=seed, seconds=KILLING_S, a_second=A_SECOND, database=kind_of(address), database_url=address
    )
    print(counts.text())
    assert counts.wrong == []
    assert (counts.duplicated, counts.lost) == (0, 0)
    assert counts.kills >= 2
    assert counts.answered > 0


async def test_acknowledged_is_durable(tmp_path: Path, address: str) -> None:
    """Killed at the first byte of a 200: every event whose 200 was sent is in the ledger."""
    seed = secrets.randbelow(1_000_000)
    trials = await acknowledged_is_durable(
        tmp_path, seed=seed, seconds=DURABLE_S, database=kind_of(address), database_url=address
    )
    print(trials.text())
    assert trials.acknowledged >= trials.trials
    assert (trials.missing, trials.durable) == (0, trials.acknowledged)
