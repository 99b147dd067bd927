"""The one place where the parts are put together: ``async with open_gateway(…) as gateway: await gateway.run(stop)``.

Opening goes from the bottom up (folder, lock, database, Lark, services, doors) and undoes itself where a step fails, so
that there is a whole gateway or none.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from sqlalchemy import Connection

from gateway import policies, readiness
from gateway.api.peer import PeerApi
from gateway.housekeeping import housekeeping
from gateway.http.auth import Operator
from gateway.http.cursors import Cursors
from gateway.http.health import Health, clock_check
from gateway.http.keys import derive
from gateway.http.metrics import Metrics, metrics_middleware, metrics_routes
from gateway.http.operator_token import load_or_make
from gateway.http.server import HttpServer
from gateway.inbox.api import InboxApi
from gateway.inbox.pages import InboxPages
from gateway.instance_lock import hold
from gateway.migrations import SCRIPTS
from gateway.settings import Settings
from gateway.system import Ids, SystemClock, new_id
from gateway.webhook.handler import Webhook
from manager.ledger import turns as turns_ledger
from manager.ports import Runtime
from manager.service.authority import StewardAuthority
from manager.service.held import HeldEvents
from manager.service.receipts import ReceiptsWorker
from manager.service.receiving import Receiving
from manager.service.telling import Telling
from manager.service.turns import Turns
from providers.hosttools.tools import LocalHostTools
from providers.lark.client import LarkClient
from providers.lark.delivery import LarkDelivery
from providers.lark.reader import LarkReader
from providers.lark.receipts import LarkReceipts
from providers.runtimes.rules import RulesRuntime
from providers.storage.migrate import sqlite_url, upgrade
from providers.storage.sqlite import SqliteTransactions
from returns.ids import AppName
from returns.ledger import leases
from returns.ports import Clock, Transactions
from returns.service.pump import Pump


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway whose doors are open and whose loops wait to be run."""

    url: str
    loops: Sequence[Callable[[], Awaitable[None]]]

    async def run(self, stop: asyncio.Event) -> None:
        """Run everything until ``stop`` is set. Raises an ``ExceptionGroup`` if a loop fails."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_forever(loop)) for loop in self.loops]
            await stop.wait()
            for task in tasks:
                task.cancel()


@dataclass(frozen=True, slots=True)
class Services:
    """What works on the database."""

    receiving: Receiving
    turns: Turns
    receipts: ReceiptsWorker
    held: HeldEvents
    pump: Pump
    telling: Telling


@asynccontextmanager
async def open_gateway(
    settings: Settings, config: Path | None, *, runtime: Runtime | None = None
) -> AsyncGenerator[Gateway]:
    """Open a gateway; ``runtime`` replaces the configured one.

    Raises, each with a sentence that says what to do: ``GatewayAlreadyRunning``, ``DataFolderUnusable``,
    ``DatabaseTooNew``, ``StorageUnavailable``, ``WorkspaceMissing``, ``WorkspaceConflict``, ``OperatorTokenUnusable``,
    ``PortInUse``, ``AddressUnusable``.
    """
    clock = SystemClock()
    hosttools = LocalHostTools(policies.workspaces(settings), hidden=_hidden(settings, config))
    async with AsyncExitStack() as stack:
        held = stack.enter_context(hold(settings.gateway.data_dir, clock.now()))
        transactions = await _open_database(stack, settings, clock)
        client = await stack.enter_async_context(
            LarkClient(policies.lark_apps(settings), clock, settings.returns.http_timeout_s)
        )
        reader = LarkReader(client)
        services = _services(settings, transactions, clock, client, reader, hosttools, runtime or RulesRuntime())
        server = await stack.enter_async_context(_server(settings, transactions, clock, reader, services))
        held.sign(server.url)
        await stack.enter_async_context(housekeeping(transactions, clock))
        yield Gateway(
            server.url,
            (
                services.pump.run,
                services.turns.run,
                services.receipts.run,
                services.held.run,
                readiness.credentials_check(client, (AppName(app.name) for app in settings.apps)),
            ),
        )


async def _open_database(stack: AsyncExitStack, settings: Settings, clock: Clock) -> SqliteTransactions:
    await asyncio.to_thread(upgrade, sqlite_url(settings.database_path), SCRIPTS)
    transactions = await stack.enter_async_context(SqliteTransactions(settings.database_path))

    def take_over(connection: Connection) -> None:
        """This is the only gateway of its file: whoever held a lease is gone."""
        leases.release_all(connection, clock.now())
        turns_ledger.release_all(connection, clock.now())

    await transactions.run(take_over)
    return transactions


def _services(
    settings: Settings,
    transactions: Transactions,
    clock: Clock,
    client: LarkClient,
    reader: LarkReader,
    hosttools: LocalHostTools,
    runtime: Runtime,
) -> Services:
    ids = Ids()
    owner = ids.new("gateway")
    delivery = LarkDelivery(client)
    telling = Telling(delivery.measure, delivery.limit_bytes, ids.new)
    steward = policies.steward_policy(settings)
    authority = StewardAuthority(settings.returns.recalled_question, clock)
    receiving = Receiving(transactions, clock, ids.new, steward, reader.own_id)
    return Services(
        receiving=receiving,
        turns=Turns(transactions, clock, steward, runtime, hosttools, reader, telling, owner),
        receipts=ReceiptsWorker(transactions, clock, LarkReceipts(client), reader),
        held=HeldEvents(transactions, receiving),
        pump=Pump(transactions, delivery, authority, clock, policies.returns_policy(settings), owner),
        telling=telling,
    )


def _server(
    settings: Settings, transactions: Transactions, clock: Clock, reader: LarkReader, services: Services
) -> HttpServer:
    token = settings.gateway.operator_token.get_secret_value() or load_or_make(
        settings.gateway.data_dir, lambda: secrets.token_urlsafe(32)
    )
    operator = Operator(token, [settings.gateway.host, *settings.gateway.hosts], clock)
    cursors = Cursors(derive(token, "cursors"))
    metrics = Metrics()
    webhook = Webhook(policies.webhook_apps(settings), services.receiving.accept, clock, metrics)
    checks = {
        "database": readiness.database_check(transactions),
        "pump": readiness.loop_check("The pump", lambda: services.pump.last_pass_at, clock),
        "turns": readiness.loop_check("The steward", lambda: services.turns.last_pass_at, clock),
        "clock": clock_check(lambda: webhook.out_of_time_at, clock),
        **{f"lark.{app.name}": readiness.LarkCheck(reader, AppName(app.name), clock) for app in settings.apps},
    }
    routes: list[web.RouteDef] = [
        *webhook.routes(),
        *Health(checks, clock).routes(),
        *metrics_routes(metrics, operator),
        *PeerApi(transactions, clock, new_id, services.telling, cursors).routes(),
        *InboxApi(transactions, operator, cursors, clock).routes(),
        *InboxPages(transactions, operator, cursors).routes(),
    ]
    return HttpServer(routes, settings.gateway.host, settings.gateway.port, [metrics_middleware(metrics)])


def _hidden(settings: Settings, config: Path | None) -> list[Path]:
    hidden = [settings.gateway.data_dir]
    return hidden if config is None else [*hidden, config]


async def _forever(loop: Callable[[], Awaitable[None]]) -> None:
    await loop()
