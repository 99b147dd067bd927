"""What every request was, and what became of it: the judge of every test."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from providers.lark_double.wire import Json

KEPT = 200_000


@dataclass(slots=True)
class Entry:
    """One request."""

    number: int
    at: int
    """Milliseconds on the double's clock."""
    method: str
    path: str
    operation: str
    app_id: str | None = None
    chat_id: str | None = None
    uuid: str | None = None
    message_id: str | None = None
    """The message that it made or is about."""
    target_id: str | None = None
    """The message that its path names: for a reply, the one that is answered."""
    status: int | None = None
    """The HTTP status of the answer; None while there is none, 0 when the connection ended without one."""
    code: int | None = None
    committed: bool = False
    """It changed something: for a send, there is a new message."""
    repeated: bool = False
    """A send with a used uuid: answered with the first message."""
    faults: tuple[str, ...] = ()
    body: Json = field(default_factory=dict[str, object])
    query: dict[str, str] = field(default_factory=dict[str, str])
    took_ms: int | None = None

    def as_json(self) -> Json:
        """The entry as an object."""
        return {
            "number": self.number,
            "at": self.at,
            "method": self.method,
            "path": self.path,
            "operation": self.operation,
            "app_id": self.app_id,
            "chat_id": self.chat_id,
            "uuid": self.uuid,
            "message_id": self.message_id,
            "target_id": self.target_id,
            "status": self.status,
            "code": self.code,
            "committed": self.committed,
            "repeated": self.repeated,
            "faults": list(self.faults),
            "body": self.body,
            "query": dict(self.query),
            "took_ms": self.took_ms,
        }


class Journal:
    """Requests in the order of their arrival; the oldest are forgotten after ``KEPT``."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self._number = 0

    def open(self, at: int, method: str, path: str, operation: str) -> Entry:
        """Begin the entry of a request that arrived."""
        self._number += 1
        entry = Entry(self._number, at, method, path, operation)
        self.entries.append(entry)
        return entry

    def of(
        self,
        operations: frozenset[str],
        *,
        app_id: str | None = None,
        chat_id: str | None = None,
        committed: bool | None = None,
        message_id: str | None = None,
    ) -> list[Entry]:
        """The entries of these operations (all when empty) that match."""
        return [
            entry
            for entry in self.entries
            if (not operations or entry.operation in operations)
            and app_id in (None, entry.app_id)
            and chat_id in (None, entry.chat_id)
            and committed in (None, entry.committed)
            and message_id in (None, entry.message_id, entry.target_id)
        ]
