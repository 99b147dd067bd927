"""``export``: what happened, one JSON object a line, of one consistent state, in bounded memory.

The first line names the format, the last one counts the rows, so that a file that ends early is seen to. Moments are
milliseconds since 1970, as they are stored.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO, cast

import click

from gateway.inbox.commands import DONE, FAILED, fail, print_json
from gateway.inbox.database_reading import reading
from gateway.inbox.export_tables import BOOLEANS, DETAIL, FORMAT, PEERS, REQUESTS, TABLES, VERSION
from gateway.inbox.exported_details import EXPORTED
from gateway.inbox.file_reading import NoInbox
from gateway.inbox.items import Json, Row, moment, number
from gateway.inbox.moments_in import FORMS, earlier
from gateway.inbox.reading import Ask
from gateway.settings_database import Database
from gateway.system import SystemClock
from returns.ids import Millis

REQUESTS_AT_ONCE: Final = 100
ROWS_AT_ONCE: Final = 1_000
USAGE: Final = 2
MODE: Final = 0o600


def export_file(database: Database, output: Path | None, since: str | None, *, as_json: bool) -> int:
    """Write the export to a file, which is there only when it is whole, or to standard output."""
    now = SystemClock().now()
    after = Millis(0) if since is None else earlier(since, now)
    if after is None:
        fail("invalid_request", f"--since is like {FORMS}", as_json=as_json, field="since")
        return USAGE
    if as_json and output is None:
        fail("invalid_request", "--json needs --output: the export itself is on standard output", as_json=False)
        return USAGE
    try:
        with reading(database) as ask:
            if output is None:
                _write(sys.stdout, lines(ask, after, now))
                return DONE
            counts = _write_file(output, lines(ask, after, now))
    except NoInbox as error:
        return fail(error.code, str(error), as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit says nothing
        return FAILED
    except OSError as error:
        return fail("unwritable", f"{output} cannot be written: {error.strerror}", as_json=as_json)
    if as_json:
        print_json({"file": str(output), "format": FORMAT, "version": VERSION, "rows": counts})
    else:
        click.echo(f"{sum(number(count) for count in counts.values())} rows in {output}")
    return DONE


def lines(ask: Ask, since: Millis, now: Millis) -> Iterator[Json]:
    """The lines of an export of the requests that were asked at ``since`` or later."""
    counts: Counter[str] = Counter()
    yield {"format": FORMAT, "version": VERSION, "exported_at": moment(now), "since": moment(since) if since else None}
    for table, row in _rows(ask, since):
        counts[table] += 1
        yield {"table": table, "row": _plain(table, row)}
    yield {"end": True, "rows": dict(counts)}


def _rows(ask: Ask, since: Millis) -> Iterator[tuple[str, Row]]:
    for row in ask(PEERS, {}):
        yield "peers", row
    after = 0
    while page := ask(REQUESTS, {"after": after, "since": since, "limit": REQUESTS_AT_ONCE}):
        for row in page:
            yield "requests", row
        after = number(page[-1]["seq"])
        of_page: dict[str, object] = {"first": page[0]["seq"], "last": after, "since": since}
        for table in TABLES:
            asked = _paged(ask, table.question, of_page) if table.paged else ask(table.question, of_page)
            for row in asked:
                yield table.name, row


def _paged(ask: Ask, question: str, of_page: dict[str, object]) -> Iterator[Row]:
    after = 0
    while rows := ask(question, {**of_page, "after": after, "limit": ROWS_AT_ONCE}):
        yield from rows
        after = number(rows[-1]["seq"])


def _plain(table: str, row: Row) -> Json:
    plain: Json = {name: bool(value) if name in BOOLEANS else value for name, value in row.items()}
    if DETAIL in plain:
        told = cast("Json", json.loads(str(plain[DETAIL])))
        plain[DETAIL] = EXPORTED[table](str(plain["fact"]), told)
    return plain


def _write_file(output: Path, of: Iterator[Json]) -> Json:
    beginning = output.with_name(f"{output.name}.part")
    descriptor = os.open(beginning, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        last = _write(file, of)
    beginning.replace(output)
    return cast("Json", last["rows"])


def _write(file: TextIO, of: Iterator[Json]) -> Json:
    last: Json = {}
    for line in of:
        file.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n")
        last = line
    file.flush()
    return last
