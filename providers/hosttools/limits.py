"""How much one look at the host may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a session. Whatever reaches one is cut off and reported as truncated or unavailable."""

    seconds: float = 10.0
    """The longest that one command, or one walk over a folder, may take."""
    output_bytes: int = 8 * 1024 * 1024
    """The most that is taken from one command."""
    file_bytes: int = 2 * 1024 * 1024
    """The most of one file that is looked at."""
    walk_bytes: int = 64 * 1024 * 1024
    """The most that one search reads in a folder without git."""
    listed_files: int = 200_000
    """The most files of one workspace that are listed."""
    depth: int = 32
    """How deep a folder without git is walked."""
    parallel: int = 4
    """Commands that run side by side."""
    line_chars: int = 400
    """The most of one line that is shown."""
