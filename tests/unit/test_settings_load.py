"""The configuration: what is read from where, what is refused, and how that is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.settings import GatewaySettings, Settings, SettingsError, load
from gateway.settings_checks import is_loopback, is_placeholder
from gateway.settings_files import GATEWAY_KEYS, SECTIONS, quick_database

APP = """
[[apps]]
app_id = "cli_a1"
app_secret = "s3cr3t-value"
encrypt_key = "k3y-value"
verification_token = "t0ken-value"
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def inner(text: str) -> Path:
        file = tmp_path / "steward.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return inner


def refused(config: Path | None, environ: dict[str, str] | None = None, *, serving: bool = False) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(config, environ or {}, serving=serving)
    assert caught.value.code == "bad_configuration"
    return str(caught.value).splitlines()


def test_everything_has_the_documented_default(write: Write, tmp_path: Path) -> None:
    settings = load(write(""), {})
    assert settings.gateway.host == "127.0.0.1"
    assert settings.gateway.port == 8080
    assert settings.gateway.data_dir == tmp_path / ".lark-steward"
    assert settings.database_path == tmp_path / ".lark-steward" / "steward.db"
    assert settings.apps == ()
    steward = settings.steward.model_dump()
    assert steward == {
        "runtime": "rules",
        "model": "",
        "command": (),
        "turn_timeout_s": 600,
        "late_after_s": 900,
        "lease_s": 30,
        "max_parallel_turns": 8,
        "workspaces": (),
    }
    assert settings.returns.model_dump() == {
        "readback_delay_s": 0.5,
        "settle_s": 30,
        "give_up_after_s": 86400,
        "app_per_second": 50,
        "app_per_minute": 1000,
        "chat_per_second": 5,
        "lease_s": 30,
        "http_timeout_s": 10,
        "retry_first_s": 1,
        "retry_max_s": 300,
        "recalled_question": "say_nothing",
    }


def test_an_app_of_the_file(write: Write) -> None:
    (app,) = load(write(APP), {}).apps
    assert (app.name, app.app_id, app.domain, app.ingress) == ("default", "cli_a1", "https://open.feishu.cn", "webhook")
    assert (app.owners, app.groups, app.private) == ((), "mentioned", "owners")
    assert app.encrypt_key.get_secret_value() == "k3y-value"


def test_without_any_file_the_working_directory_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(None, {}).gateway.data_dir == tmp_path / ".lark-steward"


def test_which_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, port in (("steward.toml", 1), ("named.toml", 2), ("given.toml", 3)):
        (tmp_path / name).write_text(f"[gateway]\nport = {port}\n")
    assert load(None, {}).gateway.port == 1
    assert load(None, {"LARK_STEWARD_CONFIG": "named.toml"}).gateway.port == 2
    assert load(Path("given.toml"), {"LARK_STEWARD_CONFIG": "named.toml"}).gateway.port == 3


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    (folder / "code").mkdir(parents=True)
    (folder / "s.toml").write_text('[gateway]\ndata_dir = "d"\n[[steward.workspaces]]\npath = "code"\n')
    settings = load(folder / "s.toml", {})
    assert settings.gateway.data_dir == folder / "d"
    assert settings.steward.workspaces[0].path == folder / "code"
    assert settings.steward.workspaces[0].audience == "shared"


