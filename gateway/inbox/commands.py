"""The reading commands: each reads the database and prints, for people or as JSON, and returns the exit code."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import click

from gateway.inbox import positions, reading
from gateway.inbox.database_reading import reading as reading_database
from gateway.inbox.file_reading import NoInbox
from gateway.inbox.items import ABSENT, Json
from gateway.inbox.reading import Ask, Listing, Page
from gateway.inbox.terminal import Cell, safe, table
from gateway.settings_database import Database
from gateway.system import SystemClock

T = TypeVar("T")

DONE, FAILED, NEEDS_SOMEONE = 0, 1, 3

HEAD = ("ID", "ASKED", "RECEIVER", "ASSESSMENT", "WORK", "DELIVERY", "QUESTION")
COLOURS = {
    "delivered": "green",
    "verification_required": "yellow",
    "retry_pending": "yellow",
    "explicit_unverified": "red",
    "undeliverable": "red",
}


def list_requests(
    database: Database,
    status: str,
    limit: int,
    cursor: str | None,
    *,
    children: bool,
    needs_operator: bool = False,
    as_json: bool,
) -> int:
    """Print a page of requests."""
    listing = Listing(status, children, SystemClock().now() if needs_operator else None)
    page = _read(
        database,
        lambda ask: reading.list_requests(ask, listing, _position(listing.key, cursor), limit),
        as_json=as_json,
    )
    if page is None:
        return FAILED
    following = _cursor(listing.key, page)
    if as_json:
        print_json({"items": page.items, "next_cursor": following})
        return DONE
    print_table(HEAD, [_line(item) for item in page.items])
    _say_more(following)
    return DONE


def list_events(database: Database, state: str, limit: int, cursor: str | None, *, as_json: bool) -> int:
    """Print a page of events that were set aside."""
    key = f"events:{state}"
    page = _read(database, lambda ask: reading.list_events(ask, state, _position(key, cursor), limit), as_json=as_json)
    if page is None:
        return FAILED
    following = _cursor(key, page)
    if as_json:
        print_json({"items": page.items, "next_cursor": following})
        return DONE
    keys = ("event", "received_at", "app", "type", "request_id", "reason")
    rows = [[Cell(shown(event[key])) for key in keys] for event in page.items]
    print_table(("EVENT", "RECEIVED", "APP", "TYPE", "REQUEST", "WHY"), rows)
    _say_more(following)
    return DONE


def show_request(database: Database, request_id: str, *, as_json: bool) -> int:
    """Print one request with its timeline."""
    found = _read(database, lambda ask: [reading.show_request(ask, request_id)], as_json=as_json)
    if found is None:
        return FAILED
    item = found[0]
    if item is None:
        return unknown_request(request_id, as_json=as_json)
    if as_json:
        print_json(item)
        return DONE
    print_item(item)
    found_too = cast("list[Json]", item["candidates"])
    if found_too:
        click.echo("candidates   " + "; ".join(f"{each['number']}: {each['sent_at']}" for each in found_too))
    click.echo()
    for fact in cast("list[Json]", item["timeline"]):
        detail = cast("Json", fact["detail"])
        words = ", ".join(f"{safe(name)}: {shown(value)}" for name, value in detail.items() if value is not None)
        click.echo(f"{fact['at']}  {shown(fact['fact'])}" + (f"  ({words})" if words else ""))
    return DONE


def print_item(item: Json) -> None:
    """One request, a line for each of its sides."""
    delivery = cast("Json", item["delivery"])
    lines = (
        ("request", shown(item["request_id"])),
        ("conversation", shown(item["conversation"])),
        ("asked", shown(item["asked_at"])),
        ("question", shown(item["question"])),
        ("receiver", _receiver(item)),
        ("assignment", shown(item["assignment"])),
        ("assessment", shown(item["assessment"])),
        ("work", shown(item["work"])),
    )
    for name, value in lines:
        click.echo(f"{name:<13}{value}")
    status = shown(delivery["status"])
    more = [shown(delivery[key]) for key in ("error", "verification", "delivered_at") if delivery[key] is not None]
    click.echo(
        "delivery     " + click.style(status, fg=COLOURS.get(status)) + (f" ({', '.join(more)})" if more else "")
    )
    notice = cast("Json | None", item["notice"])
    if notice is not None:
        click.echo("notice       " + told_briefly(notice))
    if item["snoozed_until"]:
        click.echo(f"snoozed      until {shown(item['snoozed_until'])}")
    click.echo(f"next         {shown(item['next'])}")


def told_briefly(notice: Json) -> str:
    """A notice that is not proved, in red."""
    status, error = shown(notice["status"]), notice["error"]
    return click.style(status, fg=COLOURS.get(status)) + ("" if error is None else f" ({shown(error)})")


def print_json(data: object) -> None:
    """One JSON document on one line."""
    click.echo(json.dumps(data, ensure_ascii=not _is_utf8()))


def print_table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """A table, cut to the terminal's width where there is one."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in table(head, rows, columns):
        click.echo("".join(click.style(cell.text, fg=cell.colour) if cell.colour else cell.text for cell in line))
    if not rows:
        click.echo("(nothing)")


def fail(code: str, message: str, *, as_json: bool, field: str | None = None) -> int:
    """Say what went wrong, on the error output; with JSON also as JSON on the output."""
    if as_json:
        print_json({"error": {"code": code, "message": message, "field": field}})
    click.echo(f"manager-inbox: {message}", err=True)
    return FAILED


def unknown_request(request_id: str, *, as_json: bool) -> int:
    """Say that there is no such request."""
    return fail("not_found", f"there is no request {safe(request_id)[:100]}: manager-inbox lists them", as_json=as_json)


def shown(value: object) -> str:
    """A value as safe text; nothing as a dash."""
    if value is None:
        return "-"
    return safe(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _receiver(item: Json) -> str:
    return shown(item["receiver"] or "the steward")


def _line(item: Json) -> list[Cell]:
    delivery = cast("Json", item["delivery"])
    status = shown(delivery["status"])
    colour = COLOURS.get(status)
    notice = cast("Json | None", item["notice"])
    needs = "! " if item["needs_operator"] else ""
    if status == ABSENT and notice is not None:
        colour = COLOURS.get(shown(notice["status"]))
        status = f"{ABSENT}, notice {shown(notice['status'])}"
    return [
        Cell(shown(item["request_id"])),
        Cell(shown(item["asked_at"])[:16].replace("T", " ")),
        Cell(_receiver(item)),
        Cell(shown(item["assessment"])),
        Cell(shown(item["work"])),
        Cell(needs + status, colour),
        Cell(shown(item["question"])),
    ]


def _read(database: Database, work: Callable[[Ask], T], *, as_json: bool) -> T | None:
    try:
        with reading_database(database) as ask:
            return work(ask)
    except (NoInbox, positions.NoSuchPosition) as error:
        fail(error.code, str(error), as_json=as_json)
        return None


def _position(key: str, cursor: str | None) -> str | None:
    return None if cursor is None else positions.decode(key, cursor)


def _cursor(key: str, page: Page) -> str | None:
    return None if page.next_position is None else positions.encode(key, page.next_position)


def _say_more(cursor: str | None) -> None:
    if cursor is not None:
        click.echo(f"more: --cursor {cursor}")


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
