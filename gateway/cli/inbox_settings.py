"""The settings as the inbox's commands need them; what is wrong with them ends the command with 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gateway.cli.config_option import config_of

if TYPE_CHECKING:
    from gateway.settings import Settings
    from gateway.settings_database import Database


def database_of(ctx: click.Context) -> Database:
    """Where the database is, without checking what a reading command does not need."""
    from gateway.settings_errors import SettingsError
    from gateway.settings_files import quick_database
    from gateway.system import environment

    try:
        return quick_database(config_of(ctx), environment()) or settings_of(ctx).database
    except SettingsError as error:
        click.echo(str(error), err=True)
        ctx.exit(2)


def settings_of(ctx: click.Context) -> Settings:
    """All settings, checked."""
    from gateway.settings import SettingsError, load
    from gateway.system import environment

    try:
        return load(config_of(ctx), environment())
    except SettingsError as error:
        click.echo(str(error), err=True)
        ctx.exit(2)
