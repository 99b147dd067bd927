"""Since when nothing more of an answer is sent, because an operator cancelled it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """What was cancelled before stays without: what was not sent of it is superseded already."""
    op.add_column("returns", sa.Column("stopped_at", sa.BigInteger(), nullable=True))
