"""``manager-inbox`` as a process: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.instance_lock import hold
from providers.storage.sync import open_sqlite
from returns.delivery import Error, State
from returns.ids import Millis
from tests.support.inbox import PRIVATE_THINGS, answer, ask, filled

INBOX = [sys.executable, "-c", "from gateway.cli.main import inbox_main; inbox_main()"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "steward.toml"
    file.write_text(f'[gateway]\ndata_dir = "{tmp_path}"\nport = 1\n')
    return file


def run(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LARK_STEWARD_CONFIG": str(config),
    }
    return subprocess.run(
        [*INBOX, *arguments],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=config.parent,
    )


def out(config: Path, *arguments: str) -> str:
    ran = run(config, *arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("arguments", [(), ("list",)])
def test_the_list_for_people(config: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    filled(tmp_path, 2)
    with open_sqlite(tmp_path / "steward.db") as transactions:
        transactions.run(lambda c: answer(c, "r_1", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
    assert out(config, *arguments).splitlines() == [
        "ID   ASKED             RECEIVER     ASSESSMENT  WORK  DELIVERY               QUESTION",
        "r_1  2025-10-09 08:53  the steward  pending     open  ! explicit_unverified  Where is the parser?",
        "r_0  2025-10-09 08:53  the steward  pending     open  absent                 Where is the parser?",
    ]


@pytest.mark.parametrize("arguments", [("--json",), ("list", "--json")])
def test_the_list_for_scripts(config: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    filled(tmp_path, 2)
    listed = json.loads(out(config, *arguments))
    assert [item["request_id"] for item in listed["items"]] == ["r_1", "r_0"]
    assert listed["next_cursor"] is None


def test_pages_and_filters(config: Path, tmp_path: Path) -> None:
    filled(tmp_path, 3)
    first = json.loads(out(config, "--limit", "2", "--json"))
    rest = json.loads(out(config, "list", "--limit", "2", "--cursor", first["next_cursor"], "--json"))
    assert [len(first["items"]), len(rest["items"]), rest["next_cursor"]] == [2, 1, None]
    assert json.loads(out(config, "--status", "delivered", "--json"))["items"] == []
    assert len(json.loads(out(config, "--status", "absent", "--all", "--json"))["items"]) == 3
    said = out(config, "--limit", "2").splitlines()[-1]
    assert said.removeprefix("more: --cursor ") == first["next_cursor"]
    refused = run(config, "list", "--cursor", "nonsense", "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["error"]["code"] == "invalid_cursor"


def test_show(config: Path, tmp_path: Path) -> None:
    filled(tmp_path, 1)
    shown = json.loads(out(config, "show", "r_0", "--json"))
    assert [fact["fact"] for fact in shown["timeline"]] == ["received"]
    said = out(config, "show", "r_0")
    assert "question     Where is the parser?" in said
    assert "receiver     the steward" in said
    assert "delivery     absent" in said
    assert "2025-10-09T08:53:20.000Z  received  (late: false, revision: 1)" in said


def test_no_such_request(config: Path, tmp_path: Path) -> None:
    filled(tmp_path, 1)
    for command in ("show", "verify"):
        ran = run(config, command, "r_\x1b[31m9", "--json")
        assert ran.returncode == 1
        assert json.loads(ran.stdout)["error"]["code"] == "not_found"
        assert "\x1b" not in ran.stderr


def test_no_database_yet(config: Path) -> None:
    for arguments in (("list",), ("show", "r_1"), ("events",), ("verify", "r_1")):
        ran = run(config, *arguments)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert "no database" in ran.stderr
        assert "lark-steward serve" in ran.stderr
        assert "Traceback" not in ran.stderr


def test_verify_stores_the_wish_and_says_that_it_is_not_proved(config: Path, tmp_path: Path) -> None:
    path = filled(tmp_path, 3)
    with open_sqlite(path) as transactions:
        transactions.run(lambda c: answer(c, "r_0", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
        transactions.run(lambda c: answer(c, "r_1", State.DELIVERED))
    ran = run(config, "verify", "r_0", "--json")
    assert (ran.returncode, ran.stderr) == (3, "")
    assert json.loads(ran.stdout)["delivery"]["status"] == "verification_required"
    facts = json.loads(out(config, "show", "r_0", "--json"))["timeline"]
    assert "look_again" in [fact["fact"] for fact in facts]
    assert run(config, "verify", "r_1").returncode == 0
    waited = run(config, "verify", "r_2", "--wait=0.1")
    assert (waited.returncode, waited.stderr) == (3, "")  # of an answer that there is not, nothing is stored


@pytest.mark.parametrize("arguments", [("--wait=0.1", "--json"), ()])
def test_verify_says_when_nobody_reads(config: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = filled(tmp_path, 1)
    with open_sqlite(path) as transactions:
        transactions.run(lambda c: answer(c, "r_0", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
    ran = run(config, "verify", "r_0", *arguments)
    assert ran.returncode == 3
    assert "this is stored, but no gateway runs here" in ran.stderr
    with hold(tmp_path, Millis(0)) as held:
        held.sign("http://127.0.0.1:1")
        assert run(config, "verify", "r_0", *arguments).stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--config", "CONFIG", "show", "r_0", "--json"),
        ("show", "--config", "CONFIG", "r_0", "--json"),
        ("show", "r_0", "--json", "--config=CONFIG"),
        ("--config=nowhere", "show", "r_0", "--json", "--config=CONFIG"),
        ("--config=CONFIG", "--json"),
        ("--config", "CONFIG"),
        ("--json", "--config", "CONFIG"),
        ("events", "--config=CONFIG"),
    ],
)
def test_the_configuration_before_and_after_the_command(
    config: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    filled(tmp_path, 1)
    nothing = tmp_path / "nothing.toml"
    nothing.write_text("[gateway]\nprot = 1\n")
    assert out(nothing, *(argument.replace("CONFIG", str(config)) for argument in arguments))


def test_help_speaks_of_manager_inbox(config: Path) -> None:
    for arguments in (("--help",), ("list", "-h")):
        said = out(config, *arguments)
        assert said.startswith(f"Usage: manager-inbox {'list ' if 'list' in arguments else ''}[OPTIONS]")
        assert "--config FILE" in said
    assert "Try 'manager-inbox show --help'" in run(config, "show").stderr
    assert "Try 'manager-inbox list --help'" in run(config, "--nope").stderr
    missing = run(config, "--config")
    assert (missing.returncode, "requires an argument" in missing.stderr) == (2, True)


@pytest.mark.parametrize("wait", [["--wait=30", "r_0"], ["--wait", "r_0"], ["r_0", "--wait"]])
def test_verify_waits_for_the_gateway(config: Path, tmp_path: Path, wait: list[str]) -> None:
    path = filled(tmp_path, 1)
    with open_sqlite(path) as transactions:
        transactions.run(lambda c: answer(c, "r_0", State.EXPLICIT_UNVERIFIED, Error.NO_MATCH_FOUND))
    settle = (
        "import sqlite3, sys, time\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)\n"
        "while not c.execute(\"SELECT 1 FROM return_facts WHERE fact = 'look_again'\").fetchone(): time.sleep(0.02)\n"
        "c.execute(\"UPDATE answers SET status = 'delivered', error = NULL, delivered_at = 1, needs_operator = 0\")\n"
    )
    gateway = subprocess.Popen([sys.executable, "-c", settle, path])
    ran = run(config, "verify", *wait, "--json")
    assert gateway.wait() == 0
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["delivery"]["status"] == "delivered"


def test_seconds_beside_wait_are_explained(config: Path) -> None:
    ran = run(config, "verify", "--wait", "5", "r_0")
    assert (ran.returncode, "Seconds are written --wait=5." in ran.stderr) == (2, True)


def test_events(config: Path, tmp_path: Path) -> None:
    filled(tmp_path, 1)
    assert json.loads(out(config, "events", "--state", "alarm", "--json")) == {"items": [], "next_cursor": None}
    assert "(nothing)" in out(config, "events")


@pytest.mark.parametrize(
    "arguments",
    [("bogus",), ("list", "--status", "lost"), ("--limit", "0"), ("show",), ("events", "--state", "x"), ("--nope",)],
)
def test_wrong_usage_is_2(config: Path, arguments: tuple[str, ...]) -> None:
    ran = run(config, *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Traceback" not in ran.stderr


def test_a_bad_configuration_is_2_and_named(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    for text, said in (
        ("[gateway]\nprot = 1", "gateway.prot: unknown key; did you mean port?"),
        ("[gateway]\ndata_dir = 5", "gateway.data_dir: "),
        ("[gateway\n", "is not TOML"),
        ("[gateways]\n", "unknown key"),
    ):
        file.write_text(text)
        ran = run(file, "list")
        assert (ran.returncode, ran.stdout) == (2, "")
        assert f"{file}: " in ran.stderr
        assert said in ran.stderr


def test_reading_works_although_something_else_is_wrong(config: Path, tmp_path: Path) -> None:
    filled(tmp_path, 1)
    config.write_text(config.read_text() + '[[steward.workspaces]]\npath = "/no/such/folder"\n')
    assert "r_0" in out(config, "list")


def test_what_people_wrote_cannot_command_the_terminal(config: Path, tmp_path: Path) -> None:
    path = filled(tmp_path, 0)
    with open_sqlite(path) as transactions:
        transactions.run(lambda c: ask(c, 1, question="\x1b]0;title\x07\x1b[2J\u202eevil\r\nsecond 中文问题 😀"))
    for arguments in ((), ("show", "r_1")):
        said = out(config, *arguments)
        assert "]0;title[2Jevil second 中文问题 😀" in said
        assert not [c for c in said if c in "\x1b\x07\r\u202e"]


def test_nothing_private_is_printed(config: Path, tmp_path: Path) -> None:
    path = filled(tmp_path, 0)
    with open_sqlite(path) as transactions:
        transactions.run(lambda c: ask(c, 1, question="private question", private=True))
        transactions.run(lambda c: answer(c, "r_1", State.UNDELIVERABLE, Error.CONTENT_REFUSED))
    said = out(config) + out(config, "--json") + out(config, "show", "r_1") + out(config, "show", "r_1", "--json")
    assert "(private)" in said
    assert not [thing for thing in PRIVATE_THINGS if thing in said]


def test_colour_only_on_a_terminal(config: Path, tmp_path: Path) -> None:
    path = filled(tmp_path, 1)
    with open_sqlite(path) as transactions:
        transactions.run(lambda c: answer(c, "r_0", State.DELIVERED))
    assert "\x1b" not in out(config)
    main, side = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LARK_STEWARD_CONFIG": str(config), "COLUMNS": "80"}
    process = subprocess.Popen(INBOX, stdout=side, stderr=side, env=environment, cwd=tmp_path)
    os.close(side)
    said = b""
    try:
        while chunk := os.read(main, 65536):
            said += chunk
    except OSError:  # the other end is closed
        pass
    os.close(main)
    assert process.wait() == 0
    assert b"\x1b[32mdelivered" in said
    lines = said.decode().replace("\x1b[32m", "").replace("\x1b[0m", "").splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_reading_imports_nothing_heavy(config: Path, tmp_path: Path) -> None:
    filled(tmp_path, 1)
    program = (
        "import sys\n"
        "from gateway.cli.main import inbox_main\n"
        "try:\n    inbox_main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'sqlalchemy', 'alembic', 'pydantic', 'aiohttp', 'httpx', 'jinja2', 'asyncio', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LARK_STEWARD_CONFIG": str(config)}
    for arguments in (["list", "--json"], ["show", "r_0"], ["events"]):
        ran = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        assert ran.stderr == "[]\n"
