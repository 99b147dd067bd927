"""A click group that imports a command's module only when the command is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

import click


class LazyGroup(click.Group):
    """Commands by name, each as (``module:attribute``, one line of help)."""

    commands_by_name: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which they were given."""
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, or None when there is none of that name."""
        entry = self.commands_by_name.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry[0].partition(":")
        command = getattr(import_module(module), attribute)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[1]) for name, entry in self.commands_by_name.items()])
