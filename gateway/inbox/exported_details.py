"""Which details of facts are exported: the project's own states, numbers, ids and names, no word that anybody said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from manager.decisions.fact_words import without_words
from returns.ledger.facts import Fact

Detail: TypeAlias = Mapping[str, object]

_OF_RETURNS: Final = frozenset(
    {
        "attempt",
        "before",
        "before_error",
        "candidates",
        "code",
        "differs",
        "error",
        "event",
        "fault",
        "kind",
        "late",
        "needs_configuration",
        "outcome",
        "parts",
        "placement",
        "refusal",
        "replaced_by",
        "replaces",
        "revision",
        "rivals",
        "sent",
        "set_aside",
        "source",
        "state",
        "verification",
        "who",
    }
)
_WHY_UNKNOWN: Final = frozenset({*_OF_RETURNS, "reason"})
"""Why a send's outcome is not known is said by the project itself."""


def _of_return(fact: str, detail: Detail) -> dict[str, object]:
    names = _WHY_UNKNOWN if fact == Fact.UNKNOWN.value else _OF_RETURNS
    return {name: value for name, value in detail.items() if name in names}


def _of_request(_fact: str, detail: Detail) -> dict[str, object]:
    return without_words(detail)


EXPORTED: Final[Mapping[str, Callable[[str, Detail], dict[str, object]]]] = MappingProxyType(
    {"facts": _of_request, "return_facts": _of_return}
)
"""By table: the details of a fact that are exported."""
