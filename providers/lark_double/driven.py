"""Everything that can be done with a double, wherever it listens."""

from __future__ import annotations

from abc import ABC, abstractmethod

from providers.lark_double.acting import Acting
from providers.lark_double.asking import Asking
from providers.lark_double.breaking import Breaking
from providers.lark_double.pushing import Pushing


class Driven(Acting, Pushing, Breaking, Asking, ABC):
    """What the control API drives."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the open API is: an app's ``domain``."""

    @property
    @abstractmethod
    def control_url(self) -> str:
        """Where only the control API is, also while offline."""

    @abstractmethod
    async def go_offline(self) -> None:
        """Refuse connections, and reset those that there are."""

    @abstractmethod
    async def go_online(self) -> None:
        """Listen again, at the same address."""
