"""Runs the demo in a temporary folder and judges it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import httpx
from rich.console import Console

from gateway.demo.narration import TITLES, Language, say
from gateway.demo.proof import Exhibit, judge
from gateway.demo.sample_work import revision
from gateway.demo.screen import Screen
from gateway.demo.stage import NotStarted, words_of
from gateway.demo.story import LOST_RESPONSE, perform
from gateway.system import environment

REPOSITORY = Path(__file__).resolve().parents[2]
ENDS = (signal.SIGTERM, signal.SIGHUP)
"""End the demo as Ctrl-C does: with everything that it started."""


class Judgement:
    """Whether the proof held; nothing is proved before it was looked at."""

    def __init__(self, *, as_json: bool) -> None:
        self.exit_code = 1
        self._as_json = as_json

    def judge(self, exhibits: Sequence[Exhibit]) -> None:
        """Judge, and print the proof where JSON is wanted."""
        wrong = judge(exhibits)
        self.exit_code = 1 if wrong else 0
        if self._as_json:
            click.echo(json.dumps({"answers": [asdict(each) for each in exhibits], "wrong": wrong}, ensure_ascii=False))


def demonstrate(
    language: str | None,
    *,
    keep_up: bool,
    as_json: bool,
    repository: Path = REPOSITORY,
    fault: str | None = LOST_RESPONSE,
) -> int:
    """Show the demo; 0 only when its proof holds. ``fault`` is what the local Lark does to the first answer."""
    spoken: Language = _language(language, environment())
    unreadable = _unreadable(repository, spoken)
    if unreadable is not None:
        click.echo(unreadable, err=True)
        return 1
    screen, judgement = Screen(Console(stderr=as_json, highlight=False)), Judgement(as_json=as_json)

    async def show(folder: Path) -> None:
        ends = asyncio.current_task()
        for number in ENDS:
            if ends is not None:
                asyncio.get_running_loop().add_signal_handler(number, ends.cancel)
        await perform(folder, repository, screen, spoken, proved=judgement.judge, keep_up=keep_up, fault=fault)

    with tempfile.TemporaryDirectory(prefix="lark-steward-demo-") as name:
        folder = Path(name)
        try:
            asyncio.run(show(folder))
        except NotStarted as error:
            return _failed("not_started", spoken, why=error)
        except TimeoutError:
            return _failed("too_long", spoken, log=words_of(folder))
        except httpx.HTTPError as error:
            return _failed("broken", spoken, why=type(error).__name__, log=words_of(folder))
        except (KeyboardInterrupt, asyncio.CancelledError):
            return judgement.exit_code
    return judgement.exit_code


def _failed(title: str, language: Language, **values: object) -> int:
    click.echo(say(TITLES[title], language, **values), err=True)
    return 1


def _unreadable(repository: Path, language: Language) -> str | None:
    """Why the demo cannot read ``repository``; None where it can."""
    if not (repository / ".git").exists():
        return say(TITLES["not_git"], language, path=repository)
    try:
        revision(repository)
    except OSError:
        return say(TITLES["no_git"], language)
    except subprocess.CalledProcessError as error:
        told = bytes(error.stderr).decode("utf-8", "replace").strip()
        return say(TITLES["no_commit"], language, path=repository, why=told.splitlines()[0] if told else "?")
    return None


def _language(chosen: str | None, environ: Mapping[str, str]) -> Language:
    if chosen is not None:
        return "zh" if chosen == "zh" else "en"
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"
