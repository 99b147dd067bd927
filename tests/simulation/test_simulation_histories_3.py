"""Histories of the way back under chance, part 3 of 4: each satisfies every oracle."""

from __future__ import annotations

import pytest

from tests.simulation.suite import check_seeds

COUNT = 250


@pytest.mark.parametrize("first", range(2500, 3750, COUNT))
def test_every_oracle_is_satisfied(first: int) -> None:
    check_seeds(first, COUNT)
