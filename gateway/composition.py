"""The one place where the parts are put together: ``async with open_gateway(…) as gateway: await gateway.run(stop)``.

Opening goes from the bottom up (folder, lock, database, Lark, services, doors) and undoes itself where a step fails, so
that there is a whole gateway or none.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from aiohttp import web

from gateway import policies, readiness
from gateway.api.peer import PeerApi
from gateway.databases import open_database
from gateway.housekeeping import housekeeping
from gateway.http.auth import Operator
from gateway.http.cursors import Cursors
from gateway.http.health import Health, clock_check
from gateway.http.keys import derive
from gateway.http.metrics import Metrics, metrics_middleware, metrics_routes
from gateway.http.operator_token import load_or_make
from gateway.http.server import HttpServer
from gateway.inbox.acting_api import ActingApi
from gateway.inbox.acting_pages import ActingPages
from gateway.inbox.api import InboxApi
from gateway.inbox.pages import InboxPages
from gateway.instance_lock import hold_with
from gateway.settings import Settings
from gateway.settings_database import PostgresServer, SqliteFile
from gateway.shared_clock import SharedClock
from gateway.system import Ids, SystemClock, new_id
from gateway.webhook.handler import Webhook
from manager.ledger import app_identities
from manager.ports import Runtime
from manager.service.authority import StewardAuthority
from manager.service.held import HeldEvents
from manager.service.operators import Operators
from manager.service.operators_worker import OperatorsWorker
from manager.service.receipts import ReceiptsWorker
from manager.service.receiving import Receiving
from manager.service.retention import Retention
from manager.service.telling import Telling
from manager.service.turns import Turns
from providers.hosttools.tools import LocalHostTools
from providers.lark.client import LarkClient
from providers.lark.delivery import LarkDelivery
from providers.lark.reader import LarkReader
from providers.lark.receipts import LarkReceipts
from providers.runtimes.rules import RulesRuntime
from returns.ids import AppName
from returns.ports import Clock, Transactions
from returns.service.pump import Pump
from returns.service.shared_pacing import SharedPacing
from returns.service.speaking import Speaking, nowhere

logger = logging.getLogger(__name__)

A_LITTLE_S: Final = 2.0
"""So much longer than its answer may take a send that is under way has to end, for what is stored of it."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway whose doors are open and whose loops wait to be run."""

    url: str
    pump: Pump
    loops: Sequence[Callable[[], Awaitable[None]]]
    """All but the pump's."""
    sends_end_within_s: float

    async def run(self, stop: asyncio.Event, at_once: asyncio.Event | None = None) -> None:
        """Run everything until ``stop`` is set, and then until the sends that are under way have ended.

        ``at_once`` does not wait for those. Raises an ``ExceptionGroup`` if a loop fails.
        """
        async with asyncio.TaskGroup() as group:
            pump = group.create_task(self.pump.run())
            tasks = [group.create_task(_forever(loop)) for loop in self.loops]
            await stop.wait()
            for task in tasks:
                task.cancel()
            await self._end_pump(at_once or asyncio.Event())
            pump.cancel()

    async def _end_pump(self, at_once: asyncio.Event) -> None:
        """Let the sends that are under way end; whoever is impatient does not."""
        if self.pump.sends_under_way:
            logger.info("The gateway ends once its sends have ended, in %g s at most.", self.sends_end_within_s)
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(self.pump.end(self.sends_end_within_s))
            impatience = group.create_task(at_once.wait())
            await asyncio.wait([ending, impatience], return_when=asyncio.FIRST_COMPLETED)
            ending.cancel()
            impatience.cancel()
        if self.pump.sends_under_way:
            logger.warning("%d sends are cut off; what became of them is looked for.", self.pump.sends_under_way)


@dataclass(frozen=True, slots=True)
class Services:
    """What works on the database."""

    reader: LarkReader
    receiving: Receiving
    turns: Turns
    receipts: ReceiptsWorker
    held: HeldEvents
    pump: Pump
    telling: Telling
    operators: Operators
    operators_worker: OperatorsWorker
    speaking: Speaking | None
    """Where several gateways share the work."""


