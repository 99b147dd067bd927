"""Ids with Lark's prefixes. Opaque, and in no order."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import TypeAlias

NewId: TypeAlias = Callable[[str], str]


def new_id(prefix: str) -> str:
    """A fresh id, ``prefix`` included as it is written (``om_``, ``oc_``, ``omt_``, ``t-``)."""
    return prefix + secrets.token_hex(16)


def open_id(app_id: str, key: str) -> str:
    """The id of a person or bot as one app knows it: another app knows them under another one."""
    return "ou_" + hashlib.sha256(f"{app_id}\n{key}".encode()).hexdigest()[:32]
