"""Since when a return can have been sent, by the provider's own clock: a search begins no later."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """What is there stays without: it is looked for from its attempt on."""
    op.add_column("return_routes", sa.Column("asked_at", sa.BigInteger(), nullable=True))
