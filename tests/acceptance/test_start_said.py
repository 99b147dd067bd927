"""What a start tells a person: where the doors are, what is read, and which key Lark refuses."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from providers.lark_double.server import LarkDouble
from tests.support.world import make_repository

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
WITHIN_S = 60
APP_ID, SECRET, KEY, TOKEN = "cli_0123456789abcdef", "canary-app-secret", "canary-encrypt-key", "canary-verification"


def configured(folder: Path, domain: str, *, app_id: str = APP_ID, secret: str = SECRET) -> Path:
    make_repository(folder / "code")
    config = folder / "steward.toml"
    config.write_text(
        f'[gateway]\nport = 0\ndata_dir = "data"\n[[steward.workspaces]]\npath = "code"\n[[apps]]\nname = "team"\n'
        f'app_id = "{app_id}"\napp_secret = "{secret}"\nencrypt_key = "{KEY}"\n'
        f'verification_token = "{TOKEN}"\ndomain = "{domain}"\n',
        encoding="utf-8",
    )
    return config


@asynccontextmanager
async def served(config: Path, *, ends: int = 0) -> AsyncIterator[asyncio.subprocess.Process]:
    """``serve`` of ``config``, which stands after the command; ended by SIGTERM, or by itself with a code."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LARK_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", "serve", "--config", str(config), cwd=ROOT, env=clean,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None and not ends:
            process.terminate()
        await asyncio.wait_for(process.communicate(), WITHIN_S)
    assert process.returncode == ends


async def line(stream: asyncio.StreamReader | None) -> str:
    assert stream is not None
    return (await asyncio.wait_for(stream.readline(), WITHIN_S)).decode().rstrip("\n")


async def test_a_start_says_where_everything_is(tmp_path: Path) -> None:
    async with served(configured(tmp_path, "http://127.0.0.1:9")) as process:
        first = await line(process.stdout)
        url = first.removeprefix("lark-steward listens on ").split(" ")[0]
        assert first.endswith(f"for team. Events: POST {url}/lark/events")
        token = tmp_path / "data" / "operator.token"
        assert await line(process.stdout) == f"Inbox: {url}/inbox; the operator's token is in {token}"
        assert await line(process.stdout) == f"Reads: {tmp_path / 'code'} (shared)"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"secret": "canary-other-secret"}, "apps[team].app_secret (code 10015)."),
        ({"app_id": "cli_0000000000000001"}, "apps[team].app_id and domain (code 10014)."),
    ],
)
async def test_credentials_that_lark_refuses_are_one_line_of_the_log(
    tmp_path: Path, wrong: dict[str, str], said: str
) -> None:
    async with LarkDouble.start(port=0) as double:
        double.app(APP_ID, SECRET, KEY, TOKEN, None)
        async with served(configured(tmp_path, double.url, **wrong)) as process:
            assert (await line(process.stdout)).startswith("lark-steward listens on ")
            warned = await line(process.stderr)
            assert warned.endswith(f"Lark refuses the credentials of app team: check {said}")
            assert "canary" not in warned


async def test_an_app_that_was_renamed_is_refused(tmp_path: Path) -> None:
    """Under another name its answers, and the events that Lark pushes again, would be unknown."""
    config = configured(tmp_path, "http://127.0.0.1:9")
    async with served(config) as process:
        assert (await line(process.stdout)).startswith("lark-steward listens on ")
    config.write_text(config.read_text().replace('name = "team"', 'name = "crew"'))
    async with served(config, ends=1) as process:
        said = await line(process.stderr)
    assert said.startswith("lark-steward cannot start: the app that apps.name = 'crew' configures was called 'team'")
    assert APP_ID not in said
    config.write_text(config.read_text().replace('name = "crew"', 'name = "team"'))
    async with served(config) as process:
        assert (await line(process.stdout)).startswith("lark-steward listens on ")
