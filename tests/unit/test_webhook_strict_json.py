"""Strict JSON: what ``json.loads`` would let in, and the promise that nothing but its own error comes out."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.webhook.strict_json import Flaw, NotStrictJson, loads, loads_object, too_deep


@pytest.mark.parametrize(
    ("raw", "flaw"),
    [
        (b"", Flaw.NOT_JSON),
        (b"\xff", Flaw.NOT_UTF8),
        (b'{"a":"\xed\xa0\x80"}', Flaw.NOT_UTF8),  # a surrogate as bytes
        (b"\xc0\xaf", Flaw.NOT_UTF8),  # overlong
        (b"\xef\xbb\xbf{}", Flaw.NOT_JSON),  # byte order mark
        ("{}".encode("utf-16"), Flaw.NOT_UTF8),
        (b"{} x", Flaw.NOT_JSON),
        (b"{}{}", Flaw.NOT_JSON),
        (b"{}\x00", Flaw.NOT_JSON),
        (b"{}\x80\x00\x00", Flaw.NOT_UTF8),  # the padding of a length extension
        (b"{'a':1}", Flaw.NOT_JSON),
        (b'{"a":1,}', Flaw.NOT_JSON),
        (b'{"a":"\n"}', Flaw.NOT_JSON),
        (b'{"a":NaN}', Flaw.NUMBER),
        (b'{"a":Infinity}', Flaw.NUMBER),
        (b'{"a":-Infinity}', Flaw.NUMBER),
        (b'{"a":1e999}', Flaw.NUMBER),
        (b'{"a":' + b"9" * 5000 + b"}", Flaw.NUMBER),
        (b'{"a":' + b"9" * 21 + b"}", Flaw.NUMBER),
        (b'{"a":0.' + b"1" * 5000 + b"}", Flaw.NUMBER),
        (b'{"a":1,"a":2}', Flaw.DUPLICATE_KEY),
        (b'{"a":{"b":1,"\\u0062":2}}', Flaw.DUPLICATE_KEY),
        (b'{"a":"\\ud800"}', Flaw.CHARACTER),
        (b'{"a":"\\uDC00"}', Flaw.CHARACTER),
        (b'{"a":"\\udc00\\ud800"}', Flaw.CHARACTER),
        (b'{"a":"\\ud800\\u0041"}', Flaw.CHARACTER),
        (b'{"a":"\\u0000"}', Flaw.CHARACTER),
        (b'{"\\u0000":1}', Flaw.CHARACTER),
        (b"[" * 65 + b"]" * 65, Flaw.TOO_DEEP),
        (b"[" * 1_000_000, Flaw.TOO_DEEP),
        (b'{"a":' * 100 + b"1" + b"}" * 100, Flaw.TOO_DEEP),
        (b'[{"a":' * 33 + b"1" + b"}]" * 33, Flaw.TOO_DEEP),
    ],
)
def test_refused(raw: bytes, flaw: Flaw) -> None:
    with pytest.raises(NotStrictJson) as refusal:
        loads(raw)
    assert refusal.value.flaw is flaw


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b" \t\r\n{}\n",
        b"[" * 64 + b"]" * 64,
        b"[" + b"[]," * 500 + b"[]]",  # wide, not deep
        b'{"a":"' + b"[{" * 500 + b'"}',  # brackets in a string
        b'{"a":"\\"' + b"[{" * 500 + b'\\\\"}',  # behind an escaped quote
        b'{"a":"\\ud83d\\ude00"}',  # a pair
        b'{"a":"\\\\u0000"}',  # an escaped backslash, then text
        b'{"a":"\\\\ud800"}',
        b'{"a":"\\u00000"}'.replace(b"0000", b"0041"),
        b'{"a":18446744073709551615,"b":-1.5e10}',
    ],
)
def test_taken(raw: bytes) -> None:
    assert loads(raw) == json.loads(raw)


@pytest.mark.parametrize("raw", [b"[]", b'"text"', b"1", b"null", b"true"])
def test_an_object_is_needed(raw: bytes) -> None:
    with pytest.raises(NotStrictJson) as refusal:
        loads_object(raw)
    assert refusal.value.flaw is Flaw.NOT_AN_OBJECT


def test_an_error_tells_nothing_of_the_input() -> None:
    with pytest.raises(NotStrictJson) as refusal:
        loads(b'{"canary-secret":')
    assert "canary" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_the_worst_strings_cost_one_pass() -> None:
    """A million escaped quotes behind a quote that never closes: quadratic in a careless expression (hours)."""
    assert not too_deep(b'"' + b'\\"' * 500_000 + b"[" * 65)
    assert too_deep(b'"' + b'\\"' * 500_000 + b'"' + b"[" * 65)
    with pytest.raises(NotStrictJson):
        loads(b'"' + b"\\u" * 500_000)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), inner)
    ),
    max_leaves=40,
)


@given(json_values, st.booleans())
def test_takes_what_json_writes(value: object, ascii_only: bool) -> None:
    assert loads(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


fragments = st.sampled_from(
    [
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b"\\",
        b"\\u",
        b"d800",
        b"0000",
        b"dc00",
        b":",
        b",",
        b"1",
        b"NaN",
        b'"a"',
        b"\xff",
        b" ",
    ]
)


@given(st.one_of(st.binary(), st.lists(fragments, max_size=200).map(b"".join)))
@example(b"[" * 100_000)
@example(b'{"a":' * sys.getrecursionlimit())
def test_raises_only_its_own_error(raw: bytes) -> None:
    try:
        value = loads(raw)
    except NotStrictJson:
        return
    assert value == json.loads(raw)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # stores anywhere


@given(st.lists(fragments, max_size=300).map(b"".join))
def test_depth_is_what_a_reader_would_count(raw: bytes) -> None:
    assert too_deep(raw) == (naive_depth(raw) > 64)


@given(st.integers(60, 70), st.integers(0, 3))
def test_depth_around_the_bound(depth: int, padding: int) -> None:
    raw = b'[[],"]{[",' * depth + b"[" * padding + b"]" * padding + b"]" * depth
    assert too_deep(raw) == (naive_depth(raw) > 64)


def naive_depth(raw: bytes) -> int:
    """One byte after the other, as a reader would."""
    depth = deepest = 0
    inside = escaped = False
    for code in raw:
        if escaped:
            escaped = False
        elif inside:
            escaped = code == ord("\\")
            inside = code != ord('"')
        elif code == ord('"'):
            inside = True
        elif code in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif code in b"]}":
            depth -= 1
    return deepest
