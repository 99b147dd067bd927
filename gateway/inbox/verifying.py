"""``verify``: stores that somebody wants another look, wakes the gateway, and waits for it if wished."""

from __future__ import annotations

import http.client
import time
from typing import cast
from urllib.parse import urlsplit

import click

from gateway.http.operator_token import OperatorTokenUnusable, read
from gateway.inbox.asking import asking
from gateway.inbox.commands import DONE, NEEDS_SOMEONE, fail, print_item, print_json, unknown_request
from gateway.inbox.items import Json
from gateway.inbox.reading import get_item
from gateway.instance_lock import url_of_holder
from gateway.settings import Settings
from gateway.system import SystemClock
from providers.storage.errors import NoDatabase
from providers.storage.sync import SyncTransactions, open_sqlite
from returns.delivery import State
from returns.ids import SubjectId
from returns.ledger.operators import look_again
from returns.ports import StorageUnavailable

POKE_TIMEOUT_S = 2.0
POLL_S = 0.1
NOBODY_READS = (
    "manager-inbox: this is stored, but no gateway runs here, so nobody reads the chat now. "
    "`lark-steward serve` does when it starts."
)
ENDS = frozenset({State.DELIVERED.value, State.EXPLICIT_UNVERIFIED.value, State.UNDELIVERABLE.value, "superseded"})


def verify_request(settings: Settings, request_id: str, wait_s: float | None, *, as_json: bool) -> int:
    """Print the request as it is then; 0 proved, 3 not (yet), 1 no such request or no database."""
    try:
        with open_sqlite(settings.database_path) as transactions:
            item = _look(transactions, settings, request_id, wait_s, quiet=as_json and not wait_s)
    except (NoDatabase, StorageUnavailable) as error:
        return fail(error.code, str(error), as_json=as_json)
    if item is None:
        return unknown_request(request_id, as_json=as_json)
    if as_json:
        print_json(item)
    else:
        print_item(item)
    return DONE if _status(item) == State.DELIVERED.value else NEEDS_SOMEONE


def _look(
    transactions: SyncTransactions, settings: Settings, request_id: str, wait_s: float | None, *, quiet: bool
) -> Json | None:
    now = SystemClock().now()
    looking = transactions.run(lambda connection: look_again(connection, SubjectId(request_id), now))
    url = url_of_holder(settings.gateway.data_dir)
    if looking and url is not None:
        _poke(settings, url)
    elif looking and not quiet:
        click.echo(NOBODY_READS, err=True)
    until = time.monotonic() + (wait_s or 0.0)
    item = _item(transactions, request_id)
    while looking and item is not None and _status(item) not in ENDS and time.monotonic() < until:
        time.sleep(POLL_S)
        item = _item(transactions, request_id)
    return item


def _item(transactions: SyncTransactions, request_id: str) -> Json | None:
    return transactions.read(lambda connection: get_item(asking(connection), request_id))


def _status(item: Json) -> str:
    return str(cast("Json", item["delivery"])["status"])


def _poke(settings: Settings, url: str) -> None:
    """Tell the gateway at ``url`` to look at once. None that answers is fine: it looks by itself."""
    gateway = settings.gateway
    try:
        token = gateway.operator_token.get_secret_value() or read(gateway.data_dir)
        if not token:
            return
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=POKE_TIMEOUT_S)
        try:
            connection.request("POST", "/api/v1/wakeup", headers={"Authorization": f"Bearer {token}"})
            connection.getresponse().read()
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, OperatorTokenUnusable):
        return
