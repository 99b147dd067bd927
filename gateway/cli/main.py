"""``lark-steward`` and ``manager-inbox``: the root of the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import click

from gateway.cli.lazy import LazyGroup


class Commands(LazyGroup):
    """Everything that ``lark-steward`` can do."""

    commands_by_name: ClassVar[Mapping[str, tuple[str, str]]] = {
        "demo": ("gateway.cli.demo:demo", "Show what lark-steward does, here and now, with a local Lark."),
        "serve": ("gateway.cli.serve:serve", "Run the gateway."),
        "inbox": ("gateway.cli.inbox:inbox", "Read requests, assessments, work and delivery (also: manager-inbox)."),
        "peers": ("gateway.cli.peers:peers", "Keep the directory of peers."),
        "grants": ("gateway.cli.grants:grants", "Read, give and revoke authority."),
        "peer": ("gateway.cli.peer:peer", "A peer's side: next, read, assess, conclude."),
        "lark-double": ("gateway.cli.lark_double:lark_double", "Run a local Lark to develop against."),
    }


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="LARK_STEWARD_CONFIG",
    help="The configuration file; steward.toml in this folder by default.",
)
@click.version_option(package_name="lark-steward", prog_name="lark-steward")
@click.pass_context
def cli(ctx: click.Context, config: Path | None) -> None:
    """Answered once, handed over whole, delivered provably: a steward for Lark (Feishu) groups."""
    ctx.obj = {"config": config}


def main() -> None:
    """The entry point of ``lark-steward``."""
    cli.main(prog_name="lark-steward")


def inbox_main() -> None:
    """The entry point of ``manager-inbox``: the same as ``lark-steward inbox``."""
    arguments = sys.argv[1:]
    cli.main(args=[*_config_first(arguments)], prog_name="manager-inbox")


def _config_first(arguments: list[str]) -> list[str]:
    """Move ``--config FILE`` before the command, where the root reads it."""
    for index, argument in enumerate(arguments):
        if argument == "--config" and index + 1 < len(arguments):
            rest = [*arguments[:index], *arguments[index + 2 :]]
            return [argument, arguments[index + 1], "inbox", *rest]
        if argument.startswith("--config="):
            return [argument, "inbox", *arguments[:index], *arguments[index + 1 :]]
    return ["inbox", *arguments]
