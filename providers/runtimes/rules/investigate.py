"""Looking into a question: places, then who changed them, when and why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from manager.decisions.decision import Evidence
from manager.ports import Commit, HostSession, HostStatus, Line
from providers.runtimes.rules.defining import ABOVE, defined_as
from providers.runtimes.rules.findings import Findings, History
from providers.runtimes.rules.intents import Intent
from providers.runtimes.rules.limits import LONG_READ, SHORT_READ
from providers.runtimes.rules.lookup import find_places, folder_of
from providers.runtimes.rules.parse import Parsed
from providers.runtimes.rules.ranking import Place, Role, block
from providers.runtimes.rules.terms import Kind, Term, symbols_of

_RECENT: Final = 8
_DIGITS: Final = 12
_OF_A_FILE: Final = 5
_TO_FILTER: Final = 200
_QUICK_TERMS: Final = 4
_QUICK_PLACES: Final = 6
_BLAMED: Final = 10.0
"""A place that fits less than this is no single line that somebody can have meant."""

_ABOUT_COMMITS: Final = frozenset({Intent.WHO, Intent.WHY, Intent.CHANGED})


async def investigate(parsed: Parsed, host: HostSession) -> Findings:
    """Everything that answers ``parsed``, as far as the host shows it."""
    found = Findings()
    await _commits(parsed, host, found)
    if found.commits and not [term for term in parsed.terms if term.kind is not Kind.COMMIT]:
        return found
    if await _about_history(parsed, host, found):
        return found
    await find_places(parsed.terms, host, found)
    _drop_chance_hits(parsed, found)
    if Intent.USES in parsed.intents:
        found.places.sort(key=lambda place: place.role is Role.DEFINITION)
    if not (found.places or found.files):
        return found
    if parsed.sort is not None or parsed.definition:
        found.places.sort(key=lambda place: not _fits(parsed, place))
    async with asyncio.TaskGroup() as group:
        group.create_task(_define(parsed, host, found))
        group.create_task(_read_code(parsed, host, found))
        if parsed.intents & _ABOUT_COMMITS:
            group.create_task(_history(parsed, host, found))
    return found


async def quick_evidence(terms: Sequence[Term], host: HostSession) -> tuple[Evidence, ...]:
    """A few places of the files and symbols that a handed-over question names, for whoever takes it on."""
    found = Findings()
    named = [term for term in terms if term.kind is not Kind.WORD][:_QUICK_TERMS]
    await find_places(named, host, found)
    for term in named:
        if term.kind is Kind.COMMIT:
            found.commits += (await host.commit(term.text)).commits
    return evidence_of(found, host, most=_QUICK_PLACES)


def evidence_of(found: Findings, host: HostSession, *, most: int = 12) -> tuple[Evidence, ...]:
    """What was looked at, and what was not."""
    evidence: list[Evidence] = []
    for place in found.places[:most]:
        line = place.line
        evidence.append(Evidence(f"{line.path}:{line.number}", line.revision, "read", line.text.strip()))
    located = {place.line.path for place in found.places}
    pins = {view.name: view.revision for view in host.workspaces}
    evidence += [Evidence(path, pins.get(name), "read") for name, path in found.files[:most] if path not in located]
    commits = [*found.commits, *(commit for history in found.histories for commit in history.commits)]
    evidence += [
        Evidence(commit.revision[:_DIGITS], commit.revision, "read", commit.subject) for commit in commits[:most]
    ]
    evidence += found.denied
    evidence += [Evidence("workspace", None, "unavailable", reason) for reason in found.unavailable]
    if found.more:
        evidence.append(Evidence("search", None, "truncated", "there are more places than are listed"))
    return tuple(evidence)


async def _commits(parsed: Parsed, host: HostSession, found: Findings) -> None:
    """The commits that are asked for by name, or as the last one."""
    for term in parsed.terms:
        if term.kind is not Kind.COMMIT:
            continue
        answer = await host.commit(term.text)
        found.commits += answer.commits
        if answer.status is HostStatus.DENIED:
            found.denied.append(Evidence(term.text, None, "denied", answer.reason))
        elif answer.status is HostStatus.UNAVAILABLE:
            found.unavailable.append(answer.reason)
        elif not answer.commits:
            found.ambiguous = found.ambiguous or answer.reason
    if parsed.last_commit and not parsed.terms:
        answer = await host.log(limit=1)
        found.commits += answer.commits
        if answer.status is not HostStatus.OK:
            found.unavailable.append(answer.reason)


async def _about_history(parsed: Parsed, host: HostSession, found: Findings) -> bool:
    """Answer "what changed recently" or "what did Alice change"; False when the question is about a place."""
    asks = parsed.intents & {Intent.CHANGED, Intent.WHO}
    strong = [term for term in parsed.terms if term.kind in {Kind.PATH, Kind.LITERAL}]
    if not asks or strong or (parsed.terms and Intent.WHERE in parsed.intents):
        return False
    names = [term.text for term in parsed.terms if term.kind in {Kind.WORD, Kind.IDENTIFIER}]
    if not names:
        await _log(parsed, host, found, subject="")
        return True
    if Intent.CHANGED in asks and await _by_author(parsed, names, host, found):
        return True
    if Intent.CHANGED in asks and len(names) == 1 and parsed.terms[0].kind is Kind.WORD:
        folder = await folder_of(names[0], host)
        if folder is not None:
            await _log(parsed, host, found, subject=folder[1], workspace=folder[0])
            return bool(found.histories)
    return False


async def _by_author(parsed: Parsed, names: Sequence[str], host: HostSession, found: Findings) -> bool:
    """Commits whose author's name has one of ``names`` as a part."""
    answer = await host.log(limit=_TO_FILTER)
    wanted = {name.casefold() for name in names}
    theirs = [commit for commit in answer.commits if wanted & _name_parts(commit.author)]
    if not theirs:
        return False
    kept = _since(theirs, parsed.since)
    found.histories.append(History(theirs[0].author, tuple(kept[:_RECENT]), truncated=len(kept) > _RECENT))
    return True


