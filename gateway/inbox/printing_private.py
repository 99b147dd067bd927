"""Candidates, and what was revealed, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import click

from gateway.inbox.commands import print_table, shown
from gateway.inbox.items import Json
from gateway.inbox.terminal import Cell


def print_candidates(candidates: Sequence[Json]) -> None:
    """The messages that could be the answer: number, time, first words."""
    click.echo("candidates   say which one it is: manager-inbox found ID NUMBER")
    rows = [[Cell(shown(each[key])) for key in ("number", "sent_at", "text")] for each in candidates]
    print_table(("NUMBER", "SENT", "BEGINS"), rows)


def print_revealed(revealed: Mapping[str, object]) -> None:
    """What is private of a request."""
    for name in ("question", "chat_id", "thread_id", "question_message_id"):
        click.echo(f"{name:<20} {shown(revealed[name])}")
    for part in cast("Sequence[Json]", revealed["parts"]):
        click.echo(f"part {part['part']} of {shown(part['return'])}: {shown(part['status'])}")
        for name in ("message_id", "text"):
            click.echo(f"  {name:<18} {shown(part[name])}")
        for message in cast("Sequence[str]", part["disproved"]):
            click.echo(f"  another message    {shown(message)}")
        for each in cast("Sequence[Json]", part["candidates"]):
            click.echo(f"  candidate {each['number']}: {shown(each['message_id'])}, {shown(each['sent_at'])}")
