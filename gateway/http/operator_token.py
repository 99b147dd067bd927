"""The operator's token of one gateway on loopback: made once, in a file that only its owner reads."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

FILE_NAME = "operator.token"
LONGEST = 512
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class OperatorTokenUnusable(Exception):
    """The token's file cannot be used; the message says what to do."""

    code = "operator_token_unusable"


def load_or_make(data_dir: Path, new_token: Callable[[], str]) -> str:
    """The token in ``data_dir/operator.token``, made by ``new_token`` (mode 0600) where there is none: whole or not.

    Raises ``OperatorTokenUnusable``. One process a data folder may call it at a time.
    """
    path = data_dir / FILE_NAME
    if path.exists() or path.is_symlink():
        return _read(path)
    token, fresh = new_token(), path.with_suffix(".new")
    try:
        fresh.unlink(missing_ok=True)  # of a start that was cut off
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(token + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)
    except OSError as error:
        raise OperatorTokenUnusable(f"cannot make {path}: {error.strerror}. Make data_dir writable.") from None
    return token


def read(data_dir: Path) -> str | None:
    """The token that a gateway made, None where none did; raises ``OperatorTokenUnusable``."""
    path = data_dir / FILE_NAME
    return _read(path) if path.exists() else None


def _read(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise OperatorTokenUnusable(f"cannot read {path}: {error.strerror}.") from None
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(file.fileno()).st_mode & OTHERS:
            raise OperatorTokenUnusable(f"others may read {path}. Run chmod 600 on it, or remove it to get a new one.")
        token = file.read(LONGEST).strip()
    if not token or not token.isascii():
        raise OperatorTokenUnusable(f"{path} holds no token. Remove it to get a new one.")
    return token.decode("ascii")
