"""Breaking things on demand: faults, time, tokens, visibility, permissions."""

from __future__ import annotations

from collections.abc import Iterable

from providers.lark_double.core import AppRef, ChatRef, Core, MessageRef
from providers.lark_double.faults import Fault, FaultKind, fault_kind, faulty


class Breaking(Core):
    """What can go wrong, when a test wants it to."""

    def fault(
        self,
        kind: FaultKind | str,
        operations: Iterable[str] | str = (),
        *,
        app: AppRef | None = None,
        chat: ChatRef | None = None,
        times: int | None = 1,
        skip: int = 0,
        seconds: float = 0.0,
        code: int = 0,
        http_status: int | None = None,
        message_id: str | None = None,
    ) -> Fault:
        """Arm a fault for the next ``times`` requests (None: until cleared) of these operations, after ``skip``.

        ``operations`` are names of ``operations.Operation`` (``"send"``, ``"reply"``, ``"list"`` …); none is all.
        Raises ``ValueError`` for a kind or an operation that does not exist.
        """
        fault = self.faults.arm(
            fault_kind(kind),
            operations=faulty((operations,) if isinstance(operations, str) else operations),
            app_id=None if app is None else self.app_of(app).app_id,
            chat_id=None if chat is None else self.chat_of(chat).chat_id,
            skip=skip,
            times=times,
        )
        fault.seconds, fault.code, fault.http_status, fault.message_id = seconds, code, http_status, message_id
        return fault

    def release(self, fault: Fault | str | None = None, *, go_on: bool = True) -> int:
        """Let held requests go on, or (``go_on=False``) end without an effect; returns how many there were."""
        fault_id = fault.fault_id if isinstance(fault, Fault) else fault
        return self.faults.release(fault_id, go_on=go_on)

    def clear_faults(self) -> None:
        """Disarm everything; held requests go on."""
        self.faults.clear()

    def advance(self, seconds: float) -> None:
        """Move the double's clock on."""
        self.clock.advance(seconds)
        self.changes.ring()

    def set_scale(self, scale: float) -> None:
        """Let the double's clock run ``scale`` times as fast; 0 stops it."""
        self.clock.set_scale(scale)

    def expire_tokens(self, app: AppRef) -> None:
        """None of the app's tokens is good any more."""
        self.tokens.expire(self.app_of(app).app_id)

    def forbid_history(self, *, app: AppRef | None = None, chat: ChatRef | None = None, forbidden: bool = True) -> None:
        """Lists are refused (230027) for an app, or in a chat; ``forbidden=False`` allows them again."""
        if app is not None:
            self.app_of(app).reads_history = not forbidden
        if chat is not None:
            self.chat_of(chat).history_forbidden = forbidden

    def mute(self, chat: ChatRef, *, muted: bool = True) -> None:
        """Bots may not speak in a chat (230035)."""
        self.chat_of(chat).muted = muted

    def hide(self, message: MessageRef) -> None:
        """Reads and lists do not show a message until ``reveal``."""
        self.message_of(message).readable_at = 1 << 62

    def reveal(self, message: MessageRef | None = None) -> None:
        """Reads and lists show a message again (or every one)."""
        hidden = self.world.messages.values() if message is None else [self.message_of(message)]
        for found in hidden:
            found.readable_at = 0
        self.changes.ring()

    def disable(self, app: AppRef, *, disabled: bool = True) -> None:
        """The app is not in use: every call is refused with 99991662."""
        self.app_of(app).enabled = not disabled
