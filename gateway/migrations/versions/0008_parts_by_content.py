"""Unproved parts are found by their content, however many proved ones say the same."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """The index of what is unsettled served only that."""
    op.drop_index("parts_unsettled_content", table_name="parts")
    op.create_index("parts_by_content", "parts", ["chat_key", "fingerprint", "state"], unique=False)
