"""What taking a few events needs to know of the ledger, read for all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from manager.decisions.inbound import MessageReceived
from manager.ledger.claims import Claims
from manager.ledger.places import Address, Place, Places
from returns.ids import AppName, MessageId, Millis
from returns.ledger import locators
from returns.ledger.deferring import Deferred

OWN_AT_ONCE = 128


class Ahead:
    """Answers from what was read, and from what the transaction has done since."""

    def __init__(
        self,
        connection: Connection,
        waiting: Deferred,
        messages: Sequence[MessageReceived],
        keys: Iterable[tuple[AppName, str]],
    ) -> None:
        self.claims = Claims(connection, list(dict.fromkeys(keys)))
        self._places = Places(connection, waiting, list(dict.fromkeys(_address(each) for each in messages)))
        self._own = _own(connection, messages)

    def place(self, message: MessageReceived, now: Millis) -> Place:
        """Where the message stands."""
        return self._places.of(_address(message), now)

    def is_own(self, message: MessageReceived) -> bool:
        """Whether the message is known to be one of ours."""
        return (message.envelope.app, message.message_id) in self._own


def _address(message: MessageReceived) -> Address:
    return message.envelope.app, message.chat_id, message.thread_id


def _own(connection: Connection, messages: Sequence[MessageReceived]) -> frozenset[tuple[AppName, MessageId]]:
    found: set[tuple[AppName, MessageId]] = set()
    for app in {message.envelope.app for message in messages}:
        asked = [message.message_id for message in messages if message.envelope.app == app]
        for start in range(0, len(asked), OWN_AT_ONCE):
            owned = locators.owned(connection, app, asked[start : start + OWN_AT_ONCE])
            found.update((app, message) for message in owned)
    return frozenset(found)
