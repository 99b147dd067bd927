"""Which app each configured name stands for. Names are what everything of an app is stored under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sqlalchemy import Connection, select, update

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
    """Note which app id each name stands for. Raises ``AppRenamed`` where an id is known under another name.

    A name may come to stand for another app: what is stored under it is then the former one's.
    """
    rows = connection.execute(select(app_identities.c.app, app_identities.c.app_id)).all()
    known = {cast("str", row.app_id): AppName(cast("str", row.app)) for row in rows}
    for name, app_id in apps.items():
        if app_id in known and known[app_id] != name:
            raise AppRenamed(known[app_id], name)
    for name, app_id in apps.items():
        if insert_new(connection, app_identities, [{"app": name, "app_id": app_id}]) == 0:
            connection.execute(update(app_identities).where(app_identities.c.app == name).values(app_id=app_id))
