"""``--config``: the configuration file, given before a command or after it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click


def _keep(ctx: click.Context, _parameter: click.Parameter, value: Path | None) -> Path | None:
    """For this command and those under it; without one, what was given before stays."""
    given = cast("dict[str, object]", ctx.obj or {})
    ctx.obj = {**given, "config": value or given.get("config")}
    return value


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    expose_value=False,
    is_eager=True,
    callback=_keep,
    help="The configuration file; LARK_STEWARD_CONFIG, else steward.toml in this folder, by default.",
)


def config_of(ctx: click.Context) -> Path | None:
    """The file that was given; None leaves it to the environment and the working directory."""
    return cast("dict[str, Path | None]", ctx.obj or {}).get("config")
