"""The only module that imports Alembic; ``providers.storage.migrate`` loads it when there is something to migrate."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def run(connection: Connection, script_location: Path) -> None:
    """Run every missing migration inside the connection's open transaction."""
    config = Config()
    config.set_main_option("script_location", str(script_location).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