def test_the_environment_overrides_the_file(write: Write, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    settings = load(
        write(APP + "[gateway]\nport = 1\n"),
        {
            "LARK_STEWARD__GATEWAY__PORT": "9",
            "LARK_STEWARD__RETURNS__SETTLE_S": "0.25",
            "LARK_STEWARD__RETURNS__RECALLED_QUESTION": "answer_in_chat",
            "LARK_STEWARD__STEWARD__COMMAND": '["a", "b"]',
            "LARK_STEWARD__APPS__0__OWNERS": '["ou_1"]',
            "LARK_STEWARD__APPS__0__APP_ID": "cli_env",
            "LARK_STEWARD__STEWARD__WORKSPACES__0__PATH": str(tmp_path / "w"),
            "LARK_STEWARD__STEWARD__WORKSPACES__0__AUDIENCE": "private",
            "UNRELATED": "x",
        },
    )
    assert settings.gateway.port == 9
    assert settings.returns.settle_s == 0.25
    assert settings.returns.recalled_question == "answer_in_chat"
    assert settings.steward.command == ("a", "b")
    assert (settings.apps[0].owners, settings.apps[0].app_id) == (("ou_1",), "cli_env")
    assert [(w.path, w.audience) for w in settings.steward.workspaces] == [(tmp_path / "w", "private")]


def test_all_apps_as_json_and_one_key_over_them(write: Write) -> None:
    app = {"app_id": "cli_j", "app_secret": "s", "encrypt_key": "k3y", "verification_token": "t"}
    apps = [{"name": f"app{number}", **app, "app_id": f"cli_{number}"} for number in range(12)]
    settings = load(write(APP), {"LARK_STEWARD__APPS": json.dumps(apps), "LARK_STEWARD__APPS__11__PRIVATE": "open"})
    assert [app.name for app in settings.apps] == [f"app{number}" for number in range(12)]
    assert settings.apps[11].private == "open"


def test_many_apps_by_index_alone(write: Write) -> None:
    environ: dict[str, str] = {}
    for number in range(12):
        for key in ("NAME", "APP_ID", "APP_SECRET", "ENCRYPT_KEY", "VERIFICATION_TOKEN"):
            environ[f"LARK_STEWARD__APPS__{number}__{key}"] = f"a{key.lower()}-{number}"
    assert len(load(write(""), environ).apps) == 12


ONE = {
    "LARK_APP_ID": "cli_one",
    "LARK_APP_SECRET": "s",
    "LARK_ENCRYPT_KEY": "k3y",
    "LARK_VERIFICATION_TOKEN": "t",
    "LARK_DOMAIN": "https://open.larksuite.com",
}


def test_one_app_of_the_environment(write: Write) -> None:
    (app,) = load(write(""), ONE).apps
    assert (app.name, app.app_id, app.domain) == ("default", "cli_one", "https://open.larksuite.com")
    (app,) = load(write(APP), {"LARK_APP_SECRET": "other", "LARK_DOMAIN": ""}).apps
    assert (app.app_id, app.app_secret.get_secret_value()) == ("cli_a1", "other")
    (app,) = load(write(""), {**ONE, "LARK_STEWARD__APPS__0__APP_ID": "cli_more_exact"}).apps
    assert app.app_id == "cli_more_exact"


def test_one_app_of_the_environment_among_several_is_refused(write: Write) -> None:
    two = APP + 'name = "a"\n' + APP.replace("cli_a1", "cli_a2") + 'name = "b"\n'
    (line,) = refused(write(two), {"LARK_APP_ID": "x"})
    assert line.startswith("LARK_APP_ID: more than one app")
    assert "LARK_STEWARD__APPS__0__APP_ID" in line


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("[gateway]\nprot = 1", "gateway.prot", "unknown key; did you mean port?"),
        ("[gateways]\n", "gateways", "unknown key; did you mean gateway?"),
        ("[gateway]\nzzz = 1", "gateway.zzz", "unknown key"),
        ("[gateway]\nport = 'x'", "gateway.port", "valid integer"),
        ("[gateway]\nport = '80'", "gateway.port", "valid integer"),
        ("[gateway]\nport = true", "gateway.port", "valid integer"),
        ("[gateway]\nport = 70000", "gateway.port", "65535"),
        ("[gateway]\nhost = 5", "gateway.host", "valid string"),
        ("[gateway]\nhost = ''", "gateway.host", "not an address"),
        ("[gateway]\nhosts = ['https://example.org']", "gateway.hosts", "no host name"),
        ("[gateway]\nhosts = ['*']", "gateway.hosts", "no host name"),
        ("[gateway]\nhosts = ['']", "gateway.hosts", "no host name"),
        ("[gateway]\nhosts = 'example.org'", "gateway.hosts", 'must be a list, for example ["steward.example.org"]'),
        ("[gateway]\nhost = '0.0.0.0'", "gateway.operator_token", "is needed"),
        ("[gateway]\nhost = '::'", "gateway.operator_token", "is needed"),
        ("[gateway]\nhost = 'example.org'\noperator_token = '  '", "gateway.operator_token", "is needed"),
        ("[gateway]\noperator_token = 'changeme'", "gateway.operator_token", "placeholder"),
        ("[gateway]\noperator_token = 'zu geheim'", "gateway.operator_token", "ASCII"),
        ("[gateway]\ndatabase_url = 'mysql://a:b@c/d'", "gateway.database_url", "not the address of a PostgreSQL"),
        ("[gateway]\ndatabase_url = 'postgres://a:b@c/d'", "gateway.database_url", "write postgresql://"),
        ("[gateway]\ndatabase_url = 'postgresql+asyncpg://c/d'", "gateway.database_url", "PostgreSQL database"),
        ("[gateway]\ndatabase_url = 'postgresql:c/d'", "gateway.database_url", "PostgreSQL database"),
        ("[gateway]\ndatabase_url = 'postgresql:///d'", "gateway.database_url", "names no host"),
        ("[gateway]\ndatabase_url = 'postgresql://c'", "gateway.database_url", "names no database"),
        ("[gateway]\ndatabase_url = 'postgresql://a:b@c:x/d'", "gateway.database_url", "is not an address"),
        ("[gateway]\ndatabase_url = 'postgresql://a:b#@c/d'", "gateway.database_url", "write it as %23"),
        ("[gateway]\ndatabase_url = 'postgresql://a:b/@c/d'", "gateway.database_url", "%2F"),
        ("[gateway]\ndatabase_url = 'postgresql://a:b?@c/d'", "gateway.database_url", "%3F"),
        ("[gateway]\ndatabase_url = 'postgresql://a:b c@c/d'", "gateway.database_url", "space"),
        ("[gateway]\ndata_dir = 'steward.toml'", "gateway.data_dir", "not a folder"),
        ("gateway = 3", "gateway", "valid dictionary"),
        ("apps = 'x'", "apps", "write [[apps]]"),
        ("[apps]\nname = 'x'", "apps", "write [[apps]]"),
        ("[steward.workspaces]\npath = '.'", "steward.workspaces", "write [[steward.workspaces]]"),
        ("[steward]\ncommand = 'x'", "steward.command", "must be a list"),
        (APP + "name = 'A B'", "apps[0].name", "pattern"),
        (APP + "owners = 'ou_1'", "apps[0].owners", 'must be a list, for example ["ou_…"]'),
        (APP + "owners = ['']", "apps[0].owners", "empty"),
        (APP + "owners = [1]", "apps[0].owners[0]", "valid string"),
        (APP + "groups = 'all'", "apps[0].groups", "'mentioned' or 'listed'"),
        (APP + "ingress = 'long_connection'", "apps[0].ingress", "not available yet"),
        (APP + "domain = 'http://open.feishu.cn'", "apps[0].domain", "must be https"),
        (APP + "domain = 'open.feishu.cn'", "apps[0].domain", "not an address"),
        (APP + "domain = 'https://open.feishu.cn/open-apis'", "apps[0].domain", "scheme and host only"),
        (APP + "domain = 'https://u:p@open.feishu.cn'", "apps[0].domain", "scheme and host only"),
        (APP + "domain = 'https://open.feishu.cn:x'", "apps[0].domain", "not an address"),
        (APP + APP, "apps[1].name", "configured twice"),
        (APP + "name = 'a'\n" + APP + "name = 'b'", "apps[1].app_id", "configured twice"),
        ("[[apps]]\n", "apps[0].app_id", "is empty"),
        ("[[apps]]\n", "apps[0].app_secret", "is empty"),
        ("[[apps]]\n", "apps[0].encrypt_key", "is empty"),
        ("[[apps]]\n", "apps[0].verification_token", "is empty"),
        ("[steward]\nruntime = 'model'", "steward.runtime", "not available yet"),
        ("[steward]\nruntime = 'acp'", "steward.runtime", "not available yet"),
        ("[steward]\nruntime = 'magic'", "steward.runtime", "'rules', 'model' or 'acp'"),
        ("[steward]\nmax_parallel_turns = 0", "steward.max_parallel_turns", "greater than or equal to 1"),
        ("[steward]\nmax_parallel_turns = 1.5", "steward.max_parallel_turns", "valid integer"),
        ("[steward]\nturn_timeout_s = inf", "steward.turn_timeout_s", "finite"),
        ("[steward]\nturn_timeout_s = nan", "steward.turn_timeout_s", "finite"),
        ("[steward]\nlease_s = -1", "steward.lease_s", "greater than 0"),
        ("[[steward.workspaces]]\naudience = 'shared'", "steward.workspaces[0].path", "required"),
        ("[returns]\nretry_first_s = 9\nretry_max_s = 3", "returns.retry_max_s", "less than retry_first_s"),
        ("[returns]\nsettle_s = 9\ngive_up_after_s = 3", "returns.give_up_after_s", "less than settle_s"),
        ("[returns]\nchat_per_second = 0", "returns.chat_per_second", "greater than or equal to 1"),
        ("[returns]\nrecalled_question = 'shout'", "returns.recalled_question", "say_nothing"),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_reason(write: Write, text: str, key: str, reason: str) -> None:
    file = write(text)
    lines = refused(file)
    (line,) = [line for line in lines if line.startswith(f"{file}: {key}: ")]
    assert reason in line


@pytest.mark.parametrize("key", ["   ", "changeme", "your-encrypt-key", "<encrypt key>", "xxxx", "****", "encrypt_key"])
def test_a_webhook_app_without_a_real_encrypt_key_is_refused(write: Write, key: str) -> None:
    file = write(APP.replace("k3y-value", key))
    (line,) = refused(file)
    assert line.startswith(f"{file}: apps[0].encrypt_key: ")


@pytest.mark.parametrize(
    ("key", "real", "left"),
    [
        ("app_id", "cli_a1", "cli_…"),
        ("app_id", "cli_a1", "cli_..."),
        ("app_id", "cli_a1", "cli_xxxxxxxx"),
        ("app_id", "cli_a1", "…"),
        ("app_secret", "s3cr3t-value", "…"),
        ("app_secret", "s3cr3t-value", "your-app-secret"),
        ("app_secret", "s3cr3t-value", "app_secret"),
        ("verification_token", "t0ken-value", "..."),
        ("verification_token", "t0ken-value", "<verification token>"),
    ],
)
def test_what_was_left_as_in_the_example_is_refused(write: Write, key: str, real: str, left: str) -> None:
    file = write(APP.replace(real, left))
    (line,) = refused(file)
    assert line.startswith(f"{file}: apps[0].{key}: is still a placeholder: ")


def test_all_problems_are_told_at_once(write: Write) -> None:
    lines = refused(write("[gateway]\nport = -1\nfoo = 2\n[returns]\nlease_s = 'x'"), {"LARK_STEWARD__APPS": "no"})
    assert len(lines) == 4


def test_a_file_that_is_no_toml_is_said_with_its_line(write: Write) -> None:
    file = write("[gateway]\nport = 8080\nhost = =\n")
    (line,) = refused(file)
    assert line.startswith(f"{file}: is not TOML: ")
    assert "line 3" in line


def test_a_file_that_is_not_utf8_is_said_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(b"[gateway]\nhost = '\xff'\n")
    assert refused(file) == [f"{file}: is not UTF-8 (line 2)"]


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.toml") == [f"{tmp_path / 'no.toml'}: cannot be read: No such file or directory"]
    assert "Is a directory" in refused(tmp_path)[0]
    big = tmp_path / "big.toml"
    big.write_text("#" * (1 << 21))
    assert "larger than 1 MiB" in refused(big)[0]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LARK_STEWARD__GATEWAY__PORT", "eighty", "gateway.port: input should be a valid integer"),
        ("LARK_STEWARD__GATEWAY__PRT", "1", "gateway.prt: unknown key; did you mean port?"),
        ("LARK_STEWARD__RETURNS__SETTLE_S", "nan", "returns.settle_s: input should be a finite number"),
        ("LARK_STEWARD__APPS", "[", "is not JSON"),
        ("LARK_STEWARD__APPS", "{}", "apps: there may be several: write [[apps]] (in JSON: [{…}])"),
        ("LARK_STEWARD__APPS__3__NAME", "x", "items are numbered from 0"),
        ("LARK_STEWARD__APPS__0", "x", "names a section"),
        ("LARK_STEWARD__APPS__NAME", "x", "items are numbered from 0"),
        ("LARK_STEWARD__GATEWAY", "{}", "names a section"),
        ("LARK_STEWARD__GATEWAY__PORT__X", "1", "gateway.port: input should be a valid integer"),
        ("LARK_STEWARD__", "1", "unknown key"),
        ("LARK_STEWARD__STEWARD__COMMAND", "codex", "is not JSON"),
        ("LARK_ENCRYPT_KEY", "xxxx", "apps[0].encrypt_key: is still a placeholder"),
    ],
)
def test_a_bad_variable_is_named(write: Write, name: str, value: str, said: str) -> None:
    lines = refused(write(APP), {name: value})
    assert any(line.startswith(f"{name}: ") and said in line for line in lines), lines


