"""Cursors: only what was made, for whom it was made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.cursors import Cursors
from gateway.http.errors import ApiError
from gateway.http.keys import derive

SECRET = derive("token", "cursors")


@given(st.text(), st.text(), st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_reads_what_it_made(caller: str, query: str, position: str) -> None:
    cursor = Cursors(SECRET).encode(caller, query, position)
    assert Cursors(SECRET).decode(caller, query, cursor) == position  # another instance: a restart


@pytest.mark.parametrize(
    ("secret", "caller", "query"),
    [
        (derive("other", "cursors"), "peer", "open"),
        (derive("token", "cookie"), "peer", "open"),
        (SECRET, "other", "open"),
        (SECRET, "peer", "all"),
        (SECRET, "peero", "pen"),  # the border between the two counts
    ],
)
def test_bound_to_secret_caller_and_query(secret: bytes, caller: str, query: str) -> None:
    cursor = Cursors(SECRET).encode("peer", "open", "41")
    with pytest.raises(ApiError) as refusal:
        Cursors(secret).decode(caller, query, cursor)
    assert (refusal.value.status, refusal.value.code, refusal.value.field) == (400, "invalid_cursor", "cursor")


@given(st.one_of(st.text(), st.binary().map(lambda raw: raw.hex()), st.text("ABCabc-_=", max_size=80)))
def test_anything_else_is_refused(cursor: str) -> None:
    with pytest.raises(ApiError):
        Cursors(SECRET).decode("peer", "open", cursor)


@given(st.integers(0, 40), st.integers(1, 255))
def test_every_byte_counts(position: int, change: int) -> None:
    raw = bytearray(Cursors(SECRET).encode("peer", "open", "1234567890").encode())
    raw[position % len(raw)] = (raw[position % len(raw)] + change) % 128
    altered = raw.decode()
    if altered == Cursors(SECRET).encode("peer", "open", "1234567890"):
        return
    try:
        position_read = Cursors(SECRET).decode("peer", "open", altered)
    except ApiError:
        return
    # the last character of base64 may hold unused bits; then it is still the same cursor
    assert position_read == "1234567890"
    assert altered[:-1] == Cursors(SECRET).encode("peer", "open", "1234567890")[:-1]
