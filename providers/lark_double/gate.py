"""Who calls: credentials for a token, and the token on everything else.

https://open.feishu.cn/document/ukTMukTMukTM/ugjM14COyUjL4ITN
"""

from __future__ import annotations

from dataclasses import dataclass

from providers.lark_double.errors import LarkError
from providers.lark_double.model import App
from providers.lark_double.operations import Operation
from providers.lark_double.tokens import Tokens
from providers.lark_double.wire import Json, text
from providers.lark_double.world import World


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets apps in."""

    world: World
    tokens: Tokens

    def caller(self, authorization: str, operation: Operation, body: Json) -> App:
        """The app that calls. Raises ``LarkError``."""
        if operation is Operation.TOKEN:
            return self._by_credentials(body)
        scheme, _, value = authorization.partition(" ")
        if scheme.lower() != "bearer" or not value:
            raise LarkError(99991661)
        if not value.startswith(("t-", "u-")):
            raise LarkError(99991671)
        app = self.world.apps.get(self.tokens.owner(value) or "")
        if app is None:
            raise LarkError(99991663)
        if not app.enabled:
            raise LarkError(99991662)
        return app

    def _by_credentials(self, body: Json) -> App:
        app_id, secret = text(body, "app_id") or "", text(body, "app_secret") or ""
        if not app_id.startswith("cli_") or not secret:
            raise LarkError(10003)
        app = self.world.apps.get(app_id)
        if app is None:
            raise LarkError(10014)
        if app.app_secret != secret:
            raise LarkError(10015)
        return app
