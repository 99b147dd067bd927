"""A real gateway process: started, waited for by its own word, and killed with real signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.support import forking

READY_TIMEOUT_S = 30


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class GatewaySettings:
    """What a test's steward.toml says; times are short so that a test need not wait for them."""

    folder: Path
    lark_url: str
    app_id: str = "cli_test"
    app_secret: str = "app-secret-of-a-test"
    encrypt_key: str = "encrypt-key-of-a-test"
    verification_token: str = "verification-token-of-a-test"
    workspace: Path | None = None
    port: int = field(default_factory=free_port)
    returns: Mapping[str, object] = field(default_factory=dict)
    steward: Mapping[str, object] = field(default_factory=dict)
    app: Mapping[str, object] = field(default_factory=dict)
    gateway: Mapping[str, object] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def config(self) -> Path:
        return self.folder / "steward.toml"

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def write(self) -> Path:
        """Write the file and return its path."""
        app = {
            "name": "default",
            "app_id": self.app_id,
            "app_secret": self.app_secret,
            "encrypt_key": self.encrypt_key,
            "verification_token": self.verification_token,
            "domain": self.lark_url,
            **self.app,
        }
        returns = {"readback_delay_s": 0.05, "settle_s": 1, "lease_s": 5, "http_timeout_s": 5, **self.returns}
        steward = {"lease_s": 5, **self.steward}
        lines = [
            "[gateway]",
            *toml_pairs({"port": self.port, "data_dir": str(self.data_dir), **self.gateway}),
            "",
            "[[apps]]",
            *toml_pairs(app),
        ]
        lines += ["", "[steward]", *toml_pairs(steward), "", "[returns]", *toml_pairs(returns)]
        if self.workspace is not None:
            lines += ["", "[[steward.workspaces]]", *toml_pairs({"path": str(self.workspace), "audience": "shared"})]
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return self.config


def toml_pairs(values: Mapping[str, object]) -> list[str]:
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]


class GatewayProcess:
    """``lark-steward serve`` as a process; ``async with`` starts it and ends it.

    ``forked`` starts it and its commands in a fraction of the time (see ``forking_parent``), where the system can.
    """

    def __init__(self, settings: GatewaySettings, *, forked: bool = False) -> None:
        self.settings = settings
        self._forked = forked and forking.can_fork()
        self._process: asyncio.subprocess.Process | forking.Forked | None = None
        self.log = settings.folder / "gateway.log"

    async def __aenter__(self) -> GatewayProcess:
        self.settings.write()
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        await self.begin()
        await self.ready()

    async def begin(self) -> None:
        """Start it, and do not wait."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("LARK_", "COVERAGE"))}
        if self._forked:
            arguments = ("--config", str(self.settings.config), "serve")
            self._process = forking.parent().start(arguments, environment, self.log, self.log)
            return
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gateway", "--config", str(self.settings.config), "serve",
                stdout=log, stderr=log, stdin=asyncio.subprocess.DEVNULL, env=environment,
            )  # fmt: skip

    async def ready(self, within_s: float = READY_TIMEOUT_S) -> None:
        """Wait for /healthz; fails with the log when the process ends instead."""
        assert self._process is not None
        async with (
            httpx.AsyncClient(base_url=self.settings.url, trust_env=False) as http,
            asyncio.timeout(within_s),
        ):
            while True:
                if self._process.returncode is not None:
                    raise AssertionError(f"the gateway ended with {self._process.returncode}:\n{self.output()}")
                try:
                    if (await http.get("/healthz")).status_code == 200:
                        return
                except httpx.TransportError:
                    await asyncio.sleep(0.02)

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """SIGTERM (or another signal), and wait for an orderly end; its exit code."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
            try:
                await asyncio.wait_for(self._process.wait(), 20)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        assert self._process.returncode is not None
        return self._process.returncode

    def output(self) -> str:
        """What it printed so far, over all its lives."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    async def command(self, *arguments: str, expect: int | None = 0) -> dict[str, object]:
        """Run a ``lark-steward`` command against the same settings; its JSON."""
        code, out, err = await self.run(*arguments, "--json")
        assert expect is None or code == expect, f"exit {code}: {out!r} {err.decode()}"
        return json.loads(out) if out.strip() else {}

    async def run(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> tuple[int | None, bytes, bytes]:
        """Run a ``lark-steward`` command against the same settings: its exit code, and what it printed."""
        whole = ("--config", str(self.settings.config), *arguments)
        chosen = os.environ if environment is None else environment
        if not self._forked:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gateway", *whole, env=chosen,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            out, err = await process.communicate()
            return process.returncode, out, err
        with tempfile.TemporaryDirectory() as folder:
            printed, complained = Path(folder) / "out", Path(folder) / "err"
            code = await forking.parent().start(whole, chosen, printed, complained).wait()
            return code, printed.read_bytes(), complained.read_bytes()

    def operator(self) -> httpx.AsyncClient:
        """An HTTP client that carries the operator's token."""
        token = (self.settings.data_dir / "operator.token").read_text(encoding="utf-8").strip()
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.AsyncClient(base_url=self.settings.url, headers=headers, trust_env=False, timeout=10)

    async def inbox(self, http: httpx.AsyncClient | None = None) -> list[dict[str, object]]:
        """The newest 100 items of the inbox, newest first; ``http`` is an operator's client to ask with."""
        if http is None:
            async with self.operator() as own:
                return await self.inbox(own)
        answer = await http.get("/api/v1/inbox", params={"limit": 100})
        answer.raise_for_status()
        return answer.json()["items"]
