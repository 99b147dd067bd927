"""The tables of the steward's mind. No other room reads or writes them, but the inbox reads.

Moments are milliseconds since 1970. Provider ids, message texts and event bodies are private and stand in tables of
their own (marked so). The four axes belong to a revision; a request shows the one that stands.
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

chats = Table(
    "chats",  # private
    metadata,
    Column("chat_ref", String(40), primary_key=True),  # c_…: the shown name
    Column("app", String(60), nullable=False),
    Column("chat_id", String(120), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("external", Boolean),  # NULL: not known yet
    Column("state", String(12), nullable=False),  # active | left | disbanded
    Column("state_at", BigInteger),  # when the event that set it happened: an older one changes nothing
    Column("bot_name", String(120)),  # how people name the steward there, to take it out of an edited question
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("app", "chat_id", name="chats_once"),
)

conversations = Table(
    "conversations",  # private (thread_id)
    metadata,
    Column("conversation_id", String(80), primary_key=True),  # chat_ref, or chat_ref.t_…
    Column("chat_ref", String(40), ForeignKey("chats.chat_ref"), nullable=False),
    Column("thread_id", String(120), nullable=False, default=""),
    Column("answered_at", BigInteger),  # first time the steward answered there
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("chat_ref", "thread_id", name="conversations_once"),
)

events = Table(
    "events",
    metadata,
    Column("seq", BigKey, primary_key=True, autoincrement=True),
    Column("app", String(60), nullable=False),
    Column("event_id", String(120), nullable=False),
    Column("event_type", String(80), nullable=False),
    Column("state", String(12), nullable=False),  # accepted | ignored | held | parked | late | alarm
    Column("reason", String(80)),
    Column("created_at", BigInteger),
    Column("received_at", BigInteger, nullable=False),
    Column("request_id", String(40)),
    Column("body_digest", String(64), nullable=False),
    Index("events_by_state", "state", "seq"),
)

event_bodies = Table(
    "event_bodies",  # private: what a held event is released from, what a parked one is looked at by
    metadata,
    Column("seq", BigInteger, ForeignKey("events.seq"), primary_key=True),
    Column("body", Text, nullable=False),
)

event_keys = Table(
    "event_keys",  # private: the atomic claim; kept for good
    metadata,
    Column("app", String(60), primary_key=True),
    Column("key", String(200), primary_key=True),  # KIND:VALUE, such as event:… or content:<digest>
    Column("seq", BigInteger, nullable=False),
    Column("body_digest", String(64), nullable=False),
    Column("at", BigInteger, nullable=False),
)

requests = Table(
    "requests",
    metadata,
    Column("seq", BigKey, primary_key=True, autoincrement=True),
    Column("request_id", String(40), nullable=False, unique=True),
    Column("conversation_id", String(80), nullable=False),
    Column("app", String(60), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("audience", String(10), nullable=False),  # who may be told; private is for owners in private chats
    Column("revision", Integer, nullable=False),  # the one that stands: see ledger.requests
    Column("asked_at", BigInteger, nullable=False),
    Column("language", String(2), nullable=False),  # zh | en
    Column("late", Boolean, nullable=False, default=False),
    Column("intent", String(20), nullable=False, default="consultation"),
    Column("parent_id", String(40)),  # of a child request, peer to peer
    Column("from_peer", String(40)),  # the peer who delegated; NULL: the steward
    Column("depth", Integer, nullable=False, default=0),
    Column("texts", Integer, default=1),  # 1 while its texts are kept, else NULL
    Column("unanswered", Integer, default=1),  # until the one that stands has an answer: 1, of a peer's request 2
    Index("requests_by_conversation", "conversation_id", "seq"),
    Index("requests_by_parent", "parent_id", "seq"),
    Index("requests_with_texts", "texts", "seq"),
    Index("requests_unanswered", "unanswered", "seq"),
)

revisions = Table(
    "revisions",
    metadata,
    Column("request_id", String(40), ForeignKey("requests.request_id"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("receiver", String(40)),  # peer_id
    Column("assignment", String(12), nullable=False),
    Column("assessment", String(20), nullable=False),
    Column("work", String(12), nullable=False),
    Column("accepted_scope", Text),
    Column("remaining", Text),
    Column("reason", Text),
    Column("resume_condition", Text),
    Column("owner", Text),
    Column("due_at", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("stored_at", BigInteger),
    Column("attempt_id", String(40)),  # the presentation that holds the fence
    Index("revisions_of_receiver", "receiver", "work", "stored_at"),
    Index("revisions_received", "receiver", "stored_at"),
)

revision_bodies = Table(
    "revision_bodies",  # private
    metadata,
    Column("request_id", String(40), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("question", Text, nullable=False),
    Column("brief", Text, nullable=False),  # JSON, as peers read it
    Column("result", Text),  # JSON of the peer's result, once there is one
    Column("pruned_at", BigInteger),  # since when the texts are no longer kept
)

question_routes = Table(
    "question_routes",  # private; written once, when the question is received
    metadata,
    Column("request_id", String(40), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("app", String(60), nullable=False),
    Column("chat_id", String(120), nullable=False),
    Column("thread_id", String(120)),
    Column("message_id", String(120), nullable=False),
    Column("sender_open_id", String(120)),
    Column("content_digest", String(64), nullable=False),
    Column("recalled_at", BigInteger),
    Index("question_routes_by_message", "app", "message_id"),
)

turns = Table(
    "turns",
    metadata,
    Column("turn_id", String(40), primary_key=True),
    Column("conversation_id", String(80), nullable=False),
    Column("request_id", String(40), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("state", String(10), nullable=False),  # queued | running | done | failed | cancelled
    Column("pending", Integer),  # 1 while queued or running, else NULL
    Column("position", BigInteger, nullable=False),  # create_time, else the time of receipt
    Column("event_seq", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("due_at", BigInteger, nullable=False),
    Column("fence", BigInteger, nullable=False, default=0),
    Column("lease_owner", String(60)),
    Column("lease_until", BigInteger),
    Column("receipt", String(8)),  # wanted | done | failed | NULL
    Column("parent_message_id", String(120)),  # the quoted message; private, read by the turn alone
    UniqueConstraint("request_id", "revision", name="turns_one_a_revision"),
    Index("turns_pending", "pending", "conversation_id", "position", "event_seq"),
    Index("turns_receipts", "receipt"),
)

messages = Table(
    "messages",  # private: the conversation's history
    metadata,
    Column("seq", BigKey, primary_key=True, autoincrement=True),
    Column("conversation_id", String(80), nullable=False),
    Column("request_id", String(40)),
    Column("author", String(60), nullable=False),  # asker | steward | a peer's name
    Column("text", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("messages_of_conversation", "conversation_id", "seq"),
    Index("messages_of_request", "request_id", "seq"),
)

peers = Table(
    "peers",
    metadata,
    Column("peer_id", String(40), primary_key=True),
    Column("name", String(60), nullable=False),
    Column("folded_name", String(60), nullable=False, unique=True),
    Column("mode", String(20), nullable=False),  # managed_runtime | attached_host
    Column("state", String(10), nullable=False),  # active | stopped
    Column("audience", String(10), nullable=False),  # shared | private
    Column("goal", String(120)),
    Column("endpoint", String(200)),
    Column("host_surface", String(200)),
    Column("presence", String(12), nullable=False),  # unknown | available | busy | away
    Column("presence_at", BigInteger),
    Column("capacity", Integer),
    Column("executor_endpoint_id", String(120)),
    Column("token_digest", String(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
)

peer_phrases = Table(
    "peer_phrases",
    metadata,
    Column("peer_id", String(40), ForeignKey("peers.peer_id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String(16), primary_key=True),  # responsibility | example
    Column("position", Integer, primary_key=True),
    Column("text", Text, nullable=False),
)

presentations = Table(
    "presentations",
    metadata,
    Column("attempt_id", String(40), primary_key=True),
    Column("request_id", String(40), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("peer_id", String(40), nullable=False),
    Column("turn", String(120)),
    Column("at", BigInteger, nullable=False),
    Column("replaced", Boolean, nullable=False, default=False),
    Index("presentations_of_request", "request_id", "revision"),
)

grants = Table(
    "grants",
    metadata,
    Column("grant_id", String(40), primary_key=True),
    Column("principal", String(120), nullable=False),
    Column("resource", String(120), nullable=False),
    Column("effect", String(40), nullable=False),
    Column("audience", String(10), nullable=False),
    Column("granted_by", String(120), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("revoke_reason", Text),
    Index("grants_by_resource", "effect", "resource"),
)

app_identities = Table(
    "app_identities",  # private: the name under which everything of an app is stored
    metadata,
    Column("app_id", String(120), primary_key=True),
    Column("app", String(60), nullable=False),
)

told_once = Table(
    "told_once",  # private: a sentence that a person is told only once
    metadata,
    Column("app", String(60), primary_key=True),
    Column("open_id", String(120), primary_key=True),
    Column("what", String(40), primary_key=True),
    Column("at", BigInteger, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("caller", String(60), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("request_digest", String(64), nullable=False),  # method, path and body
    Column("status", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("idempotency_keys_by_age", "created_at"),
)

operator_commands = Table(
    "operator_commands",  # what operators asked for; that somebody waits for its end is told by ``pending``
    metadata,
    Column("seq", BigKey, primary_key=True, autoincrement=True),
    Column("command_id", String(40), nullable=False, unique=True),
    Column("request_id", String(40), nullable=False),
    Column("kind", String(10), nullable=False),  # verify | found | resend | cancel | note | snooze | reveal
    Column("who", String(60), nullable=False),
    Column("reason", Text),
    Column("return_id", String(40)),  # the answer that it is about
    Column("outcome", String(20)),  # NULL: not known yet
    Column("pending", Integer),  # 1 while it waits for a reading or for a receiver, else NULL
    Column("due_at", BigInteger),  # when a wish to cancel takes effect without the receiver
    Column("created_at", BigInteger, nullable=False),
    Column("done_at", BigInteger),
    Column("part_id", String(40)),  # of a resend: the first part that is not proved; NULL: of an older version
    Index("operator_commands_pending", "pending", "request_id"),
    Index("operator_commands_of_request", "request_id", "seq"),
)

snoozes = Table(
    "snoozes",  # a request that is left alone for a while
    metadata,
    Column("request_id", String(40), primary_key=True),
    Column("until", BigInteger, nullable=False),
    Column("who", String(60), nullable=False),
)

facts = Table(
    "facts",  # the timeline's part: nothing private in it
    metadata,
    Column("seq", BigKey, primary_key=True, autoincrement=True),
    Column("request_id", String(40), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("fact", String(40), nullable=False),
    Column("detail", Text, nullable=False),  # JSON object
    Index("facts_of_request", "request_id", "seq"),
)
