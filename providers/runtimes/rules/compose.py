"""The answer's Markdown from what was found: the likeliest place first, every claim with its revision. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from manager.decisions.decision import PeerCard
from manager.ports import Commit, Line, WorkspaceView
from providers.runtimes.rules.findings import Findings, History
from providers.runtimes.rules.intents import Intent
from providers.runtimes.rules.lead import lead
from providers.runtimes.rules.limits import LONG_READ
from providers.runtimes.rules.markup import code, fence, paragraphs, plain
from providers.runtimes.rules.parse import Parsed
from providers.runtimes.rules.phrases import reason_in, say
from providers.runtimes.rules.revisions import short

_OTHERS: Final = 5
_FILES: Final = 5
_SNIPPET: Final = 120
_REASON: Final = 1200
_HISTORY_FIRST: Final = frozenset({Intent.WHO, Intent.WHY, Intent.CHANGED})
_TRAILER: Final = re.compile(r"(?:[A-Z][A-Za-z]*(?:-[A-Za-z]+)+|Fixes|Closes|Refs|Bug|Reviewed by): ?\S")


@dataclass(frozen=True, slots=True)
class Composer:
    """Writes one answer."""

    parsed: Parsed
    found: Findings
    views: Sequence[WorkspaceView]

    def answer(self) -> str:
        """The whole answer."""
        places = self._places()
        history = [*self._commits(), *self._histories()]
        later = not self.parsed.intents & _HISTORY_FIRST or Intent.WHERE in self.parsed.intents
        first, second = (places, history) if later else (history, places)
        return "\n\n".join(part for part in (*first, *second, self._notes()) if part)

    def _say(self, phrase: str, **values: object) -> str:
        return say(self.parsed.language, phrase, **values)

    def _places(self) -> list[str]:
        if not self.found.places:
            return self._files()
        listed = self.found.places
        first = listed[0]
        shown = [line.text for line in self.found.code] or [first.line.text]
        parts = [lead(self.parsed, self.found, first, self._at(first.line)), fence(_dedent(shown), first.line.path)]
        if self.parsed.intents & _HISTORY_FIRST and Intent.WHERE not in self.parsed.intents:
            return parts
        others = listed[1 : 1 + _OTHERS]
        if others:
            bullets = [f"- {self._at(place.line)} — {code(place.line.text.strip()[:_SNIPPET])}" for place in others]
            left = len(listed) - 1 - len(others)
            if left > 0:
                bullets.append(f"- {self._say('more_count', count=left)}")
            parts.append("\n".join([self._say("also"), "", *bullets]))
        return parts

    def _files(self) -> list[str]:
        files = self.found.files
        if not files or (self.parsed.intents & _HISTORY_FIRST and any(item.commits for item in self.found.histories)):
            return []
        if self.found.code:
            first = self.found.code[0]
            cut = [self._say("cut")] if len(self.found.code) >= LONG_READ else []
            return [
                self._say("here", where=self._at(first)),
                fence([line.text for line in self.found.code], first.path),
                *cut,
            ]
        if len(files) == 1:
            return [self._say("file", where=self._file(*files[0]))]
        bullets = [f"- {self._file(*path)}" for path in files]
        return ["\n".join([self._say("files"), "", *bullets])]

    def _commits(self) -> list[str]:
        parts: list[str] = []
        for commit in self.found.commits:
            phrase = "last_commit" if self.parsed.last_commit else "commit"
            parts.append(self._say(phrase, **_facts(commit)))
            parts += self._reason(commit)
            parts += self._changed(commit)
        return parts

    def _histories(self) -> list[str]:
        parts: list[str] = []
        for history in self.found.histories:
            parts += self._history(history)
        return parts

    def _history(self, history: History) -> list[str]:
        subject = code(history.subject) if history.subject else self._say("whole")
        if not history.commits:
            phrase = "none_since" if self.parsed.since else "none_of"
            return [self._say(phrase, what=subject, since=self.parsed.since)]
        if history.line is not None:
            lead = self._say("blamed", where=self._at(history.line), **_facts(history.commits[0]))
            return [lead, *self._reason(history.commits[0])]
        listing = Intent.CHANGED in self.parsed.intents or not history.subject
        if not listing:
            lead = self._say("last_of", what=subject, **_facts(history.commits[0]))
            earlier = [self._bullet(commit) for commit in history.commits[1:]]
            more = ["\n".join([self._say("earlier"), "", *earlier, *self._older(history)])] if earlier else []
            return [lead, *self._reason(history.commits[0]), *more]
        phrase = self._listing(history)
        bullets = [self._bullet(commit, files=True) for commit in history.commits]
        return ["\n".join([self._say(phrase, what=subject), "", *bullets, *self._older(history)])]

    def _listing(self, history: History) -> str:
        if not history.subject:
            return "latest"
        return "by_author" if history.subject == history.commits[0].author else "latest_of"

    def _older(self, history: History) -> list[str]:
        return [f"- {self._say('older')}"] if history.truncated else []

    def _bullet(self, commit: Commit, *, files: bool = False) -> str:
        text = self._say("commit", **_facts(commit))
        names = self._names(commit) if files else ""
        return f"- {text}" + (f" — {names}" if names else "")

    def _names(self, commit: Commit) -> str:
        shown = ", ".join(code(name) for name in commit.files[:3])
        left = len(commit.files) - 3
        return self._say("and_others", files=shown, count=left, total=len(commit.files)) if left > 0 else shown

    def _reason(self, commit: Commit) -> list[str]:
        """What the commit's message says beside its subject; asked for "why", also that it says nothing."""
        reason = reason_of(commit.body)
        if reason:
            return [self._say("reason"), paragraphs(reason)]
        return [self._say("no_reason")] if Intent.WHY in self.parsed.intents else []

    def _changed(self, commit: Commit) -> list[str]:
        if not commit.files:
            return []
        names = self._names(commit)
        return [self._say("changed_files", files=names)]

    def _notes(self) -> str:
        """What was not read."""
        notes: list[str] = []
        if self.found.more:
            notes.append(self._say("more"))
        language = self.parsed.language
        unread = [f"{code(item.source)} ({reason_in(language, item.excerpt)})" for item in self.found.denied]
        unread += [plain(reason_in(language, reason)) for reason in dict.fromkeys(self.found.unavailable)]
        notes += [self._say("unread", what=what) for what in unread]
        changed = [view.name for view in self.views if view.uncommitted]
        if changed:
            names = f" ({', '.join(code(name) for name in changed)})" if len(self.views) > 1 else ""
            notes.append(self._say("uncommitted", names=names))
        return (" " if language == "en" else "").join(notes)

    def _at(self, line: Line) -> str:
        """``path:line@revision``, the workspace's name before it where there are several."""
        return code(f"{self._prefix(line.workspace)}{line.path}:{line.number}@{short(line.revision)}")

    def _file(self, workspace: str, path: str) -> str:
        revision = next((view.revision for view in self.views if view.name == workspace), None)
        pin = f"@{short(revision)}" if revision else ""
        return code(f"{self._prefix(workspace)}{path}{pin}")

    def _prefix(self, workspace: str) -> str:
        return f"{workspace}/" if len(self.views) > 1 else ""


