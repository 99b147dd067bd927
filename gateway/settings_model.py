"""The configuration's keys, their units, bounds and defaults. ``gateway.settings`` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from gateway.settings_database import Database, database_of
from gateway.settings_files import DATABASE_NAME, DEFAULT_DATA_DIR

Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=30 * 86_400, allow_inf_nan=False)]
SecondsFromZero: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=86_400, allow_inf_nan=False)]
Days: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=36_500)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=100_000)]
Name: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")]
EMPTY = SecretStr("")


class Section(BaseModel):
    """A part of the configuration: complete, unchangeable, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class GatewaySettings(Section):
    """Where the process listens and keeps its data."""

    host: str = "127.0.0.1"
    """Other than loopback needs ``operator_token``."""
    hosts: tuple[str, ...] = ()
    """More names by which the operator's pages are reached, such as a proxy's: ``steward.example.org``."""
    port: Annotated[int, Field(strict=True, ge=0, le=65_535)] = 8080
    """0 takes a free one."""
    data_dir: Path = Path(DEFAULT_DATA_DIR)
    database_url: SecretStr = EMPTY
    """Empty: SQLite in ``data_dir``. Else ``postgresql://…``, which several gateways may share."""
    operator_token: SecretStr = EMPTY


class AppSettings(Section):
    """One app of the open platform."""

    name: Name = "default"
    app_id: str = ""
    app_secret: SecretStr = EMPTY
    encrypt_key: SecretStr = EMPTY
    verification_token: SecretStr = EMPTY
    domain: str = "https://open.feishu.cn"
    ingress: Literal["webhook", "long_connection"] = "webhook"
    owners: tuple[str, ...] = ()
    """The open_ids that have the private profile."""
    groups: Literal["mentioned", "listed"] = "mentioned"
    private: Literal["owners", "open"] = "owners"


class WorkspaceSettings(Section):
    """A folder that the steward may read."""

    path: Path
    audience: Literal["shared", "private"] = "shared"


class StewardSettings(Section):
    """How questions are investigated."""

    runtime: Literal["rules", "model", "acp"] = "rules"
    model: str = ""
    command: tuple[str, ...] = ()
    turn_timeout_s: Seconds = 600
    late_after_s: Seconds = 900
    lease_s: Seconds = 30
    max_parallel_turns: Count = 8
    workspaces: tuple[WorkspaceSettings, ...] = ()


class ReturnsSettings(Section):
    """How answers are brought back."""

    readback_delay_s: SecondsFromZero = 0.5
    settle_s: SecondsFromZero = 30
    """Before a search that found nothing counts."""
    give_up_after_s: Seconds = 86_400
    """``verification_required`` becomes ``explicit_unverified``."""
    app_per_second: Count = 50
    app_per_minute: Count = 1000
    chat_per_second: Count = 5
    lease_s: Seconds = 30
    http_timeout_s: Seconds = 10
    retry_first_s: Seconds = 1
    retry_max_s: Seconds = 300
    recalled_question: Literal["say_nothing", "answer_in_chat"] = "say_nothing"


class RetentionSettings(Section):
    """How many days what is over is kept; 0 keeps it for ever.

    What is pending is kept anyway, and so are the facts and ids that prove deliveries and stop duplicates.
    """

    texts_days: Days = 90
    """What was asked, said and answered, since the last fact of a request that is delivered or told to nobody."""
    unproved_days: Days = 365
    """The same of a request whose answer waits for an operator; afterwards it can no longer be sent anew."""
    events_days: Days = 30
    """Events that led to something or asked for nothing. At least 7."""
    set_aside_days: Days = 90
    """Events that were parked, late or an alarm, with what they said. At least 7."""


class Settings(Section):
    """The whole configuration."""

    gateway: GatewaySettings = GatewaySettings()
    apps: Annotated[tuple[AppSettings, ...], Field(max_length=100)] = ()
    steward: StewardSettings = StewardSettings()
    returns: ReturnsSettings = ReturnsSettings()
    retention: RetentionSettings = RetentionSettings()

    @property
    def database_path(self) -> Path:
        """The SQLite file, where the data is in one."""
        return self.gateway.data_dir / DATABASE_NAME

    @property
    def database(self) -> Database:
        """Where the data is."""
        return database_of(self.gateway.database_url.get_secret_value(), self.database_path)

    @property
    def operator_token_path(self) -> Path:
        """Where the token of a data folder is, when none is configured."""
        return self.gateway.data_dir / "operator.token"
