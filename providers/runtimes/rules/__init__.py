"""The runtime without a model: deterministic, from the question's own words and what the host tools find.

Parsing and composing are pure; between them the investigation asks the host session and nothing else.
"""

from __future__ import annotations

from providers.runtimes.rules.runtime import RulesRuntime

__all__ = ["RulesRuntime"]
