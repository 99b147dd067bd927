"""Cursors of the command line: opaque, and good only for the list that they came from.

Whoever may read the database may read all of it, so that nothing has to be signed here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

TAG_BYTES = 6
LONGEST = 18


class NoSuchPosition(Exception):
    """This cursor is not one of this list: start again without a cursor."""

    code = "invalid_cursor"


def encode(key: str, position: str) -> str:
    """A cursor after ``position`` in the list of ``key``."""
    return base64.urlsafe_b64encode(_tag(key, position) + position.encode()).rstrip(b"=").decode()


def decode(key: str, cursor: str) -> str:
    """The position. Raises ``NoSuchPosition``."""
    try:
        raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), b"-_", validate=True)
        tag, position = raw[:TAG_BYTES], raw[TAG_BYTES:].decode()
    except (binascii.Error, UnicodeError):
        raise _unknown() from None
    if tag != _tag(key, position) or not (position.isdecimal() and len(position) <= LONGEST):
        raise _unknown()
    return position


def _tag(key: str, position: str) -> bytes:
    return hashlib.sha256(f"{key}\0{position}".encode()).digest()[:TAG_BYTES]


def _unknown() -> NoSuchPosition:
    return NoSuchPosition("this cursor is not one of this list: start again without --cursor")
