"""The name that everything of an app is stored under, by the app's id at the provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sqlalchemy import Connection, select

from manager.ledger.inserting import insert_new
from manager.ledger.tables import app_identities
from returns.ids import AppName


class AppRenamed(Exception):
    """An app is configured under another name than the one that its questions and answers are stored under."""

    code = "app_renamed"

    def __init__(self, old: AppName, new: AppName) -> None:
        super().__init__(
            f"the app that apps.name = {new!r} configures was called {old!r} so far, and all that it was asked "
            f"and told is stored under that name. Call it {old!r} again, or use another database."
        )


def register(connection: Connection, apps: Mapping[AppName, str]) -> None:
    """Note the name that each app id is stored under. Raises ``AppRenamed`` where it is known under another one.

    A name may come to stand for another app: what is stored under it is then the former one's, too.
    """
    rows = connection.execute(select(app_identities.c.app, app_identities.c.app_id)).all()
    known = {cast("str", row.app_id): AppName(cast("str", row.app)) for row in rows}
    for name, app_id in apps.items():
        if known.get(app_id, name) != name:
            raise AppRenamed(known[app_id], name)
    insert_new(connection, app_identities, [{"app_id": app_id, "app": name} for name, app_id in apps.items()])
