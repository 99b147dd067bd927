"""The demo as a newcomer runs it: it proves what it claims, leaves nothing behind, and fails where its proof fails."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from rich.cells import cell_len
from rich.console import Console

from gateway.demo.narration import FACTS, QUESTIONS, TITLES, Narrator, say
from gateway.demo.proof import Exhibit, judge
from gateway.demo.screen import HEAD, TAIL, Screen
from tests.support.world import make_repository

ROOT = Path(__file__).parents[2]
WITHIN_S = 90
DEMONSTRATE = (
    "from gateway.cli.demonstrating import demonstrate; from pathlib import Path; raise SystemExit(demonstrate("
)

needs_repository = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the demo reads the project's repository")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """As on a newcomer's machine, temporary folders in ``folder``."""
    (folder / "tmp").mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(folder / "tmp"), "LC_ALL": "C.UTF-8", **more}


@contextmanager
def leaves_nothing(process: subprocess.Popen[str], folder: Path) -> Iterator[list[psutil.Process]]:
    """Whoever was started meanwhile is gone at the end, and so is every temporary folder."""
    started: list[psutil.Process] = []
    try:
        yield started
        _, alive = psutil.wait_procs(started, timeout=5)
        assert not alive, f"left behind: {alive}"
        assert list((folder / "tmp").iterdir()) == []
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gateway", "demo", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, encoding="utf-8",
        env=environment(folder), cwd=ROOT,
    )  # fmt: skip


def read_until(process: subprocess.Popen[str], words: str) -> list[str]:
    """The lines up to the one that holds ``words``."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if words in line:
            return lines
    raise AssertionError("the demo ended early:\n" + "\n".join(lines))


@needs_repository
@pytest.mark.process
@pytest.mark.timeout(WITHIN_S)
def test_the_story_is_told_in_order_and_kept_up_until_ctrl_c(tmp_path: Path) -> None:
    process = begin(tmp_path, "--language", "en", "--serve")
    with leaves_nothing(process, tmp_path) as started:
        lines = read_until(process, "Ctrl-C ends it.")
        started.extend(psutil.Process(process.pid).children(recursive=True))
        assert len(started) >= 3, "a gateway and two peers, each a process of its own"
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
    first, second = (next(i for i, line in enumerate(lines) if QUESTIONS[key][0] in line) for key in ("own", "handed"))
    told = [line.removeprefix("  · ") for line in lines if line.startswith("  · ")]
    own = [line for line in told if lines.index(f"  · {line}") < second]
    assert_in_order(own, *("received", "turn_started", "investigated", "answer.attempt", "answer.unknown"),
                    *("answer.searched", "answer.located.search", "answer.delivered"))  # fmt: skip
    handed = [line.removeprefix("  · ") for line in lines[second:] if line.startswith("  · ")]
    assert_in_order(handed, *("received", "turn_started", "stored", "presented", "assessed", "result"),
                    *("answer.attempt", "answer.accepted", "answer.delivered"))  # fmt: skip
    quoted = [line for line in lines[first:second] if line.startswith("  │ ")]
    assert any("`returns/service/pump.py:" in line for line in quoted)
    assert not any("…" in line for line in told), "a sentence has a place that nothing filled"
    assert not any(" 0 pieces" in line for line in told)
    proofs = [line for line in lines if " delivered" in line and "×" in line]
    assert [line.split()[-1] for line in proofs] == ["reconciled", "direct"]
    assert all("1×" in line for line in proofs)


def assert_in_order(told: list[str], *facts: str) -> None:
    expected = [
        say(FACTS[name], "en", receiver="surveyor", assessment="accepted", outcome="resolved") for name in facts
    ]
    places = [
        next(i for i, line in enumerate(told) if line.split("…")[0].startswith(words.split("…")[0]))
        for words in expected
    ]
    assert places == sorted(places), told


@needs_repository
@pytest.mark.process
@pytest.mark.timeout(WITHIN_S)
def test_the_proof_as_json_while_a_real_app_is_configured(tmp_path: Path) -> None:
    """Nothing of the newcomer's own settings gets into the demo, or out of it."""
    own = {
        "LARK_APP_ID": "cli_of_a_real_app",
        "LARK_DOMAIN": "https://open.feishu.cn",
        "LARK_STEWARD__GATEWAY__PORT": "1",
    }
    done = run(["-m", "gateway", "demo", "--json", "--language", "zh"], environment(tmp_path, **own))
    assert done.returncode == 0, done.stderr
    proof = json.loads(done.stdout)
    assert proof["wrong"] == []
    own_answer, handed = proof["answers"]
    assert [own_answer["question"], handed["question"]] == [QUESTIONS["own"][1], QUESTIONS["handed"][1]]
    assert (own_answer["status"], own_answer["verification"], own_answer["sends"]) == ("delivered", "reconciled", 1)
    assert (handed["status"], handed["verification"], handed["sends"]) == ("delivered", "direct", 2)
    assert (len(own_answer["replies"]), len(handed["replies"])) == (1, 2)
    assert "绝不重发" in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@needs_repository
