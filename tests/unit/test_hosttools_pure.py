"""Paths, masking, names of workspaces, and git's output: the pure parts of the host tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions.decision import Audience
from providers.hosttools import WorkspaceConflict, WorkspaceMissing, declare
from providers.hosttools.commits import moment, parse
from providers.hosttools.grepping import grepped
from providers.hosttools.masking import MASK, mask, mask_lines
from providers.hosttools.paths import Hidden, clean, shown
from providers.hosttools.refusals import Denied
from providers.hosttools.text import excerpt, matcher, passage
from providers.hosttools.trees import parse_tree

SECRETS = [
    ('app_secret = "s3cr3tvalue"', "s3cr3tvalue"),
    ("APP_SECRET=s3cr3tvalue", "s3cr3tvalue"),
    ("  'password': 'hunter2',", "hunter2"),
    ('{"encrypt_key": "Zx81pluto"}', "Zx81pluto"),
    ("export GITHUB_TOKEN=abc123def456", "abc123def456"),
    ("api-key: 9f8e7d6c5b", "9f8e7d6c5b"),
    ("token: str = 'abcd1234'", "abcd1234"),
    ("Authorization: Bearer abc123def456ghi789", "abc123def456ghi789"),
    ("curl https://user:pa55word@example.org", "pa55word"),
    ("x = ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("key AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJzdWIiOiIxMjM0In0"),
    ("MIIEpAIBAAKCAQEAxT0kQ7z1hM3Yk9aVbWcXdYeZfAgBhCiDjEkFlGmHnIoJpKqLr", "MIIEpAIBAAKC"),
    ('client_secret = "unclosed value', "unclosed value"),
    ("secret := `raw value`", "raw value"),
]
HARMLESS = [
    "def token_of(request: Request) -> str:",
    'app_secret = ""',
    "if token is None:",
    "from secrets import token_hex",
    "password = read_password(file)",
    "    --hash=sha256:5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99",
    "keys = sorted(found)",
    "https://example.org/path",
    "the token is refreshed early",
]


@pytest.mark.parametrize(("line", "secret"), SECRETS)
def test_masks_obvious_secrets(line: str, secret: str) -> None:
    masked = mask(line)
    assert secret not in masked
    assert MASK in masked
    assert mask(masked) == masked


@pytest.mark.parametrize("line", HARMLESS)
def test_leaves_the_rest_alone(line: str) -> None:
    assert mask(line) == line


def test_masks_a_whole_private_key() -> None:
    lines = ["before", "-----BEGIN RSA PRIVATE KEY-----", "abc", "def==", "-----END RSA PRIVATE KEY-----", "after"]
    assert list(mask_lines(lines)) == ["before", MASK, MASK, MASK, MASK, "after"]
    assert passage(lines, start=3, count=2, limit=100) == [MASK, MASK]


@given(st.text(max_size=300))
def test_masking_never_raises(text: str) -> None:
    mask(text)
    list(mask_lines(text.split("\n")))


@pytest.mark.parametrize(
    ("path", "expected"), [("a/b.py", "a/b.py"), ("./a//b", "a/b"), ("退货.md", "退货.md"), ("a/.b", "a/.b")]
)
def test_clean_paths(path: str, expected: str) -> None:
    assert clean(path) == expected


@pytest.mark.parametrize(
    "path", ["", ".", "./", "..", "a/../b", "/a", "~/a", "C:\\x", "C:/x", "\\\\host\\x", "a\0", "a\n", "x" * 1025]
)
def test_unclean_paths(path: str) -> None:
    with pytest.raises(Denied):
        clean(path)


@given(st.text(max_size=60))
def test_a_clean_path_stays_inside(path: str) -> None:
    try:
        cleaned = clean(path)
    except Denied:
        return
    parts = cleaned.split("/")
    assert ".." not in parts
    assert "" not in parts
    assert "." not in parts


def test_hidden() -> None:
    hidden = Hidden(prefixes=("data", "conf/my.toml"))
    allowed = {
        path: hidden.allows(path)
        for path in ("data", "data/x", "database", "conf/my.toml", "conf/x", ".git/x", "a/.GIT", ".gitignore")
    }
    assert allowed == {
        "data": False,
        "data/x": False,
        "database": True,
        "conf/my.toml": False,
        "conf/x": True,
        ".git/x": False,
        "a/.GIT": False,
        ".gitignore": True,
    }
    assert not Hidden(everything=True).allows("a")


@given(st.binary(max_size=40))
def test_a_shown_path_is_printable_text(raw: bytes) -> None:
    assert shown(raw).isprintable()
    shown(raw).encode()


def test_names_of_workspaces(tmp_path: Path) -> None:
    for name in ("one/app", "two/app", "odd name!"):
        (tmp_path / name).mkdir(parents=True)
    spaces = declare(
        [(tmp_path / name, Audience.SHARED) for name in ("one/app", "two/app", "odd name!", "one/../one/app")]
    )
    assert [space.name for space in spaces] == ["app", "app-2", "odd-name"]
    with pytest.raises(WorkspaceMissing):
        declare([(tmp_path / "none", Audience.SHARED)])
    with pytest.raises(WorkspaceConflict):
        declare([(tmp_path / "one", Audience.SHARED), (tmp_path / "one", Audience.PRIVATE)])


def test_commits_survive_hostile_messages() -> None:
    def record(body: bytes, files: bytes) -> bytes:
        return b"/commit\0" + b"a" * 40 + b"\0An \x1b[31mthor\0" + b"86400\0subject\0" + body + b"\0\0" + files

    output = (
        record(b"/commit\nPASSWORD=hunter22", b"\none.py\0two.py\0")
        + record(b"", b"")
        + record(b"", b"\nsteward.toml\0")
    )
    commits = parse(output, workspace="w", allows=Hidden().allows)
    assert [entry.files for entry in commits] == [("one.py", "two.py"), (), ()]
    assert commits[0].author == "An \ufffd[31mthor"
    assert "hunter22" not in commits[0].body
    assert commits[0].at == "1970-01-02T00:00:00Z"
    assert moment("9" * 30) == moment("x") == "1970-01-01T00:00:00Z"


@given(st.binary(max_size=200))
def test_git_output_never_raises(output: bytes) -> None:
    parse(output, workspace="w", allows=lambda _path: True)
    list(grepped(output))
    parse_tree(output, hidden=Hidden(), limit=10, truncated=False)


def test_excerpts_of_long_lines_show_what_was_found() -> None:
    line = "x" * 100_000 + " needle " + "y" * 100_000
    found = excerpt(line, matcher("needle", whole_word=True, ignore_case=False), limit=100)
    assert found is not None
    assert "needle" in found
    assert len(found) <= 102
    assert excerpt("secret = 'needle'", matcher("needle", whole_word=False, ignore_case=False), limit=100) is None
