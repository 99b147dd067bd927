"""The story: two questions asked by a person in a group, told as it happens, and the proof at its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, cast

from gateway.demo.narration import COLUMNS, QUESTIONS, TITLES, Fact, Language, Narrator, say
from gateway.demo.proof import Exhibit, judge
from gateway.demo.sample_work import SKILLS, is_shallow
from gateway.demo.screen import Screen
from gateway.demo.stage import PERSON, Stage, set_up
from providers.lark_double.changes import NotSeen
from providers.lark_double.model import Message

LOOK_EVERY_S: Final = 0.05
ANSWER_WITHIN_S: Final = 45
SETTLED: Final = frozenset({"delivered", "explicit_unverified", "undeliverable", "superseded"})
LOST_RESPONSE: Final = "drop_after"
"""The local Lark's fault: the message is accepted, and the connection ends before that is said."""


class Story:
    """One showing of the demo."""

    def __init__(self, stage: Stage, screen: Screen, language: Language) -> None:
        self._stage = stage
        self._screen = screen
        self._language: Language = language

    def introduce(self, *, shallow: bool) -> None:
        """Who is there."""
        stage = self._stage
        peers = ", ".join(sorted(SKILLS))
        self._screen.line(self._say("ready", lark=stage.lark.url, gateway=stage.gateway_url, peers=peers))
        self._screen.line(self._say("cut"), "dim")
        if shallow:
            self._screen.line(self._say("shallow"), "dim")

    def conclude(self, exhibits: Sequence[Exhibit], seconds: float) -> None:
        """The proof, or what is wrong with it."""
        self._screen.line("")
        columns = [say(column, self._language) for column in COLUMNS]
        self._screen.table(self._say("saw"), columns, [self._row(each) for each in exhibits])
        wrong = judge(exhibits)
        for why in wrong:
            self._screen.line(self._say("failed", why=why), "bold red")
        if not wrong:
            self._screen.line(self._say("proved", seconds=f"{seconds:.0f}"), "bold green")

    async def ask(self, question: str, expected_replies: int) -> Exhibit:
        """Ask, tell what happens until the answer's delivery is settled, and show it."""
        stage = self._stage
        sends, reads = len(stage.lark.sends(stage.chat)), len(stage.lark.reads(stage.chat))
        known = {str(item["request_id"]) for item in await self._items()}
        self._screen.line("")
        self._screen.line(self._say("asks", who=PERSON, text=question), "bold")
        message = stage.lark.say(stage.chat, PERSON, question, mention=[stage.app.app_id])
        async with asyncio.timeout(ANSWER_WITHIN_S):
            item = await self._follow(known)
            await self._replies_settled(message, expected_replies)
        replies = [seen.text for seen in stage.lark.replies(message)]
        for words in replies:
            self._screen.quote(self._say("says"), words, say(TITLES["left_out"], self._language, lines="{lines}"))
        delivery = cast("Mapping[str, object]", item["delivery"])
        verification = delivery["verification"]
        return Exhibit(
            question=question,
            replies=tuple(replies),
            expected_replies=expected_replies,
            sends=len(stage.lark.sends(stage.chat)) - sends,
            reads=len(stage.lark.reads(stage.chat)) - reads,
            status=str(delivery["status"]),
            verification=None if verification is None else str(verification),
        )

    async def _follow(self, known: set[str]) -> Mapping[str, object]:
        """Tell each new fact of the newest request until its delivery is settled."""
        narrator = Narrator(self._language)
        while True:
            new = [item for item in await self._items() if str(item["request_id"]) not in known]
            if new:
                item = await self._get(f"/api/v1/inbox/{new[0]['request_id']}")
                for words in narrator.new(cast("Sequence[Fact]", item["timeline"]), item["receiver"]):
                    self._screen.step(words)
                if cast("Mapping[str, object]", item["delivery"])["status"] in SETTLED:
                    return item
            await asyncio.sleep(LOOK_EVERY_S)

    async def _replies_settled(self, message: Message, count: int) -> None:
        """Wait for the notices too, which nobody follows in the inbox. Raises ``TimeoutError``."""
        lark = self._stage.lark
        try:
            await lark.wait_for(lambda: len(lark.replies(message)) >= count, ANSWER_WITHIN_S, "all replies")
        except NotSeen as error:
            raise TimeoutError from error

    async def _items(self) -> Sequence[Mapping[str, object]]:
        return cast("Sequence[Mapping[str, object]]", (await self._get("/api/v1/inbox"))["items"])

    async def _get(self, path: str) -> Mapping[str, object]:
        answer = await self._stage.operator.get(path)
        answer.raise_for_status()
        return cast("Mapping[str, object]", answer.json())

    def _row(self, exhibit: Exhibit) -> tuple[str, ...]:
        notices = exhibit.expected_replies - 1
        sends = str(exhibit.sends)
        if notices:
            sends = self._say("and_notice", sends=exhibit.sends - notices, notices=notices)
        seen = f"{exhibit.times_seen}×"
        return (exhibit.question, seen, sends, str(exhibit.reads), exhibit.status, exhibit.verification or "-")

    def _say(self, title: str, **values: object) -> str:
        return say(TITLES[title], self._language, **values)


async def perform(
    folder: Path,
    repository: Path,
    screen: Screen,
    language: Language,
    *,
    proved: Callable[[Sequence[Exhibit]], None],
    keep_up: bool = False,
    fault: str | None = LOST_RESPONSE,
) -> None:
    """Show the demo, and give what can be seen at its end to ``proved``, to be judged; then wait, if ``keep_up``.

    Raises ``NotStarted``, ``TimeoutError``, or ``httpx.HTTPError`` when the gateway went away.
    """
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        with screen.waiting(say(TITLES["start"], language)):
            stage = await stack.enter_async_context(set_up(folder, repository))
        story = Story(stage, screen, language)
        story.introduce(shallow=is_shallow(repository))
        if fault is not None:
            stage.lark.fault(fault, "reply", times=1)
        exhibits = (
            await story.ask(say(QUESTIONS["own"], language), 1),
            await story.ask(say(QUESTIONS["handed"], language), 2),
        )
        story.conclude(exhibits, time.monotonic() - started)
        proved(exhibits)
        if keep_up:
            screen.line(say(TITLES["serving"], language, gateway=stage.gateway_url, token=stage.token_file))
            await asyncio.Event().wait()