@asynccontextmanager
async def open_gateway(
    settings: Settings, config: Path | None, *, runtime: Runtime | None = None
) -> AsyncGenerator[Gateway]:
    """Open a gateway; ``runtime`` replaces the configured one.

    Raises, each with a sentence that says what to do: ``GatewayAlreadyRunning``, ``DataFolderUnusable``,
    ``DatabaseTooNew``, ``StorageUnavailable``, ``AppRenamed``, ``AppReplaced``, ``WorkspaceMissing``,
    ``WorkspaceConflict``, ``OperatorTokenUnusable``, ``PortInUse``, ``AddressUnusable``.
    """
    shared = SharedClock(SystemClock()) if isinstance(settings.database, PostgresServer) else None
    clock: Clock = shared or SystemClock()
    ids = Ids()
    owner = ids.new("gateway")
    hosttools = LocalHostTools(policies.workspaces(settings), hidden=_hidden(settings, config))
    async with AsyncExitStack() as stack:
        file = settings.database.path if isinstance(settings.database, SqliteFile) else None
        held = stack.enter_context(hold_with(settings.gateway.data_dir, file, clock.now()))
        transactions = await stack.enter_async_context(open_database(settings.database, owner, clock))
        if shared is not None:
            await shared.measure(transactions)
        apps = {AppName(app.name): app.app_id for app in settings.apps}
        await transactions.run(lambda c: app_identities.register(c, apps))
        client = await stack.enter_async_context(
            LarkClient(policies.lark_apps(settings), clock, settings.returns.http_timeout_s)
        )
        services = _services(settings, transactions, clock, ids, owner, client, hosttools, runtime or RulesRuntime())
        metrics = Metrics()
        server = await stack.enter_async_context(_server(settings, transactions, clock, services, metrics))
        held.sign(server.url)
        retention = Retention(transactions, clock, policies.retention_policy(settings))
        await stack.enter_async_context(housekeeping(retention, metrics, clock))
        yield Gateway(
            server.url,
            services.pump,
            (
                services.turns.run,
                services.receipts.run,
                services.held.run,
                services.operators_worker.run,
                readiness.credentials_check(client, (AppName(app.name) for app in settings.apps)),
                *(() if services.speaking is None else (services.speaking.run,)),
                *(() if shared is None else (partial(shared.run, transactions),)),
            ),
            settings.returns.http_timeout_s + A_LITTLE_S,
        )


def _services(
    settings: Settings,
    transactions: Transactions,
    clock: Clock,
    ids: Ids,
    owner: str,
    client: LarkClient,
    hosttools: LocalHostTools,
    runtime: Runtime,
) -> Services:
    reader = LarkReader(client)
    shared = isinstance(settings.database, PostgresServer)
    returns = policies.returns_policy(settings)
    pacing = SharedPacing(transactions, returns, clock, owner) if shared else None
    delivery = LarkDelivery(client)
    telling = Telling(delivery.measure, delivery.limit_bytes, ids.new)
    steward = policies.steward_policy(settings)
    authority = StewardAuthority(settings.returns.recalled_question, clock, ids.new)
    operators = Operators(authority, ids.new, returns.give_up_after_ms)
    receiving = Receiving(transactions, clock, ids.new, steward, reader.own_id)
    apps = [AppName(app.name) for app in settings.apps]
    speaking = Speaking(transactions, delivery, clock, owner, apps, returns.lease_ms) if shared else None
    elsewhere = nowhere if speaking is None else speaking.elsewhere
    return Services(
        reader=reader,
        receiving=receiving,
        turns=Turns(transactions, clock, steward, runtime, hosttools, reader, telling, owner, ids.new, elsewhere),
        receipts=ReceiptsWorker(
            transactions, clock, LarkReceipts(client), reader, owner if shared else None, elsewhere
        ),
        held=HeldEvents(transactions, receiving),
        pump=Pump(transactions, delivery, authority, clock, returns, owner, pacing=pacing, speaking=speaking),
        telling=telling,
        operators=operators,
        operators_worker=OperatorsWorker(transactions, clock, operators),
        speaking=speaking,
    )


def _server(
    settings: Settings, transactions: Transactions, clock: Clock, services: Services, metrics: Metrics
) -> HttpServer:
    token = settings.gateway.operator_token.get_secret_value() or load_or_make(
        settings.gateway.data_dir, lambda: secrets.token_urlsafe(32)
    )
    operator = Operator(token, [settings.gateway.host, *settings.gateway.hosts], clock)
    cursors = Cursors(derive(token, "cursors"))
    pages = InboxPages(transactions, operator, cursors, clock)
    webhook = Webhook(policies.webhook_apps(settings), services.receiving.accept, clock, metrics)
    checks = {
        "database": readiness.database_check(transactions),
        "pump": readiness.loop_check("The pump", lambda: services.pump.last_pass_at, clock),
        "turns": readiness.loop_check("The steward", lambda: services.turns.last_pass_at, clock),
        "clock": clock_check(lambda: webhook.out_of_time_at, clock, services.reader.skew_ms),
        **{f"lark.{app.name}": readiness.LarkCheck(services.reader, AppName(app.name), clock) for app in settings.apps},
    }
    routes: list[web.RouteDef] = [
        *webhook.routes(),
        *Health(checks, clock).routes(),
        *metrics_routes(metrics, operator),
        *PeerApi(transactions, clock, new_id, services.telling, cursors).routes(),
        *InboxApi(transactions, operator, cursors, clock).routes(),
        *ActingApi(transactions, operator, clock, services.operators).routes(),
        *pages.routes(),
        *ActingPages(transactions, operator, clock, services.operators, pages).routes(),
    ]
    return HttpServer(routes, settings.gateway.host, settings.gateway.port, [metrics_middleware(metrics)])


def _hidden(settings: Settings, config: Path | None) -> list[Path]:
    hidden = [settings.gateway.data_dir]
    return hidden if config is None else [*hidden, config]


async def _forever(loop: Callable[[], Awaitable[None]]) -> None:
    await loop()
