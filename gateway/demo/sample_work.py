"""What the two sample peers can really do: each reads one repository with git and writes Markdown."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

Work = Callable[[Path], str]

TIME_LIMIT_S = 20


def survey(repository: Path) -> str:
    """Count the tracked files and lines of each folder of the repository."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for name in _git(repository, "ls-files", "-z").split("\0"):
        path = repository / name
        if not name or path.is_symlink() or not path.is_file():
            continue
        folder = name.split("/", 1)[0] if "/" in name else "(top level)"
        files[folder] += 1
        lines[folder] += path.read_bytes().count(b"\n")
    rows = [f"{folder:<14}{files[folder]:>6}{lines[folder]:>9}" for folder, _ in lines.most_common(12)]
    table = "\n".join([f"{'folder':<14}{'files':>6}{'lines':>9}", *rows])
    return f"{files.total()} tracked files, {lines.total()} lines at {revision(repository)}.\n```\n{table}\n```"


def chronicle(repository: Path) -> str:
    """Tell who committed how often, and the newest commits."""
    people = _git(repository, "shortlog", "-sn", "--no-merges", "HEAD").strip().splitlines()[:8]
    newest = _git(repository, "log", "-5", "--format=%h %as %s").strip()
    counts = "\n".join(line.strip().replace("\t", " commits, ") for line in people)
    return f"Commits by author at {revision(repository)}:\n{counts}\n\nThe newest:\n```\n{newest}\n```"


def revision(repository: Path) -> str:
    """The commit that is checked out. Raises ``OSError`` without git, ``CalledProcessError`` without a commit."""
    return _git(repository, "rev-parse", "--short=10", "HEAD").strip()


def is_shallow(repository: Path) -> bool:
    """Whether older commits were not cloned."""
    return _git(repository, "rev-parse", "--is-shallow-repository").strip() == "true"


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), "--no-pager", *arguments]  # no text of a request is ever in here
    done = subprocess.run(command, capture_output=True, check=True, timeout=TIME_LIMIT_S, stdin=subprocess.DEVNULL)
    return done.stdout.decode("utf-8", "replace")


SKILLS: Mapping[str, tuple[str, str, Work]] = {
    "surveyor": ("measures code: files and lines of each folder", "测量代码规模：每个目录的文件数和行数", survey),
    "historian": ("tells the history of a repository: commits by author", "讲述仓库历史：每位作者的提交", chronicle),
}
"""Name -> what it does in English, in Chinese, and the work itself."""
