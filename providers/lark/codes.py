"""Lark's codes and what each says about a send or a read.

From the error tables of Lark's pages "Send message", "Reply to a message", "Obtain message", "Obtain group
information" and "Generic error codes". Branch on the code, never on the message: its wording differs in the field.
A code that stands in none of these tables leaves a send's outcome unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from returns.ports import Refusal

SUCCESS: Final = 0

STALE_TOKEN: Final = frozenset({99991663, 99991664, 99991665})

CHAT_LIMITED: Final = frozenset({230020, 11233})
"""Limits of one chat; the others are of the app or of Lark as a whole."""

RATE_LIMITED: Final = CHAT_LIMITED | frozenset({99991400, 11232})

CONFIGURATION: Final = frozenset(
    {
        10003,  # invalid parameter at the token endpoint
        10012,
        10013,
        10014,  # no such app
        10015,  # wrong secret
        10016,
        20002,  # id and secret do not match
        230006,  # bot ability not activated
        230027,  # lack of permissions
        230036,  # the tenant's encryption key was deleted
        232025,  # bot ability not activated
        232034,  # app unavailable in the tenant
        99991201,  # no such path: the domain is not Lark's
        99991301,  # no such method
        99991401,  # the caller's address is not in the whitelist
        99991403,  # the month's quota is used up
        99991543,  # app id or secret wrong
        99991661,  # no token
        99991662,  # app not enabled
        99991668,  # not a tenant's token
        99991671,  # not a token
        99991672,  # missing scope
        99991673,  # app not authorised
        99991676,
        99991677,
        99991679,
    }
)

NOT_ALLOWED: Final = frozenset(
    {
        230013,  # the user is outside the app's availability
        230018,  # the group's settings
        230029,  # the user has left
        230035,  # muted or blocked
        230038,  # private chat across tenants
        230053,  # the user stopped the bot
        230054,  # not in a connected group, not for this kind of message
        230075,  # encrypted chat
    }
)

CONTENT: Final = frozenset(
    {
        230001,  # invalid parameter
        230017,  # a resource of somebody else
        230022,  # sensitive
        230025,  # too long
        230028,  # audit
        230055,  # kind of upload and kind of message differ
        230099,  # content could not be made
        9499,  # not the format of a request
        99992402,  # field validation
    }
)

ROUTE_GONE: Final = frozenset(
    {
        230002,  # the bot is outside the group
        230019,  # the topic is gone
        230034,  # no such receiver
        232006,  # no such chat
        232009,  # disbanded
        232010,  # another tenant's
        232011,  # the bot is outside the chat
        99992351,
        99992352,
        99992361,  # another app's id
    }
)

UNSURE: Final = frozenset(
    {
        230049,  # the same message is being sent
        18121,  # the same request is in progress
        2200,  # internal
        5000,  # internal
    }
)


def _table(groups: Mapping[Refusal, frozenset[int]]) -> dict[int, Refusal]:
    return {code: refusal for refusal, codes in groups.items() for code in codes}


ANY_SEND: Final = _table(
    {
        Refusal.STALE_TOKEN: STALE_TOKEN,
        Refusal.RATE_LIMITED: RATE_LIMITED,
        Refusal.CONFIGURATION: CONFIGURATION,
        Refusal.NOT_ALLOWED: NOT_ALLOWED,
        Refusal.CONTENT: CONTENT,
        Refusal.ROUTE_GONE: ROUTE_GONE,
    }
)
"""A plain message in a chat knows only these."""

REPLY: Final = ANY_SEND | _table(
    {
        Refusal.QUESTION_RECALLED: frozenset(
            {
                230011,  # recalled
                230110,  # deleted
                231003,  # recalled or deleted; field reports have it for replies
            }
        ),
        Refusal.NOT_ALLOWED: frozenset(
            {
                230050,  # the message cannot be seen by the bot
                230071,  # the group has no threads; means something else for edits
                230072,  # merged messages have no threads; means something else for edits
                230111,  # the message destroys itself
            }
        ),
        Refusal.ROUTE_GONE: frozenset({99992354}),  # there never was such a message
    }
)
"""A reply knows these as well: they speak of the message that is replied to."""

MESSAGE_MISSING: Final = frozenset({230110, 99992354})

MESSAGE_RECALLED: Final = frozenset({230011})

TAKEN_BACK: Final = frozenset({230011, 230110})
"""A person's message was recalled or deleted. "No such message" (99992354) is neither: it may only not be there yet."""

READ_FORBIDDEN: Final = CONFIGURATION | frozenset(
    {
        230002,
        230019,
        230050,
        230073,  # the thread cannot be seen
        230074,  # the thread cannot be seen, or the group is encrypted
        231203,  # the chat's type has no history for bots
        231204,  # the app's type
        232006,
        232009,
        232010,
        232011,
    }
)

CHAT_GONE: Final = frozenset({230002, 232009, 232011})
NO_SUCH_ADDRESS: Final = frozenset({None, 99991201, 99991301})
"""With HTTP 404: the domain does not have this API at all."""
CHAT_MISSING: Final = frozenset({232006})

TOKEN_BUSY: Final = frozenset({1, 2200, 5000})
"""The token endpoint is not well; every other code of it speaks of the credentials."""
