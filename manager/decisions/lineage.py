"""How far peers may hand on: never back into the lineage, not too deep, not to too many at once."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final

from manager.ids import PeerId

MOST_DEPTH: Final = 4
"""A child of a child of … so often at most."""

MOST_OPEN_CHILDREN: Final = 16
"""So many open requests may one parent have."""


class Bound(Enum):
    """Why a request may not be handed on."""

    ONESELF = "oneself"
    """The one who delegates is the one who would get it."""
    LINEAGE = "lineage"
    """The peer is already part of the chain that led here."""
    DEPTH = "depth"
    """The chain is long enough."""
    FAN_OUT = "fan_out"
    """The parent has enough open children."""


def bound(*, caller: PeerId, to: PeerId, lineage: Collection[PeerId], depth: int, open_children: int) -> Bound | None:
    """What forbids handing on to ``to``; None if nothing does.

    ``lineage`` are all who asked or hold anything from the parent up; ``depth`` is the parent's.
    """
    if to == caller:
        return Bound.ONESELF
    if to in lineage:
        return Bound.LINEAGE
    if depth >= MOST_DEPTH:
        return Bound.DEPTH
    if open_children >= MOST_OPEN_CHILDREN:
        return Bound.FAN_OUT
    return None
