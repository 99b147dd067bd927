"""The configuration: one file, ``steward.toml``, and the environment over it.

An unknown key or a bad value is refused with the place it came from, the key and the reason; no secret is ever shown.
Relative paths start at the folder of the file, without a file at the working directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from pydantic import BaseModel, ValidationError

from gateway.settings_checks import problems_of
from gateway.settings_errors import Loc, Problem, SettingsError, key_of
from gateway.settings_files import anchored, find_file
from gateway.settings_model import (
    AppSettings,
    GatewaySettings,
    RetentionSettings,
    ReturnsSettings,
    Settings,
    StewardSettings,
    WorkspaceSettings,
)
from gateway.settings_sources import declared_keys, gather, item_of

__all__ = [
    "AppSettings",
    "GatewaySettings",
    "RetentionSettings",
    "ReturnsSettings",
    "Settings",
    "SettingsError",
    "StewardSettings",
    "WorkspaceSettings",
    "find_file",
    "load",
]

EXAMPLES = {"owners": "ou_…", "hosts": "steward.example.org"}


def load(config: Path | None, environ: Mapping[str, str], *, serving: bool = False) -> Settings:
    """Read ``config`` (else ``LARK_STEWARD_CONFIG``, else ``./steward.toml`` if there is one) and the environment.

    ``serving`` also demands what only a gateway needs: an app. Raises ``SettingsError`` with everything that is wrong.
    """
    file = find_file(config, environ)
    sources = gather(Settings, file, environ)
    try:
        settings = _anchored(Settings.model_validate(sources.values), file)
    except ValidationError as error:
        found = (
            Problem(
                sources.origin(detail["loc"]),
                key_of(detail["loc"]),
                _reason(detail["loc"], detail["type"], detail["msg"]),
            )
            for detail in error.errors(include_input=False, include_url=False)
        )
        raise SettingsError((*sources.problems, *found)) from None
    wrong = (Problem(sources.origin(loc), key_of(loc), why) for loc, why in problems_of(settings, serving=serving))
    problems = (*sources.problems, *wrong)
    if problems:
        raise SettingsError(problems)
    return settings


def _reason(loc: Loc, kind: str, message: str) -> str:
    if kind == "tuple_type":
        return _no_list(loc)
    if kind != "extra_forbidden":
        return message[:1].lower() + message[1:]
    near = get_close_matches(str(loc[-1]), declared_keys(Settings, loc[:-1]), n=1)
    return f"unknown key; did you mean {near[0]}?" if near else "unknown key"


def _no_list(loc: Loc) -> str:
    item = item_of(Settings, loc)
    if isinstance(item, type) and issubclass(item, BaseModel):
        return f"there may be several: write [[{key_of(loc)}]] (in JSON: [{{…}}])"
    return f'must be a list, for example ["{EXAMPLES.get(str(loc[-1]), "…")}"]'


def _anchored(settings: Settings, file: Path | None) -> Settings:
    """The same with its paths made absolute."""
    gateway = settings.gateway.model_copy(update={"data_dir": anchored(file, settings.gateway.data_dir)})
    workspaces = tuple(
        workspace.model_copy(update={"path": anchored(file, workspace.path)})
        for workspace in settings.steward.workspaces
    )
    steward = settings.steward.model_copy(update={"workspaces": workspaces})
    return settings.model_copy(update={"gateway": gateway, "steward": steward})
