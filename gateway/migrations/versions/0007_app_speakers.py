"""Which living gateways speak for which apps, so that each leaves to others what it cannot do itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Nobody is known to speak for anything yet."""
    op.create_table(
        "app_speakers",
        sa.Column("owner", sa.String(length=60), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "app"),
    )
