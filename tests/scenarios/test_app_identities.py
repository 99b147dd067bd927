"""A name stands for one app for good, once that one has sent something under it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from manager.ledger.app_identities import AppRenamed, AppReplaced, register
from returns.ids import AppName, Millis, ReturnId, SubjectId
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ledger.tables import parts
from tests.support.databases import engine_of, of_folder
from tests.support.returns import START, route, text

ONE, OTHER = AppName("one"), AppName("other")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    engine = engine_of(of_folder(tmp_path))
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def sent(db: Connection, app: AppName) -> None:
    """The app sent something."""
    new = new_return(
        return_id=ReturnId("t_1"),
        subject=SubjectId("r_1"),
        revision=1,
        kind=ReturnKind.ANSWER,
        route=route(app=app),
        documents=(text("x"),),
    )
    enqueue(db, new, Millis(START))
    db.execute(update(parts).values(attempts=1))


def test_the_same_again(db: Connection) -> None:
    register(db, {ONE: "cli_1", OTHER: "cli_2"})
    sent(db, ONE)
    register(db, {ONE: "cli_1"})
    register(db, {OTHER: "cli_2", ONE: "cli_1"})


def test_an_app_under_another_name(db: Connection) -> None:
    register(db, {ONE: "cli_1"})
    with pytest.raises(AppRenamed, match="'one'"):
        register(db, {OTHER: "cli_1"})
    register(db, {ONE: "cli_1"})


def test_another_app_under_the_name_of_one_that_spoke(db: Connection) -> None:
    register(db, {ONE: "cli_1"})
    sent(db, ONE)
    with pytest.raises(AppReplaced, match="'one'") as refused:
        register(db, {ONE: "cli_2"})
    assert "cli_" not in str(refused.value)
    register(db, {ONE: "cli_1", OTHER: "cli_2"})
    with pytest.raises(AppRenamed):
        register(db, {ONE: "cli_2", OTHER: "cli_1"})


def test_an_id_that_was_mistyped(db: Connection) -> None:
    register(db, {ONE: "cli_typo"})
    register(db, {ONE: "cli_1"})
    sent(db, ONE)
    register(db, {ONE: "cli_1"})
