"""The log: one safe line a record."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from gateway.http.logging import SafeFormatter, describe, set_up

SECRET = "canary-secret-1"


def line(message: str, *arguments: object, error: BaseException | None = None) -> str:
    info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("gateway.test", logging.INFO, __file__, 1, message, arguments, info)
    return SafeFormatter([SECRET, "canary", ""]).format(record)


def test_masks_secrets_wherever_they_stand() -> None:
    told = line("a %s b %s", SECRET, {"key": f"x{SECRET}y"})
    assert "canary" not in told
    assert "***-secret-1" not in told  # the longer secret is masked first


@pytest.mark.parametrize(
    "name", ["oc_5ce6d572455d", "om_5ce6d572455d", "omt_d4be107c616", "ou_84aad35d084a", "cli_9f5343c5"]
)
def test_masks_the_provider_s_ids(name: str) -> None:
    assert name not in line("told %s", name)


@pytest.mark.parametrize(
    "bad", ["\r\n2026 fake line", "\x1b[31mred", "\u202eevil", "\x00", "\x9b31m", "\u2028next", "\ud800"]
)
def test_one_line_without_control(bad: str) -> None:
    told = line("told %s", bad)
    assert bad[0] not in told
    assert len(told.splitlines()) == 1
    told.encode()


def fail() -> None:
    raise ValueError("the body of a message")


def fail_twice() -> None:
    try:
        fail()
    except ValueError as error:
        raise RuntimeError("and another") from error


def test_an_exception_keeps_its_words_to_itself() -> None:
    with pytest.raises(RuntimeError) as failure:
        fail_twice()
    told = line("it failed", error=failure.value)
    assert "body" not in told
    assert "another" not in told
    assert "RuntimeError at" in told
    assert "because of ValueError at" in told
    assert "fail_twice" in told
    assert len(told.splitlines()) == 1


@pytest.fixture
def kept_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_set_up_quiets_libraries(kept_logging: None) -> None:
    stream = io.StringIO()
    set_up([SECRET], stream=stream)
    logging.getLogger("httpx").info("GET https://open.feishu.cn/…")
    logging.getLogger("gateway.test").info("said %s", SECRET)
    told = stream.getvalue()
    assert "GET" not in told
    assert "info gateway.test said ***" in told


def test_a_group_of_exceptions_names_its_parts() -> None:
    told = describe(ExceptionGroup("private words", [ValueError("more private words"), KeyError("and more")]))
    assert "private" not in told
    assert told.startswith("ExceptionGroup at ")
    assert "a part of it: ValueError at " in told
    assert "a part of it: KeyError at " in told
