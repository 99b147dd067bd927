"""Runs a gateway as a process: log, signals, one sentence for each thing that can be wrong at start."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from pathlib import Path

import click

from gateway import policies
from gateway.composition import open_gateway
from gateway.http.logging import set_up
from gateway.http.operator_token import OperatorTokenUnusable
from gateway.http.server import AddressUnusable, PortInUse
from gateway.instance_lock import DataFolderUnusable, GatewayAlreadyRunning
from gateway.settings import Settings
from manager.ledger.app_identities import AppRenamed, AppReplaced
from providers.hosttools.workspaces import WorkspaceConflict, WorkspaceMissing
from providers.lark.config import LarkAppInvalid
from providers.storage.errors import DatabaseTooNew, ServerTooOld, UnsupportedDatabase
from returns.ports import StorageUnavailable

DONE, FAILED = 0, 1

NOTHING_TO_READ = (
    "warning: no workspace is declared, so the steward has nothing to read and can only hand questions over. "
    "Add [[steward.workspaces]] with a path to steward.toml."
)

CANNOT_START = (
    AddressUnusable,
    AppRenamed,
    AppReplaced,
    DataFolderUnusable,
    DatabaseTooNew,
    GatewayAlreadyRunning,
    LarkAppInvalid,
    OperatorTokenUnusable,
    PortInUse,
    ServerTooOld,
    StorageUnavailable,
    UnsupportedDatabase,
)

logger = logging.getLogger(__name__)


def serve_until_stopped(settings: Settings, config: Path | None, *, as_json: bool) -> int:
    """Serve with the settings of ``config``; the exit code: 0 stopped as told, 1 could not start or go on."""
    set_up(policies.secrets_of(settings))
    if not settings.steward.workspaces:
        click.echo(NOTHING_TO_READ, err=True)
    try:
        asyncio.run(_serve(settings, config, as_json=as_json))
    except CANNOT_START as error:
        return _cannot_start(str(error))
    except (WorkspaceConflict, WorkspaceMissing) as error:
        return _cannot_start(f"{config}: {error}" if config else str(error))
    except Exception:
        logger.exception("A part of the gateway failed in a way that was not foreseen; the gateway ends.")
        return FAILED
    return DONE


def _cannot_start(reason: str) -> int:
    click.echo(f"lark-steward cannot start: {reason}", err=True)
    return FAILED


async def _serve(settings: Settings, config: Path | None, *, as_json: bool) -> None:
    stop, at_once = asyncio.Event(), asyncio.Event()

    def told() -> None:
        """The first signal asks for the end, a second one for an end at once."""
        (at_once if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told)
    async with open_gateway(settings, config) as gateway:
        _say(gateway.url, settings, as_json=as_json)
        await gateway.run(stop, at_once)


def _say(url: str, settings: Settings, *, as_json: bool) -> None:
    apps = [app.name for app in settings.apps]
    if as_json:
        click.echo(json.dumps({"url": url, "apps": apps}))
        return
    click.echo(f"lark-steward listens on {url} for {', '.join(apps)}. Events: POST {url}/lark/events")
    configured = settings.gateway.operator_token.get_secret_value()
    token = "gateway.operator_token" if configured else f"in {settings.operator_token_path}"
    click.echo(f"Inbox: {url}/inbox; the operator's token is {token}")
    for workspace in settings.steward.workspaces:
        click.echo(f"Reads: {workspace.path} ({workspace.audience})")
