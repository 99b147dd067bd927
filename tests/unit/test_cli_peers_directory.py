"""``lark-steward peers`` and ``grants``: JSON for scripts, sentences for people, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli.main import cli
from manager.ids import PeerId
from manager.ledger import peers
from manager.ledger.tables import peers as peer_rows
from providers.storage.sync import open_sqlite
from returns.ids import Millis


class Shell:
    """The command line over one data folder."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "steward.toml"
        self.config.write_text('[gateway]\ndata_dir = "data"\n')
        self.database = folder / "data" / "steward.db"

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["--config", str(self.config), *arguments])

    def json(self, *arguments: str) -> dict:
        result = self.run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_add_prints_the_token_once_and_stores_its_digest(shell: Shell) -> None:
    added = shell.json(
        "peers", "add", "atlas", "--responsibility", "code", "--responsibility", "账单", "--example", "why?"
    )
    assert set(added) == {"name", "token"}
    assert added["name"] == "atlas"
    assert added["token"].startswith("lsp_")
    with open_sqlite(shell.database) as opened:
        row = opened.read(lambda c: c.execute(peer_rows.select()).mappings().one())
        found = opened.read(lambda c: peers.by_token(c, peers.token_digest(added["token"])))
    assert added["token"] not in str(dict(row))
    assert found.name == "atlas"
    shown = shell.json("peers", "show", "ATLAS")
    assert added["token"] not in json.dumps(shown)
    expected = {
        "name": "atlas", "state": "active", "presence": "unknown", "mode": "attached_host", "endpoint": None,
        "host_surface": None, "responsibilities": ["code", "账单"], "examples": ["why?"], "audience": "shared",
        "goal": None, "open_requests": 0,
    }  # fmt: skip
    assert expected.items() <= shown.items()
    assert shown["created_at"].endswith("Z")


def test_all_flags(shell: Shell) -> None:
    shell.json(
        "peers", "add", "vault", "--responsibility", "x", "--mode", "managed_runtime", "--goal", "g-1",
        "--audience", "private",
    )  # fmt: skip
    shown = shell.json("peers", "show", "vault")
    assert (shown["mode"], shown["goal"], shown["audience"]) == ("managed_runtime", "g-1", "private")


def test_list_stop_start_remove(shell: Shell) -> None:
    assert shell.json("peers", "list") == {"items": [], "next_cursor": None}
    for name in ("boris", "atlas"):
        shell.json("peers", "add", name, "--responsibility", "x")
    assert [item["name"] for item in shell.json("peers", "list")["items"]] == ["atlas", "boris"]
    assert shell.json("peers", "stop", "Boris") == {"name": "boris", "state": "stopped"}
    assert shell.json("peers", "show", "boris")["state"] == "stopped"
    assert "stopped" in shell.run("peers", "list").output
    assert shell.json("peers", "start", "boris") == {"name": "boris", "state": "active"}
    assert shell.json("peers", "remove", "boris") == {"name": "boris", "removed": True, "cancelled": 0}
    assert [item["name"] for item in shell.json("peers", "list")["items"]] == ["atlas"]
    shell.json("peers", "add", "boris", "--responsibility", "again")


@pytest.mark.parametrize("command", ["show", "stop", "start", "remove"])
def test_an_unknown_peer_is_exit_1(shell: Shell, command: str) -> None:
    result = shell.run("peers", command, "nobody")
    assert result.exit_code == 1
    assert "nobody" in result.stderr
    scripted = shell.run("peers", command, "nobody", "--json")
    assert (scripted.exit_code, json.loads(scripted.stdout)["error"]["code"]) == (1, "failed")


