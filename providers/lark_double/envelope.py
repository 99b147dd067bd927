"""The envelope of a pushed event: AES-256-CBC under the Encrypt Key, and the signature over the body as sent.

https://open.feishu.cn/document/ukTMukTMukTM/uYDNxYjL2QTM24iN0EjN/event-subscription-configure-/encrypt-key-encryption-configuration-case
"""

from __future__ import annotations

import base64
import hashlib
import secrets

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from providers.lark_double.wire import Json, compact

BLOCK_BITS = 128


def encrypt(plain: str, encrypt_key: str, iv: bytes | None = None) -> str:
    """``plain`` encrypted: base64 of the initial vector (16 random bytes unless given) and the ciphertext."""
    start = secrets.token_bytes(16) if iv is None else iv
    padder = PKCS7(BLOCK_BITS).padder()
    padded = padder.update(plain.encode()) + padder.finalize()
    key = hashlib.sha256(encrypt_key.encode()).digest()
    encryptor = Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
    return base64.b64encode(start + encryptor.update(padded) + encryptor.finalize()).decode()


def decrypt(sealed: str, encrypt_key: str) -> str:
    """The text that ``encrypt`` was given. Raises ``ValueError`` for anything else."""
    raw = base64.b64decode(sealed, validate=True)
    key = hashlib.sha256(encrypt_key.encode()).digest()
    decryptor = Cipher(algorithms.AES(key), modes.CBC(raw[:16])).decryptor()
    unpadder = PKCS7(BLOCK_BITS).unpadder()
    padded = decryptor.update(raw[16:]) + decryptor.finalize()
    return (unpadder.update(padded) + unpadder.finalize()).decode()


def seal(payload: Json, encrypt_key: str, iv: bytes | None = None) -> bytes:
    """The body that carries ``payload``: encrypted with a key, as it is without one."""
    if not encrypt_key:
        return compact(payload).encode()
    return compact({"encrypt": encrypt(compact(payload), encrypt_key, iv)}).encode()


def sign(timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> str:
    """The signature of ``body``, as lower-case hex."""
    return hashlib.sha256(f"{timestamp}{nonce}{encrypt_key}".encode() + body).hexdigest()


def signed_headers(timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> dict[str, str]:
    """The three headers of a signed push; none without a key."""
    if not encrypt_key:
        return {}
    return {
        "X-Lark-Request-Timestamp": timestamp,
        "X-Lark-Request-Nonce": nonce,
        "X-Lark-Signature": sign(timestamp, nonce, encrypt_key, body),
    }


def challenge_payload(challenge: str, verification_token: str) -> Json:
    """The body of a URL verification, before encryption."""
    return {"challenge": challenge, "token": verification_token, "type": "url_verification"}
