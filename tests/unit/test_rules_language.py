"""The language in which somebody is answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.decisions.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("where is it?", "en"),
        ("", "en"),
        ("12345", "en"),
        ("在哪里", "zh"),
        ("DeliveryProvider 在哪里定义?", "zh"),
        ("`announce` 是谁写的, 为什么?", "zh"),
        ("what does 退货 mean in this file here?", "en"),
        ("`在哪里定义这个` where is this", "en"),
        ("bob：看看", "zh"),
        ("看 returns/delivery.py:42", "en"),
        ("what is `x`", "en"),
        ("どこですか", "en"),
    ],
)
def test_language(text: str, language: str) -> None:
    assert language_of(text) == language


@given(st.text(max_size=200))
def test_never_raises(text: str) -> None:
    assert language_of(text) in {"zh", "en"}
