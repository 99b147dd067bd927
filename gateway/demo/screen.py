"""Where the story is told: a spinner, colour and wrapped lines on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

HEAD, TAIL = 10, 7
"""So many lines of a message are shown of its beginning, and of its end."""


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
        self._print("", words, style)

    def step(self, words: str) -> None:
        """Something that happened."""
        self._print("  · ", words, beyond="    ")

    def quote(self, heading: str, words: str, left_out: str) -> None:
        """What people see in the chat, at most a screenful of it; ``left_out`` names ``{lines}``."""
        self.line(f"  {heading}:", "dim")
        lines = words.splitlines()
        cut = max(0, len(lines) - HEAD - TAIL)
        shown = [*lines[:HEAD], f"… {left_out.format(lines=cut)} …", *lines[-TAIL:]] if cut > 1 else lines
        for each in shown:
            self._print("  │ ", each)

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """The proof."""
        shown = Table(
            title=title,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            padding=(0, 1, 0, 0),
        )
        for index, column in enumerate(columns):
            shown.add_column(column, overflow="fold", no_wrap=index > 0)
        for row in rows:
            shown.add_row(*[Text(cell) for cell in row])
        self._console.print(shown)

    def _print(self, mark: str, words: str, style: str = "", beyond: str | None = None) -> None:
        """One line, on a terminal wrapped to its width: ``mark`` before it, ``beyond`` before what did not fit."""
        text = Text(words, style=style)
        if not self._console.is_terminal:
            self._console.print(Text(mark), text, sep="", soft_wrap=True)
            return
        room = max(10, self._console.width - len(mark))
        for each in text.wrap(self._console, room) or [text]:
            self._console.print(Text(mark, style="dim"), each, sep="", soft_wrap=True)
            mark = mark if beyond is None else beyond
