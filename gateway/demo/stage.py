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
from typing import cast

import httpx

from gateway.demo.sample_work import SKILLS
from gateway.system import environment
from providers.lark_double.model import App, Chat
from providers.lark_double.server import LarkDouble

APP_ID = "cli_demo"
PERSON = "Lin"
START_S = 30
END_S = 10


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
        url = await _gateway(stack, config, folder)
        lark.set_webhook(app, f"{url}/lark/events")
        async with asyncio.TaskGroup() as group:
            for name in SKILLS:
                group.create_task(_peer(stack, name, config, repository, url))
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


async def _gateway(stack: AsyncExitStack, config: Path, folder: Path) -> str:
    log = stack.enter_context((folder / "gateway.log").open("wb"))
    process = await _start(stack, ["-m", "gateway", "--config", str(config), "serve", "--json"], stderr=log.fileno())
    line = await _first_line(process)
    if not line:
        raise NotStarted((folder / "gateway.log").read_text(encoding="utf-8", errors="replace")[-2000:])
    return str(cast("dict[str, object]", json.loads(line))["url"])


async def _peer(stack: AsyncExitStack, name: str, config: Path, repository: Path, url: str) -> None:
    english, chinese, _ = SKILLS[name]
    phrases = ["--responsibility", english, "--responsibility", chinese]
    adding = await asyncio.create_subprocess_exec(
        sys.executable,
        *["-m", "gateway", "--config", str(config), "peers", "add", name, *phrases, "--json"],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await adding.communicate()
    if adding.returncode != 0:
        raise NotStarted(err.decode("utf-8", "replace")[-2000:])
    token = str(cast("dict[str, object]", json.loads(out))["token"])
    own = {"LARK_STEWARD_URL": url, "LARK_STEWARD_PEER_TOKEN": token}
    await _start(stack, ["-m", "gateway.demo.sample_peer", name, str(repository)], env={**environment(), **own})


async def _start(
    stack: AsyncExitStack,
    arguments: list[str],
    *,
    stderr: int = asyncio.subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env=env,
    )
    stack.push_async_callback(_end, process)
    return process


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
