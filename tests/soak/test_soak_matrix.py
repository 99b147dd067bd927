"""The committed fault matrix: it keeps the promise in every cell, and a run gives what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import matrix, reliability
from tests.soak.faults import OFFLINE, TROUBLES, trouble
from tests.soak.matrix_process import process_cells
from tests.soak.matrix_pump import before_bytes_cells, offline_cells
from tests.soak.outcomes import Moment

SAMPLE = (
    "no fault",
    "accepts, the answer is lost",
    "accepts, names another chat's message",
    "refused: content",
    "refused once: a rate limit",
)


def test_every_cell_is_there() -> None:
    committed = matrix.read()
    assert list(committed) == [*(each.name for each in TROUBLES), OFFLINE]
    assert all(set(row) == {moment.name for moment in Moment} for row in committed.values())
    assert all(row[Moment.NEVER.name] is not None for row in committed.values())


def test_no_cell_breaks_the_promise() -> None:
    """Never two messages; delivered means exactly one; whoever has no answer has somebody who is told."""
    for fault, row in matrix.read().items():
        for moment, cell in row.items():
            if cell is None:
                continue
            where = f"{fault}, {moment}: {cell}"
            assert cell.messages in (0, 1), where
            if cell.status == "delivered":
                assert (cell.messages, cell.needs_operator, cell.error) == (1, False, None), where
                assert cell.verification in ("direct", "reconciled"), where
            else:
                assert cell.error is not None, where
                assert cell.needs_operator or fault == "refused: the question was recalled", where
            if cell.status in ("undeliverable", "superseded", "retry_pending"):
                assert cell.messages == 0, where


def test_the_page_shows_what_was_measured() -> None:
    page = reliability.PAGE.read_text(encoding="utf-8")
    assert reliability.filled(page, reliability.measured()) == page
    assert matrix.table(matrix.read()) in page


@pytest.mark.timeout(120)
async def test_right_before_the_first_byte(tmp_path: Path) -> None:
    """The whole column that the pump makes."""
    found = await before_bytes_cells(tmp_path, TROUBLES)
    assert found == {name: row[Moment.BEFORE_BYTES.name] for name, row in matrix.read().items() if name != OFFLINE}


@pytest.mark.timeout(120)
async def test_offline(tmp_path: Path) -> None:
    found = await offline_cells(tmp_path)
    assert {moment.name: cell for moment, cell in found.items()} == {
        name: cell for name, cell in matrix.read()[OFFLINE].items() if cell is not None
    }


@pytest.mark.process
@pytest.mark.timeout(180)
async def test_answered_and_nothing_of_it_durable(tmp_path: Path) -> None:
    """A sample of the cells that the process makes, at the moment that nothing outside can see."""
    found = await process_cells(tmp_path, Moment.BEFORE_RECORDED, [trouble(name) for name in SAMPLE])
    assert found == {name: matrix.read()[name][Moment.BEFORE_RECORDED.name] for name in SAMPLE}
