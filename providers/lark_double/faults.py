"""Faults on demand: what goes wrong with the next requests that match.

A request suffers at most one fault of each kind; several kinds may meet in one request. ``skip`` lets the first
matching ones pass, so that ``skip=1`` is the second request's fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from providers.lark_double.changes import Changes
from providers.lark_double.ids import NewId
from providers.lark_double.operations import Operation


class FaultKind(Enum):
    """What goes wrong."""

    DELAY_BEFORE = "delay_before"
    """``seconds`` (real ones) pass before anything is done."""
    HOLD_BEFORE = "hold_before"
    """The request waits, nothing done, until it is released."""
    RESET_BEFORE = "reset_before"
    """The connection is reset, nothing done."""
    ERROR = "error"
    """Refused with ``code`` (and ``http_status``)."""
    TOKEN_EXPIRED = "token_expired"
    """All tokens of the app end, and the request is refused with 99991663."""
    HTTP_500 = "http_500"
    """HTTP 500 without JSON, nothing done."""
    HTML_502 = "html_502"
    """HTTP 502 with a page of a proxy, nothing done."""
    RATE_LIMITED = "rate_limited"
    """HTTP 429 with the header ``x-ogw-ratelimit-reset`` of ``seconds``, nothing done."""
    DELAY_AFTER = "delay_after"
    """Done, then ``seconds`` (real ones) pass before the answer."""
    HOLD_AFTER = "hold_after"
    """Done, and the answer waits until it is released."""
    DROP_AFTER = "drop_after"
    """Done, and the connection closes without an answer."""
    RESET_AFTER = "reset_after"
    """Done, and the connection is reset."""
    HTTP_500_AFTER = "http_500_after"
    """Done, and answered with HTTP 500."""
    HTML_502_AFTER = "html_502_after"
    """Done, and a proxy answers 502."""
    TRUNCATED = "truncated"
    """Done, and half of the JSON comes."""
    NO_MESSAGE_ID = "no_message_id"
    """Done, and code 0 comes without a ``message_id``."""
    OTHER_CHAT = "other_chat"
    """Done, and the ``message_id`` in the answer is one of another chat."""
    RECALL_AFTER = "recall_after"
    """Done, and recalled before the answer leaves."""
    HIDE = "hide"
    """Done, but reads and lists do not show it for ``seconds`` of the double's clock; 0 is until ``reveal``."""


BEFORE = (
    FaultKind.DELAY_BEFORE,
    FaultKind.HOLD_BEFORE,
    FaultKind.RESET_BEFORE,
    FaultKind.TOKEN_EXPIRED,
    FaultKind.ERROR,
    FaultKind.RATE_LIMITED,
    FaultKind.HTTP_500,
    FaultKind.HTML_502,
)
"""In the order in which they strike."""

USES: dict[FaultKind, frozenset[str]] = {
    FaultKind.DELAY_BEFORE: frozenset({"seconds"}),
    FaultKind.DELAY_AFTER: frozenset({"seconds"}),
    FaultKind.RATE_LIMITED: frozenset({"seconds"}),
    FaultKind.HIDE: frozenset({"seconds"}),
    FaultKind.ERROR: frozenset({"code", "http_status"}),
    FaultKind.OTHER_CHAT: frozenset({"message_id"}),
}
"""What a kind is told beside where and when it strikes; those that are not here are told nothing."""

FAULTY_OPERATIONS = tuple(operation.value for operation in Operation if operation is not Operation.UNKNOWN)
"""Names of the operations that a fault can strike."""


def fault_kind(name: FaultKind | str) -> FaultKind:
    """The kind of that name. Raises ``ValueError`` with the names that there are."""
    try:
        return FaultKind(name)
    except ValueError as unknown:
        kinds = ", ".join(kind.value for kind in FaultKind)
        raise ValueError(f"there is no kind of fault {name!r}; there are: {kinds}") from unknown


def faulty(names: Iterable[str]) -> frozenset[str]:
    """These operations. Raises ``ValueError`` when one of them is none that a fault can strike."""
    operations = frozenset(names)
    for unknown in sorted(operations.difference(FAULTY_OPERATIONS)):
        raise ValueError(f"there is no operation {unknown!r}; there are: {', '.join(FAULTY_OPERATIONS)}")
    return operations


@dataclass(slots=True)
class Fault:
    """A fault that is armed."""

    fault_id: str
    kind: FaultKind
    operations: frozenset[str]
    """Names of ``operations.Operation``; empty is all."""
    app_id: str | None
    chat_id: str | None
    skip: int
    left: int | None
    """How many more requests it strikes; None is every one until it is cleared."""
    seconds: float = 0.0
    code: int = 0
    http_status: int | None = None
    message_id: str | None = None
    struck: int = 0
    held: list[asyncio.Future[bool]] = field(default_factory=list["asyncio.Future[bool]"])
    """Requests that wait here; True lets them go on, False ends them without an effect."""


class Faults:
    """The faults that are armed, oldest first."""

    def __init__(self, new_id: NewId, changes: Changes) -> None:
        self._new_id = new_id
        self._changes = changes
        self.armed: dict[str, Fault] = {}

    def arm(
        self,
        kind: FaultKind,
        *,
        operations: frozenset[str],
        app_id: str | None,
        chat_id: str | None,
        skip: int,
        times: int | None,
    ) -> Fault:
        """Arm a fault for the next ``times`` matching requests after ``skip`` of them."""
        fault = Fault(self._new_id("fault_"), kind, operations, app_id, chat_id, skip, times)
        self.armed[fault.fault_id] = fault
        return fault

    def strike(self, operation: str, app_id: str | None, chat_id: str | None) -> dict[FaultKind, Fault]:
        """The faults that this request suffers; they count it."""
        plan: dict[FaultKind, Fault] = {}
        for fault in self.armed.values():
            if fault.kind in plan or fault.left == 0 or not _matches(fault, operation, app_id, chat_id):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            if fault.left is not None:
                fault.left -= 1
            fault.struck += 1
            plan[fault.kind] = fault
        return plan

    async def hold(self, fault: Fault) -> bool:
        """Wait here until released: True to go on, False to end without an effect."""
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        fault.held.append(waiting)
        self._changes.ring()
        try:
            return await waiting
        finally:
            if waiting in fault.held:
                fault.held.remove(waiting)

    def release(self, fault_id: str | None = None, *, go_on: bool = True) -> int:
        """Let the requests go that wait at one fault (or at any); returns how many did."""
        released = 0
        for fault in self.armed.values():
            if fault_id not in (None, fault.fault_id):
                continue
            for waiting in fault.held:
                if not waiting.done():
                    waiting.set_result(go_on)
                    released += 1
            fault.held.clear()
        return released

    def clear(self, fault_id: str | None = None) -> None:
        """Disarm one fault, or all; who waits there goes on."""
        self.release(fault_id)
        for known in [fault_id] if fault_id is not None else list(self.armed):
            self.armed.pop(known, None)


def _matches(fault: Fault, operation: str, app_id: str | None, chat_id: str | None) -> bool:
    if fault.operations and operation not in fault.operations:
        return False
    if fault.app_id is not None and fault.app_id != app_id:
        return False
    return fault.chat_id is None or fault.chat_id == chat_id
