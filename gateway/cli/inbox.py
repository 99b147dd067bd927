"""``lark-steward inbox``, also ``manager-inbox``: what became of every request, with or without a gateway running."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click

from gateway.cli.config_option import config_of, config_option
from gateway.inbox.reading import EVENT_STATES, STATUSES

if TYPE_CHECKING:
    from gateway.settings import Settings

WAIT_S = 60.0


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


class WaitCommand(click.Command):
    """A command whose ``--wait`` may stand without a number, also before an argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a bare ``--wait`` its default."""
        return super().parse_args(ctx, [f"--wait={WAIT_S:g}" if arg == "--wait" else arg for arg in args])


@click.group(cls=DefaultGroup, context_settings={"help_option_names": ["-h", "--help"]})
@config_option
def inbox() -> None:
    """Read requests with their assignment, assessment, work and delivery; look again at a delivery.

    Without a command: the newest requests.
    """


@inbox.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only those whose delivery is there.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@click.option("--cursor", help="Go on after a page.")
@click.option("--all", "children", is_flag=True, help="Also requests of one peer to another.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@config_option
@click.pass_context
def list_command(
    ctx: click.Context, status: str | None, limit: int, cursor: str | None, children: bool, as_json: bool
) -> None:
    """List requests, newest first."""
    from gateway.inbox.commands import list_requests

    ctx.exit(list_requests(_database(ctx), status or "", limit, cursor, children=children, as_json=as_json))


@inbox.command()
@click.argument("request_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@config_option
@click.pass_context
def show(ctx: click.Context, request_id: str, as_json: bool) -> None:
    """Show one request with everything that happened to it."""
    from gateway.inbox.commands import show_request

    ctx.exit(show_request(_database(ctx), request_id, as_json=as_json))


@inbox.command(cls=WaitCommand)
@click.argument("request_id", metavar="ID")
@click.option("--wait", type=click.FloatRange(0, 3600), metavar="[=SECONDS]", help="Wait for the gateway to look.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@config_option
@click.pass_context
def verify(ctx: click.Context, request_id: str, wait: float | None, as_json: bool) -> None:
    """Have the gateway look again at a delivery that is not proved. It reads; nothing is sent.

    Exit code 0: the delivery is proved; 3: it still needs someone; 1: there is no such request.
    """
    from gateway.inbox.verifying import verify_request

    ctx.exit(verify_request(_settings(ctx), request_id, wait, as_json=as_json))


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

    ctx.exit(list_events(_database(ctx), state, limit, cursor, as_json=as_json))


def _database(ctx: click.Context) -> Path:
    """Where the database is, without checking what a reading command does not need."""
    from gateway.settings_errors import SettingsError
    from gateway.settings_files import quick_database_path
    from gateway.system import environment

    try:
        return quick_database_path(config_of(ctx), environment()) or _settings(ctx).database_path
    except SettingsError as error:
        click.echo(str(error), err=True)
        ctx.exit(2)


def _settings(ctx: click.Context) -> Settings:
    from gateway.settings import SettingsError, load
    from gateway.system import environment

    try:
        return load(config_of(ctx), environment())
    except SettingsError as error:
        click.echo(str(error), err=True)
        ctx.exit(2)
