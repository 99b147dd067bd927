"""Runs the demo in a temporary folder and judges it."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from gateway.demo.narration import TITLES, Language, say
from gateway.demo.proof import judge
from gateway.demo.screen import Screen
from gateway.demo.stage import NotStarted
from gateway.demo.story import perform
from gateway.system import environment

REPOSITORY = Path(__file__).resolve().parents[2]


def demonstrate(language: str | None, *, keep_up: bool, as_json: bool) -> int:
    """Show the demo; 0 only when its proof holds."""
    spoken: Language = _language(language, environment())
    if not (REPOSITORY / ".git").exists():
        click.echo(say(TITLES["not_git"], spoken, path=REPOSITORY), err=True)
        return 1
    screen = Screen(Console(stderr=as_json, highlight=False))
    with tempfile.TemporaryDirectory(prefix="lark-steward-demo-") as folder:
        try:
            exhibits = asyncio.run(perform(Path(folder), REPOSITORY, screen, spoken, keep_up=keep_up))
        except NotStarted as error:
            click.echo(f"The demo could not start:\n{error}", err=True)
            return 1
        except TimeoutError:
            click.echo(f"The demo waited too long. What the gateway said:\n{_log(Path(folder))}", err=True)
            return 1
        except KeyboardInterrupt:
            return 0 if keep_up else 1
    wrong = judge(exhibits)
    if as_json:
        click.echo(json.dumps({"answers": [asdict(each) for each in exhibits], "wrong": wrong}, ensure_ascii=False))
    return 1 if wrong else 0


def _language(chosen: str | None, environ: Mapping[str, str]) -> Language:
    if chosen is not None:
        return "zh" if chosen == "zh" else "en"
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


def _log(folder: Path) -> str:
    log = folder / "gateway.log"
    return log.read_text(encoding="utf-8", errors="replace")[-4000:] if log.exists() else "(nothing)"
