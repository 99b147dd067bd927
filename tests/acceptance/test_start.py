"""``lark-steward serve`` starts whole or not at all: what is wrong is one sentence, and nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from gateway.instance_lock import hold
from gateway.migrations import SCRIPTS
from providers.storage.migrate import sqlite_url, upgrade
from returns.ids import Millis
from tests.support.disk import small_disk
from tests.support.gateway_process import GatewayProcess, GatewaySettings, free_port
from tests.support.world import make_repository

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
WITHIN_S = 60
APP = """
[[apps]]
app_id = "cli_a1b2c3d4"
app_secret = "canary-app-secret"
encrypt_key = "canary-encrypt-key"
verification_token = "canary-verification"
domain = "http://127.0.0.1:9"
"""
SECRETS = ("canary-app-secret", "canary-encrypt-key", "canary-verification", "canary-operator")


@dataclass(frozen=True)
class Refusal:
    code: int
    said: str
    port: int
    data_dir: Path

    def one_sentence(self) -> str:
        """The only line on standard error; checks that it is for people and that nothing is left."""
        (line,) = [line for line in self.said.splitlines() if not line.startswith("warning: no workspace")]
        assert not any(secret in line for secret in SECRETS)
        return line


def serve(folder: Path, text: str, environ: Mapping[str, str] | None = None, port: int | None = None) -> Refusal:
    """Run ``serve`` with this configuration, which it must refuse; a port and a data folder are added to it."""
    port = port or free_port()
    section = f'[gateway]\nport = {port}\ndata_dir = "data"\n'
    text = text.replace("[gateway]\n", section) if "[gateway]\n" in text else section + text
    config = folder / "steward.toml"
    config.write_text(text, encoding="utf-8")
    return refused(folder, ["--config", str(config)], port, environ)


def refused(folder: Path, options: list[str], port: int, environ: Mapping[str, str] | None = None) -> Refusal:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LARK_")}
    done = subprocess.run(
        [sys.executable, "-m", "gateway", *options, "serve"], check=False,
        capture_output=True, text=True, timeout=WITHIN_S, env={**clean, **(environ or {})}, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout == "", "it said that it listens"
    assert "Traceback" not in done.stderr
    assert done.returncode > 0
    assert not any(str(folder) in " ".join(each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"]))
    return Refusal(done.returncode, done.stderr, port, folder / "data")


def assert_nothing_left(refusal: Refusal) -> None:
    """Nobody listens, and the data folder is free for the next one."""
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", refusal.port)) != 0
    if refusal.data_dir.is_dir():
        lock = refusal.data_dir / "gateway.lock"
        assert not lock.exists() or lock.read_bytes() == b"", "a holder is named that is gone"
        with hold(refusal.data_dir, Millis(0)):
            pass


BAD = {
    "an unknown key": (APP + '[returns]\nsettle = 5\n', {}, "returns.settle", "unknown key; did you mean settle_s?"),
    "an unknown section": (APP + "[stewards]\n", {}, "stewards", "unknown key"),
    "a bad value": (APP + '[returns]\nsettle_s = "soon"\n', {}, "returns.settle_s", "valid number"),
    "a value out of bounds": (APP + "[steward]\nmax_parallel_turns = 0\n", {}, "steward.max_parallel_turns", "greater"),
    "a runtime of a later version": (APP + '[steward]\nruntime = "model"\n', {}, "steward.runtime", "not available"),
    "no app": ("", {}, "apps", "there is no app"),
    "no encrypt key": (APP.replace("canary-encrypt-key", ""), {}, "apps[0].encrypt_key", "is empty"),
    "a placeholder": (APP.replace("canary-encrypt-key", "your-encrypt-key"), {}, "apps[0].encrypt_key", "placeholder"),
    "no secret": (APP.replace("canary-app-secret", " "), {}, "apps[0].app_secret", "is empty"),
    "a domain without TLS": (APP.replace("http://127.0.0.1:9", "http://open.feishu.cn"), {}, "apps[0].domain", "https"),
    "an open address without a token": (
        APP + '[gateway]\nhost = "0.0.0.0"\n', {}, "gateway.operator_token", "is needed"),
    "an open address with a placeholder": (
        APP + '[gateway]\nhost = "::"\noperator_token = "changeme"\n', {}, "gateway.operator_token", "placeholder"),
    "a host that is a URL": (APP + '[gateway]\nhosts = ["https://a.example"]\n', {}, "gateway.hosts", "no host name"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_configuration_names_file_key_and_reason(tmp_path: Path, name: str) -> None:
    text, environ, key, reason = BAD[name]
    refusal = serve(tmp_path, text, environ)
    assert refusal.code == 2
    line = refusal.one_sentence()
    assert line.startswith(f"{tmp_path / 'steward.toml'}: {key}: ")
    assert reason in line
    assert not refusal.data_dir.exists(), "something was begun"
    assert_nothing_left(refusal)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    refusal = serve(tmp_path, APP + "[returns]\nsettle_s = -1\nunknown = 1\n[steward]\nlease_s = 0\n")
    keys = [line.split(": ")[1] for line in refusal.said.splitlines()]
    assert (refusal.code, sorted(keys)) == (2, ["returns.settle_s", "returns.unknown", "steward.lease_s"])


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    refusal = serve(
        tmp_path, APP, {"LARK_STEWARD__RETURNS__SETTLE_S": "soon", "LARK_ENCRYPT_KEY": "canary-encrypt-key"}
    )
    assert refusal.code == 2
    assert refusal.one_sentence().startswith("LARK_STEWARD__RETURNS__SETTLE_S: returns.settle_s: ")


def test_broken_toml_is_named_with_its_line(tmp_path: Path) -> None:
    refusal = serve(tmp_path, APP + 'encrypt_key = "canary-encrypt-key\n')
    assert refusal.code == 2
    assert re.match(rf"{re.escape(str(tmp_path))}/steward\.toml: is not TOML: .* line 11", refusal.one_sentence())


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    refusal = refused(tmp_path, ["--config", str(tmp_path / "none.toml")], free_port())
    assert (refusal.code, refusal.one_sentence()) == (
        2, f"{tmp_path / 'none.toml'}: cannot be read: No such file or directory",
    )  # fmt: skip


@pytest.mark.parametrize("what", ["nothing", "a file"])
def test_a_workspace_that_is_missing(tmp_path: Path, what: str) -> None:
    if what == "a file":
        (tmp_path / "code").touch()
    refusal = serve(tmp_path, APP + '[[steward.workspaces]]\npath = "code"\n')
    assert refusal.code == 1
    line = refusal.one_sentence()
    assert line.startswith(f"lark-steward cannot start: {tmp_path / 'steward.toml'}: steward.workspaces: ")
    assert str(tmp_path / "code") in line
    assert_nothing_left(refusal)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refusal = serve(tmp_path, APP, port=taken.getsockname()[1])
    assert refusal.code == 1
    assert f"something else listens on 127.0.0.1:{refusal.port}" in refusal.one_sentence()
    assert_nothing_left(refusal)


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    refusal = serve(tmp_path, APP + '[gateway]\nhost = "192.0.2.1"\noperator_token = "canary-operator-token"\n')
    assert refusal.code == 1
    assert f"cannot listen on 192.0.2.1:{refusal.port}" in refusal.one_sentence()
    assert_nothing_left(refusal)


async def test_a_second_gateway_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    settings = GatewaySettings(tmp_path, "http://127.0.0.1:9")
    async with GatewayProcess(settings) as first:
        holder = json.loads((settings.data_dir / "gateway.lock").read_text("utf-8"))
        assert (holder["pid"], holder["host"], holder["url"]) == (first.pid, socket.gethostname(), settings.url)
        second = tmp_path / "second"
        second.mkdir()
        text = APP + f'[gateway]\nport = {(port := free_port())}\ndata_dir = "{settings.data_dir}"\n'
        (second / "steward.toml").write_text(text, encoding="utf-8")
        refusal = refused(second, ["--config", str(second / "steward.toml")], port)
        assert refusal.code == 1
        line = refusal.one_sentence()
        assert f"process {first.pid} on {socket.gethostname()}, since {holder['since']}" in line
        assert_nothing_left(refusal)
        assert json.loads((settings.data_dir / "gateway.lock").read_text("utf-8")) == holder
        assert (await first.inbox()) == []  # undisturbed


def test_a_database_of_a_newer_program(tmp_path: Path) -> None:
    database = tmp_path / "data" / "steward.db"
    database.parent.mkdir(mode=0o700)
    upgrade(sqlite_url(database), SCRIPTS)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    refusal = serve(tmp_path, APP)
    assert refusal.code == 1
    assert "the database is at version 9999" in refusal.one_sentence()
    assert "nothing was changed" in refusal.one_sentence()
    assert_nothing_left(refusal)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "steward.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    refusal = serve(tmp_path, APP)
    assert refusal.code == 1
    assert "the database file is not an SQLite database" in refusal.one_sentence()
    assert_nothing_left(refusal)


def test_a_token_that_others_may_read(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "operator.token").write_text("canary-operator-token\n", encoding="utf-8")
    (tmp_path / "data" / "operator.token").chmod(0o644)
    refusal = serve(tmp_path, APP)
    assert refusal.code == 1
    assert "chmod 600" in refusal.one_sentence()
    assert_nothing_left(refusal)


def test_a_data_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    refusal = serve(tmp_path, APP)
    assert refusal.code == 2
    assert f"{tmp_path / 'steward.toml'}: gateway.data_dir: {tmp_path / 'data'} is not a folder" in refusal.said


def test_a_data_folder_that_cannot_be_made(tmp_path: Path) -> None:
    refusal = serve(tmp_path, APP, {"LARK_STEWARD__GATEWAY__DATA_DIR": "/proc/none/data"})
    assert refusal.code == 1
    assert "the data folder /proc/none/data cannot be used" in refusal.one_sentence()


def test_a_data_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", 1024) as disk:
        disk.read_only()
        refusal = serve(tmp_path, APP)
        assert refusal.code == 1
        assert f"the data folder {tmp_path / 'data'} cannot be used: Read-only file system" in refusal.one_sentence()


@pytest.mark.parametrize("left", [0, 8_192, 65_536])
def test_a_full_disk(tmp_path: Path, left: int) -> None:
    """Wherever on its way it runs out of room; with room again the same folder is good."""
    with small_disk(tmp_path / "data", 4_096) as disk:
        disk.fill(leave=left)
        refusal = serve(tmp_path, APP)
        assert refusal.code == 1
        line = refusal.one_sentence()
        assert re.search(r"disk of the database is full|No space left on device|disk failed", line), line
        disk.make_room()
        assert_nothing_left(refusal)
        with Started(tmp_path) as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["apps"] == ["default"]
        assert process.returncode == 0


BROKEN = """
import asyncio, sys
from contextlib import asynccontextmanager
from pathlib import Path
from gateway.cli import serving
from gateway.settings import load

