"""The configuration as each room wants it. Pure."""

from __future__ import annotations

from gateway.settings import AppSettings, Settings
from gateway.settings_database import secrets_of_url
from gateway.webhook.handler import WebhookApp
from manager.decisions.decision import Audience
from manager.decisions.policy import AppPolicy, StewardPolicy
from manager.decisions.retention import DAY_MS, RetentionPolicy
from manager.ids import OpenId
from providers.hosttools.workspaces import Workspace, declare
from providers.lark.config import LarkApp
from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName


def returns_policy(settings: Settings) -> ReturnsPolicy:
    """How answers are brought back."""
    returns = settings.returns
    return ReturnsPolicy(
        readback_delay_ms=_ms(returns.readback_delay_s),
        settle_ms=_ms(returns.settle_s),
        give_up_after_ms=_ms(returns.give_up_after_s),
        app_per_second=returns.app_per_second,
        app_per_minute=returns.app_per_minute,
        chat_per_second=returns.chat_per_second,
        lease_ms=_ms(returns.lease_s),
        retry_first_ms=_ms(returns.retry_first_s),
        retry_max_ms=_ms(returns.retry_max_s),
        recalled_question=returns.recalled_question,
    )


def steward_policy(settings: Settings) -> StewardPolicy:
    """Who is listened to, and the bounds of a turn."""
    steward = settings.steward
    return StewardPolicy(
        turn_timeout_ms=_ms(steward.turn_timeout_s),
        late_after_ms=_ms(steward.late_after_s),
        lease_ms=_ms(steward.lease_s),
        max_parallel_turns=steward.max_parallel_turns,
        apps={AppName(app.name): _app_policy(app) for app in settings.apps},
        recalled_question=settings.returns.recalled_question,
    )


def lark_apps(settings: Settings) -> tuple[LarkApp, ...]:
    """What is needed to speak for each app."""
    return tuple(
        LarkApp(AppName(app.name), app.app_id, app.app_secret.get_secret_value(), app.domain) for app in settings.apps
    )


def webhook_apps(settings: Settings) -> dict[str, WebhookApp]:
    """What is needed to know each app's events."""
    return {
        app.name: WebhookApp(
            AppName(app.name),
            app.app_id,
            app.encrypt_key.get_secret_value(),
            app.verification_token.get_secret_value(),
        )
        for app in settings.apps
        if app.ingress == "webhook"
    }


def retention_policy(settings: Settings) -> RetentionPolicy:
    """How long what is over is kept."""
    kept = settings.retention
    return RetentionPolicy(
        texts_ms=_days_ms(kept.texts_days),
        unproved_ms=_days_ms(kept.unproved_days),
        events_ms=_days_ms(kept.events_days),
        set_aside_ms=_days_ms(kept.set_aside_days),
    )


def workspaces(settings: Settings) -> tuple[Workspace, ...]:
    """The folders that may be read. Raises ``WorkspaceMissing`` or ``WorkspaceConflict``."""
    return declare((space.path, Audience(space.audience)) for space in settings.steward.workspaces)


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Everything that no log may show."""
    held = [settings.gateway.operator_token]
    for app in settings.apps:
        held += [app.app_secret, app.encrypt_key, app.verification_token]
    of_database = secrets_of_url(settings.gateway.database_url.get_secret_value())
    return (*(secret.get_secret_value() for secret in held if secret.get_secret_value()), *of_database)


def _days_ms(days: int) -> int | None:
    """0 keeps for ever."""
    return days * DAY_MS if days else None


def _app_policy(app: AppSettings) -> AppPolicy:
    return AppPolicy(
        app_id=app.app_id,
        owners=frozenset(OpenId(owner) for owner in app.owners),
        groups=app.groups,
        private=app.private,
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
