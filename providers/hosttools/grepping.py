"""What ``git grep -z -n`` prints, read record by record. Pure."""

from __future__ import annotations

from collections.abc import Iterator


def grepped(output: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """The complete records: name (with its revision), line number, text.

    A name may hold a newline, a text never holds a NUL: name and number end at a NUL, the text at a newline.
    """
    position = 0
    while True:
        name_end = output.find(b"\0", position)
        number_end = output.find(b"\0", name_end + 1)
        text_end = output.find(b"\n", number_end + 1)
        if min(name_end, number_end, text_end) < 0:
            return
        number = output[name_end + 1 : number_end]
        if number.isdigit():
            yield output[position:name_end], int(number), output[number_end + 1 : text_end]
        position = text_end + 1
