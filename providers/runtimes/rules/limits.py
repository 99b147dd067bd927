"""Numbers that the investigation and the answer share."""

from __future__ import annotations

from typing import Final

ASKED_FOR: Final = 1000.0
"""The score of a line that the question itself names."""

LONG_READ: Final = 40
"""Lines that are shown of something that is to be shown or explained."""

SHORT_READ: Final = 12
"""Lines that are shown of a place that answers "where"."""
