"""The name that everything of an app is stored under, so that a renamed app is noticed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """The next start of a gateway fills it."""
    op.create_table(
        "app_identities",
        sa.Column("app_id", sa.String(length=120), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.PrimaryKeyConstraint("app_id"),
    )
