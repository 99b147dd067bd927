"""What all gateways of an app have called."""

from __future__ import annotations

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make what is missing."""
