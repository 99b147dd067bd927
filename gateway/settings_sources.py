"""Where settings come from: the file, then ``LARK_APP_ID`` and its kind, then ``LARK_STEWARD__SECTION__KEY`` over both.

Lists are JSON. ``apps`` and ``steward.workspaces`` are set as a whole (JSON) or by index
(``LARK_STEWARD__APPS__0__APP_ID``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard, get_args, get_origin

from pydantic import BaseModel

from gateway.settings_errors import Loc, Problem
from gateway.settings_files import PREFIX, find_file, read_file

__all__ = ["Sources", "declared_keys", "find_file", "gather", "item_of"]

MOST_ITEMS = 100
DIGITS = 4

ONE_APP = {
    "LARK_APP_ID": "app_id",
    "LARK_APP_SECRET": "app_secret",
    "LARK_ENCRYPT_KEY": "encrypt_key",
    "LARK_VERIFICATION_TOKEN": "verification_token",
    "LARK_DOMAIN": "domain",
}


@dataclass(slots=True)
class Sources:
    """The values as one tree, and the environment variable of each that did not come from the file."""

    file: Path | None
    values: dict[str, object]
    variables: dict[Loc, str] = field(default_factory=dict[Loc, str])
    problems: list[Problem] = field(default_factory=list[Problem])

    def origin(self, loc: Loc) -> str:
        """The environment variable that set ``loc``, what is around it or something in it, else the file."""
        for length in range(len(loc), 0, -1):
            if (variable := self.variables.get(loc[:length])) is not None:
                return variable
        for inner, variable in self.variables.items():
            if inner[: len(loc)] == loc:
                return variable
        return str(self.file) if self.file else "configuration"

    def wrong(self, variable: str, reason: str) -> None:
        """Note that a variable cannot be used."""
        self.problems.append(Problem(variable, "", reason))


def gather(model: type[BaseModel], file: Path | None, environ: Mapping[str, str]) -> Sources:
    """Read all sources. Raises ``SettingsError`` when the file cannot be read at all."""
    sources = Sources(file, read_file(file) if file else {})
    _add_one_app(sources, environ)
    ours = [(name, _loc_of(name)) for name in environ if name.startswith(PREFIX)]
    for name, loc in sorted(ours, key=_depth_and_number):
        value = _value_of(model, loc, environ[name])
        if isinstance(value, Unusable):
            sources.wrong(name, value.reason)
        elif not _put(sources.values, loc, value):
            sources.wrong(name, "sets an item that does not follow the ones before it; items are numbered from 0")
        else:
            sources.variables[loc] = name
    return sources


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why the text of a variable is no value for its key."""

    reason: str


def _value_of(model: type[BaseModel], loc: Loc, text: str) -> object:
    kind = _kind_of(model, loc)
    if kind is int or kind is float:
        try:
            return int(text) if kind is int else float(text)
        except ValueError:
            return text  # refused with the rest, by its type
    if get_origin(kind) is tuple:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return Unusable('is not JSON; a list is written as JSON, such as ["one", "two"]')
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return Unusable("names a section; name a key of it too")
    return text


def declared_keys(model: type[BaseModel], loc: Loc) -> tuple[str, ...]:
    """The keys that the section at ``loc`` may have."""
    kind = _kind_of(model, loc)
    return tuple(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else ()


def item_of(model: type[BaseModel], loc: Loc) -> object:
    """What the list at ``loc`` is a list of; None where no list is declared."""
    kind = _kind_of(model, loc)
    return get_args(kind)[0] if get_origin(kind) is tuple else None


def _kind_of(model: type[BaseModel], loc: Loc) -> object:
    """The declared type at ``loc``; None where nothing is declared."""
    kind: object = model
    for step in loc:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            declared = kind.model_fields.get(str(step))
            kind = declared.annotation if declared else None
        elif get_origin(kind) is tuple and isinstance(step, int):
            kind = get_args(kind)[0]
        else:
            return None
    return kind


def _loc_of(variable: str) -> Loc:
    steps = variable.removeprefix(PREFIX).lower().split("__")
    return tuple(int(step) if step.isascii() and step.isdigit() and len(step) < DIGITS else step for step in steps)


def _depth_and_number(variable: tuple[str, Loc]) -> tuple[int, list[str], str]:
    """The whole before its items, the items by number."""
    name, loc = variable
    return len(loc), [f"{step:0{DIGITS}}" if isinstance(step, int) else step for step in loc], name


def _put(tree: dict[str, object], loc: Loc, value: object) -> bool:
    """Set ``value`` at ``loc``, making what is on the way; False where there is no such place."""
    here: object = tree
    for step, following in zip(loc, (*loc[1:], None), strict=True):
        fresh: object = value if following is None else [] if isinstance(following, int) else {}
        if _is_table(here) and isinstance(step, str):
            here[step] = fresh if following is None else here.get(step, fresh)
            here = here[step]
        elif _is_list(here) and isinstance(step, int) and step <= min(len(here), MOST_ITEMS - 1):
            here[step:] = [fresh if following is None or step == len(here) else here[step], *here[step + 1 :]]
            here = here[step]
        else:
            return False
    return True


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _add_one_app(sources: Sources, environ: Mapping[str, str]) -> None:
    given = {name: key for name, key in ONE_APP.items() if environ.get(name)}
    apps = sources.values.get("apps", [])
    if not given or not _is_list(apps):  # what is no list is refused by its type
        return
    if len(apps) > 1:
        reason = f"more than one app is configured; use {PREFIX}APPS__0__{{}} for one of them"
        for name, key in given.items():
            sources.wrong(name, reason.format(key.upper()))
        return
    for name, key in given.items():
        if _put(sources.values, ("apps", 0, key), environ[name]):
            sources.variables["apps", 0, key] = name