def reason_of(body: str) -> str:
    """A commit message's body without its trailers, cut at a length that a chat bears."""
    blocks = [block for block in re.split(r"\n\s*\n", body.strip()) if block.strip()]
    while blocks and all(_TRAILER.match(line.strip()) for line in blocks[-1].split("\n") if line.strip()):
        blocks.pop()
    text = "\n\n".join(blocks)
    return text if len(text) <= _REASON else f"{text[:_REASON].rstrip()} …"


def help_text(parsed: Parsed, views: Sequence[WorkspaceView], peers: Sequence[PeerCard]) -> str:
    """What this is, what it can be asked, and whom it can hand over to."""
    language = parsed.language
    spaces = ", ".join(code(view.name) for view in views) or say(language, "no_spaces")
    names = ", ".join(code(peer.name) for peer in peers if not peer.stopped)
    after = say(language, "help_peers", peers=names) if names else say(language, "help_no_peers")
    return say(language, "help", spaces=f" {spaces} " if language == "zh" else spaces) + after


def _facts(commit: Commit) -> dict[str, str]:
    return {
        "commit": code(short(commit.revision)),
        "author": plain(commit.author),
        "date": commit.at[:10],
        "subject": plain(commit.subject),
    }


def _dedent(lines: Sequence[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]
