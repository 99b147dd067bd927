"""What operators asked for, and what they are asked about."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make what is missing."""
    op.create_table(
        "operator_commands",
        sa.Column("seq", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("command_id", sa.String(length=40), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("who", sa.String(length=60), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("return_id", sa.String(length=40), nullable=True),
        sa.Column("outcome", sa.String(length=20), nullable=True),
        sa.Column("pending", sa.Integer(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("command_id"),
    )
    op.create_index("operator_commands_pending", "operator_commands", ["pending", "request_id"], unique=False)
    op.create_index("operator_commands_of_request", "operator_commands", ["request_id", "seq"], unique=False)
    op.create_table(
        "snoozes",
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.String(length=60), nullable=False),
        sa.PrimaryKeyConstraint("request_id"),
    )
    op.create_table(
        "part_candidates",
        sa.Column("part_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.String(length=120), nullable=False),
        sa.Column("chat_id", sa.String(length=120), nullable=False),
        sa.Column("thread_id", sa.String(length=120), nullable=True),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["part_id"], ["parts.part_id"]),
        sa.PrimaryKeyConstraint("part_id", "number"),
    )
    op.create_table(
        "part_locators_disproved",
        sa.Column("part_id", sa.String(length=40), nullable=False),
        sa.Column("message_id", sa.String(length=120), nullable=False),
        sa.Column("chat_id", sa.String(length=120), nullable=False),
        sa.Column("thread_id", sa.String(length=120), nullable=True),
        sa.Column("source", sa.String(length=12), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["part_id"], ["parts.part_id"]),
        sa.PrimaryKeyConstraint("part_id", "message_id"),
    )