def test_a_taken_name_is_exit_1(shell: Shell) -> None:
    shell.json("peers", "add", "atlas", "--responsibility", "x")
    assert shell.run("peers", "add", "ATLAS", "--responsibility", "x").exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("a b", "--responsibility", "x"),
        ("steward", "--responsibility", "x"),
        ("x" * 61, "--responsibility", "x"),
        ("atlas",),
        ("atlas", "--responsibility", " "),
        ("atlas", "--responsibility", "x" * 501),
        ("atlas", "--responsibility", "a\x1b[31m"),
        ("atlas", "--responsibility", "x", "--mode", "other"),
        ("atlas", "--responsibility", "x", "--audience", "everyone"),
    ],
)
def test_bad_arguments_are_exit_2_and_add_nobody(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert shell.run("peers", "add", *arguments).exit_code == 2
    assert shell.json("peers", "list")["items"] == []


def test_a_bad_configuration_is_exit_2_and_named(shell: Shell) -> None:
    shell.config.write_text("[gateway]\nport = 'x'\n")
    result = shell.run("peers", "list")
    assert result.exit_code == 2
    assert "gateway.port" in result.stderr
    assert str(shell.config) in result.stderr


def test_a_new_database_is_named_once(shell: Shell) -> None:
    first, second = shell.run("grants", "list", "--json"), shell.run("peers", "list")
    assert (first.stderr, second.stderr) == (f"Made a new database: {shell.database}\n", "")
    assert json.loads(first.stdout) == {"items": []}


def test_a_database_that_is_none_is_exit_1(shell: Shell) -> None:
    shell.database.parent.mkdir()
    shell.database.write_text("not a database, and long enough not to be taken for an empty one" * 20)
    result = shell.run("peers", "list")
    assert result.exit_code == 1
    assert "unavailable" in result.stderr


def test_what_peers_say_does_not_steer_the_terminal(shell: Shell) -> None:
    shell.json("peers", "add", "atlas", "--responsibility", "x")
    with open_sqlite(shell.database) as opened:
        peer = opened.read(lambda c: peers.by_name(c, "atlas"))
        opened.run(
            lambda c: peers.set_presence(
                c, PeerId(peer.peer_id), presence=peers.Presence.BUSY, capacity=1, executor="e\x1b]0;x\x07",
                host_surface="\x1b[2J", now=Millis(1),
            )
        )  # fmt: skip
    result = shell.run("peers", "show", "atlas")
    assert "\x1b" not in result.output
    assert "busy" in result.output
    assert shell.json("peers", "show", "atlas")["host_surface"] == "\x1b[2J"


def test_grants(shell: Shell) -> None:
    assert shell.json("grants", "list") == {"items": []}
    given = shell.json(
        "grants", "add", "--principal", "steward:default", "--effect", "converse", "--resource", "c_1",
        "--expires", "2999-01-01T00:00:00+08:00",
    )  # fmt: skip
    (item,) = shell.json("grants", "list")["items"]
    assert item == given
    assert {
        "principal": "steward:default", "resource": "c_1", "effect": "converse", "audience": "shared",
        "granted_by": "operator", "expires_at": "2998-12-31T16:00:00.000Z", "revoked_at": None,
    }.items() <= item.items()  # fmt: skip
    assert item["grant_id"] in shell.run("grants", "list").output
    revoked = shell.json("grants", "revoke", item["grant_id"], "--reason", "enough")
    assert revoked == {"grant_id": item["grant_id"], "revoked": True, "already": False}
    assert shell.json("grants", "revoke", item["grant_id"], "--reason", "again")["already"] is True
    assert shell.json("grants", "list") == {"items": []}
    (item,) = shell.json("grants", "list", "--all")["items"]
    assert item["revoked_at"].endswith("Z")
    assert item["revoke_reason"] == "enough"
    assert "revoked" in shell.run("grants", "list", "--all").output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("revoke", "g_none", "--reason", "r"), 1),
        (("revoke", "g_none"), 2),
        (("revoke", "g_none", "--reason", " "), 2),
        (("add", "--principal", "p", "--effect", "converse"), 2),
        (("add", "--principal", " ", "--effect", "e", "--resource", "r"), 2),
        (("add", "--principal", "p", "--effect", "e", "--resource", "r", "--expires", "soon"), 2),
        (("add", "--principal", "p", "--effect", "e", "--resource", "r", "--expires", "2001-01-01"), 2),
        (("add", "--principal", "p", "--effect", "e", "--resource", "r", "--audience", "all"), 2),
    ],
)
def test_refused_grants(shell: Shell, arguments: tuple[str, ...], code: int) -> None:
    assert shell.run("grants", *arguments).exit_code == code
    assert shell.json("grants", "list", "--all") == {"items": []}