async def _log(
    parsed: Parsed, host: HostSession, found: Findings, *, subject: str, workspace: str | None = None
) -> None:
    limit = _TO_FILTER if parsed.since else _RECENT
    answer = await host.log(workspace=workspace, path=subject or None, limit=limit)
    if answer.reason:
        found.unavailable.append(answer.reason)
    if answer.status is not HostStatus.OK:
        return
    kept = _since(answer.commits, parsed.since)
    truncated = len(kept) > _RECENT or (answer.truncated and len(kept) == len(answer.commits))
    found.histories.append(History(subject, tuple(kept[:_RECENT]), truncated=truncated))


async def _read_code(parsed: Parsed, host: HostSession, found: Findings) -> None:
    """The first place with what belongs to it."""
    most = LONG_READ if parsed.intents & {Intent.SHOW, Intent.WHAT} else SHORT_READ
    if found.places:
        first = found.places[0].line
        read = await host.read(first.workspace, first.path, start=first.number, count=most + 1)
        alone = found.places[0].role is not Role.DEFINITION and Intent.SHOW not in parsed.intents
        found.code = tuple(read.lines[:1]) if alone else block(read.lines, most=most)
        if Intent.SHOW in parsed.intents and found.places[0].role is Role.PLACE:
            found.code = tuple(read.lines[:SHORT_READ])
    elif parsed.intents & {Intent.SHOW, Intent.WHAT} and len(found.files) == 1:
        read = await host.read(*found.files[0], start=1, count=LONG_READ)
        found.code = read.lines
        if read.status is HostStatus.DENIED:
            found.denied.append(Evidence(found.files[0][1], None, "denied", read.reason))


def _fits(parsed: Parsed, place: Place) -> bool:
    """Whether the line, taken alone, defines what was asked for, as the sort that was asked for."""
    if place.line.text[:1].isspace() and parsed.sort is None:
        return place.role is Role.DEFINITION
    text = place.line.text.lstrip() if parsed.sort is not None else place.line.text
    for name in symbols_of(parsed.terms):
        defined = defined_as(name.rpartition(".")[2], text, place.line.path)
        if defined is not None and parsed.sort in {None, defined.sort}:
            return True
    return False


async def _define(parsed: Parsed, host: HostSession, found: Findings) -> None:
    """What the first place defines; what stands above it says whether it is a class's or a function's own."""
    if not found.places:
        return
    line = found.places[0].line
    above: tuple[Line, ...] = ()
    if line.text[:1].isspace() and line.number > 1:
        start = max(1, line.number - ABOVE)
        above = (await host.read(line.workspace, line.path, start=start, count=line.number - start)).lines
    before = [other.text for other in above]
    each = (defined_as(name, line.text, line.path, before) for name in symbols_of(parsed.terms))
    found.defined = next((defined for defined in each if defined is not None), None)


def _drop_chance_hits(parsed: Parsed, found: Findings) -> None:
    """A single plain word somewhere in a text answers no "what is …": only a place that is about it does."""
    if any(term.kind is not Kind.WORD for term in parsed.terms) or parsed.intents & {
        Intent.WHERE,
        Intent.USES,
        Intent.SHOW,
    }:
        return
    if len(parsed.terms) == 1 and not found.files and found.places and found.places[0].role is not Role.DEFINITION:
        found.places.clear()
        found.passing = True


async def _history(parsed: Parsed, host: HostSession, found: Findings) -> None:
    """Who changed the first place, and the commits of its file."""
    if found.places and (found.places[0].role is Role.DEFINITION or found.places[0].score >= _BLAMED):
        line = found.places[0].line
        blamed = await host.blame(line.workspace, line.path, line=line.number)
        if blamed.commits:
            found.histories.append(History(f"{line.path}:{line.number}", blamed.commits, truncated=False, line=line))
        if blamed.reason:  # also of what was found: a shallow clone blames its oldest commit for all before it
            found.unavailable.append(blamed.reason)
        return
    workspace, path = found.files[0] if found.files else (found.places[0].line.workspace, found.places[0].line.path)
    folder = found.folder or path
    answer = await host.log(workspace=workspace, path=folder, limit=_TO_FILTER if parsed.since else _OF_A_FILE)
    if answer.reason:
        found.unavailable.append(answer.reason)
    if answer.status is not HostStatus.OK:
        return
    kept = _since(answer.commits, parsed.since)
    found.histories.append(History(folder, tuple(kept[:_OF_A_FILE]), truncated=answer.truncated))


def _name_parts(author: str) -> set[str]:
    folded = author.casefold()
    return {folded, *folded.replace("-", " ").replace(".", " ").replace("_", " ").split()}


def _since(commits: Sequence[Commit], since: str | None) -> list[Commit]:
    return [commit for commit in commits if since is None or commit.at[:10] >= since]
