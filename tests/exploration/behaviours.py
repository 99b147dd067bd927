"""What a provider and a database can do to a delivery, one at a time."""

from __future__ import annotations

from tests.exploration.states import Behaviour

PROVED = "delivered"
UNFOUND = "explicit_unverified/no_match_found"
REFUSED = "undeliverable/provider_rejected"
UNREAD = "explicit_unverified/provider_verification_unavailable"
GONE = "undeliverable/original_route_unavailable"
MISMATCH = "explicit_unverified/provider_delivery_mismatch"
MISSING = "explicit_unverified/provider_message_missing"
RECALLED = "explicit_unverified/provider_message_recalled"
REVOKED = "explicit_unverified/return_authorization_unavailable"
NEVER_ALLOWED = "undeliverable/return_authorization_unavailable"

ALWAYS = UNFOUND
"""Killed between a durable attempt and its first byte, a delivery ends so whatever the provider does."""

LIES = ("chat", "thread", "sender", "text")
AWAY = ("unreachable", "forbidden")


def ends(*names: str) -> frozenset[str]:
    """How it may end; every one of these is reached. That nothing is found is always possible: see ``ALWAYS``."""
    return frozenset(names)


BEHAVIOURS: tuple[Behaviour, ...] = (
    Behaviour("accepts", ends=ends(PROVED)),
    Behaviour("accepts and loses the answer", send=("lose",), ends=ends(PROVED)),
    Behaviour("never accepts and times out", send=("never",), ends=ends(PROVED, UNFOUND)),
    Behaviour("refuses for good", send=("refuse",), ends=ends(PROVED, REFUSED)),
    Behaviour("limits", send=("limit",), ends=ends(PROVED)),
    Behaviour("cannot be reached", send=("offline",), ends=ends(PROVED)),
    Behaviour("gives no token", prepare=("offline",), ends=ends(PROVED)),
    Behaviour("answers without an id", send=("no id",), ends=ends(PROVED)),
    Behaviour("answers after the lease", send=("slow",), ends=ends(PROVED)),
    Behaviour("accepts after the answer", send=("late",), ends=ends(PROVED)),
    Behaviour("accepts after the search", send=("very late",), ends=ends(PROVED, UNFOUND)),
    Behaviour("shows it late", send=("hidden",), ends=ends(PROVED)),
    Behaviour("shows it too late", send=("long hidden",), ends=ends(PROVED, UNFOUND)),
    Behaviour("lies when read", read=LIES, ends=ends(PROVED, MISMATCH)),
    Behaviour("lies when searched", send=("lose",), list=(*LIES, "missing"), ends=ends(PROVED, UNFOUND)),
    Behaviour("cannot be read", send=("lose",), read=AWAY, list=AWAY, ends=ends(PROVED)),
    Behaviour("forgets it", read=("missing",), ends=ends(PROVED, MISSING)),
    Behaviour("recalls it", send=("lose",), recalls=True, ends=ends(PROVED, RECALLED)),
    Behaviour("loses commits", run=("away", "lost", "unknown"), ends=ends(PROVED)),
    Behaviour("loses answers and commits", send=("lose",), run=("away", "unknown"), ends=ends(PROVED)),
    Behaviour("has no question any more", send=("question gone",), ends=ends(PROVED, GONE)),
    Behaviour("has a chat for the answer", send=("question gone", "lose"), in_chat=True, ends=ends(PROVED)),
    Behaviour("has a thread begun on the question", send=("lose",), begins="on the question", ends=ends(PROVED)),
    Behaviour("has a thread begun on the answer", send=("lose",), begins="on the answer", ends=ends(PROVED)),
    Behaviour("is looked at again", send=("very late", "never"), looks=1, ends=ends(PROVED, UNFOUND)),
    Behaviour("revokes", send=("limit",), revokes=True, ends=ends(PROVED, REVOKED, NEVER_ALLOWED)),
)
