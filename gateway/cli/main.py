"""``lark-steward`` and ``manager-inbox``: the root of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import click

from gateway.cli.config_option import config_option
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
@config_option
@click.version_option(package_name="lark-steward", prog_name="lark-steward")
def cli() -> None:
    """Answered once, handed over whole, delivered provably: a steward for Lark (Feishu) groups."""


def main() -> None:
    """The entry point of ``lark-steward``."""
    cli.main(prog_name="lark-steward")


def inbox_main() -> None:
    """The entry point of ``manager-inbox``: the same as ``lark-steward inbox``."""
    from gateway.cli.inbox import inbox

    inbox.main(prog_name="manager-inbox")
