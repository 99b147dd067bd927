"""Whether a message is a question to the steward, and if not, why. Pure.

In order: what bots and the steward itself wrote is no question; without the steward's own id nothing can be told
apart, so everything waits; in a group it must be addressed; then the owners' policy and grants decide; last, what
reads exactly like something of ours that is still on its way waits until that is settled, because it may be its echo.
Everything that is not clearly allowed is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from manager.decisions.decision import Audience
from manager.decisions.inbound import MessageReceived, SenderKind
from manager.decisions.policy import AppPolicy
from manager.ids import OpenId


class Converse(Enum):
    """What the stored grants say of a conversation."""

    OWNER = "owner"
    """An owner granted it."""
    POLICY = "policy"
    """The policy admitted it earlier; worth what the policy says today."""
    NONE = "none"
    """Nothing is stored."""
    REVOKED = "revoked"
    """An owner ended it; only an owner's new grant opens it again."""


class Ignored(Enum):
    """Why a message is not a question."""

    BOT = "bot"
    """A bot or an app wrote it."""
    UNKNOWN_SENDER = "unknown_sender"
    """The provider does not say that a person wrote it."""
    OWN = "own"
    """The steward wrote it."""
    NOT_ADDRESSED = "not_addressed"
    """In a group, without a mention, outside the threads that it is part of."""
    REVOKED = "revoked"
    """An owner ended the conversation."""
    EXTERNAL = "external"
    """From or in another tenant, without an owner's grant."""
    NOT_LISTED = "not_listed"
    """Only granted groups are listened to, and this one is not."""
    NOT_OWNER = "not_owner"
    """A private message of somebody who has been told already."""


class Held(Enum):
    """What a message waits for."""

    OWN_ID_UNKNOWN = "own_id_unknown"
    """Until the steward's own id is known, it cannot tell its own messages from others'."""
    POSSIBLE_ECHO = "possible_echo"
    """It reads like a part of ours that is not settled."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, for this audience."""

    audience: Audience


@dataclass(frozen=True, slots=True)
class Tell:
    """Somebody who may not ask in private is told so, once."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """No question."""

    reason: Ignored


@dataclass(frozen=True, slots=True)
class Hold:
    """Not known yet."""

    reason: Held


Admission: TypeAlias = Ask | Tell | Ignore | Hold


@dataclass(frozen=True, slots=True)
class Known:
    """What the ledger knows at the moment of judging."""

    own_id: OpenId | None
    own_message: bool
    """The message is one that we sent."""
    unsettled_content: bool
    """It reads like a part of ours in that chat that is not settled."""
    answered_here: bool
    """The steward has answered in this conversation."""
    converse: Converse
    external_chat: bool | None
    """None: not known yet."""
    told: bool
    """The sender was told that private questions are for owners."""


def admit(message: MessageReceived, policy: AppPolicy, known: Known) -> Admission:
    """Judge one message."""
    dropped = _dropped(message, known)
    if dropped is not None:
        return Ignore(dropped)
    if known.own_id is None:
        return Hold(Held.OWN_ID_UNKNOWN)
    if message.sender.open_id == known.own_id:
        return Ignore(Ignored.OWN)
    judged = _private(message, policy, known) if message.private else _group(message, policy, known)
    if known.unsettled_content and not isinstance(judged, Ignore):
        return Hold(Held.POSSIBLE_ECHO)
    return judged


def is_external(message: MessageReceived, external_chat: bool | None) -> bool:
    """Whether the message comes from, or stands in a chat with, another tenant."""
    theirs, ours = message.sender.tenant_key, message.envelope.tenant_key
    return bool(external_chat) or (theirs is not None and ours is not None and theirs != ours)


def is_addressed(message: MessageReceived, own_id: OpenId, *, answered_here: bool) -> bool:
    """Whether a group message speaks to the steward: by its exact id (@all does not), or by words in its thread."""
    if any(mention.open_id == own_id for mention in message.mentions):
        return True
    return message.thread_id is not None and answered_here and bool(message.text.strip())


def audience_of(*, private: bool, sender: OpenId | None, policy: AppPolicy) -> Audience:
    """Who will read the answer: private material is for owners in private chats, and nowhere else."""
    return Audience.PRIVATE if private and sender is not None and sender in policy.owners else Audience.SHARED


def may_ask_privately(sender: OpenId | None, policy: AppPolicy, converse: Converse, *, external: bool) -> bool:
    """Whether somebody's private questions are answered."""
    if (sender is not None and sender in policy.owners) or converse is Converse.OWNER:
        return True
    return policy.private == "open" and not external


class Standing(Enum):
    """Whether a question that was admitted may still be worked on, when its turn comes."""

    ADMITTED = "admitted"
    """It may."""
    NOT_OWNER = "not_owner"
    """A private question of somebody who may not ask in private: told so, once."""
    CLOSED = "closed"
    """An owner ended the conversation, or it turned out to be one that only an owner could open."""


def standing(
    *, private: bool, sender: OpenId | None, policy: AppPolicy, converse: Converse, external: bool | None
) -> Standing:
    """Judge again what was admitted, by what is known when its turn comes."""
    if converse is Converse.REVOKED:
        return Standing.CLOSED
    if private:
        allowed = may_ask_privately(sender, policy, converse, external=bool(external))
        return Standing.ADMITTED if allowed else Standing.NOT_OWNER
    if converse is Converse.OWNER:
        return Standing.ADMITTED
    return Standing.CLOSED if external or policy.groups != "mentioned" else Standing.ADMITTED


def _dropped(message: MessageReceived, known: Known) -> Ignored | None:
    match message.sender.kind:
        case SenderKind.BOT:
            return Ignored.BOT
        case SenderKind.UNKNOWN:
            return Ignored.UNKNOWN_SENDER
        case SenderKind.USER:
            return Ignored.OWN if known.own_message else None


def _private(message: MessageReceived, policy: AppPolicy, known: Known) -> Admission:
    if known.converse is Converse.REVOKED:
        return Ignore(Ignored.REVOKED)
    sender = message.sender.open_id
    if may_ask_privately(sender, policy, known.converse, external=is_external(message, known.external_chat)):
        return Ask(audience_of(private=True, sender=sender, policy=policy))
    return Ignore(Ignored.NOT_OWNER) if known.told or sender is None else Tell()


def _group(message: MessageReceived, policy: AppPolicy, known: Known) -> Admission:
    if known.own_id is None or not is_addressed(message, known.own_id, answered_here=known.answered_here):
        return Ignore(Ignored.NOT_ADDRESSED)
    if known.converse is Converse.REVOKED:
        return Ignore(Ignored.REVOKED)
    if known.converse is Converse.OWNER:
        return Ask(Audience.SHARED)
    if is_external(message, known.external_chat):
        return Ignore(Ignored.EXTERNAL)
    return Ask(Audience.SHARED) if policy.groups == "mentioned" else Ignore(Ignored.NOT_LISTED)
