"""What ``/readyz`` looks at: the database, the pump and the turns, and each app's way to Lark."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable

from sqlalchemy import Connection

from gateway.http.health import Check, Finding, Level
from providers.lark.client import LarkClient
from providers.lark.reader import LarkReader
from returns.ids import AppName, Millis
from returns.ports import Clock, Refusal, Refused, Transactions

STALLED_MS = 45_000
"""A loop looks at the database at least every 15 s."""
LARK_KEPT_MS = 10_000

CREDENTIAL_CODES = {10014: "app_id and domain", 10015: "app_secret"}
"""No such app, and a wrong secret, from the error table of Lark's page "Get tenant access token of a custom app"."""

logger = logging.getLogger(__name__)


COMMITTED = {
    "sqlite": "UPDATE alembic_version SET version_num = version_num",
    "postgresql": "SELECT pg_current_xact_id()",
}
"""What has to be committed, since only what is written finds a full disk: a row that says the same again, or a
transaction's number, for which no gateway waits for another."""


def database_check(transactions: Transactions) -> Check:
    """A commit is possible."""

    def write(connection: Connection) -> None:
        connection.exec_driver_sql(COMMITTED[connection.dialect.name])

    async def check() -> Finding:
        await transactions.run(write)
        return Finding(Level.OK, "Commits are possible.")

    return check


def loop_check(name: str, last_pass_at: Callable[[], Millis | None], clock: Clock) -> Check:
    """A loop looked at the database lately."""

    async def check() -> Finding:
        seen = last_pass_at()
        if seen is not None and clock.now() - seen < STALLED_MS:
            return Finding(Level.OK, f"{name} looked at the database within the last {STALLED_MS // 1000} s.")
        return Finding(Level.FAILED, f"{name} did not get to the database within the last {STALLED_MS // 1000} s.")

    return check


class LarkCheck:
    """An app's way to Lark, asked for at most every 10 s."""

    def __init__(self, reader: LarkReader, app: AppName, clock: Clock) -> None:
        self._reader = reader
        self._app = app
        self._clock = clock
        self._found: tuple[Millis, Finding] | None = None

    async def __call__(self) -> Finding:
        """Whether Lark knows the app's bot right now."""
        if self._found is not None and 0 <= self._clock.now() - self._found[0] < LARK_KEPT_MS:
            return self._found[1]
        known = await self._reader.ask_own_id(self._app)
        finding = (
            Finding(Level.OK, "Lark answers for this app.")
            if known is not None
            else Finding(
                Level.FAILED,
                "Lark does not answer for this app or refuses it: check domain, app_id, app_secret, network.",
            )
        )
        self._found = (self._clock.now(), finding)
        return finding


def credentials_check(client: LarkClient, apps: Iterable[AppName]) -> Callable[[], Awaitable[None]]:
    """Asks once for each app's token; the log has one line for each app that Lark refuses or that cannot reach it."""
    named = tuple(apps)

    async def check() -> None:
        for app in named:
            token = await client.token(app)
            if not isinstance(token, Refused):
                continue
            if token.refusal is Refusal.CONFIGURATION:
                logger.warning("Lark refuses the credentials of app %s: check %s.", app, _keys(app, token.code))
            elif token.refusal is Refusal.OFFLINE:
                logger.warning("Lark cannot be reached for app %s and is tried again: check network and domain.", app)

    return check


def _keys(app: AppName, code: int | None) -> str:
    """The keys that are wrong, as far as Lark's ``code`` tells."""
    if code is None:
        return f"apps[{app}].domain"
    key = CREDENTIAL_CODES.get(code, "app_id and app_secret")
    return f"apps[{app}].{key} (code {code})"
