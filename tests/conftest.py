"""What every test gets: no connection leaves loopback."""

from __future__ import annotations

import signal
import socket

import pytest

from tests.support.databases import database, postgresql_server, told_loudly

__all__ = ["database", "postgresql_server"]


class BeyondLoopback(Exception):
    """A test tried to reach something that is not on this machine."""


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket's path
    host = str(address[0])
    return host.startswith("127.") or host in {"::1", "localhost"}


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection of this process beyond loopback."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if not _is_local(address):
            raise BeyondLoopback(f"a test connects to {address!r}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def pytest_configure() -> None:
    """A shell's background job ignores SIGINT, and so would every process that a test starts and then interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A database that was not tested is never left unsaid."""
    said = told_loudly(terminalreporter.stats.get("skipped", []))
    if said:
        terminalreporter.section("A DATABASE WAS NOT TESTED", red=True, bold=True)
        terminalreporter.write_line(said, red=True)
