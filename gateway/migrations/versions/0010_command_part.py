"""Which part an operator has sent anew: a command that waits says nothing of those behind it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Commands that wait already are about the first part that is not proved when they go on."""
    op.add_column("operator_commands", sa.Column("part_id", sa.String(40), nullable=True))