class Gateway:
    url = "http://127.0.0.1:1"

    async def run(self, stop, at_once):
        async with asyncio.TaskGroup() as group:
            group.create_task(self.loop())

    async def loop(self):
        raise RuntimeError("canary-app-secret in the words of an error")

@asynccontextmanager
async def broken(settings, config):
    yield Gateway()

serving.open_gateway = broken
config = Path(sys.argv[1])
sys.exit(serving.serve_until_stopped(load(config, {}, serving=True), config, as_json=True))
"""


def test_a_part_that_fails_ends_the_process_and_is_in_the_log(tmp_path: Path) -> None:
    """Where it failed, and not in whose words."""
    serve_file(tmp_path, APP)
    command = [sys.executable, "-c", BROKEN, str(tmp_path / "steward.toml")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=WITHIN_S, cwd=ROOT)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "canary" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if " error " in line]
    assert "A part of the gateway failed" in line
    assert "RuntimeError at <string>" in line


def test_nothing_to_read_is_said_and_no_reason_to_refuse(tmp_path: Path) -> None:
    serve_file(tmp_path, APP)
    with Started(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
    assert process.returncode == 0
    said = (tmp_path / "stderr").read_text("utf-8")
    assert said.startswith("warning: no workspace is declared")
    assert "[[steward.workspaces]]" in said
    make_repository(tmp_path / "code")
    serve_file(tmp_path, APP + '[[steward.workspaces]]\npath = "code"\n')
    with Started(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
    assert (tmp_path / "stderr").read_text("utf-8") == ""


def serve_file(folder: Path, text: str) -> None:
    (folder / "steward.toml").write_text(f'[gateway]\nport = 0\ndata_dir = "data"\n{text}', encoding="utf-8")


class Started:
    """``serve --json`` of the folder's configuration; ended by SIGTERM."""

    def __init__(self, folder: Path) -> None:
        self._errors = (folder / "stderr").open("w", encoding="utf-8")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LARK_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "--config", str(folder / "steward.toml"), "serve", "--json"],
            stdout=subprocess.PIPE, stderr=self._errors, stdin=subprocess.DEVNULL, text=True, env=clean, cwd=ROOT,
        )  # fmt: skip

    def __enter__(self) -> subprocess.Popen[str]:
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.communicate()
            self._errors.close()
