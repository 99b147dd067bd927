"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make them."""
    _chats()
    _event_keys()
    _events()
    _facts()
    _grants()
    _idempotency_keys()
    _messages()
    _peers()
    _presentations()
    _question_routes()
    _requests()
    _revision_bodies()
    _told_once()
    _turns()
    _conversations()
    _event_bodies()
    _peer_phrases()
    _revisions()
    _answers()
    _return_facts()
    _returns()
    _parts()
    _return_routes()
    _part_bodies()
    _part_locators()


def _chats() -> None:
    op.create_table(
        "chats",
        sa.Column("chat_ref", sa.String(length=40), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("chat_id", sa.String(length=120), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("external", sa.Boolean(), nullable=True),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("state_at", sa.BigInteger(), nullable=True),
        sa.Column("bot_name", sa.String(length=120), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chat_ref"),
        sa.UniqueConstraint("app", "chat_id", name="chats_once"),
    )


def _event_keys() -> None:
    op.create_table(
        "event_keys",
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("app", "key"),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("seq", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("event_id", sa.String(length=120), nullable=False),
        sa.Column("event_type", sa.String(length=80), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.String(length=80), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=True),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("events_by_state", "events", ["state", "seq"], unique=False)


def _facts() -> None:
    op.create_table(
        "facts",
        sa.Column("seq", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("fact", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("facts_of_request", "facts", ["request_id", "seq"], unique=False)


def _grants() -> None:
    op.create_table(
        "grants",
        sa.Column("grant_id", sa.String(length=40), nullable=False),
        sa.Column("principal", sa.String(length=120), nullable=False),
        sa.Column("resource", sa.String(length=120), nullable=False),
        sa.Column("effect", sa.String(length=40), nullable=False),
        sa.Column("audience", sa.String(length=10), nullable=False),
        sa.Column("granted_by", sa.String(length=120), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoke_reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("grant_id"),
    )
    op.create_index("grants_by_resource", "grants", ["effect", "resource"], unique=False)


def _idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("caller", sa.String(length=60), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("request_digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("caller", "key"),
    )
    op.create_index("idempotency_keys_by_age", "idempotency_keys", ["created_at"], unique=False)


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("seq", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("conversation_id", sa.String(length=80), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=True),
        sa.Column("author", sa.String(length=60), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("messages_of_conversation", "messages", ["conversation_id", "seq"], unique=False)


def _peers() -> None:
    op.create_table(
        "peers",
        sa.Column("peer_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("folded_name", sa.String(length=60), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("audience", sa.String(length=10), nullable=False),
        sa.Column("goal", sa.String(length=120), nullable=True),
        sa.Column("endpoint", sa.String(length=200), nullable=True),
        sa.Column("host_surface", sa.String(length=200), nullable=True),
        sa.Column("presence", sa.String(length=12), nullable=False),
        sa.Column("presence_at", sa.BigInteger(), nullable=True),
        sa.Column("capacity", sa.Integer(), nullable=True),
        sa.Column("executor_endpoint_id", sa.String(length=120), nullable=True),
        sa.Column("token_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("peer_id"),
        sa.UniqueConstraint("folded_name"),
        sa.UniqueConstraint("token_digest"),
    )


def _presentations() -> None:
    op.create_table(
        "presentations",
        sa.Column("attempt_id", sa.String(length=40), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("peer_id", sa.String(length=40), nullable=False),
        sa.Column("turn", sa.String(length=120), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("replaced", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("attempt_id"),
    )
    op.create_index("presentations_of_request", "presentations", ["request_id", "revision"], unique=False)


def _question_routes() -> None:
    op.create_table(
        "question_routes",
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("chat_id", sa.String(length=120), nullable=False),
        sa.Column("thread_id", sa.String(length=120), nullable=True),
        sa.Column("message_id", sa.String(length=120), nullable=False),
        sa.Column("sender_open_id", sa.String(length=120), nullable=True),
        sa.Column("content_digest", sa.String(length=64), nullable=False),
        sa.Column("recalled_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("request_id", "revision"),
    )
    op.create_index("question_routes_by_message", "question_routes", ["app", "message_id"], unique=False)


def _requests() -> None:
    op.create_table(
        "requests",
        sa.Column("seq", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("conversation_id", sa.String(length=80), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("audience", sa.String(length=10), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("language", sa.String(length=2), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("intent", sa.String(length=20), nullable=False),
        sa.Column("parent_id", sa.String(length=40), nullable=True),
        sa.Column("from_peer", sa.String(length=40), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("request_id"),
    )
    op.create_index("requests_by_conversation", "requests", ["conversation_id", "seq"], unique=False)
    op.create_index("requests_by_parent", "requests", ["parent_id", "seq"], unique=False)


def _revision_bodies() -> None:
    op.create_table(
        "revision_bodies",
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("brief", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("request_id", "revision"),
    )


def _told_once() -> None:
    op.create_table(
        "told_once",
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("open_id", sa.String(length=120), nullable=False),
        sa.Column("what", sa.String(length=40), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("app", "open_id", "what"),
    )


def _turns() -> None:
    op.create_table(
        "turns",
        sa.Column("turn_id", sa.String(length=40), nullable=False),
        sa.Column("conversation_id", sa.String(length=80), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("pending", sa.Integer(), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("event_seq", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_owner", sa.String(length=60), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("receipt", sa.String(length=8), nullable=True),
        sa.Column("parent_message_id", sa.String(length=120), nullable=True),
        sa.PrimaryKeyConstraint("turn_id"),
        sa.UniqueConstraint("request_id", "revision", name="turns_one_a_revision"),
    )
    op.create_index("turns_pending", "turns", ["pending", "conversation_id", "position", "event_seq"], unique=False)
    op.create_index("turns_receipts", "turns", ["receipt"], unique=False)


def _conversations() -> None:
    op.create_table(
        "conversations",
        sa.Column("conversation_id", sa.String(length=80), nullable=False),
        sa.Column("chat_ref", sa.String(length=40), nullable=False),
        sa.Column("thread_id", sa.String(length=120), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["chat_ref"],
            ["chats.chat_ref"],
        ),
        sa.PrimaryKeyConstraint("conversation_id"),
        sa.UniqueConstraint("chat_ref", "thread_id", name="conversations_once"),
    )


def _event_bodies() -> None:
    op.create_table(
        "event_bodies",
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["seq"],
            ["events.seq"],
        ),
        sa.PrimaryKeyConstraint("seq"),
    )


def _peer_phrases() -> None:
    op.create_table(
        "peer_phrases",
        sa.Column("peer_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["peer_id"], ["peers.peer_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("peer_id", "kind", "position"),
    )


def _revisions() -> None:
    op.create_table(
        "revisions",
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("receiver", sa.String(length=40), nullable=True),
        sa.Column("assignment", sa.String(length=12), nullable=False),
        sa.Column("assessment", sa.String(length=20), nullable=False),
        sa.Column("work", sa.String(length=12), nullable=False),
        sa.Column("accepted_scope", sa.Text(), nullable=True),
        sa.Column("remaining", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("resume_condition", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=True),
        sa.Column("attempt_id", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(
            ["request_id"],
            ["requests.request_id"],
        ),
        sa.PrimaryKeyConstraint("request_id", "revision"),
    )
    op.create_index("revisions_of_receiver", "revisions", ["receiver", "work", "stored_at"], unique=False)


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("subject_id", sa.String(length=40), nullable=False),
        sa.Column("return_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=24), nullable=False),
        sa.Column("error", sa.String(length=48), nullable=True),
        sa.Column("verification", sa.String(length=12), nullable=True),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("delivered_parts", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("needs_operator", sa.Boolean(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("subject_id"),
    )
    op.create_index("answers_by_status", "answers", ["status"], unique=False)


def _return_facts() -> None:
    op.create_table(
        "return_facts",
        sa.Column("seq", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("subject_id", sa.String(length=40), nullable=False),
        sa.Column("return_id", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("fact", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("return_facts_of_subject", "return_facts", ["subject_id", "seq"], unique=False)


def _returns() -> None:
    op.create_table(
        "returns",
        sa.Column("seq", BIG_KEY, autoincrement=True, nullable=False),
        sa.Column("return_id", sa.String(length=40), nullable=False),
        sa.Column("subject_id", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("replaces", sa.String(length=40), nullable=True),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("chat_key", sa.String(length=64), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("return_id"),
    )
    op.create_index("returns_by_subject", "returns", ["subject_id", "seq"], unique=False)


def _parts() -> None:
    op.create_table(
        "parts",
        sa.Column("part_id", sa.String(length=40), nullable=False),
        sa.Column("return_id", sa.String(length=40), nullable=False),
        sa.Column("return_seq", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.String(length=40), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("chat_key", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=24), nullable=False),
        sa.Column("error", sa.String(length=48), nullable=True),
        sa.Column("verification", sa.String(length=12), nullable=True),
        sa.Column("needs_configuration", sa.Boolean(), nullable=False),
        sa.Column("lane", sa.String(length=8), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("first_attempt_at", sa.BigInteger(), nullable=True),
        sa.Column("last_attempt_at", sa.BigInteger(), nullable=True),
        sa.Column("give_up_at", sa.BigInteger(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_owner", sa.String(length=60), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("idempotency_key", sa.String(length=50), nullable=False),
        sa.Column("placement", sa.String(length=8), nullable=False),
        sa.Column("route_digest", sa.String(length=64), nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["return_id"],
            ["returns.return_id"],
        ),
        sa.PrimaryKeyConstraint("part_id"),
        sa.UniqueConstraint("idempotency_key"),
        sa.UniqueConstraint("return_id", "position", name="parts_order"),
    )
    op.create_index("parts_due", "parts", ["lane", "due_at"], unique=False)
    op.create_index("parts_in_chat", "parts", ["lane", "chat_key", "return_seq", "position"], unique=False)
    op.create_index("parts_of_subject", "parts", ["subject_id", "return_seq", "position"], unique=False)
    op.create_index("parts_unsettled_content", "parts", ["lane", "chat_key", "fingerprint"], unique=False)


def _return_routes() -> None:
    op.create_table(
        "return_routes",
        sa.Column("return_id", sa.String(length=40), nullable=False),
        sa.Column("chat_id", sa.String(length=120), nullable=False),
        sa.Column("thread_id", sa.String(length=120), nullable=True),
        sa.Column("reply_to", sa.String(length=120), nullable=True),
        sa.ForeignKeyConstraint(
            ["return_id"],
            ["returns.return_id"],
        ),
        sa.PrimaryKeyConstraint("return_id"),
    )


def _part_bodies() -> None:
    op.create_table(
        "part_bodies",
        sa.Column("part_id", sa.String(length=40), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["part_id"],
            ["parts.part_id"],
        ),
        sa.PrimaryKeyConstraint("part_id"),
    )


def _part_locators() -> None:
    op.create_table(
        "part_locators",
        sa.Column("part_id", sa.String(length=40), nullable=False),
        sa.Column("app", sa.String(length=60), nullable=False),
        sa.Column("message_id", sa.String(length=120), nullable=False),
        sa.Column("chat_id", sa.String(length=120), nullable=False),
        sa.Column("thread_id", sa.String(length=120), nullable=True),
        sa.Column("source", sa.String(length=12), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["part_id"],
            ["parts.part_id"],
        ),
        sa.PrimaryKeyConstraint("part_id"),
        sa.UniqueConstraint("app", "message_id", name="locators_own_one_message"),
    )
