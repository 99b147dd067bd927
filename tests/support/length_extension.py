"""The length extension of SHA-256: from a digest and a length alone, the digest of more. Real, for row 8."""

from __future__ import annotations

import struct
from math import isqrt

WORD = 0xFFFFFFFF


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def _cube_root_fraction(prime: int) -> int:
    scaled = prime << 96
    low, high = 0, 1 << 40
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= scaled else (low, middle - 1)
    return low & WORD


ROUND = [_cube_root_fraction(prime) for prime in _primes(64)]
START = [isqrt(prime << 64) & WORD for prime in _primes(8)]


def _turn(word: int, by: int) -> int:
    return (word >> by | word << (32 - by)) & WORD


def _compress(state: list[int], block: bytes) -> list[int]:
    words = list(struct.unpack(">16L", block))
    for n in range(16, 64):
        early, late = words[n - 15], words[n - 2]
        small = _turn(early, 7) ^ _turn(early, 18) ^ early >> 3
        large = _turn(late, 17) ^ _turn(late, 19) ^ late >> 10
        words.append((words[n - 16] + small + words[n - 7] + large) & WORD)
    a, b, c, d, e, f, g, h = state
    for n in range(64):
        first = h + (_turn(e, 6) ^ _turn(e, 11) ^ _turn(e, 25)) + (e & f ^ ~e & g) + ROUND[n] + words[n]
        second = (_turn(a, 2) ^ _turn(a, 13) ^ _turn(a, 22)) + (a & b ^ a & c ^ b & c)
        a, b, c, d, e, f, g, h = (first + second) & WORD, a, b, c, (d + first) & WORD, e, f, g
    return [(old + new) & WORD for old, new in zip(state, (a, b, c, d, e, f, g, h), strict=True)]


def padding(length: int) -> bytes:
    """What SHA-256 adds to ``length`` bytes."""
    return b"\x80" + b"\x00" * ((55 - length) % 64) + struct.pack(">Q", length * 8)


def extend(digest: str, length: int, more: bytes) -> tuple[bytes, str]:
    """What to append to ``length`` bytes of that digest, and the digest of the whole."""
    glue = padding(length)
    state = list(struct.unpack(">8L", bytes.fromhex(digest)))
    rest = more + padding(length + len(glue) + len(more))
    for start in range(0, len(rest), 64):
        state = _compress(state, rest[start : start + 64])
    return glue + more, struct.pack(">8L", *state).hex()
