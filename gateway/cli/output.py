"""What commands print: JSON for scripts, plain lines for people, and one way to fail."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NoReturn

import click

FAILED = 1
USAGE = 2


class Failed(click.ClickException):
    """Ends a command with a sentence on standard error and exit code 1."""

    exit_code = FAILED


class Misused(click.ClickException):
    """Ends a command with a sentence on standard error and exit code 2."""

    exit_code = USAGE


def fail(message: str, exit_code: int = FAILED) -> NoReturn:
    """End the command, with ``--json`` also with the error as JSON. Raises ``Failed`` or ``Misused``."""
    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("as_json"):
        code = "invalid_request" if exit_code == USAGE else "failed"
        print_json({"error": {"code": code, "message": message, "field": None}})
    raise Misused(message) if exit_code == USAGE else Failed(message)


def print_json(value: object) -> None:
    """Print one JSON value."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def printable(text: str, *, lines: bool = False) -> str:
    """``text`` without what would steer a terminal; with ``lines``, line breaks stay."""
    return "".join(
        character if character.isprintable() or (lines and character == "\n") else "\N{REPLACEMENT CHARACTER}"
        for character in text.replace("\t", " ")
    )


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their heads, each column as wide as it needs."""
    table = [tuple(head), *(tuple(printable(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
