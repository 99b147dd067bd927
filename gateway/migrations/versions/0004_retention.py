"""What retention forgets, and lists that follow what they show."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make what is missing, and say of every request where it stands."""
    op.add_column("requests", sa.Column("texts", sa.Integer(), nullable=True))
    op.add_column("requests", sa.Column("unanswered", sa.Integer(), nullable=True))
    op.add_column("revision_bodies", sa.Column("pruned_at", sa.BigInteger(), nullable=True))
    op.add_column("answers", sa.Column("place", sa.BigInteger(), nullable=True))
    op.execute(_STANDING)
    op.execute(_PLACES)
    op.create_index("requests_with_texts", "requests", ["texts", "seq"], unique=False)
    op.create_index("requests_unanswered", "requests", ["unanswered", "seq"], unique=False)
    op.create_index("revisions_received", "revisions", ["receiver", "stored_at"], unique=False)
    op.create_index("messages_of_request", "messages", ["request_id", "seq"], unique=False)
    op.drop_index("answers_by_status", "answers")
    op.create_index("answers_by_status", "answers", ["status", "place"], unique=False)


_STANDING = """
UPDATE requests SET texts = 1, unanswered = CASE
    WHEN EXISTS (SELECT 1 FROM answers
                 WHERE answers.subject_id = requests.request_id AND answers.revision = requests.revision) THEN NULL
    WHEN parent_id IS NULL THEN 1
    ELSE 2
END
"""
_PLACES = """
UPDATE answers SET place = (SELECT seq FROM requests WHERE requests.request_id = answers.subject_id)
"""
