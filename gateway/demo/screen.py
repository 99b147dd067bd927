"""Where the story is told: a spinner and colour on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

QUOTED_LINES = 14


class Screen:
    """Prints as things happen. All words are data: no markup in them counts."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def waiting(self, words: str) -> Generator[None]:
        """Show that something is under way."""
        if not self._console.is_terminal:
            self.line(words)
            yield
            return
        with self._console.status(Text(words)):
            yield

    def line(self, words: str, style: str = "") -> None:
        """One line."""
        self._console.print(Text(words, style=style), soft_wrap=True)

    def step(self, words: str) -> None:
        """Something that happened."""
        self._console.print(Text("  · ", style="dim"), Text(words), sep="", soft_wrap=True)

    def quote(self, heading: str, words: str) -> None:
        """What people see in the chat, at most a screenful of it."""
        self.line(f"  {heading}:", "dim")
        lines = words.splitlines()
        for each in lines[:QUOTED_LINES]:
            self._console.print(Text("  │ ", style="green"), Text(each), sep="", soft_wrap=True)
        if len(lines) > QUOTED_LINES:
            self._console.print(Text(f"  │ … (+{len(lines) - QUOTED_LINES})", style="dim"))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """The proof."""
        shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
        for column in columns:
            shown.add_column(column, overflow="fold")
        for row in rows:
            shown.add_row(*[Text(cell) for cell in row])
        self._console.print(shown)
