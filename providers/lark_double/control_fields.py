"""What the fields of a control request may be, and the reader that refuses everything else before anything is done."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias
from urllib.parse import urlsplit

from providers.lark_double.core import Core
from providers.lark_double.wire import Json, mapping, sequence
from providers.lark_double.world import Unknown

MAX_NAME = 200
MAX_URL = 2000
MAX_LISTED = 12
_NAMED = re.compile(r"@\{([^{}]+)\}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")

Among: TypeAlias = Callable[[Core], Collection[str]]


class BadRequest(Exception):
    """The request is not what the action needs."""

    code = "invalid_request"


class Form(Enum):
    """How a field is written in a query."""

    TEXT = "text"
    """As it is."""
    LITERAL = "literal"
    """As in JSON: a number, ``true`` or ``false``."""
    SEVERAL = "several"
    """Once for each item."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an action."""

    must_be: str
    """What it must be, in words."""
    fits: Callable[[Core, object], bool]
    """Whether a value is that. Raises ``Unknown`` where it names something that is not there."""
    form: Form = Form.TEXT
    required: bool = False
    nullable: bool = False


Fields: TypeAlias = Mapping[str, Field]


def check(double: Core, action: str, fields: Fields, body: Json) -> None:
    """Refuse a body that is not made of these fields.

    Raises ``BadRequest`` with the field and what is possible, ``Unknown`` for what is not there.
    """
    for name in body:
        if name not in fields:
            known = f"its fields are: {', '.join(fields)}" if fields else "it takes none"
            raise BadRequest(f"{action} has no field {name[:MAX_NAME]!r}; {known}")
    for name, field in fields.items():
        if name in body:
            _check(double, name, field, body[name])
        elif field.required:
            raise BadRequest(f"{name} is missing: it must be {field.must_be}")


def needed(field: Field) -> Field:
    """The same field, which must be given."""
    return replace(field, required=True)


def or_null(field: Field, meaning: str) -> Field:
    """The same field, which may be null: that means ``meaning``."""
    return replace(field, nullable=True, must_be=f"{field.must_be}, or null ({meaning})")


def whole(least: int, most: int) -> Field:
    """A whole number."""

    def fits(_double: Core, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Field(f"a whole number from {least} to {most}", fits, Form.LITERAL)


def real(most: int) -> Field:
    """A number that is not negative."""
    return Field(f"a number from 0 to {most}", lambda _double, value: _is_real(value, most), Form.LITERAL)


def reals(most: int, most_items: int) -> Field:
    """An array of numbers that are not negative."""

    def fits(_double: Core, value: object) -> bool:
        items = sequence(value)
        return items is not None and len(items) <= most_items and all(_is_real(item, most) for item in items)

    return Field(f"an array of at most {most_items} numbers from 0 to {most}", fits)


def one_of(names: Collection[str]) -> Field:
    """One of a few names."""

    def fits(_double: Core, value: object) -> bool:
        return isinstance(value, str) and value in names

    return Field(f"one of: {', '.join(names)}", fits)


def known(kind: str, among: Among, *, listed: bool = True) -> Field:
    """Something that is there already; ``listed`` says in the refusal what there is."""

    def fits(double: Core, value: object) -> bool:
        if not _is_name(value):
            return False
        there = among(double)
        if value in there:
            return True
        what = f"; there are: {', '.join(list(there)[:MAX_LISTED]) or 'none yet'}" if listed else ""
        raise Unknown(f"there is no {kind} {value!r}{what}")

    return Field(f"a {kind} that is there", fits)


def several(field: Field, *, least: int = 0) -> Field:
    """An array of what ``field`` is, or one alone."""

    def fits(double: Core, value: object) -> bool:
        items = [value] if isinstance(value, str) else sequence(value)
        return items is not None and len(items) >= least and all(field.fits(double, item) for item in items)

    some = "an array of them" if least == 0 else "an array with any of them"
    return Field(f"{field.must_be} (or {some})", fits, Form.SEVERAL)


def _check(double: Core, name: str, field: Field, value: object) -> None:
    if value is None and field.nullable:
        return
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as wrong:
        raise BadRequest(f"{name} has a number that is not finite, text that is not Unicode, or is too deep") from wrong
    try:
        fits = field.fits(double, value)
    except Unknown as missing:
        raise Unknown(f"{name}: {missing}") from missing
    if not fits:
        raise BadRequest(f"{name} must be {field.must_be}")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME


def _is_real(value: object, most: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def _is_url(value: object) -> bool:
    if not isinstance(value, str) or len(value) > MAX_URL or _CONTROL_CHARACTER.search(value):
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _are_headers(value: object) -> bool:
    headers = mapping(value)
    return headers is not None and all(
        _HEADER.fullmatch(name) and isinstance(held, str) and not _CONTROL_CHARACTER.search(held)
        for name, held in headers.items()
    )


def _says(double: Core, value: object) -> bool:
    """Text; whoever ``@{…}`` names in it is there."""
    return isinstance(value, str) and all(SOMEBODY.fits(double, name) for name in _NAMED.findall(value))


def _are_paragraphs(double: Core, value: object) -> bool:
    paragraphs = [sequence(paragraph) for paragraph in sequence(value) or [None]]
    return all(
        paragraph is not None and all(_is_node(double, mapping(node)) for node in paragraph) for paragraph in paragraphs
    )


def _is_node(double: Core, node: Json | None) -> bool:
    if node is None or not _is_name(node.get("tag")):
        return False
    return node["tag"] != "at" or SOMEBODY.fits(double, node.get("user_id"))


def _chats(double: Core) -> Collection[str]:
    chats = double.world.chats.values()
    return [*dict.fromkeys(chat.name for chat in chats), *double.world.chats]


def _reactions(double: Core) -> Collection[str]:
    there = double.world.messages
    return {key for key, reaction in double.world.reactions.items() if reaction.message_id in there}


NAME = Field(f"text of 1 to {MAX_NAME} characters", lambda _double, value: _is_name(value))
WORDS = Field("text", lambda _double, value: isinstance(value, str))
FLAG = Field("true or false", lambda _double, value: isinstance(value, bool), Form.LITERAL)
OBJECT = Field("an object", lambda _double, value: mapping(value) is not None)
HEADERS = Field("an object of HTTP headers, each a text", lambda _double, value: _are_headers(value))
URL = Field("an http:// or https:// URL", lambda _double, value: _is_url(value))
CHAT = known("chat", _chats)
APP = known("app", lambda double: double.world.apps)
PERSON = known("person", lambda double: double.world.people)
SOMEBODY = known("person or app", lambda double: [*double.world.people, *double.world.apps])
MESSAGE = known("message", lambda double: double.world.messages, listed=False)
REACTION = known("reaction", _reactions, listed=False)
PUSH = known("push", lambda double: double.pusher.pushes, listed=False)
FAULT = known("fault", lambda double: double.faults.armed)
SAID = Field("text; @{name} in it names a person or an app that is there", _says)
PARAGRAPHS = Field("an array of paragraphs, each an array of nodes, each an object with a tag", _are_paragraphs)
