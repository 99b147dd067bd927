"""The language in which somebody is answered: Chinese or English, nothing else yet."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Language: TypeAlias = Literal["zh", "en"]

_CODE: Final = re.compile(r"`[^`\n]*`|https?://\S+")
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD: Final = re.compile(r"[A-Za-z]+(?:['\u2019][A-Za-z]+)?")


def language_of(text: str) -> Language:
    """The language of ``text``: ``zh`` where its Chinese characters outnumber half of its Latin words, else ``en``.

    Code spans and addresses do not count, since they are the same in every language.
    """
    prose = _CODE.sub(" ", text)
    han = len(_HAN.findall(prose))
    if not han:
        return "en"
    return "zh" if 2 * han >= len(_WORD.findall(prose)) else "en"
