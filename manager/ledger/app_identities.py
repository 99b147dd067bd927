"""The name that all of an app is stored under, by the app's id at the provider: one to one, once it has spoken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sqlalchemy import Connection, delete, select

from manager.ledger.inserting import insert_new
from manager.ledger.tables import app_identities
from returns.ids import AppName
from returns.ledger.attempts import has_attempted


class AppRenamed(Exception):
    """An app is configured under another name than the one that its questions and answers are stored under."""

    code = "app_renamed"

    def __init__(self, old: AppName, new: AppName) -> None:
        super().__init__(
            f"the app that apps.name = {new!r} configures was called {old!r} so far, and all that it was asked "
            f"and told is stored under that name. Call it {old!r} again, or use another database."
        )


class AppReplaced(Exception):
    """A name stands for another app than the one that has sent messages under it."""

    code = "app_replaced"

    def __init__(self, name: AppName) -> None:
        super().__init__(
            f"apps.name = {name!r} stood for another app_id so far, whose messages the new one cannot tell to be "
            f"its own. Give the new app another name, and keep the old one as long as answers of it are open."
        )


def register(connection: Connection, apps: Mapping[AppName, str]) -> None:
    """Note the name that each app id is stored under. Raises ``AppRenamed`` or ``AppReplaced``: nothing is noted.

    A name whose app never sent anything may come to stand for another one: its id may have been mistyped.
    """
    rows = connection.execute(select(app_identities.c.app, app_identities.c.app_id)).all()
    known = {cast("str", row.app_id): AppName(cast("str", row.app)) for row in rows}
    former = {name: app_id for app_id, name in known.items()}
    for name, app_id in apps.items():
        if known.get(app_id, name) != name:
            raise AppRenamed(known[app_id], name)
        if former.get(name, app_id) != app_id and has_attempted(connection, name):
            raise AppReplaced(name)
    for name, app_id in apps.items():
        if former.get(name, app_id) != app_id:
            connection.execute(delete(app_identities).where(app_identities.c.app == name))
    insert_new(connection, app_identities, [{"app_id": app_id, "app": name} for name, app_id in apps.items()])