@pytest.mark.process
@pytest.mark.timeout(WITHIN_S)
def test_without_the_lost_response_there_is_nothing_to_prove(tmp_path: Path) -> None:
    done = run(["-c", DEMONSTRATE + "'en', keep_up=False, as_json=True, fault=None))"], environment(tmp_path))
    assert done.returncode == 1
    assert json.loads(done.stdout)["wrong"] == ["0 deliveries were reconciled, not 1"]
    assert "The proof does not hold: 0 deliveries were reconciled, not 1" in done.stderr
    assert "exactly once" not in done.stderr


@needs_repository
@pytest.mark.process
@pytest.mark.timeout(WITHIN_S)
def test_a_sigterm_in_the_middle_ends_everything(tmp_path: Path) -> None:
    process = begin(tmp_path, "--language", "en")
    with leaves_nothing(process, tmp_path) as started:
        read_until(process, "asks:")
        started.extend(psutil.Process(process.pid).children(recursive=True))
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 1


@pytest.mark.process
def test_a_gateway_that_cannot_start_is_said_in_its_own_words(tmp_path: Path) -> None:
    """The peers' names are taken: the command that registers them says so, and the gateway is not left running."""
    code = (
        "import gateway.demo.stage as stage; stage.SKILLS = {'not a name': ('a', 'b', None)};"
        f"{DEMONSTRATE}'en', keep_up=False, as_json=False, repository=Path({str(make_repository(tmp_path / 'r'))!r})))"
    )
    done = run(["-c", code], environment(tmp_path))
    assert done.returncode == 1
    assert "The demo could not start" in done.stderr
    assert "NAME" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [
        each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(each.info["cmdline"] or [])
    ] == []


def run(arguments: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=WITHIN_S,
        env=env,
        cwd=ROOT,
    )


def without_a_repository(folder: Path) -> None:
    folder.mkdir()


def without_a_commit(folder: Path) -> None:
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


@pytest.mark.parametrize(
    ("make", "path", "language", "said"),
    [
        (without_a_repository, None, "en", "there is none at"),
        (without_a_repository, None, "zh", "不是 git 仓库"),
        (without_a_commit, None, "en", "git finds none: fatal:"),
        (make_repository, "/nonexistent", "en", "The demo needs git"),
    ],
)
def test_a_folder_that_cannot_be_read_is_said(
    tmp_path: Path, make: object, path: str | None, language: str, said: str
) -> None:
    assert callable(make)
    make(tmp_path / "copy")
    env = environment(tmp_path, **({} if path is None else {"PATH": path}))
    done = run(
        [
            "-c",
            f"{DEMONSTRATE}{language!r}, keep_up=False, as_json=False, repository=Path({str(tmp_path / 'copy')!r})))",
        ],
        env,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


GOOD = (
    Exhibit("one", ("answer",), 1, 1, 3, "delivered", "reconciled"),
    Exhibit("two", ("notice", "result"), 2, 2, 3, "delivered", "direct"),
)


def test_a_proof_that_holds() -> None:
    assert judge(GOOD) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "explicit_unverified"}, "explicit_unverified, not delivered"),
        ({"status": "verification_required"}, "not delivered"),
        ({"status": "delivered", "verification": "direct"}, "0 deliveries were reconciled"),
        ({"replies": ()}, "0 replies, not 1"),
        ({"replies": ("answer", "answer"), "sends": 2}, "answered twice"),
        ({"replies": ("answer", "other")}, "2 replies, not 1"),
        ({"sends": 2}, "2 sends, not 1"),
        ({"sends": 0}, "0 sends, not 1"),
    ],
)
def test_a_proof_that_does_not_hold(change: dict[str, object], said: str) -> None:
    wrong = judge((dataclasses.replace(GOOD[0], **change), GOOD[1]))
    assert any(said in why for why in wrong), wrong


