"""The tables of the way back. No other room reads or writes them, but the inbox reads.

Moments are milliseconds since 1970. ``lane`` keeps the cost of every pass to what is pending: it is NULL once a part is
settled, and all queries of the pump start from it. Private things (chat, thread, message ids, bodies) stand in tables
of their own.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

BigKey = BigInteger().with_variant(Integer, "sqlite")

returns = Table(
    "returns",
    metadata,
    Column("seq", BigKey, primary_key=True, autoincrement=True),
    Column("return_id", String(40), nullable=False, unique=True),
    Column("subject_id", String(40), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("kind", String(10), nullable=False),  # answer | notice
    Column("replaces", String(40)),  # the return that an operator's resend replaces
    Column("app", String(60), nullable=False),
    Column("chat_key", String(64), nullable=False),
    Column("parts", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("stopped_at", BigInteger),  # when an operator cancelled it: nothing of it is sent from then on
    Index("returns_by_subject", "subject_id", "seq"),
)

return_routes = Table(
    "return_routes",  # private
    metadata,
    Column("return_id", String(40), ForeignKey("returns.return_id"), primary_key=True),
    Column("chat_id", String(120), nullable=False),
    Column("thread_id", String(120)),
    Column("reply_to", String(120)),
    Column("asked_at", BigInteger),  # by the provider's clock: nothing of the return was sent before
)

parts = Table(
    "parts",
    metadata,
    Column("part_id", String(40), primary_key=True),
    Column("return_id", String(40), ForeignKey("returns.return_id"), nullable=False),
    Column("return_seq", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),  # 0, 1, … in its return
    Column("subject_id", String(40), nullable=False),
    Column("app", String(60), nullable=False),
    Column("chat_key", String(64), nullable=False),
    Column("state", String(24), nullable=False),
    Column("error", String(48)),
    Column("verification", String(12)),  # direct | reconciled
    Column("needs_configuration", Boolean, nullable=False, default=False),
    Column("lane", String(8)),  # send | verify | search | NULL: settled or held
    Column("due_at", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("failures", Integer, nullable=False, default=0),  # since the last success, for the back-off
    Column("first_attempt_at", BigInteger),
    Column("last_attempt_at", BigInteger),
    Column("give_up_at", BigInteger),
    Column("fence", BigInteger, nullable=False, default=0),
    Column("lease_owner", String(60)),
    Column("lease_until", BigInteger),
    Column("idempotency_key", String(50), nullable=False, unique=True),
    Column("placement", String(8), nullable=False, default="reply"),  # reply | chat
    Column("route_digest", String(64), nullable=False),
    Column("body_digest", String(64), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("delivered_at", BigInteger),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("return_id", "position", name="parts_order"),
    Index("parts_due", "lane", "app", "due_at"),
    Index("parts_in_chat", "lane", "chat_key", "return_seq", "position"),
    Index("parts_under_way", "lane", "chat_key", "state"),
    Index("parts_by_content", "chat_key", "fingerprint", "state"),
    Index("parts_of_subject", "subject_id", "return_seq", "position"),
)

part_bodies = Table(
    "part_bodies",  # private
    metadata,
    Column("part_id", String(40), ForeignKey("parts.part_id"), primary_key=True),
    Column("document", Text, nullable=False),  # JSON of the plain nodes
)

part_locators = Table(
    "part_locators",  # private
    metadata,
    Column("part_id", String(40), ForeignKey("parts.part_id"), primary_key=True),
    Column("app", String(60), nullable=False),
    Column("message_id", String(120), nullable=False),
    Column("chat_id", String(120), nullable=False),
    Column("thread_id", String(120)),
    Column("source", String(12), nullable=False),  # direct | search | operator
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("app", "message_id", name="locators_own_one_message"),
)

part_locators_disproved = Table(
    "part_locators_disproved",  # private: what a part was said to be and is not; it owns none of these
    metadata,
    Column("part_id", String(40), ForeignKey("parts.part_id"), primary_key=True),
    Column("message_id", String(120), primary_key=True),
    Column("chat_id", String(120), nullable=False),
    Column("thread_id", String(120)),
    Column("source", String(12), nullable=False),  # direct | operator
    Column("at", BigInteger, nullable=False),
)

part_candidates = Table(
    "part_candidates",  # private: messages of which reading cannot tell whether they are the part
    metadata,
    Column("part_id", String(40), ForeignKey("parts.part_id"), primary_key=True),
    Column("number", Integer, primary_key=True),  # 1, 2, … as an operator is told
    Column("message_id", String(120), nullable=False),
    Column("chat_id", String(120), nullable=False),
    Column("thread_id", String(120)),
    Column("sent_at", BigInteger, nullable=False),
)

answers = Table(
    "answers",  # one row an answered subject: what the inbox shows
    metadata,
    Column("subject_id", String(40), primary_key=True),
    Column("return_id", String(40), nullable=False),  # the latest answer
    Column("revision", Integer, nullable=False),
    Column("status", String(24), nullable=False),
    Column("error", String(48)),
    Column("verification", String(12)),
    Column("parts", Integer, nullable=False),
    Column("delivered_parts", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("delivered_at", BigInteger),
    Column("needs_operator", Boolean, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("place", BigInteger),  # of the subject among all, as its owner counts them: lists are in this order
    Index("answers_by_status", "status", "place"),
)

return_facts = Table(
    "return_facts",  # the timeline's part: nothing private in it
    metadata,
    Column("seq", BigKey, primary_key=True, autoincrement=True),
    Column("subject_id", String(40), nullable=False),
    Column("return_id", String(40), nullable=False),
    Column("position", Integer),
    Column("at", BigInteger, nullable=False),
    Column("fact", String(40), nullable=False),
    Column("detail", Text, nullable=False),  # JSON object
    Index("return_facts_of_subject", "subject_id", "seq"),
)

pace_gates = Table(
    "pace_gates",  # one row an API of an app: locked by whoever counts a call
    metadata,
    Column("app", String(60), primary_key=True),
    Column("api", String(8), primary_key=True),  # sends | reads | lists
    Column("paused_until", BigInteger, nullable=False),  # by the database's clock; 0: not paused
)

app_speakers = Table(
    "app_speakers",  # the apps that living gateways speak for; a few rows, and none where there is one gateway
    metadata,
    Column("owner", String(60), primary_key=True),
    Column("app", String(60), primary_key=True),
    Column("until", BigInteger, nullable=False),  # believed so long
)

pace_calls = Table(
    "pace_calls",  # the calls that the provider may still count, of all gateways
    metadata,
    Column("holder", String(60), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("app", String(60), nullable=False),
    Column("api", String(8), nullable=False),
    Column("chat_key", String(64)),
    Column("counted_at", BigInteger, nullable=False),  # by the database's clock: its start, or its end once told
    Column("running", Boolean, nullable=False),
    Index("pace_calls_in_time", "app", "api", "counted_at"),
)
