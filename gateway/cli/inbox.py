"""``lark-steward inbox``, also ``manager-inbox``: what became of every request, with or without a gateway running."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from gateway.cli.config_option import config_option
from gateway.cli.inbox_acts import ACTING
from gateway.cli.inbox_settings import database_of
from gateway.inbox.reading import EVENT_STATES, STATUSES


class DefaultGroup(click.Group):
    """A group whose command may be left out: ``manager-inbox --json`` is ``manager-inbox list --json``."""

    default: ClassVar[str] = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command where none is named."""
        own = _leading_config(args)
        rest = args[own:]
        if not rest or (rest[0].startswith("-") and rest[0] not in ctx.help_option_names):
            args = [*args[:own], self.default, *rest]
        return super().parse_args(ctx, args)


def _leading_config(args: list[str]) -> int:
    """How many arguments at the start are the group's own ``--config``."""
    if not args:
        return 0
    if args[0] == "--config" and len(args) > 1:
        return 2
    return 1 if args[0].startswith("--config=") else 0


@click.group(cls=DefaultGroup, context_settings={"help_option_names": ["-h", "--help"]})
@config_option
def inbox() -> None:
    """Read requests with their assignment, assessment, work and delivery, and act on them.

    Without a command: the newest requests. What acts is stored with your name and carried out by the gateway. Exit
    codes: 0 done, 3 it still needs someone, 1 refused or no such request, 2 wrong usage.
    """


@inbox.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only those whose delivery is there.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@click.option("--cursor", help="Go on after a page.")
@click.option("--all", "children", is_flag=True, help="Also requests of one peer to another.")
@click.option("--needs-operator", is_flag=True, help="Only those that wait for you and are not snoozed.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@config_option
@click.pass_context
def list_command(
    ctx: click.Context,
    status: str | None,
    limit: int,
    cursor: str | None,
    children: bool,
    needs_operator: bool,
    as_json: bool,
) -> None:
    """List requests, newest first."""
    if status and needs_operator:
        raise click.UsageError("--status and --needs-operator exclude each other.")
    from gateway.inbox.commands import list_requests

    database, chosen = database_of(ctx), status or ""
    ctx.exit(
        list_requests(
            database, chosen, limit, cursor, children=children, needs_operator=needs_operator, as_json=as_json
        )
    )


@inbox.command()
@click.argument("request_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@config_option
@click.pass_context
def show(ctx: click.Context, request_id: str, as_json: bool) -> None:
    """Show one request with everything that happened to it."""
    from gateway.inbox.commands import show_request

    ctx.exit(show_request(database_of(ctx), request_id, as_json=as_json))


@inbox.command()
@click.option("--state", type=click.Choice(EVENT_STATES), default=EVENT_STATES[0], show_default=True)
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@click.option("--cursor", help="Go on after a page.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@config_option
@click.pass_context
def events(ctx: click.Context, state: str, limit: int, cursor: str | None, as_json: bool) -> None:
    """List events that were set aside, and why, newest first."""
    from gateway.inbox.commands import list_events

    ctx.exit(list_events(database_of(ctx), state, limit, cursor, as_json=as_json))


@inbox.command()
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write into this file, not to stdout.")
@click.option("--since", metavar="TIME", help="Only requests asked since then: 2d, 2026-05-01, …")
@click.option("--json", "as_json", is_flag=True, help="Say what was written as JSON; needs --output.")
@config_option
@click.pass_context
def export(ctx: click.Context, output: Path | None, since: str | None, as_json: bool) -> None:
    """Write what happened, one JSON object a line: every fact, and the tables that the facts add up to.

    No message, no provider's id and no answer is in it. Works while no gateway runs.
    """
    from gateway.inbox.exporting import export_file

    ctx.exit(export_file(database_of(ctx), output, since, as_json=as_json))


for acting_command in ACTING:
    inbox.add_command(acting_command)
