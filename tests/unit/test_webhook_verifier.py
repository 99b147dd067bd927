"""The verifier against a naive one, and against every way of being almost right."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.webhook.verifier import AHEAD_S, BEHIND_S, Verdict, verify
from tests.support.webhook import KEY, NOW_S, sign

BODY = (
    b'{"encrypt":"AAECAwQFBgcICQoLDA0OD79vjgL5NmGm/ETMaRM9Q8s0Mw7+ZTbefYcu2XfrluBq8t4+PHenSDe7dKmcza7yV4YlQOqKpQbG'
    b'bjc4Lc+sfNl1c9kbF7PJSKPEKcFcE6J9"}'
)
GOOD = b"cbe519ca1f2dbe046604d171051efa7edc74d40ec71ebc3bea7130566f17aaf8"
STAMP = b"1700000000"
NONCE = b"nonce-abc"


def judge(
    signature: bytes = GOOD, timestamp: bytes = STAMP, nonce: bytes = NONCE, body: bytes = BODY, now_s: int = NOW_S
) -> Verdict:
    return verify(KEY.encode(), [signature], [timestamp], [nonce], body, now_s)


def test_the_known_signature() -> None:
    assert len(BODY) == 142
    assert judge() is Verdict.AUTHENTIC


@pytest.mark.parametrize(
    "signature",
    [
        GOOD.upper(),
        GOOD + b" ",
        b" " + GOOD,
        GOOD[:-1],
        GOOD + b"0",
        b"\xff" * 64,
        "ｃ".encode() + GOOD[1:],
        b"0" * 64,
        sign(BODY, key="").encode(),
        sign(BODY, key="vtok-1").encode(),
        hmac.new(KEY.encode(), STAMP + NONCE + BODY, hashlib.sha256).hexdigest().encode(),
        hashlib.sha512(STAMP + NONCE + KEY.encode() + BODY).hexdigest().encode(),
        hashlib.sha256(STAMP + NONCE + KEY.encode() + BODY).digest(),
    ],
)
def test_another_signature(signature: bytes) -> None:
    assert judge(signature) is Verdict.SIGNATURE


@pytest.mark.parametrize(
    ("signatures", "timestamps", "nonces"),
    [
        ([], [STAMP], [NONCE]),
        ([GOOD], [], [NONCE]),
        ([GOOD], [STAMP], []),
        ([b""], [STAMP], [NONCE]),
        ([GOOD], [STAMP], [b""]),
        ([GOOD, GOOD], [STAMP], [NONCE]),
        ([GOOD], [STAMP, STAMP], [NONCE]),
        ([GOOD], [STAMP], [NONCE, NONCE]),
    ],
)
def test_each_header_once(signatures: list[bytes], timestamps: list[bytes], nonces: list[bytes]) -> None:
    assert verify(KEY.encode(), signatures, timestamps, nonces, BODY, NOW_S) is Verdict.HEADERS


@pytest.mark.parametrize(
    "timestamp",
    [
        "",
        "170000000",
        "17000000000",
        "+170000000",
        "1700000.00",
        " 170000000",
        "-170000000",
        "１７００００００００",
        "1_70000000",
    ],
)
def test_ten_digits_or_nothing(timestamp: str) -> None:
    """Also when the signature is right for them."""
    assert judge(sign(BODY, timestamp).encode(), timestamp.encode()) is Verdict.TIMESTAMP


def test_a_character_moved_to_the_nonce() -> None:
    assert judge(GOOD, b"170000000", b"0nonce-abc") is Verdict.TIMESTAMP
    assert judge(GOOD, b"1700000000n", b"once-abc") is Verdict.TIMESTAMP


@pytest.mark.parametrize(
    ("now_s", "verdict"),
    [
        (NOW_S + BEHIND_S, Verdict.AUTHENTIC),
        (NOW_S + BEHIND_S + 1, Verdict.TOO_OLD),
        (NOW_S - AHEAD_S, Verdict.AUTHENTIC),
        (NOW_S - AHEAD_S - 1, Verdict.TOO_NEW),
    ],
)
def test_bounds_of_time(now_s: int, verdict: Verdict) -> None:
    assert judge(now_s=now_s) is verdict


def test_time_is_told_only_of_what_is_signed() -> None:
    assert judge(b"0" * 64, now_s=NOW_S + BEHIND_S + 1) is Verdict.SIGNATURE


@given(
    st.binary(max_size=40),
    st.one_of(st.text("0123456789", min_size=9, max_size=11).map(str.encode), st.binary(max_size=12)),
    st.binary(max_size=20),
    st.binary(max_size=60),
    st.integers(0, 2**33),
    st.booleans(),
)
def test_like_a_naive_one(key: bytes, timestamp: bytes, nonce: bytes, body: bytes, now_s: int, honest: bool) -> None:
    right = hashlib.sha256(timestamp + nonce + key + body).hexdigest()
    sent = right.encode() if honest else hashlib.sha256(body).hexdigest().encode()
    in_form = len(timestamp) == 10 and all(code in b"0123456789" for code in timestamp) and bool(nonce)
    in_time = in_form and -AHEAD_S <= now_s - int(timestamp) <= BEHIND_S
    expected = in_form and sent == right.encode() and in_time
    assert (verify(key, [sent], [timestamp], [nonce], body, now_s) is Verdict.AUTHENTIC) == expected


@given(st.integers(0, 141), st.integers(1, 255))
def test_every_byte_of_the_body_counts(position: int, change: int) -> None:
    body = bytearray(BODY)
    body[position] ^= change
    assert judge(body=bytes(body)) is Verdict.SIGNATURE
