"""Opening envelopes: the documented vectors, and one failure for everything else."""

from __future__ import annotations

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.webhook.envelope import Opener, Undecryptable
from tests.support.webhook import IV, KEY, encrypt, raw_encrypt

VECTOR = (
    "AAECAwQFBgcICQoLDA0OD79vjgL5NmGm/ETMaRM9Q8s0Mw7+ZTbefYcu2XfrluBq8t4+PHenSDe7dKmcza7yV4YlQOqKpQbGbjc4Lc+sfNl1c9kb"
    "F7PJSKPEKcFcE6J9"
)


def test_the_documentation_s_own_vector() -> None:
    assert Opener("test key").open("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=") == b"hello world"


def test_a_sealed_challenge() -> None:
    assert Opener(KEY).open(VECTOR) == b'{"challenge":"ajls384kdjx98XX","token":"vtok-1","type":"url_verification"}'


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


WHOLE = encrypt(b"hello world")


@pytest.mark.parametrize(
    "encrypted",
    [
        None,
        5,
        ["AAAA"],
        {"a": 1},
        "",
        "not base64!",
        "é",
        "=",
        VECTOR[:-1],
        VECTOR + "A",
        VECTOR + "\n",
        " " + VECTOR,
        VECTOR.replace("+", "-").replace("/", "_"),
        text(b""),
        text(WHOLE[:15]),
        text(WHOLE[:16]),
        text(WHOLE[:17]),
        text(WHOLE[:31]),
        text(WHOLE + b"x"),
        text(raw_encrypt(b"x" * 15 + b"\x00")),
        text(raw_encrypt(b"x" * 15 + b"\x11")),
        text(raw_encrypt(b"x" * 15 + b"\x02")),
        text(raw_encrypt(b"x" * 31 + b"\x10")),
        text(raw_encrypt(b"x" * 15 + b"\xff")),
        text(encrypt(b"hello world", "another key")),
    ],
)
def test_one_failure(encrypted: object) -> None:
    with pytest.raises(Undecryptable) as failure:
        Opener(KEY).open(encrypted)
    assert failure.value.args == ()


@given(st.binary(max_size=200), st.binary(min_size=16, max_size=16))
def test_opens_what_was_sealed(plain: bytes, iv: bytes) -> None:
    assert Opener(KEY).open(text(encrypt(plain, KEY, iv))) == plain


@given(st.one_of(st.text(), st.binary().map(text), st.binary(min_size=32, max_size=32).map(text)))
def test_raises_only_its_own_error(encrypted: str) -> None:
    with contextlib.suppress(Undecryptable):
        Opener(KEY).open(encrypted)


@given(st.integers(0, 31), st.integers(1, 255))
def test_padding_is_checked_whole(position: int, change: int) -> None:
    """Every one of the padding's bytes; a changed byte before it is not the padding's matter."""
    padded = bytearray(b"x" * 20 + b"\x0c" * 12)
    padded[position] ^= change
    opened = raw_encrypt(bytes(padded), KEY, IV)
    count = padded[-1]
    good = 1 <= count <= 16 and padded[-count:] == bytes([count]) * count
    try:
        assert Opener(KEY).open(text(opened)) == bytes(padded[:-count])
        assert good
    except Undecryptable:
        assert not good
