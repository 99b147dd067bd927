"""Wrong designs are caught, each by an oracle that it names, within 2,000 seeds. The real one passes them."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import MUTANTS, SOUND, Mutant
from tests.simulation.suite import first_caught

SEEDS = 2_000


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_wrong_design_is_caught(mutant: Mutant) -> None:
    caught = first_caught(mutant, range(mutant.first, SEEDS))
    assert caught is not None, "no oracle spoke"
    seed, result = caught
    spoke = result.problems[0]
    print(f"{mutant.name}: caught by {spoke.oracle} at seed {seed}: {spoke.text}")
    assert spoke.oracle in mutant.caught_by


def test_the_real_design_is_not() -> None:
    assert first_caught(SOUND, range(20)) is None
