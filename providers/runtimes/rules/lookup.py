"""Finding the places that the question's terms name, through the host session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from manager.decisions.decision import Evidence
from manager.ports import HostSession, HostStatus, Line, Lines
from providers.runtimes.rules.definitions import begins_word
from providers.runtimes.rules.findings import Findings
from providers.runtimes.rules.glossary import in_english
from providers.runtimes.rules.limits import ASKED_FOR
from providers.runtimes.rules.ranking import Place, Role, Words, rank_symbol, rank_words, stem, weight
from providers.runtimes.rules.terms import Kind, Term

SYMBOL_LINES: Final = 400
_WORD_LINES: Final = 600
_WORD_PATHS: Final = 200
NO_SUCH_LINE: Final = "there is no such line"
_MOST_WORDS: Final = 6
_MOST_FILES: Final = 12
_HEAD: Final = 9.5
"""The score of the first line of a file that has the very name: it says what the file is."""


async def find_places(terms: Sequence[Term], host: HostSession, found: Findings) -> None:
    """Fill ``found`` with the places of ``terms``: all strong ones (files, symbols, strings), else the words together.

    The places come best first.
    """
    strong = [term for term in terms if term.kind not in {Kind.WORD, Kind.COMMIT}]
    words = [term for term in terms if term.kind is Kind.WORD]
    async with asyncio.TaskGroup() as group:
        for term in strong:
            if term.kind is Kind.PATH:
                group.create_task(_path(term, host, found))
            else:
                group.create_task(_symbol(term, [word.text for word in words], host, found))
        if not strong and words:
            group.create_task(_plain(words, host, found))
    asked = {path for _, path in found.files}
    found.places.sort(
        key=lambda place: (place.line.path not in asked, -place.score, place.line.path, place.line.number)
    )


async def _path(term: Term, host: HostSession, found: Findings) -> None:
    workspace, wanted = _split_workspace(term.text, host)
    paths = await host.find_files(wanted, limit=_WORD_PATHS)
    _note(found, paths.status, paths.reason)
    folded = wanted.strip("/").removeprefix("./").casefold()
    inside = [path for path in paths.paths if workspace in {None, path[0]}]
    exact = [path for path in inside if path[1].casefold() == folded or path[1].casefold().endswith("/" + folded)]
    below = [path for path in inside if path[1].casefold().startswith(folded + "/")]
    whole = [path for path in exact if path[1].casefold() == folded]
    files = whole or exact or below or inside
    if not files:
        await _refused(term, workspace, wanted, host, found)
        return
    found.more |= len(files) > _MOST_FILES or paths.truncated
    found.files += [path for path in files[:_MOST_FILES] if path not in found.files]
    if files is below:
        found.folder = folder_at(below[0][1], folded)
    if term.line is not None and not below:
        read = await host.read(*files[0], start=term.line, count=1)
        found.places += [Place(line, Role.PLACE, ASKED_FOR) for line in read.lines]
        if not read.lines:
            reason = read.reason or NO_SUCH_LINE
            found.denied.append(Evidence(f"{files[0][1]}:{term.line}", None, "unavailable", reason))


def folder_at(path: str, folded: str) -> str:
    """The folder of ``path`` that ``folded`` names, as it is spelt."""
    return path[: len(folded)]


async def _refused(term: Term, workspace: str | None, wanted: str, host: HostSession, found: Findings) -> None:
    """Nothing has that path: learn why from the first workspace that says no."""
    names = [view.name for view in host.workspaces if workspace in {None, view.name}]
    for name in names:
        read = await host.read(name, wanted, start=1, count=1)
        if read.status is HostStatus.DENIED:
            found.denied.append(Evidence(source=term.text, revision=None, status="denied", excerpt=read.reason))
            return
        _note(found, read.status, read.reason)


async def _symbol(term: Term, hints: Sequence[str], host: HostSession, found: Findings) -> None:
    name = term.text
    loose = name.islower() and "_" not in name
    lines = await host.search(name, whole_word=term.kind is Kind.IDENTIFIER, ignore_case=loose, limit=SYMBOL_LINES)
    _note(found, lines.status, lines.reason)
    dotted = "." in name
    if dotted:
        last = name.rpartition(".")[2]
        others = await host.search(last, whole_word=True, limit=SYMBOL_LINES)
        near = await _members(name.rpartition(".")[0].rpartition(".")[2], others, host)
        lines = Lines(lines.status, (*lines.lines, *near), lines.truncated, lines.reason)
    if not lines.lines:
        lines = await host.search(name, ignore_case=True, limit=SYMBOL_LINES)
    places = rank_symbol(_unique(lines.lines), name, hints, ignore_case=loose)
    found.places += places
    found.more |= lines.truncated
    if not any(place.role is Role.DEFINITION for place in places):
        files = await host.find_files(name.replace(".", "/"), limit=5)
        stems = [path for path in files.paths if _stem_of(path[1]) == name.rpartition(".")[2].casefold()]
        found.files += [path for path in stems if path not in found.files]


async def _plain(words: Sequence[Term], host: HostSession, found: Findings) -> None:
    """Plain words together; a single one may be a symbol that somebody did not mark as such."""
    if len(words) == 1:
        named = Findings()
        await _symbol(Term(Kind.IDENTIFIER, words[0].text), (), host, named)
        if any(place.role is Role.DEFINITION for place in named.places):
            found.places, found.more = named.places, named.more
            return
    await _words(words, host, found)
    if not (found.places or found.files):
        translated = [Term(Kind.WORD, word) for term in words for word in in_english(term.text)]
        if translated:
            await _words(translated, host, found)


async def _members(owner: str, others: Lines, host: HostSession) -> list[Line]:
    """Of the lines that name a member, those in a module of the owner's name, or below the owner's own definition."""
    owners = await host.search(owner, whole_word=True, limit=SYMBOL_LINES)
    places = rank_symbol(owners.lines, owner)
    begins = {
        (place.line.workspace, place.line.path): place.line.number
        for place in reversed(places)
        if place.role is Role.DEFINITION
    }
    return [
        line
        for line in others.lines
        if _stem_of(line.path) == owner.casefold() or line.number > begins.get((line.workspace, line.path), line.number)
    ]


async def _words(terms: Sequence[Term], host: HostSession, found: Findings) -> None:
    stems = list(dict.fromkeys(stem(term.text) for term in terms))[:_MOST_WORDS]
    async with asyncio.TaskGroup() as group:
        searches = {word: group.create_task(host.search(word, ignore_case=True, limit=_WORD_LINES)) for word in stems}
        namings = {word: group.create_task(host.find_files(word, limit=_WORD_PATHS)) for word in stems}
    for search in searches.values():
        _note(found, search.result().status, search.result().reason)
    paths = {word: naming.result().paths for word, naming in namings.items()}
    found.places += rank_words(
        Words(
            lines={word: search.result().lines for word, search in searches.items()},
            paths=paths,
        )
    )
    named = _named_files(paths, _spellings(terms[0].text))
    found.files += named[:_MOST_FILES]
    if named and not any(place.role is Role.DEFINITION for place in found.places):
        head = await host.read(*named[0], start=1, count=1)
        found.places += [Place(line, Role.PLACE, _HEAD) for line in head.lines]


def _named_files(paths: Mapping[str, Sequence[tuple[str, str]]], spellings: set[str]) -> list[tuple[str, str]]:
    """Files that are called as the only word, or whose path has every one of several words; sources first."""
    if len(paths) == 1:
        named = [path for found in paths.values() for path in found if _stem_of(path[1]) in spellings]
    else:
        every = [{path for path in found if begins_word(word, path[1])} for word, found in paths.items()]
        named = list(set[tuple[str, str]].intersection(*every)) if every else []
    return sorted(named, key=lambda path: (-weight(path[1]), len(path[1]), path))


async def folder_of(word: str, host: HostSession) -> tuple[str, str] | None:
    """The folder, or else the file, that a plain word names: ``returns`` in "what changed in returns?"."""
    folded = word.casefold()
    paths = await host.find_files(word, limit=_WORD_PATHS)
    for workspace, path in paths.paths:
        parts = path.split("/")
        for depth, part in enumerate(parts[:-1], start=1):
            if part.casefold() == folded:
                return workspace, "/".join(parts[:depth])
    return next((path for path in paths.paths if _stem_of(path[1]) == folded), None)


def _split_workspace(path: str, host: HostSession) -> tuple[str | None, str]:
    """A path as the answers show it where there are several workspaces: the workspace's name first."""
    head, _, rest = path.partition("/")
    if rest and len(host.workspaces) > 1 and any(view.name == head for view in host.workspaces):
        return head, rest
    return None, path


def _spellings(word: str) -> set[str]:
    return {word.casefold(), stem(word)}


def _stem_of(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].casefold()


def _unique(lines: Sequence[Line]) -> list[Line]:
    return list({(line.workspace, line.path, line.number): line for line in lines}.values())


def _note(found: Findings, status: HostStatus, reason: str) -> None:
    if status is not HostStatus.OK and reason and reason not in found.unavailable:
        found.unavailable.append(reason)
