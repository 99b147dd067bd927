"""The tables of all rooms, made at once, for tests and tools that bring no migrations of their own.

A test holds the migrations against these tables: both ways lead to the same schema.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, MetaData

import manager.ledger.tables
import returns.ledger.tables
from providers.storage.connections import create_file, writing_engine

ROOMS: tuple[MetaData, ...] = (manager.ledger.tables.metadata, returns.ledger.tables.metadata)


def create_all(target: Path | Engine) -> None:
    """Make every table that is missing in the file (or behind the engine)."""
    if isinstance(target, Path):
        create_file(target)
        engine = writing_engine(target)
    else:
        engine = target
    with engine.begin() as connection:
        for metadata in ROOMS:
            metadata.create_all(connection)
