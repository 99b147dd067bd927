"""What a chat is, asked of the provider once: whether it reaches into another tenant, and whether the bot is in it."""

from __future__ import annotations

from enum import Enum

from manager.ledger import chats
from manager.ledger.chats import Chat, ChatState
from manager.ports import ChatFacts, ChatReader
from returns.ids import Millis
from returns.ports import Transactions


class Reach(Enum):
    """Who reads what is said in a chat."""

    OWN = "own"
    """Only people of the app's own tenant, or one person in private."""
    EXTERNAL = "external"
    """People of another tenant too."""
    UNKNOWN = "unknown"
    """That cannot be learnt now: nothing may be said there."""
    LEFT = "left"
    """The bot is not in the chat any more: nothing can be said there."""


async def learn_reach(transactions: Transactions, reader: ChatReader, chat: Chat) -> Reach:
    """Who reads a chat, asked of the provider where it is not known yet. Raises ``StorageUnavailable``."""
    if chat.external is not None or chat.private:
        return Reach.EXTERNAL if chat.external else Reach.OWN
    facts = await reader.chat(chat.app, chat.chat_id)
    if not isinstance(facts, ChatFacts):
        return Reach.UNKNOWN
    if facts.gone:  # whoever is outside is told little; what it is will be asked again if the bot comes back
        since = chat.state_at or Millis(0)  # so that any later message from there says otherwise
        await transactions.run(lambda each: chats.enter(each, chat, ChatState.LEFT, since))
        return Reach.LEFT
    await transactions.run(lambda each: chats.learn_external(each, chat.chat_ref, external=facts.external))
    return Reach.EXTERNAL if facts.external else Reach.OWN
