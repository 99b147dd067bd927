"""The address of the database: one kind in two spellings, and nothing of it that is secret in any message."""

from __future__ import annotations

import logging
from io import StringIO
from pathlib import Path

import pytest

from gateway.http.logging import set_up
from gateway.settings_database import PostgresServer, SqliteFile, database_of, database_url_problem, secrets_of_url

FILE = Path("data/steward.db")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@h/d",
        "postgresql+psycopg://u:p@h/d",
        "postgresql://h/d",
        "postgresql://u@h:6432/d?sslmode=require",
        "postgresql://[::1]:5432/d",
        "postgresql:///d?host=/run/postgresql",
        "postgresql://u:p%40%2F%23@h/d",
    ],
)
def test_both_spellings_are_taken(url: str) -> None:
    assert database_url_problem(url) is None
    found = database_of(url, FILE)
    assert isinstance(found, PostgresServer)
    assert found.url == url.replace("+psycopg", "")


def test_empty_is_the_file() -> None:
    assert database_of("", FILE) == SqliteFile(FILE)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:geheim@db.example.org:6432/steward", "database steward on db.example.org"),
        ("postgresql:///steward?host=/run/pg&password=geheim", "database steward on /run/pg"),
    ],
)
def test_it_is_shown_without_user_and_password(url: str, shown: str) -> None:
    server = PostgresServer(url)
    assert str(server) == shown
    assert "geheim" not in repr(server)


@pytest.mark.parametrize(
    ("url", "password"),
    [
        ("postgresql://u:ge%40heim@h/d", "ge@heim"),
        ("postgresql://u:ge%40heim@h/d", "ge%40heim"),
        ("postgresql://u:geheim@h/d", "geheim"),
        ("postgresql:///d?host=h&password=ge%2Fheim", "ge/heim"),
    ],
)
def test_the_log_masks_a_password_however_it_is_written(url: str, password: str) -> None:
    assert password in secrets_of_url(url)
    stream = StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        set_up(secrets_of_url(url), stream=stream)
        logging.getLogger("x").warning("%s and %s", url, password)
    finally:
        root.handlers[:], root.level = handlers, level
    assert password not in stream.getvalue()


def test_no_address_no_secret() -> None:
    assert secrets_of_url("") == ()
    assert secrets_of_url("postgresql://h/d") == ("postgresql://h/d",)
