"""What a chat is, asked of the provider once: whether it reaches into another tenant, and whether the bot is in it."""

from __future__ import annotations

from manager.ledger import chats
from manager.ledger.chats import Chat, ChatState
from manager.ports import ChatFacts, ChatReader
from returns.ids import Millis
from returns.ports import Transactions


async def learn_external(transactions: Transactions, reader: ChatReader, chat: Chat) -> bool | None:
    """Whether the chat is external; None while that cannot be learnt. Raises ``StorageUnavailable``."""
    if chat.external is not None or chat.private:
        return chat.external
    facts = await reader.chat(chat.app, chat.chat_id)
    if not isinstance(facts, ChatFacts):
        return None
    if facts.gone:  # whoever is outside is told little; what it is will be asked again if the bot comes back
        since = chat.state_at or Millis(0)  # so that any later message from there says otherwise
        await transactions.run(lambda each: chats.enter(each, chat, ChatState.LEFT, since))
        return None
    await transactions.run(lambda each: chats.learn_external(each, chat.chat_ref, external=facts.external))
    return facts.external
