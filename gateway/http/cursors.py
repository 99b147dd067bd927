"""Cursors of lists: opaque, signed, bound to who asked and for what, good across restarts."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from gateway.http.errors import ApiError

TAG_BYTES = 16
LONGEST = 1_000


class Cursors:
    """Makes and reads cursors under one secret (``gateway.http.keys.derive(token, "cursors")``)."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def encode(self, caller: str, query: str, position: str) -> str:
        """A cursor after ``position`` in the list that ``caller`` filtered by ``query``."""
        raw = self._tag(caller, query, position) + position.encode()
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")

    def decode(self, caller: str, query: str, cursor: str) -> str:
        """The position; ``ApiError`` 400 ``invalid_cursor`` for anything that ``encode`` did not make for these two."""
        if len(cursor) > LONGEST or not cursor.isascii():
            raise invalid_cursor()
        try:
            raw = base64.b64decode(cursor.encode() + b"=" * (-len(cursor) % 4), b"-_", validate=True)
            position = raw[TAG_BYTES:].decode()
        except (binascii.Error, UnicodeDecodeError):
            raise invalid_cursor() from None
        if not hmac.compare_digest(raw[:TAG_BYTES], self._tag(caller, query, position)):
            raise invalid_cursor()
        return position

    def _tag(self, caller: str, query: str, position: str) -> bytes:
        fields = [part.encode("utf-8", "surrogatepass") for part in (caller, query, position)]
        message = b"".join(len(field).to_bytes(8, "big") + field for field in fields)
        return hmac.digest(self._secret, message, hashlib.sha256)[:TAG_BYTES]


def invalid_cursor() -> ApiError:
    """The refusal of a cursor."""
    return ApiError(
        400, "invalid_cursor", "This cursor is not one of this list. Start again without a cursor.", "cursor"
    )
