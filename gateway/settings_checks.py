"""What types cannot say: keys that need each other, addresses that are safe, secrets that were never filled in."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from pydantic import SecretStr

from gateway.settings_database import database_url_problem
from gateway.settings_errors import Loc
from gateway.settings_model import (
    AppSettings,
    GatewaySettings,
    RetentionSettings,
    ReturnsSettings,
    Settings,
    StewardSettings,
)

PLACEHOLDERS = frozenset(
    {
        "changeme",
        "changethis",
        "replaceme",
        "fillmein",
        "appid",
        "appsecret",
        "encryptkey",
        "verificationtoken",
        "operatortoken",
        "placeholder",
        "example",
        "todo",
        "fixme",
        "none",
        "null",
        "undefined",
    }
)
HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:[0-9]{1,5})?")
LEAST_DAYS_OF_EVENTS = 7
LATER = "is not available yet in this version"


def problems_of(settings: Settings, *, serving: bool) -> Iterator[tuple[Loc, str]]:
    """Everything that is wrong with well-formed settings, each with its key."""
    yield from _gateway(settings.gateway)
    for index, app in enumerate(settings.apps):
        for key, reason in _app(app):
            yield ("apps", index, key), reason
    yield from _different_apps(settings.apps)
    yield from _steward(settings.steward)
    yield from _returns(settings.returns)
    yield from _retention(settings.retention)
    if serving and not settings.apps:
        yield ("apps",), "there is no app: add one as [[apps]], or set LARK_APP_ID, LARK_APP_SECRET and the others"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_placeholder(value: str) -> bool:
    """Whether a key that must not be guessed was left as an example, or is one character over and over."""
    return is_example(value) or len(set(_letters(value))) <= 1


def is_example(value: str) -> bool:
    """Whether a value was left as an example: ``…``, ``your-key``, ``<key>``, ``xxxx``, ``changeme`` …"""
    letters = _letters(value)
    return (
        letters in PLACEHOLDERS
        or (set(letters) <= {"x"} and letters != "x")
        or letters.startswith("your")
        or (value.strip().startswith("<") and value.strip().endswith(">"))
    )


def _letters(value: str) -> str:
    return "".join(c for c in value.lower() if c.isalnum())


def _gateway(gateway: GatewaySettings) -> Iterator[tuple[Loc, str]]:
    token = gateway.operator_token.get_secret_value()
    if not gateway.host or any(c.isspace() for c in gateway.host):
        yield ("gateway", "host"), "is not an address"
    elif not is_loopback(gateway.host) and not token.strip():
        yield ("gateway", "operator_token"), f"is needed, because gateway.host ({gateway.host}) is not loopback"
    elif token and not (token.isascii() and token.isprintable() and not any(c.isspace() for c in token)):
        yield ("gateway", "operator_token"), "may hold only printable ASCII characters without spaces"
    elif token and is_placeholder(token):
        yield ("gateway", "operator_token"), "is still a placeholder: choose a long random one"
    if any(not HOST.fullmatch(host) for host in gateway.hosts):
        yield ("gateway", "hosts"), "holds what is no host name: it is like steward.example.org, without https://"
    database_url = gateway.database_url.get_secret_value()
    if database_url and (reason := database_url_problem(database_url)) is not None:
        yield ("gateway", "database_url"), reason
    if gateway.data_dir.exists() and not gateway.data_dir.is_dir():
        yield ("gateway", "data_dir"), f"{gateway.data_dir} is not a folder"


def _app(app: AppSettings) -> Iterator[tuple[str, str]]:
    if not app.app_id.strip():
        yield "app_id", f"is empty: {WHERE['app_id']}"
    elif is_example(app.app_id.strip().removeprefix("cli_")):
        yield "app_id", f"is still a placeholder: {WHERE['app_id']}"
    for key, value in (("app_secret", app.app_secret), *_webhook_secrets(app)):
        if not value.get_secret_value().strip():
            yield key, f"is empty: {WHERE[key]}"
        elif is_placeholder(value.get_secret_value()) if key == "encrypt_key" else is_example(value.get_secret_value()):
            yield key, f"is still a placeholder: {WHERE[key]}"
    if (reason := _domain_problem(app.domain)) is not None:
        yield "domain", reason
    if app.ingress == "long_connection":
        yield "ingress", f'"long_connection" {LATER}: use "webhook"'
    if any(not owner.strip() for owner in app.owners):
        yield "owners", "holds an empty open_id"


WHERE = {
    "app_id": "the app's id is on its credentials page",
    "app_secret": "the app's secret is on its credentials page",
    "encrypt_key": "a webhook app needs one, from the app's events page, under Encryption Strategy",
    "verification_token": "a webhook app needs one, from the app's events page, under Encryption Strategy",
}


def _webhook_secrets(app: AppSettings) -> tuple[tuple[str, SecretStr], ...]:
    if app.ingress != "webhook":
        return ()
    return (("encrypt_key", app.encrypt_key), ("verification_token", app.verification_token))


def _domain_problem(domain: str) -> str | None:
    try:
        parts = urlsplit(domain)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in {"https", "http"} or not host:
        return "is not an address: it is like https://open.feishu.cn"
    if parts.scheme == "http" and not is_loopback(host):
        return "must be https (http only on this machine)"
    if parts.username or parts.password or parts.query or parts.fragment or parts.path not in {"", "/"}:
        return "is scheme and host only, like https://open.feishu.cn"
    return None


def _different_apps(apps: tuple[AppSettings, ...]) -> Iterator[tuple[Loc, str]]:
    for key in ("name", "app_id"):
        seen: set[str] = set()
        for index, app in enumerate(apps):
            value = app.name if key == "name" else app.app_id
            if value and value in seen:
                yield ("apps", index, key), f"{value!r} is configured twice"
            seen.add(value)


def _steward(steward: StewardSettings) -> Iterator[tuple[Loc, str]]:
    if steward.runtime != "rules":
        yield ("steward", "runtime"), f'"{steward.runtime}" {LATER}: use "rules"'


def _retention(retention: RetentionSettings) -> Iterator[tuple[Loc, str]]:
    for key, days in (("events_days", retention.events_days), ("set_aside_days", retention.set_aside_days)):
        if 0 < days < LEAST_DAYS_OF_EVENTS:
            yield ("retention", key), f"is less than {LEAST_DAYS_OF_EVENTS} days, for which an event may come again"
    if retention.unproved_days and not 0 < retention.texts_days <= retention.unproved_days:
        yield ("retention", "unproved_days"), "is less than texts_days: what waits for an operator is kept longer"


def _returns(returns: ReturnsSettings) -> Iterator[tuple[Loc, str]]:
    if returns.retry_max_s < returns.retry_first_s:
        yield ("returns", "retry_max_s"), "is less than retry_first_s"
    if returns.give_up_after_s < returns.settle_s:
        yield ("returns", "give_up_after_s"), "is less than settle_s"
