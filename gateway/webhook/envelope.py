"""Opening Lark's encrypted envelope: AES-256-CBC under the SHA-256 of the Encrypt Key, IV in front, PKCS#7.

Source: https://open.feishu.cn/document/server-docs/event-subscription-guide/event-subscription-configure-/encrypt-key-encryption-configuration-case
Every failure is the same failure: what was wrong with a ciphertext is told to nobody.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

BLOCK = 16


class Undecryptable(Exception):
    """The envelope does not open. Carries nothing of it."""


class Opener:
    """Opens envelopes under one Encrypt Key; derives the cipher's key once."""

    __slots__ = ("_algorithm",)

    def __init__(self, encrypt_key: str) -> None:
        self._algorithm = algorithms.AES256(hashlib.sha256(encrypt_key.encode()).digest())

    def open(self, encrypted: object) -> bytes:
        """The plaintext of the value of ``encrypt``; raises ``Undecryptable``."""
        if not isinstance(encrypted, str):
            raise Undecryptable
        try:
            data = binascii.a2b_base64(encrypted.encode("ascii"), strict_mode=True)
        except ValueError:  # also what is not ASCII
            raise Undecryptable from None
        if len(data) < 2 * BLOCK or len(data) % BLOCK:
            raise Undecryptable
        decryptor = Cipher(self._algorithm, modes.CBC(data[:BLOCK])).decryptor()
        padded = decryptor.update(data[BLOCK:]) + decryptor.finalize()
        return _unpad(padded)


def _unpad(padded: bytes) -> bytes:
    count = padded[-1]
    in_range = 1 <= count <= BLOCK
    kept = count if in_range else BLOCK
    if hmac.compare_digest(padded[-kept:], bytes([count]) * kept) and in_range:
        return padded[:-kept]
    raise Undecryptable