def test_two_reconciled_ones_are_one_too_many() -> None:
    assert judge((GOOD[0], dataclasses.replace(GOOD[1], verification="reconciled"))) == (
        "2 deliveries were reconciled, not 1",
    )


def test_nothing_proves_nothing() -> None:
    assert "nothing was asked" in judge(())


def fact(name: str, at: int, **detail: object) -> dict[str, object]:
    return {"at": f"2026-01-01T00:00:{at:02}Z", "fact": name, "detail": detail}


def test_each_fact_is_told_once_wherever_it_comes_in() -> None:
    """A fact of the other room may turn up before facts that were told already."""
    queued = fact("return_queued", 2, kind="answer", **{"return": "ret_1"})
    attempt = fact("attempt", 3, attempt=1, **{"return": "ret_1"})
    receipt = fact("receipt", 1, left=True)
    narrator = Narrator("en")
    assert list(narrator.new([queued, attempt], None)) == [FACTS["answer.attempt"][0]]
    assert list(narrator.new([receipt, queued, attempt], None)) == [FACTS["receipt"][0]]
    assert list(narrator.new([receipt, queued, attempt, attempt], None)) == [FACTS["answer.attempt"][0]]


def test_a_notice_is_not_taken_for_the_answer() -> None:
    queued = fact("return_queued", 1, kind="notice", **{"return": "ret_1"})
    accepted, delivered = (fact(name, 2, **{"return": "ret_1"}) for name in ("accepted", "delivered"))
    assert list(Narrator("zh").new([queued, accepted, delivered], None)) == [FACTS["notice.delivered"][1]]


def test_nothing_read_is_not_told() -> None:
    assert list(Narrator("en").new([fact("investigated", 1, read=0)], None)) == []
    assert list(Narrator("zh").new([fact("investigated", 1, read=2)], None)) == ["在固定的版本上读代码：2 条证据"]


def test_everything_is_said_in_both_languages() -> None:
    for words in (*FACTS.values(), *TITLES.values(), *QUESTIONS.values()):
        english, chinese = words
        assert english.isascii() or set(english) - set(map(chr, range(128))) <= set("…·“”’")
        assert not chinese.isascii()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_stay_within_the_terminal(width: int) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, force_terminal=True, width=width, color_system=None))
    screen.line(TITLES["ready"][0])
    screen.step(FACTS["answer.unknown"][0])
    screen.step(FACTS["answer.unknown"][1])
    screen.quote("in the chat", "长" * 100 + "\n\n[bold]not markup[/bold]", "{lines} more")
    lines = out.getvalue().splitlines()
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    assert "  │ [bold]not markup[/bold]" in [line.rstrip() for line in lines]
    assert "".join(lines).count("长") == 100


def test_elsewhere_lines_are_left_whole_and_long_messages_cut_in_the_middle() -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, width=40))
    screen.step(FACTS["answer.unknown"][0])
    screen.quote("in the chat", "\n".join(f"line {number}" for number in range(100)), "{lines} more")
    lines = out.getvalue().splitlines()
    assert lines[0] == f"  · {FACTS['answer.unknown'][0]}"
    shown = [line.removeprefix("  │ ") for line in lines[2:]]
    assert shown == [f"line {n}" for n in range(HEAD)] + [f"… {100 - HEAD - TAIL} more …"] + [
        f"line {n}" for n in range(100 - TAIL, 100)
    ]


def test_a_spinner_only_on_a_terminal() -> None:
    out = io.StringIO()
    with Screen(Console(file=out)).waiting("Starting …"):
        pass
    assert out.getvalue() == "Starting …\n"


async def test_a_process_that_is_over_already_ends_quietly() -> None:
    from gateway.demo.stage import _end

    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()
    await _end(process)
