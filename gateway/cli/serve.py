"""``lark-steward serve``: the gateway, until it is told to stop."""

from __future__ import annotations

import click

from gateway.cli.config_option import config_of, config_option

USAGE = 2


@click.command()
@config_option
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as one JSON line.")
@click.pass_context
def serve(ctx: click.Context, as_json: bool) -> None:
    """Run the gateway in the foreground until SIGINT or SIGTERM."""
    config = config_of(ctx)
    from gateway.settings import SettingsError, find_file, load
    from gateway.system import environment

    try:
        settings = load(config, environment(), serving=True)
    except SettingsError as error:
        click.echo(str(error), err=True)
        ctx.exit(USAGE)
    from gateway.cli.serving import serve_until_stopped

    ctx.exit(serve_until_stopped(settings, find_file(config, environment()), as_json=as_json))
