"""An operator's act as it comes over HTTP: JSON bodies, forms, and the names of who acts. Checked here, bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from gateway.http.errors import ApiError
from gateway.inbox.moments_in import FORMS, later
from manager.decisions.operators import Act, Cancel, Found, Kind, Note, Resend, Reveal, Snooze, Verify
from returns.ids import Millis

WHO: Final = "X-Operator-Name"
"""The header that says who acts; whoever shares the operator's token says so themselves."""

FIELDS: Final[Mapping[Kind, str]] = {
    Kind.FOUND: "ref",
    Kind.RESEND: "reason",
    Kind.CANCEL: "reason",
    Kind.NOTE: "text",
    Kind.SNOOZE: "until",
}
"""What each kind needs to be told."""


def act_of(kind: Kind, given: Mapping[str, object], now: Millis) -> Act:
    """The act. Raises ``ApiError`` 400 ``invalid_request`` with the field that is missing, wrong or not known."""
    field = FIELDS.get(kind)
    for name in given:
        if name != field:
            raise ApiError(400, "invalid_request", f"{kind.value} takes no field of that name.", name[:60])
    value = "" if field is None else _text(given, field)
    match kind:
        case Kind.VERIFY:
            return Verify()
        case Kind.FOUND:
            return Found(value)
        case Kind.RESEND:
            return Resend(value)
        case Kind.CANCEL:
            return Cancel(value)
        case Kind.NOTE:
            return Note(value)
        case Kind.SNOOZE:
            return Snooze(_until(value, now))
        case Kind.REVEAL:
            return Reveal()


def kind_named(name: str) -> Kind | None:
    """The kind of this name."""
    return next((kind for kind in Kind if kind.value == name), None)


def who_of(request: web.Request, otherwise: str) -> str:
    """Who acts, as the request says. Raises ``ApiError`` 400 for more than one name, or one that is no text."""
    names = request.headers.getall(WHO, [])
    if not names:
        return otherwise
    if len(names) > 1 or not names[0].isprintable():  # what is not UTF-8 comes as half surrogates
        raise ApiError(400, "invalid_request", f"{WHO} is one header, of printable UTF-8.", WHO)
    return names[0]


def _text(given: Mapping[str, object], field: str) -> str:
    value = given.get(field)
    if isinstance(value, int) and not isinstance(value, bool) and field == "ref":
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise ApiError(400, "invalid_request", f"{field} is needed, as text.", field)
    return value


def _until(value: str, now: Millis) -> Millis:
    moment = later(value, now)
    if moment is None:
        raise ApiError(400, "invalid_request", f"until is like {FORMS}.", "until")
    return moment
