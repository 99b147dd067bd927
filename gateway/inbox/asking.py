"""Questions asked on a connection of the transaction port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, text

from gateway.inbox.items import Row
from gateway.inbox.reading import Ask


def asking(connection: Connection) -> Ask:
    """A function that asks on ``connection``."""

    def ask(question: str, parameters: Mapping[str, object]) -> Sequence[Row]:
        rows = connection.execute(text(question), dict(parameters)).mappings()
        return [{str(name): row[name] for name in row} for row in rows]

    return ask
