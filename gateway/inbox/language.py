"""Which of two languages a reader prefers."""

from __future__ import annotations

LONGEST = 200


def wants_chinese(accept_language: str) -> bool:
    """Whether Chinese stands before English in an ``Accept-Language`` header (RFC 9110, section 12.5.4)."""
    best = {"zh": 0.0, "en": 0.0}
    for entry in accept_language[:LONGEST].lower().split(","):
        tag, _, parameters = entry.partition(";")
        language = tag.strip().split("-")[0]
        if language in best:
            best[language] = max(best[language], _quality(parameters))
    return best["zh"] > best["en"] or (best["zh"] > 0 and best["zh"] == best["en"] and _first(accept_language) == "zh")


def _first(accept_language: str) -> str:
    found = [tag.strip()[:2] for tag in accept_language[:LONGEST].lower().split(",")]
    return next((language for language in found if language in {"zh", "en"}), "")


def _quality(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        quality = float(value)
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0