def test_no_secret_is_told(write: Write) -> None:
    secrets = ("s3cr3t-value", "k3y-value", "t0ken-value", "op-t0ken-value", "db-passw0rd")
    good = load(write(APP + "[gateway]\noperator_token = 'op-t0ken-value'"), {})
    told = repr(good) + str(good) + good.model_dump_json() + str(good.apps[0])
    file = write(
        APP.replace('"k3y-value"', '["k3y-value"]')
        + "app_secret2 = 's3cr3t-value'\n[gateway]\noperator_token = ['op-t0ken-value']\n"
        "database_url = 'postgresql://u:db-passw0rd@h/d'"
    )
    told += "\n".join(refused(file))
    for url in ("postgresql://u:db-passw0rd@h/d", "mysql://u:db-passw0rd@h/d", "postgresql://u:db-passw0rd#@h/d"):
        file = write(f"[gateway]\ndatabase_url = '{url}'\noperator_token = 'op-t0ken-value é'")
        told += "\n".join(refused(file))
    shared = load(write("[gateway]\ndatabase_url = 'postgresql://u:db-passw0rd@h/d'"), {})
    told += repr(shared) + repr(shared.database) + str(shared.database)
    assert not [secret for secret in secrets if secret in told]


def test_serving_needs_an_app(write: Write) -> None:
    file = write("")
    (line,) = refused(file, serving=True)
    assert line.startswith(f"{file}: apps: there is no app")
    assert len(load(write(APP), {}, serving=True).apps) == 1


