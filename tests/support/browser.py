"""A real browser for tests: headless Chromium, driven by its DevTools protocol, kept on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
)
START_S = 60.0
LOOK_S = 0.05
WAIT_S = 30.0


def installed() -> str | None:
    """The browser's program; None where this machine has none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its result."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        async with asyncio.timeout(WAIT_S):
            while True:
                answer = await self._socket.receive_json()
                if answer.get("id") == self._number:
                    assert "error" not in answer, answer
                    return answer["result"]

    async def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, script: str) -> Any:
        """Wait until an expression is true in whatever page is shown; its value."""
        async with asyncio.timeout(WAIT_S):
            while True:
                result = await self.call("Runtime.evaluate", expression=script, returnByValue=True)
                if "exceptionDetails" not in result and result["result"].get("value"):
                    return result["result"]["value"]
                await asyncio.sleep(LOOK_S)

    async def open(self, url: str) -> None:
        """Show an address."""
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def text(self) -> str:
        """What a person reads."""
        return await self.evaluate("document.body.innerText")


@asynccontextmanager
async def browser(folder: Path, *, width: int = 390, height: int = 844) -> AsyncIterator[Page]:
    """A page as wide as a phone's."""
    program = installed()
    assert program is not None
    profile = folder / "browser"
    process = await asyncio.create_subprocess_exec(
        program,
        *FLAGS,
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    )
    try:
        port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                tabs = json.loads(await answer.text())
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                page = Page(socket)
                await page.call(
                    "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True
                )
                yield page
    finally:
        process.terminate()
        await process.wait()


async def _port(file: Path) -> int:
    for _ in range(int(START_S / LOOK_S)):
        if file.exists() and file.read_text("utf-8").strip():
            return int(file.read_text("utf-8").split("\n")[0])
        await asyncio.sleep(LOOK_S)
    raise TimeoutError("the browser did not start")
