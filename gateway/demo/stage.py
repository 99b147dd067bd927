"""Sets the demo up in a temporary folder: the local Lark here, the gateway and each peer as a process of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import httpx

from gateway.demo.sample_work import SKILLS
from gateway.system import environment
from providers.lark_double.model import App, Chat
from providers.lark_double.server import LarkDouble

APP_ID = "cli_demo"
PERSON = "Lin"
START_S = 30
END_S = 10
LOG = "processes.log"
LAST_WORDS = 4_000


class NotStarted(Exception):
    """A process of the demo ended before it was ready; the message has its last words."""

    code = "demo_not_started"


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that the story acts on."""

    lark: LarkDouble
    app: App
    chat: Chat
    gateway_url: str
    operator: httpx.AsyncClient
    token_file: Path


@asynccontextmanager
async def set_up(folder: Path, repository: Path) -> AsyncGenerator[Stage]:
    """Start everything, and end it when the block is left. Raises ``NotStarted``."""
    async with AsyncExitStack() as stack:
        lark = await stack.enter_async_context(LarkDouble.start())
        keys = {name: secrets.token_hex(16) for name in ("app_secret", "encrypt_key", "verification_token")}
        app = lark.app(APP_ID, keys["app_secret"], keys["encrypt_key"], keys["verification_token"], name="Steward")
        chat = lark.create_chat("demo", [PERSON], [APP_ID])
        config = _write_config(folder, repository, lark.url, keys)
        log = stack.enter_context((folder / LOG).open("ab"))
        url, tokens = await _started(stack, config, log)
        lark.set_webhook(app, f"{url}/lark/events")
        for name, token in tokens.items():
            own = {"LARK_STEWARD_URL": url, "LARK_STEWARD_PEER_TOKEN": token}
            arguments = ["-m", "gateway.demo.sample_peer", name, str(repository)]
            await _start(stack, arguments, log, own)
        token_file = folder / "data" / "operator.token"
        operator = await stack.enter_async_context(_operator(url, token_file))
        yield Stage(lark, app, chat, url, operator, token_file)


def _write_config(folder: Path, repository: Path, domain: str, keys: Mapping[str, str]) -> Path:
    app = {"name": "default", "app_id": APP_ID, "domain": domain, **keys}
    sections = [
        ("[gateway]", {"port": 0, "data_dir": str(folder / "data")}),
        ("[[apps]]", app),
        ("[[steward.workspaces]]", {"path": str(repository), "audience": "shared"}),
        ("[returns]", {"settle_s": 5}),
    ]
    lines = [
        line
        for header, values in sections
        for line in (header, *(f"{key} = {json.dumps(value)}" for key, value in values.items()), "")
    ]
    config = folder / "steward.toml"
    config.touch(mode=0o600)
    config.write_text("\n".join(lines), encoding="utf-8")
    return config


def words_of(folder: Path) -> str:
    """The last words of the demo's processes."""
    log = folder / LOG
    return log.read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:] if log.exists() else ""


async def _started(stack: AsyncExitStack, config: Path, log: BinaryIO) -> tuple[str, Mapping[str, str]]:
    """Start the gateway and, while it gets ready, register the peers; its address, and the token of each peer."""
    try:
        async with asyncio.TaskGroup() as group:
            gateway = group.create_task(_gateway(stack, config, log))
            tokens = group.create_task(_tokens(config))
    except ExceptionGroup as errors:
        reasons, others = errors.split(NotStarted)
        if reasons is None or others is not None:
            raise
        raise NotStarted("\n".join(str(reason) for reason in reasons.exceptions)) from None
    return gateway.result(), tokens.result()


async def _gateway(stack: AsyncExitStack, config: Path, log: BinaryIO) -> str:
    arguments = ["-m", "gateway", "--config", str(config), "serve", "--json"]
    process = await _start(stack, arguments, log, stdout=asyncio.subprocess.PIPE)
    line = await _first_line(process)
    if not line:
        raise NotStarted(words_of(config.parent))
    return str(cast("dict[str, object]", json.loads(line))["url"])


async def _tokens(config: Path) -> dict[str, str]:
    """Register the peers by the command that anybody would use."""
    return {name: await _token(name, config) for name in SKILLS}


async def _token(name: str, config: Path) -> str:
    english, chinese, _ = SKILLS[name]
    phrases = ["--responsibility", english, "--responsibility", chinese]
    adding = await asyncio.create_subprocess_exec(
        sys.executable,
        *["-m", "gateway", "--config", str(config), "peers", "add", name, *phrases, "--json"],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_environment(),
    )
    out, err = await adding.communicate()
    if adding.returncode != 0:
        raise NotStarted(err.decode("utf-8", "replace")[-LAST_WORDS:])
    return str(cast("dict[str, object]", json.loads(out))["token"])


async def _start(
    stack: AsyncExitStack,
    arguments: list[str],
    log: BinaryIO,
    own: Mapping[str, str] | None = None,
    *,
    stdout: int = asyncio.subprocess.DEVNULL,
) -> asyncio.subprocess.Process:
    """Start a program of ours, to be ended when the stage is left; what it says goes to the log."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout,
        stderr=log.fileno(),
        env={**_environment(), **(own or {})},
    )
    stack.push_async_callback(_end, process)
    return process


def _environment() -> dict[str, str]:
    """This process's environment without any real app: the demo touches nothing but itself."""
    return {name: value for name, value in environment().items() if not name.startswith("LARK_")}


async def _first_line(process: asyncio.subprocess.Process) -> bytes:
    if process.stdout is None:
        return b""
    async with asyncio.timeout(START_S):
        return await process.stdout.readline()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _operator(url: str, token_file: Path) -> httpx.AsyncClient:
    token = token_file.read_text(encoding="ascii").strip()
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
