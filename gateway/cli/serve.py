"""``lark-steward serve``: the gateway, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as one JSON line.")
@click.pass_context
def serve(ctx: click.Context, as_json: bool) -> None:
    """Run the gateway in the foreground until SIGINT or SIGTERM."""
    config = cast("dict[str, Path | None]", ctx.obj)["config"]
    from gateway.cli.serving import serve_until_stopped

    raise SystemExit(serve_until_stopped(config, as_json=as_json))
