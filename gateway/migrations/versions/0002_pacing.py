"""What all gateways of an app have called; what is due is found by app; what is to be looked for has its own lane."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make what is missing."""
    op.create_table(
        "pace_gates",
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("api", sa.String(length=8), nullable=False),
        sa.Column("paused_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("app", "api"),
    )
    op.create_table(
        "pace_calls",
        sa.Column("holder", sa.String(length=60), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("api", sa.String(length=8), nullable=False),
        sa.Column("chat_key", sa.String(length=64), nullable=True),
        sa.Column("counted_at", sa.BigInteger(), nullable=False),
        sa.Column("running", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("holder", "number"),
    )
    op.create_index("pace_calls_in_time", "pace_calls", ["app", "api", "counted_at"], unique=False)
    op.drop_index("parts_due", table_name="parts")
    op.create_index("parts_due", "parts", ["lane", "app", "due_at"], unique=False)
    op.create_index("parts_under_way", "parts", ["lane", "chat_key", "state"], unique=False)
    _search_lane()


def _search_lane() -> None:
    """What waits to be read without a known message has to be looked for."""
    parts = sa.table("parts", sa.column("part_id"), sa.column("lane"))
    locators = sa.table("part_locators", sa.column("part_id"))
    op.execute(
        sa.update(parts)
        .where(parts.c.lane == "verify", parts.c.part_id.not_in(sa.select(locators.c.part_id)))
        .values(lane="search")
    )
