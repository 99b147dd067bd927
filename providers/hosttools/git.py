"""Git's plumbing, asked so that nothing of the repository runs, and nothing of the question is taken for an option.

The repository's own configuration is the input of whoever made the folder: hooks, monitors, pagers, external diffs,
text conversions, filters, signatures and every transport are switched off. See
https://git-scm.com/docs/git#_environment_variables and https://git-scm.com/docs/git-config.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from providers.hosttools.process import Processes, Ran
from providers.hosttools.refusals import Unavailable

ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "true",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
}

_SETTINGS: Final = (
    "safe.directory=*",  # the owner declared the folder, and nothing of its configuration runs
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "protocol.allow=never",
    "log.showSignature=false",
    "log.mailmap=false",
    "log.showRoot=true",
    "log.follow=false",
    "i18n.logOutputEncoding=UTF-8",
    "blame.ignoreRevsFile=",
    "grep.fallbackToNoIndex=false",
    "grep.column=false",
    "grep.patternType=default",
    "submodule.recurse=false",
    "color.ui=false",
)
_OPTIONS: Final = tuple(part for setting in _SETTINGS for part in ("-c", setting))


class Git:
    """Git in one folder."""

    def __init__(self, binary: str, processes: Processes, root: Path) -> None:
        self._binary = binary
        self._processes = processes
        self._root = root

    async def ask(
        self,
        *arguments: str | bytes,
        limit_bytes: int | None = None,
        settings: Sequence[tuple[str, str]] = (),
    ) -> Ran:
        """Run ``git`` with ``arguments``. Raises ``Unavailable`` when it cannot run or takes too long."""
        environment = dict(ENVIRONMENT)
        if settings:
            environment["GIT_CONFIG_COUNT"] = str(len(settings))
            for number, (key, value) in enumerate(settings):
                environment[f"GIT_CONFIG_KEY_{number}"] = key
                environment[f"GIT_CONFIG_VALUE_{number}"] = value
        return await self._processes.run(
            [self._binary, "--no-pager", *_OPTIONS, *arguments],
            cwd=self._root,
            environment=environment,
            limit_bytes=limit_bytes,
        )

    async def must(self, *arguments: str | bytes, limit_bytes: int | None = None) -> Ran:
        """Like ``ask``; raises ``Unavailable`` also when git failed."""
        ran = await self.ask(*arguments, limit_bytes=limit_bytes)
        if ran.status not in {0, None}:
            raise Unavailable(f"git could not read this (exit {ran.status})")
        return ran
