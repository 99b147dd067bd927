"""Histories of the way back under chance, part 1 of 4: each satisfies every oracle."""

from __future__ import annotations

import pytest

from tests.simulation.suite import check_seeds

COUNT = 250


@pytest.mark.parametrize("first", range(0, 1250, COUNT))
def test_every_oracle_is_satisfied(first: int) -> None:
    check_seeds(first, COUNT)
