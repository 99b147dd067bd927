"""The database's migrations: numbered, forward only, run on start by ``providers.storage.migrate``.

A migration is frozen once it is released. Its file is named after its number, and so is its revision (``0001``), so
that the newest version is known without importing Alembic.
"""

from __future__ import annotations

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""What ``providers.storage.migrate.upgrade`` takes as its ``script_location``."""
