"""Acting in a Lark as an administrator: registering apps, opening chats and ending them, moving bots."""

from __future__ import annotations

from collections.abc import Sequence

from providers.lark_double.core import AppRef, ChatRef
from providers.lark_double.happenings import BotMoved, Disbanded
from providers.lark_double.model import App, Author, Chat, ChatForm, ChatMode, EchoShape, SenderKind
from providers.lark_double.world import TENANT
from providers.lark_double.writing import Writing


class Acting(Writing):
    """What an administrator or an owner of a chat would do."""

    def app(
        self,
        app_id: str,
        app_secret: str,
        encrypt_key: str = "",
        verification_token: str = "",
        webhook_url: str | None = None,
        *,
        name: str = "Steward",
        hears_all_group_messages: bool = False,
        hears_bots: bool = False,
        hears_at_all: bool = True,
        echo: EchoShape | str = EchoShape.NONE,
        subscribed: Sequence[str] | None = None,
    ) -> App:
        """Register a self-built app with a bot. ``webhook_url`` can be set later with ``set_webhook``."""
        author = Author(SenderKind.APP, app_id)
        return self.world.add_app(
            App(
                app_id=app_id,
                app_secret=app_secret,
                name=name,
                tenant_key=TENANT,
                open_id=self.world.known_as(app_id, author),
                encrypt_key=encrypt_key,
                verification_token=verification_token,
                webhook_url=webhook_url,
                hears_all_group_messages=hears_all_group_messages,
                hears_bots=hears_bots,
                hears_at_all=hears_at_all,
                echo=EchoShape(echo),
                subscribed=None if subscribed is None else frozenset(subscribed),
            )
        )

    def set_webhook(self, app: AppRef, url: str | None) -> None:
        """Where the app's events go from now on."""
        self.app_of(app).webhook_url = url

    def open_id(self, app: AppRef, who: str) -> str:
        """The open_id under which an app knows a person (by key) or a bot (by app id)."""
        return self.world.known_as(self.app_of(app).app_id, self.author_of(who))

    def create_chat(
        self,
        name: str,
        people: Sequence[str] = (),
        bots: Sequence[AppRef] = (),
        *,
        mode: str = "group",
        form: str = "chat",
        external: bool = False,
    ) -> Chat:
        """Open a group. People that are not known yet are added; the first one owns it. No event is sent."""
        for key in people:
            self.add_person(key)
        chat = Chat(
            chat_id=self.new_id("oc_"),
            name=name,
            mode=ChatMode(mode),
            form=ChatForm(form),
            external=external,
            people=list(people),
            bots=[self.app_of(bot).app_id for bot in bots],
            owner=people[0] if people else None,
            created_at=self.clock.now(),
        )
        return self.world.add_chat(chat)

    def private_chat(self, person: str, app: AppRef) -> Chat:
        """The chat of a person with a bot, opened when there is none."""
        self.add_person(person)
        return self.world.private_chat(self.app_of(app).app_id, person)

    def add_bot(self, chat: ChatRef, app: AppRef, *, by: str | None = None) -> None:
        """A bot is added to a chat."""
        where, bot = self.chat_of(chat), self.app_of(app)
        if bot.app_id not in where.bots:
            where.bots.append(bot.app_id)
            self.world.happen(BotMoved(where, bot.app_id, by or where.owner, added=True))

    def remove_bot(self, chat: ChatRef, app: AppRef, *, by: str | None = None) -> None:
        """A bot is removed from a chat."""
        where, bot = self.chat_of(chat), self.app_of(app)
        if bot.app_id in where.bots:
            where.bots.remove(bot.app_id)
            self.world.happen(BotMoved(where, bot.app_id, by or where.owner, added=False))

    def dissolve(self, chat: ChatRef, *, by: str | None = None, keep_history: bool = False) -> None:
        """A chat ends; no event tells of it when its history is kept."""
        where = self.chat_of(chat)
        where.dissolved = True
        if keep_history:
            self.changes.ring()
        else:
            self.world.happen(Disbanded(where, by or where.owner, tuple(where.bots)))

    def forget_chat(self, chat: ChatRef) -> None:
        """A chat and its messages were never there."""
        where = self.chat_of(chat)
        self.world.forget(where.chat_id)
        self.changes.ring()
