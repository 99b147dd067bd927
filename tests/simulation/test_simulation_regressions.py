"""Histories that an oracle stopped once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.plan import Plan
from tests.simulation.suite import REGRESSIONS, told


@pytest.mark.parametrize("path", sorted(REGRESSIONS.glob("*.json")), ids=lambda path: path.stem)
def test_it_stays_mended(path: Path) -> None:
    found = told(Plan.from_json(path.read_text()))
    assert "no oracle has anything to say" in found, found
