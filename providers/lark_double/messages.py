"""Writing, editing, recalling and reading messages, by Lark's rules of replies and threads. No I/O.

https://open.feishu.cn/document/uAjLw4CM/ukTMukTMukTM/reference/im-v1/message/intro and …/thread-introduction
"""

from __future__ import annotations

from dataclasses import dataclass

from providers.lark_double.errors import LarkError
from providers.lark_double.happenings import Recalled, RecallType, Written
from providers.lark_double.model import App, Author, Chat, ChatForm, ChatMode, Mention, Message, SenderKind
from providers.lark_double.world import World

REPLY_IN_THREAD_UNSUPPORTED = "The group to which the message belongs does not support reply in thread."


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody is about to write."""

    msg_type: str
    sent: str
    content: str
    mentions: tuple[Mention, ...]
    uuid: str | None = None
    at: int | None = None
    """When it was written, in milliseconds; None is now."""


def write(
    world: World, author: Author, chat: Chat, draft: Draft, *, parent: Message | None = None, in_thread: bool = False
) -> Message:
    """Put a message into a chat, or as a reply to ``parent``; in a thread where the chat or the parent asks for it."""
    message_id = world.new_id("om_")
    root_id, parent_id, thread_id = _place(world, message_id, chat, parent, in_thread=in_thread)
    at = world.clock.now() if draft.at is None else draft.at
    message = Message(
        message_id=message_id,
        chat_id=chat.chat_id,
        author=author,
        msg_type=draft.msg_type,
        sent=draft.sent,
        content=draft.content,
        mentions=draft.mentions,
        root_id=root_id,
        parent_id=parent_id,
        thread_id=thread_id,
        create_time=at,
        update_time=at,
        order=world.next_order(),
        uuid=draft.uuid,
    )
    world.keep(message)
    world.happen(Written(message))
    return message


def _place(
    world: World, message_id: str, chat: Chat, parent: Message | None, *, in_thread: bool
) -> tuple[str | None, str | None, str | None]:
    if parent is None:
        if chat.mode is not ChatMode.TOPIC and chat.form is not ChatForm.THREAD:
            return None, None, None
        thread_id = world.new_id("omt_")
        world.thread_roots[thread_id] = message_id
        return None, None, thread_id
    if parent.thread_id is None and in_thread:
        world.begin_thread(parent)
    if parent.thread_id is not None:
        root = world.thread_roots[parent.thread_id]
        return root, root, parent.thread_id
    return parent.root_id or parent.message_id, parent.message_id, None


def sending_chat(world: World, app: App, chat_id: str) -> Chat:
    """A chat that the app may write into now. Raises ``LarkError`` with the reason why not."""
    chat = world.chats.get(chat_id)
    if chat is None:
        raise LarkError(230034)
    if chat.dissolved:
        raise LarkError(232009)
    if app.app_id not in chat.bots:
        raise LarkError(230002)
    if chat.muted:
        raise LarkError(230035)
    return chat


def target(world: World, message_id: str) -> Message:
    """A message that something is to be done with. Raises ``LarkError`` when it is not there any more."""
    message = world.messages.get(message_id)
    if message is None:
        raise LarkError(99992354)
    if message.deleted:
        raise LarkError(230110)
    if message.recalled:
        raise LarkError(230011)
    return message


def check_thread(chat: Chat, *, in_thread: bool) -> None:
    """Raise ``LarkError`` 230071 where no thread may begin."""
    if in_thread and not chat.threads_allowed:
        raise LarkError(230071, msg=REPLY_IN_THREAD_UNSUPPORTED)


def edit(world: World, message: Message, draft: Draft) -> Message:
    """Replace the content of a message; no event tells of it."""
    message.msg_type, message.sent, message.content = draft.msg_type, draft.sent, draft.content
    message.mentions = draft.mentions
    message.edits += 1
    message.updated = True
    message.update_time = max(world.clock.now(), message.create_time + 1)
    world.changes.ring()
    return message


def recall(world: World, message: Message, recall_type: RecallType = RecallType.MESSAGE_OWNER) -> None:
    """Take a message back: it stays in the history as recalled."""
    if message.recalled or message.deleted:
        return
    message.recalled = True
    message.update_time = world.clock.now()
    world.happen(Recalled(message, recall_type, world.clock.now()))


def by_app(message: Message, app: App) -> bool:
    """Whether the app itself wrote it."""
    return message.author == Author(SenderKind.APP, app.app_id)


def readable(world: World, app: App, message_id: str) -> Message:
    """A message that the app may read. Raises ``LarkError`` when it may not, or there is none (yet)."""
    message = world.messages.get(message_id)
    if message is None or message.readable_at > world.clock.now():
        raise LarkError(99992354)
    if message.deleted:
        raise LarkError(230110)
    chat = world.chats.get(message.chat_id)
    if chat is None or chat.dissolved or app.app_id not in chat.bots:
        raise LarkError(230002)
    return message
