"""The acting commands: each is stored, the gateway is woken, and waited for if wished."""

from __future__ import annotations

import http.client
import sys
import time
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import click
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from gateway.http.operator_token import OperatorTokenUnusable, read
from gateway.inbox.asking import asking
from gateway.inbox.commands import DONE, FAILED, NEEDS_SOMEONE, fail, print_item, print_json, unknown_request
from gateway.inbox.items import ABSENT, Json
from gateway.inbox.outcome_words import say
from gateway.inbox.path_ids import may_be_request
from gateway.inbox.printing_private import print_candidates, print_revealed
from gateway.inbox.reading import candidates, get_item
from gateway.instance_lock import url_of_holder
from gateway.settings import Settings
from gateway.settings_database import SqliteFile
from gateway.system import SystemClock, new_id
from manager.decisions.operators import NEEDS_SOMEONE as UNSETTLED
from manager.decisions.operators import Act, Kind, OperatorRefused, Outcome, Refusal, Resend
from manager.ids import RequestId
from manager.ledger import operators
from manager.service.authority import StewardAuthority
from manager.service.operators import Operators
from manager.service.operators_taking import Carried, kind_of
from providers.storage.errors import NoDatabase
from providers.storage.sync import SyncTransactions, open_database
from returns.delivery import State
from returns.ports import StorageUnavailable

USAGE = 2
POKE_TIMEOUT_S = 2.0
POLL_S = 0.1
TOLD_AFTER_S = 1.0
NOBODY_READS = (
    "manager-inbox: this is stored, but no gateway runs here, so nobody reads the chat now. "
    "`lark-steward serve` does when it starts."
)
ENDS = frozenset({State.DELIVERED.value, State.EXPLICIT_UNVERIFIED.value, State.UNDELIVERABLE.value, "superseded"})
PROVES = (Kind.VERIFY, Kind.FOUND)
"""Commands whose end is the end of the delivery."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A command as it was given."""

    request_id: str
    act: Act
    who: str
    wait_s: float | None
    as_json: bool


OTHER_VERSION = "The database is of another version: start `lark-steward serve` once. Nothing was done."


@dataclass(frozen=True, slots=True)
class Came:
    """What came of it so far."""

    carried: Carried
    outcome: Outcome | None
    item: Json
    candidates: list[Json]


def act(settings: Settings, asked: Asked) -> int:
    """Carry a command out and print what came of it.

    0: proved, queued or done; 3: it still needs someone; 2: what was given is wrong; 1: no such request, refused, or no
    database.
    """
    try:
        with open_database(settings.database.url) as transactions:
            came = _carry_out(transactions, settings, asked)
    except (NoDatabase, StorageUnavailable) as error:
        return fail(error.code, str(error), as_json=asked.as_json)
    except OperatorRefused as refused:
        return _refuse(refused, asked)
    except DBAPIError:
        return fail(NoDatabase.code, OTHER_VERSION, as_json=asked.as_json)
    _print(came, asked)
    return _exit_code(came, asked)


def _carry_out(transactions: SyncTransactions, settings: Settings, asked: Asked) -> Came:
    if not may_be_request(asked.request_id):
        raise OperatorRefused(Refusal.NOT_FOUND, "There is no such request.")
    clock = SystemClock()
    acting = Operators(
        StewardAuthority(settings.returns.recalled_question, clock, new_id),
        new_id,
        round(settings.returns.give_up_after_s * 1000),
    )
    request_id, now = RequestId(asked.request_id), clock.now()
    carried = transactions.run(lambda c: acting.carry_out(c, request_id, asked.act, asked.who, now))
    if carried.outcome in (None, Outcome.QUEUED, Outcome.CANCELLED, Outcome.CANCEL_REQUESTED):
        _wake(settings, asked, carried)
    return _wait(transactions, asked, carried)


def _wake(settings: Settings, asked: Asked, carried: Carried) -> None:
    url = url_of_holder(settings.gateway.data_dir)
    quiet = (asked.as_json and not asked.wait_s) or carried.outcome in (Outcome.CANCELLED, Outcome.CANCEL_REQUESTED)
    if url is not None:
        _poke(settings, url)
    elif not quiet and isinstance(settings.database, SqliteFile):  # others may run elsewhere
        click.echo(NOBODY_READS, err=True)


def _wait(transactions: SyncTransactions, asked: Asked, carried: Carried) -> Came:
    began = time.monotonic()
    until = began + (asked.wait_s or 0.0)
    shows = sys.stderr.isatty() and not asked.as_json
    came = _look(transactions, asked, carried)
    told = 0
    while not _over(came, asked) and time.monotonic() < until:
        time.sleep(POLL_S)
        came = _look(transactions, asked, carried)
        waited = int(time.monotonic() - began)
        if shows and waited > told and waited >= TOLD_AFTER_S:
            told = waited
            click.echo(f"\rwaiting for the gateway, {waited} s ", err=True, nl=False)
    if told:
        click.echo(err=True)
    return came


def _look(transactions: SyncTransactions, asked: Asked, carried: Carried) -> Came:
    def work(connection: Connection) -> Came:
        command = operators.by_id(connection, carried.command_id)
        outcome = carried.outcome or (command.outcome if command else None)
        ask = asking(connection)
        item = get_item(ask, asked.request_id) or {}
        return Came(carried, outcome, item, candidates(ask, asked.request_id))

    return transactions.read(work)


def _over(came: Came, asked: Asked) -> bool:
    return came.outcome is not None or (kind_of(asked.act) in PROVES and _status(came.item) in ENDS)


def _exit_code(came: Came, asked: Asked) -> int:
    if kind_of(asked.act) in PROVES:
        return DONE if _is_proved(came) else NEEDS_SOMEONE
    if came.outcome in UNSETTLED or (came.outcome is None and isinstance(asked.act, Resend)):
        return NEEDS_SOMEONE
    return DONE


def _is_proved(came: Came) -> bool:
    """Of the answer; where there is none, of the notice that was looked for."""
    status = _status(came.item)
    return status == State.DELIVERED.value or (status == ABSENT and came.outcome is Outcome.PROVED)


def _print(came: Came, asked: Asked) -> None:
    kind, revealed = kind_of(asked.act), came.carried.revealed
    if asked.as_json:
        command = {
            "id": came.carried.command_id,
            "kind": kind.value,
            "outcome": came.outcome.value if came.outcome else None,
        }
        private = {} if revealed is None else {"revealed": dict(revealed)}
        print_json({**came.item, "candidates": came.candidates, "command": command, **private})
        return
    print_item(came.item)
    if came.candidates:
        print_candidates(came.candidates)
    if revealed is not None:
        print_revealed(revealed)
    click.echo(f"{kind.value:<13}{say(kind, came.outcome)}")


def _refuse(refused: OperatorRefused, asked: Asked) -> int:
    if refused.refusal is Refusal.NOT_FOUND:
        return unknown_request(asked.request_id, as_json=asked.as_json)
    fail(refused.code, refused.message, as_json=asked.as_json, field=refused.field)
    return USAGE if refused.refusal is Refusal.INVALID else FAILED


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
