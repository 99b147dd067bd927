"""What a peer's commands print for people: requests and states, without what would steer a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import click

from gateway.cli.output import print_json, printable


def print_state(answer: Mapping[str, object], *, as_json: bool) -> None:
    """Print where a request stands after a write."""
    if as_json:
        print_json(answer)
        return
    attempt = f" (attempt {answer['attempt']})" if "attempt" in answer else ""
    click.echo(printable(f"{answer['request_id']} revision {answer['revision']}: {_axes(answer)}{attempt}"))


def print_request(found: Mapping[str, object], *, as_json: bool) -> None:
    """Print a request with its brief and its result."""
    if as_json:
        print_json(found)
        return
    brief = cast("Mapping[str, object]", found["brief"])
    click.echo(printable(f"{found['request_id']} revision {found['revision']} from {found['from']}"))
    click.echo(printable(f"{_axes(found)}, since {found['received_at']}"))
    if "attempt" in found:
        click.echo(printable(f"attempt {found['attempt']}"))
    click.echo(printable(f"\n{brief['purpose']}\n", lines=True))
    for message in cast("list[Mapping[str, str]]", brief["messages"]):
        click.echo(printable(f"[{message['kind']} of {message['author']}, {message['at']}]"))
        click.echo(printable(message["text"], lines=True))
    for part in ("constraints", "rejected", "evidence", "questions", "owed", "omissions"):
        for entry in cast("list[object]", brief[part]):
            click.echo(printable(f"{part}: {_entry(entry)}", lines=True))
    result = cast("Mapping[str, object] | None", found["result"])
    if result is not None:
        click.echo(printable(f"\nresult ({result['outcome']}):\n{result['text']}", lines=True))


def _axes(held: Mapping[str, object]) -> str:
    return f"assignment {held['assignment']}, assessment {held['assessment']}, work {held['work']}"


def _entry(entry: object) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    return ", ".join(f"{name} {value}" for name, value in cast("dict[str, object]", entry).items() if value)
