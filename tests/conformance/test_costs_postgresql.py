"""On PostgreSQL, too, none of the hot operations goes through a table that grows: its own counters say so.

The server is told to go through a whole table only where no index serves; then every such walk is counted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.storage.schema import ROOMS
from providers.storage.sync import open_database
from tests.support import postgresql
from tests.support.cost_operations import OPERATIONS, Scene
from tests.support.databases import opened
from tests.support.history import fill

COUNT = 500
FEW = {"peers", "peer_phrases", "snoozes", "app_speakers"}
GROWING = frozenset(table for room in ROOMS for table in room.tables) - FEW


@pytest.fixture
def address(postgresql_server: postgresql.Server) -> Iterator[str]:
    with postgresql_server.fresh() as url:
        name = url.rpartition("/")[2]
        postgresql_server.admin("ALTER DATABASE {} SET enable_seqscan = off", name)
        yield url


async def test_no_operation_walks_what_is_stored(address: str, postgresql_server: postgresql.Server) -> None:
    with open_database(address) as sync:
        sync.run(lambda connection: fill(connection, COUNT))
    assert "messages" in await walks(address, postgresql_server, walk=True)  # a walk is seen
    assert await walks(address, postgresql_server) == {}


async def walks(address: str, server: postgresql.Server, *, walk: bool = False) -> dict[str, int]:
    """The growing tables that were gone through by the operations, and how often."""
    name = address.rpartition("/")[2]
    server.disconnect(name)  # an ending connection hands in its counts
    with server.connect(name) as admin:
        admin.execute("SELECT pg_stat_reset()")
        if walk:
            admin.execute("SELECT count(*) FROM messages WHERE author = 'nobody'")
    if not walk:
        async with opened(address) as transactions:
            scene = Scene(Path(), COUNT, transactions)
            for operation, before, work in OPERATIONS:
                if operation != "start":  # it opens a database of its own
                    await before(scene)
                    await work(scene)
    server.disconnect(name)
    with server.connect(name) as admin:
        until = time.monotonic() + 10
        found: dict[str, int] = {}
        while walk and "messages" not in found and time.monotonic() < until:
            admin.execute("SELECT pg_stat_clear_snapshot()")
            found = _counted(admin)
        return found if walk else _counted(admin)


def _counted(admin: object) -> dict[str, int]:
    rows = admin.execute("SELECT relname, seq_scan FROM pg_stat_user_tables WHERE seq_scan > 0").fetchall()
    return {table: scans for table, scans in rows if table in GROWING}
