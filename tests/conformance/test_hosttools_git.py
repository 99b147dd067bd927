"""Host tools over git workspaces: pinned, bounded, closed where they must be."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from manager.decisions.decision import Audience
from manager.ports import HostStatus
from providers.hosttools import Limits, LocalHostTools, declare
from tests.support.workspaces import Shop, commit, git, make_shop, tools, write


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path / "shop")


async def test_reads_the_pinned_commit_and_mentions_what_is_not_committed(shop: Shop) -> None:
    write(shop.root, "shop/prices.py", "changed\n")
    write(shop.root, "new.txt", "total\n")
    async with tools(shop.root).open(Audience.SHARED) as session:
        (view,) = session.workspaces
        assert (view.name, view.git, view.revision, view.branch) == ("shop", True, shop.renamed, "main")
        assert view.uncommitted is True
        read = await session.read("shop", "shop/prices.py", start=6, count=2)
        assert [(line.number, line.text) for line in read.lines] == [
            (6, "def total(items):"),
            (7, '    """The sum, rounded."""'),
        ]
        assert {line.revision for line in read.lines} == {shop.renamed}
        assert read.truncated
        untracked = await session.read("shop", "new.txt")
        assert (untracked.status, untracked.lines) == (HostStatus.DENIED, ())
        found = await session.search("total")
        assert "new.txt" not in {line.path for line in found.lines}
        write(shop.root, "later.py", "total\n")
        commit(shop.root, "Later", author="Zoe", at="2024-05-05T00:00:00Z")
        assert [entry.subject for entry in (await session.log(limit=1)).commits] == [
            "Add configuration and the returns page"
        ]
        assert (await session.find_files("later.py")).paths == ()


async def test_a_clean_tree_is_clean(shop: Shop) -> None:
    async with tools(shop.root).open(Audience.SHARED) as session:
        assert session.workspaces[0].uncommitted is False


async def test_searches_exactly(shop: Shop) -> None:
    async with tools(shop.root).open(Audience.SHARED) as session:
        every = await session.search("total", limit=100)
        words = await session.search("total", whole_word=True, limit=100)
        folded = await session.search("SHOPPINGcart", ignore_case=True)
        nothing = await session.search("tot.l")
        cut = await session.search("total", limit=1)
    assert {line.path for line in every.lines} == {
        "shop/prices.py",
        "shop/cart.py",
        "tests/test_prices.py",
        "README.md",
    }
    assert "def test_total():" not in [line.text for line in words.lines]
    assert [(line.path, line.number) for line in folded.lines] == [("shop/cart.py", 4)]
    assert (nothing.status, nothing.lines) == (HostStatus.OK, ())
    assert len(cut.lines) == 1
    assert cut.truncated


async def test_chinese_is_found_and_its_path_reads_as_it_is(shop: Shop) -> None:
    async with tools(shop.root).open(Audience.SHARED) as session:
        found = await session.search("三十天内")
        files = await session.find_files("退货")
    assert [(line.path, line.number) for line in found.lines] == [("docs/退货.md", 3)]
    assert files.paths == (("shop", "docs/退货.md"),)


async def test_history(shop: Shop) -> None:
    async with tools(shop.root).open(Audience.SHARED) as session:
        log = await session.log(path="shop/prices.py")
        blamed = await session.blame("shop", "shop/prices.py", line=8)
        older = await session.blame("shop", "shop/prices.py", line=3)
        beyond = await session.blame("shop", "shop/prices.py", line=999)
        one = await session.commit(shop.rounding[:7])
        text = await session.log(text="CENTS")
        folder = await session.log(path="shop", limit=1)
    assert [entry.author for entry in log.commits] == ["Bob Baker", "Alice Adams"]
    assert (log.commits[0].at, log.commits[0].subject) == ("2024-02-03T11:00:00Z", "Round totals to cents")
    assert "0.30000000000000004" in log.commits[0].body
    assert [entry.revision for entry in blamed.commits] == [shop.rounding]
    assert [entry.revision for entry in older.commits] == [shop.first]
    assert beyond.status is HostStatus.DENIED
    assert [(entry.revision, entry.files) for entry in one.commits] == [(shop.rounding, ("shop/prices.py",))]
    assert [entry.revision for entry in text.commits] == [shop.rounding]
    assert [entry.revision for entry in folder.commits] == [shop.renamed]
    assert folder.truncated


async def test_history_follows_a_renamed_file(shop: Shop) -> None:
    git(shop.root, "mv", "shop/prices.py", "shop/amounts.py")
    commit(shop.root, "Rename", author="Dan", at="2024-06-01T00:00:00Z")
    async with tools(shop.root).open(Audience.SHARED) as session:
        log = await session.log(path="shop/amounts.py")
    assert [entry.author for entry in log.commits] == ["Dan", "Bob Baker", "Alice Adams"]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../shop/README.md",
        "shop/../../x",
        "~/.ssh/id_rsa",
        ".git/config",
        "a/.GIT/HEAD",
        "",
        "a\0b",
        "a\nb",
        "steward.toml",
        "sub/steward.toml",
        ".env",
        "shop",
        "nothing.py",
        "-h",
        "--help",
        ":(top)README.md",
        "x" * 5000,
    ],
)
async def test_denied_paths(shop: Shop, path: str) -> None:
    write(shop.root, "steward.toml", "app_secret = 'canary'\n")
    write(shop.root, "sub/steward.toml", "app_secret = 'canary'\n")
    write(shop.root, ".env", "TOKEN=canary1234\n")
    commit(shop.root, "Careless", author="Eve", at="2024-05-05T00:00:00Z")
    async with tools(shop.root).open(Audience.SHARED) as session:
        read = await session.read("shop", path)
        assert (read.status, read.lines) == (HostStatus.DENIED, ())
        assert read.reason
        assert str(shop.root) not in read.reason
        if path != "shop":
            logged = await session.log(workspace="shop", path=path or "/")
            assert logged.status is HostStatus.DENIED
        assert (await session.blame("shop", path, line=1)).status is HostStatus.DENIED
        assert (await session.search("canary")).lines == ()
        assert (await session.find_files("steward.toml")).paths == ()


async def test_configuration_and_data_are_hidden_wherever_they_are(shop: Shop) -> None:
    write(shop.root, "conf/my.toml", "canary\n")
    write(shop.root, "data/ledger.txt", "canary\n")
    head = commit(shop.root, "Careless", author="Eve", at="2024-05-05T00:00:00Z")
    host = tools(shop.root, hidden=[shop.root / "conf" / "my.toml", shop.root / "data"])
    async with host.open(Audience.SHARED) as session:
        assert (await session.read("shop", "conf/my.toml")).status is HostStatus.DENIED
        assert (await session.read("shop", "data/ledger.txt")).status is HostStatus.DENIED
        assert (await session.search("canary")).lines == ()
        assert (await session.find_files("ledger")).paths == ()
        assert (await session.commit(head)).commits[0].files == ()


async def test_links_submodules_and_binaries_are_not_read(shop: Shop, tmp_path: Path) -> None:
    other = make_shop(tmp_path / "other")
    (shop.root / "passwd").symlink_to("/etc/passwd")
    (shop.root / "linked").symlink_to("shop")
    write(shop.root, "blob.bin", b"total\0\1\2")
    git(shop.root, "submodule", "add", "-q", str(other.root), "vendored")
    commit(shop.root, "Odd things", author="Eve", at="2024-05-05T00:00:00Z")
    async with tools(shop.root).open(Audience.SHARED) as session:
        for path in ("passwd", "linked", "linked/prices.py", "vendored", "vendored/README.md", "blob.bin"):
            assert (await session.read("shop", path)).status is HostStatus.DENIED, path
        assert "blob.bin" not in {line.path for line in (await session.search("total")).lines}
        assert "passwd" not in {path for _, path in (await session.find_files("passwd")).paths}


async def test_odd_names_and_lines(shop: Shop) -> None:
    odd = os.fsencode(str(shop.root)) + b"/caf\xe9 \x1b[31m.txt"
    Path(os.fsdecode(odd)).write_bytes(b"needle one\r\nneedle \xff two\r\n")
    write(shop.root, "--output=x", "needle three\n")
    write(shop.root, "a\nb.txt", "needle four\n")
    write(shop.root, "long.txt", "x" * 300_000 + "needle five" + "y" * 300_000)
    write(shop.root, "steer.txt", "needle \u202egpj.exe \x1b[2J\n")
    commit(shop.root, "Odd", author="Eve", at="2024-05-05T00:00:00Z")
    async with tools(shop.root).open(Audience.SHARED) as session:
        found = await session.search("needle")
        assert len(found.lines) == 6
        for line in found.lines:
            assert line.path.isprintable()
            assert len(line.text) <= 410
            assert "needle" in line.text
            assert not any(char in line.text for char in "\r\n\x1b\u202e")
            line.path.encode()
            back = await session.read(line.workspace, line.path, start=line.number, count=1)
            assert back.status is HostStatus.OK, line.path
            assert back.lines[0].text[:7] == line.text[:7] or line.path == "long.txt"


async def test_secrets_are_masked_and_cannot_be_guessed(shop: Shop) -> None:
    async with tools(shop.root).open(Audience.SHARED) as session:
        found = await session.search("api_secret")
        assert [line.text for line in found.lines] == ['api_secret = "[masked]"']
        assert (await session.search("hunter2")).lines == ()
        assert (await session.search('api_secret = "hunter2')).lines == ()
        read = await session.read("shop", "shop/config.toml")
        assert "hunter2" not in str(read)


async def test_user_text_is_never_an_option_nor_a_revision(shop: Shop) -> None:
    git(shop.root, "branch", "abcd")
    async with tools(shop.root).open(Audience.SHARED) as session:
        hostile = [
            "--open-files-in-pager=touch pwned",
            "-f/etc/passwd",
            "HEAD",
            "$(touch pwned)",
            "a\nb",
            "a\0b",
            "\ud800",
            "",
            "x" * 999,
        ]
        for text in hostile:
            assert (await session.search(text)).status is HostStatus.OK, text
            assert (await session.log(text=text)).status is HostStatus.OK, text
        for revision in (
            "HEAD",
            "main",
            "--all",
            "abc",
            "HEAD~1",
            "@{u}",
            ":/Begin",
            "g" * 40,
            shop.first + ":README.md",
        ):
            assert (await session.commit(revision)).status is HostStatus.DENIED, revision
        assert (await session.commit("abcd")).commits == ()
        assert (await session.commit("0" * 40)).commits == ()
    assert not (shop.root / "pwned").exists()


async def test_commits_outside_the_pinned_history_are_not_shown(shop: Shop) -> None:
    git(shop.root, "checkout", "-q", "-b", "secret")
    write(shop.root, "plans.txt", "secret plans\n")
    hidden = commit(shop.root, "Secret plans", author="Eve", at="2024-05-05T00:00:00Z")
    git(shop.root, "checkout", "-q", "main")
    async with tools(shop.root).open(Audience.SHARED) as session:
        assert (await session.commit(hidden)).commits == ()
        assert (await session.log(text="secret")).commits == ()


async def test_nothing_of_the_repository_runs(shop: Shop, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "pager.log",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "gpg.program",
        "core.sshCommand",
        "core.askPass",
        "core.editor",
        "grep.openFilesInPager",
    ):
        git(shop.root, "config", key, str(script))
    git(shop.root, "config", "log.showSignature", "true")
    git(shop.root, "config", "core.hooksPath", str(tmp_path))
    write(shop.root, ".git/info/attributes", "* filter=evil diff=evil\n")
    write(shop.root, "README.md", "touched total\n")
    mark.unlink(missing_ok=True)
    async with tools(shop.root).open(Audience.SHARED) as session:
        assert session.workspaces[0].uncommitted is True
        assert (await session.search("total")).lines
        assert (await session.read("shop", "README.md")).lines
        assert (await session.log(path="README.md")).commits
        assert (await session.blame("shop", "README.md", line=1)).commits
        assert (await session.commit(shop.first)).commits
    assert not mark.exists()


async def test_a_subfolder_of_a_repository_shows_only_itself(shop: Shop) -> None:
    async with tools(shop.root / "shop").open(Audience.SHARED) as session:
        assert {path for _, path in (await session.find_files("py")).paths} == {"prices.py", "cart.py"}
        assert {line.path for line in (await session.search("total")).lines} == {"prices.py", "cart.py"}
        assert (await session.read("shop", "prices.py")).lines[0].text == '"""Prices."""'
        assert (await session.commit(shop.renamed)).commits[0].files == ("config.toml",)
        log = await session.log(path="prices.py")
        assert [entry.revision for entry in log.commits] == [shop.rounding, shop.first]
        assert len((await session.blame("shop", "prices.py", line=3)).commits) == 1


async def test_empty_shallow_and_detached_repositories(shop: Shop, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop.root}", "shallow")
    git(tmp_path / "shallow", "checkout", "-q", "--detach")
    async with tools(empty, tmp_path / "shallow").open(Audience.SHARED) as session:
        first, second = session.workspaces
        assert (first.git, first.revision) == (True, None)
        assert (second.revision, second.branch) == (shop.renamed, None)
        assert (await session.read("empty", "x")).status is HostStatus.DENIED
        log = await session.log(workspace="shallow")
        assert len(log.commits) == 1
        assert "shallow" in log.reason
        assert {line.workspace for line in (await session.search("total")).lines} == {"shallow"}


async def test_a_bare_folder_of_git_is_closed(tmp_path: Path, shop: Shop) -> None:
    async with tools(shop.root / ".git").open(Audience.SHARED) as session:
        assert (await session.search("total")).status is HostStatus.UNAVAILABLE
        assert (await session.find_files("config")).paths == ()


async def test_a_broken_repository_is_unavailable_not_read_from_disk(shop: Shop) -> None:
    shutil.rmtree(shop.root / ".git" / "objects")
    async with tools(shop.root).open(Audience.SHARED) as session:
        assert (await session.search("total")).status is HostStatus.UNAVAILABLE
        assert (await session.read("shop", "README.md")).status is HostStatus.UNAVAILABLE


async def test_without_git_a_git_workspace_is_unavailable(shop: Shop, tmp_path: Path) -> None:
    host = LocalHostTools(declare([(shop.root, Audience.SHARED)]), search_path=str(tmp_path))
    async with host.open(Audience.SHARED) as session:
        read = await session.read("shop", "README.md")
        assert (read.status, read.reason) == (HostStatus.UNAVAILABLE, "git is not installed")


async def test_output_is_bounded(shop: Shop) -> None:
    write(shop.root, "big.txt", "needle 1234567890\n" * 20_000)
    commit(shop.root, "Big", author="Eve", at="2024-05-05T00:00:00Z")
    limits = Limits(output_bytes=20_000, file_bytes=5_000)
    async with tools(shop.root, limits=limits).open(Audience.SHARED) as session:
        found = await session.search("needle", limit=1000)
        assert found.truncated
        assert 0 < len(found.lines) <= 1000
        read = await session.read("shop", "big.txt", start=1, count=1000)
        assert read.truncated
        assert len(read.lines) < 400


async def test_audiences(shop: Shop, tmp_path: Path) -> None:
    private = make_shop(tmp_path / "private")
    host = tools(shop.root, private=[private.root])
    async with host.open(Audience.SHARED) as session:
        assert [view.name for view in session.workspaces] == ["shop"]
        assert (await session.read("private", "README.md")).status is HostStatus.DENIED
    async with host.open(Audience.PRIVATE) as session:
        assert [view.name for view in session.workspaces] == ["shop", "private"]
        both = await session.search("ShoppingCart")
        assert {line.workspace for line in both.lines} == {"shop", "private"}
    async with tools(private=[private.root]).open(Audience.SHARED) as session:
        assert (await session.search("total")).status is HostStatus.DENIED


async def test_a_private_workspace_inside_a_shared_one_stays_private(shop: Shop) -> None:
    async with tools(shop.root, private=[shop.root / "docs"]).open(Audience.SHARED) as session:
        assert (await session.read("shop", "docs/退货.md")).status is HostStatus.DENIED
        assert (await session.search("三十天内")).lines == ()
