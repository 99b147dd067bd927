"""What has to be known of an app to speak for it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from returns.ids import AppName


class LarkAppInvalid(ValueError):
    """An app's settings cannot be used; the message names the key and never the secret."""

    code = "invalid_app"


@dataclass(frozen=True, slots=True)
class LarkApp:
    """One self-built app. ``domain`` is scheme and host only (``https://open.feishu.cn``)."""

    name: AppName
    app_id: str
    app_secret: str = field(repr=False)
    domain: str = "https://open.feishu.cn"

    def __post_init__(self) -> None:
        """Raise ``LarkAppInvalid`` for settings that no request could be made with."""
        if not self.app_id or not self.app_secret:
            raise LarkAppInvalid(f"app {self.name}: app_id and app_secret must be set")
        parts = urlsplit(self.domain)
        bare = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not bare:
            raise LarkAppInvalid(f"app {self.name}: domain must be like https://open.feishu.cn, without a path")

    @property
    def base_url(self) -> str:
        """The domain without a slash at its end."""
        return self.domain.rstrip("/")

    @property
    def is_local(self) -> bool:
        """Whether the domain is this machine itself: no proxy stands between."""
        host = urlsplit(self.domain).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False
