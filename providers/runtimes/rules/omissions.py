"""What was searched without success and what was not read, for whoever is told that there is no answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from manager.ports import WorkspaceView
from providers.hosttools.refusals import NOT_THERE
from providers.runtimes.rules.findings import Findings
from providers.runtimes.rules.markup import code, plain
from providers.runtimes.rules.parse import Parsed
from providers.runtimes.rules.phrases import reason_in, say
from providers.runtimes.rules.revisions import short
from providers.runtimes.rules.terms import Kind

_MOST_TERMS: Final = 6


def omissions(parsed: Parsed, found: Findings, views: Sequence[WorkspaceView]) -> tuple[str, ...]:
    """One sentence for the search, one for each thing that was not read; no names of the machine."""
    language = parsed.language
    told: list[str] = []
    denied = [item for item in found.denied if item.excerpt not in NOT_THERE]
    refused = {item.source for item in denied}
    strong = [term for term in parsed.terms if term.kind is not Kind.WORD]
    names = [term.text for term in strong or parsed.terms if term.text not in refused][:_MOST_TERMS]
    if names and views and not found.unavailable:
        spaces = ", ".join(
            plain(f"{view.name}@{short(view.revision)}" if view.revision else view.name) for view in views
        )
        words = not strong and len(names) > 1
        phrase = "searched_weak" if found.passing else "searched_together" if words else "searched"
        told.append(say(language, phrase, spaces=spaces, what=", ".join(code(name) for name in names)))
    unread = [f"{code(item.source)} ({reason_in(language, item.excerpt)})" for item in denied]
    unread += [plain(reason_in(language, reason)) for reason in found.unavailable]
    told += [say(language, "unread", what=what) for what in unread]
    return tuple(dict.fromkeys(told))