def test_settings_do_not_change() -> None:
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.gateway.port = 5  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.1", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("2130706433", False),
        ("", False),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize("key", ["test key", "k3y", "a1", "kudryavka", "e8Xo2p"])
def test_a_real_key_is_no_placeholder(key: str) -> None:
    assert not is_placeholder(key)


STEPS = st.sampled_from(["APPS", "GATEWAY", "STEWARD", "WORKSPACES", "0", "1", "7", "PORT", "HOST", "", "X", "９"])
VALUES = st.sampled_from(["", "1", "x", "[]", "{}", "[1]", "[{}]", '[{"port": 1}]', "null", "1e999", "[" * 100_000])


@given(st.dictionaries(st.lists(STEPS, min_size=1, max_size=5).map(lambda s: "LARK_STEWARD__" + "__".join(s)), VALUES))
def test_whatever_the_environment_says_is_taken_or_refused(environ: dict[str, str]) -> None:
    try:
        load(Path(__file__).parent / "settings_empty.toml", environ)
    except SettingsError as error:
        said = str(error)
    else:
        said = "taken"
    assert said


def test_the_quick_look_knows_the_same_keys() -> None:
    assert set(Settings.model_fields) == SECTIONS
    assert set(GatewaySettings.model_fields) == GATEWAY_KEYS


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        ("", {}),
        ("[gateway]\ndata_dir = 'd'", {}),
        ("[gateway]\ndata_dir = '/abs/d'\nport = 1", {}),
        ("[gateway]\ndata_dir = '~/d'", {}),
        ("[gateway]\ndata_dir = '~nobody-of-that-name/d'", {}),
        ("[gateway]\ndata_dir = 'd'", {"LARK_STEWARD__GATEWAY__DATA_DIR": "e"}),
        (APP, {"LARK_STEWARD__GATEWAY__PORT": "1", "LARK_APP_ID": "x"}),
        ("[gateway]\ndatabase_url = 'postgresql://h/d'", {}),
        ("[gateway]\ndatabase_url = 'postgresql://h/d'", {"LARK_STEWARD__GATEWAY__DATABASE_URL": ""}),
        ("", {"LARK_STEWARD__GATEWAY__DATABASE_URL": "postgresql+psycopg://u:p%40@h:1/d?sslmode=require"}),
    ],
)
def test_the_quick_look_finds_the_same_database(write: Write, text: str, environ: dict[str, str]) -> None:
    file = write(text)
    assert quick_database(file, environ) == load(file, environ).database


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        ("[gateway]\nprot = 1", {}),
        ("[gateway]\ndata_dir = 5", {}),
        ("[gateways]", {}),
        ("gateway = 1", {}),
        ("[gateway]\ndatabase_url = 5", {}),
        ("[gateway]\ndatabase_url = 'h/d'", {}),
        ("", {"LARK_STEWARD__GATEWAY__DATABASE_URL": "mysql://h/d"}),
        ("", {"LARK_STEWARD__GATEWAY__DATADIR": "x"}),
        ("", {"LARK_STEWARD__GATEWAY": "{}"}),
    ],
)
def test_the_quick_look_leaves_what_is_wrong_to_the_full_one(write: Write, text: str, environ: dict[str, str]) -> None:
    file = write(text)
    assert quick_database(file, environ) is None
    assert refused(file, environ)
