"""Runs one plan: the real pump in several lives over one database and one world, watched from the first instant on.

``run(plan)`` gives what was found. ``History`` is for those who drive it themselves: make one, ``enqueue``, start lives
by ``begin_life`` and look at ``database`` and ``world``.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from returns.decisions.document import Text
from returns.decisions.keys import idempotency_key, part_id
from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName, ChatId, MessageId, Millis, PartId, ReturnId, SubjectId, ThreadId
from returns.ledger import leases
from returns.ledger.operators import look_again
from returns.ledger.outbox import ReturnKind, enqueue, new_return, supersede_unattempted
from returns.ports import Route, StorageUnavailable, Verdict
from returns.service import pump as pumping
from returns.service.pump import Pump
from returns.service.shared_pacing import SharedPacing
from tests.simulation.database import Database, SimTransactions, Storage, lost
from tests.simulation.loop import LIFE, Dead, Life, SimLoop, Stuck, TooLong
from tests.simulation.oracles import Judge
from tests.simulation.plan import APP, Deeds, Happening, Plan, PlannedReturn
from tests.simulation.provider import SimProvider
from tests.simulation.world import Message, Script, World

GIVE_UP_MS = 600_000
RETRY_MAX_MS = 60_000

SETTLES_WITHIN_MS = GIVE_UP_MS + 400_000
"""So long after the last fault everything has ended, or waits for a person."""

GRACE_S = 12.0
"""No answer, delay or wait for the database takes longer."""

STEPS = 300_000
"""The longest histories take about a tenth of it."""


@dataclass(frozen=True)
class Problem:
    """What an oracle found."""

    oracle: str
    text: str


@dataclass
class Result:
    """What became of a history."""

    problems: list[Problem]
    trace: list[str]
    steps: int
    ended_ms: int
    states: Counter[str] = field(default_factory=Counter)
    """How many parts ended in each state."""


@dataclass(frozen=True)
class PartOf:
    """A planned part, as the oracles know it beforehand."""

    name: str
    part_id: PartId
    number: int
    """Of its return."""
    position: int
    text: str
    planned: PlannedReturn
    keys: tuple[str, str]
    """The key of its reply, and of the plain message in its stead."""


class SimClock:
    """A life's clock: the true time and an error."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self.error_ms = 0

    def now(self) -> Millis:
        """The life's present."""
        return Millis(self._loop.now_ms() + self.error_ms)


class SimAuthority:
    """Allows, until something happens."""

    def __init__(self) -> None:
        self.verdicts: dict[str, Verdict] = {}
        self.recalled: list[tuple[str, int]] = []

    def verdict(self, connection: Connection, subject: SubjectId, revision: int) -> Verdict:
        """As the port."""
        return self.verdicts.get(subject, Verdict.ALLOWED)

    def question_recalled(self, connection: Connection, subject: SubjectId, revision: int, now: Millis) -> None:
        """As the port."""
        self.recalled.append((subject, revision))


class Slot:
    """A place for one worker: its lives follow one another."""

    def __init__(self, number: int, loop: SimLoop) -> None:
        self.number = number
        self.clock = SimClock(loop)
        self.lives = 0
        self.life: Life | None = None


class History:
    """One history under way."""

    def __init__(self, plan: Plan, database: Database, *, trace: bool = False) -> None:
        self.plan = plan
        self.database = database
        database.empty()
        database.deaf = plan.deaf
        self._random = random.Random(plan.seed)
        self._chance = self._random.random
        self.loop = SimLoop(self._pick, STEPS)
        self.world = World(self.loop, _PlannedDeeds(self), plan.dedup_ms, plan.page_size)
        self.authority = SimAuthority()
        self.policy = ReturnsPolicy(
            give_up_after_ms=GIVE_UP_MS,
            retry_max_ms=RETRY_MAX_MS,
            recalled_question="answer_in_chat" if plan.recalled_question == "answer_in_chat" else "say_nothing",
        )
        self.parts = parts_of(plan)
        self.by_key = {key: part for part in self.parts for key in part.keys}
        self.deeds = {
            name: Deeds(list(d.sends), list(d.reads), d.hidden_ms, d.unlisted_ms) for name, d in plan.deeds.items()
        }
        self.slots = [Slot(number, self.loop) for number in range(plan.slots)]
        self.calm = False
        self.storage_away_until = 0
        self.performed = 0
        self.problems: list[Problem] = []
        self.trace: list[str] | None = [] if trace else None
        self.watch = Judge(self)
        self.ended: asyncio.Future[None] | None = None
        self._stops = {(s.slot, s.life, s.point, s.nth): s.what for s in plan.stops}
        self._commits = {commit.nth: commit for commit in plan.commits}
        self._asked = False
        if trace:
            self.world.note = self.note

    def _pick(self, count: int) -> int:
        return int(self._chance() * count)

    def note(self, text: str) -> None:
        """A line of the trace."""
        if self.trace is not None:
            life = LIFE.get()
            self.trace.append(f"{self.loop.time():10.3f} {life.name if life else '-':8} {text}")

    def problem(self, oracle: str, text: str) -> None:
        """An oracle speaks: the history ends soon."""
        self.note(f"PROBLEM {oracle}: {text}")
        self.problems.append(Problem(oracle, text))
        self._end()

    # What is told

    def enqueue(self, number: int) -> None:
        """Commit a planned return, at this instant: the first slot's gateway does, by its clock."""
        planned = self.plan.returns[number]
        now = self.slots[0].clock.now()
        new = new_return(
            return_id=return_id(number),
            subject=SubjectId(planned.subject),
            revision=planned.revision,
            kind=ReturnKind(planned.kind),
            route=route_of(planned),
            documents=tuple(((Text(text),),) for text in planned.texts),
            asked_at=Millis(self.world.now),
        )

        def commit(connection: Connection) -> None:
            if planned.supersedes:
                supersede_unattempted(connection, new.subject, before_revision=planned.revision, now=now)
            enqueue(connection, new, now)

        self.world.ask(planned.question, planned.chat, planned.thread)
        self.note(f"return {number} is queued")
        self.database.perform(commit)

    # Lives

    def begin_life(self, number: int) -> Life:
        """Start a worker in a slot, as a gateway starts."""
        slot = self.slots[number]
        life = Life(self.loop, f"w{number}.{slot.lives}")
        slot.life, slot.lives = life, slot.lives + 1
        counts: Counter[str] = Counter()

        async def point(name: str) -> None:
            await self._point(slot, life, slot.lives - 1, counts, name)

        transactions = SimTransactions(self.database, life, point, _PlannedStorage(self))
        provider = SimProvider(self.world, life, point, self.watch)
        life.start(self._work(life, slot, transactions, provider))
        return life

    async def _work(self, life: Life, slot: Slot, transactions: SimTransactions, provider: SimProvider) -> None:
        if len(self.slots) == 1 and slot.lives > 1:  # the only gateway of a database knows that nobody else holds
            while True:
                try:
                    await transactions.run(lambda c: leases.release_all(c, slot.clock.now()))
                    break
                except StorageUnavailable:  # a gateway that cannot start is started again
                    await asyncio.sleep(1)
        await self.new_pump(transactions, provider, slot, life).run()

    def new_pump(self, transactions: SimTransactions, provider: SimProvider, slot: Slot, life: Life) -> Pump:
        """The real pump over a life's ports."""
        pacing = None
        if self.plan.shared_pace:
            pacing = SharedPacing(
                transactions,
                self.policy,
                slot.clock,
                life.name,
                database_clock=lambda _connection: Millis(self.loop.now_ms()),
            )
        return Pump(transactions, provider, self.authority, slot.clock, self.policy, life.name, pacing=pacing)

    async def _point(self, slot: Slot, life: Life, nth_life: int, counts: Counter[str], name: str) -> None:
        if life.dead:
            raise Dead(life.name)
        if self.trace is not None:
            self.note(name)
        if not self.calm and self._stops:
            for each in (name, "any"):
                nth = counts[each]
                counts[each] = nth + 1
                what = self._stops.get((slot.number, nth_life, each, nth))
                if what is not None:
                    self._stop(slot, life, what)
        plan = self.plan
        delay = 0.0
        if self._chance() < (plan.slow_reads if name == "read.before" else plan.delay):
            delay = self._chance() * plan.latency_ms / 1000
        await asyncio.sleep(delay)
        if life.dead:
            raise Dead(life.name)

    def _stop(self, slot: Slot, life: Life, what: str) -> None:
        deed, _, ms = what.partition(":")
        self.note(f"{deed} {ms}")
        if deed == "kill":
            self.kill(slot.number, int(ms))
            raise Dead(life.name)
        life.pause(int(ms) / 1000)

    def _begin_first(self, number: int) -> None:
        if self.slots[number].life is None:
            self.begin_life(number)

    def kill(self, number: int, restart_ms: int) -> None:
        """End a slot's life at once; the next one begins later."""
        slot = self.slots[number]
        if slot.life is None or slot.life.dead:
            return
        slot.life.kill()
        self.database.bells = [bell for bell in self.database.bells if bell.life is not slot.life]
        self.loop.world_later(restart_ms / 1000, self._restart, slot, slot.life)

    def _restart(self, slot: Slot, after: Life) -> None:
        if slot.life is after:
            self.begin_life(slot.number)

    # What happens

    async def play(self) -> None:
        """The whole plan, from its first return to the calm and to the end of everything."""
        self.ended = self.loop.create_future()
        later = self.loop.world_later
        for number, planned in enumerate(self.plan.returns):
            later(planned.at_ms / 1000, self.enqueue, number)
        for number, at_ms in enumerate(self.plan.starts_ms[: self.plan.slots]):
            later(at_ms / 1000, self._begin_first, number)
        for happening in self.plan.happenings:
            later(happening.at_ms / 1000, self._happens, happening)
        later(self.plan.calm_at_ms / 1000, self._calm_down)
        await self.ended
        self.watch.conclude()
        await self.end_all()

    def _happens(self, happening: Happening) -> None:
        if self.calm:
            return
        self.note(f"{happening.what} {happening.about} {happening.ms or ''}")
        happens: dict[str, Callable[[str, int], None]] = {
            "kill": lambda about, ms: self.kill(int(about), ms),
            "pause": self._pause,
            "clock": self._clock_jumps,
            "storage_away": self._storage_goes_away,
            "offline": self._provider_goes_offline,
            "forbid": self._reading_is_forbidden,
            "gone": lambda about, _ms: self.world.gone.add(about),
            "recall_question": self._question_is_recalled,
            "delete_question": self._question_is_deleted,
            "begin_thread": self._begin_thread,
            "begin_thread_on_answer": self._begin_thread_on_answer,
            "look_again": self._look_again,
            "echo": self._echo,
        }
        if happening.what in happens:
            happens[happening.what](happening.about, happening.ms)
        else:
            self.authority.verdicts[happening.about] = Verdict(happening.what)

    def _pause(self, about: str, ms: int) -> None:
        life = self.slots[int(about)].life
        if life is not None:
            life.pause(ms / 1000)

    def _clock_jumps(self, about: str, ms: int) -> None:
        self.slots[int(about)].clock.error_ms += ms

    def _storage_goes_away(self, _about: str, ms: int) -> None:
        self.storage_away_until = self.loop.now_ms() + ms

    def _provider_goes_offline(self, _about: str, ms: int) -> None:
        self.world.offline_until = self.loop.now_ms() + ms

    def _reading_is_forbidden(self, _about: str, ms: int) -> None:
        self.world.forbidden_until = self.loop.now_ms() + ms

    def _question_is_recalled(self, about: str, _ms: int) -> None:
        self.world.recalled_questions.add(about)
        question = self.world.find(about)
        if question is not None:
            question.recalled = True

    def _question_is_deleted(self, about: str, _ms: int) -> None:
        self.world.recalled_questions.add(about)
        question = self.world.find(about)
        if question is not None:
            question.deleted = True

    def _begin_thread(self, about: str, _ms: int) -> None:
        """On a question."""
        question = self.world.find(about)
        if question is not None:
            self.world.begin_thread(question)

    def _begin_thread_on_answer(self, about: str, _ms: int) -> None:
        part = next(part for part in self.parts if part.name == about)
        for message in self.world.messages:
            if message.key in part.keys:
                self.world.begin_thread(message)

    def _look_again(self, about: str, _ms: int) -> None:
        """An operator asks."""
        now, wait_ms = self.slots[0].clock.now(), self.policy.give_up_after_ms
        self.database.perform(lambda c: look_again(c, SubjectId(about), now, give_up_after_ms=wait_ms))

    def _echo(self, about: str, _ms: int) -> None:
        """Somebody else says what a part says, at the same place."""
        part = next(part for part in self.parts if part.name == about)
        planned = part.planned
        thread = planned.thread or self.world.threads.get(planned.question)
        self.world.say(planned.chat, part.text, thread=thread, parent=planned.question)

    def accepted(self, message: Message, key: str) -> None:
        """A message of a part came to be: what will become of it is planned."""
        part = self.by_key.get(key)
        deeds = self.plan.deeds.get(part.name) if part else None
        if deeds is None:
            return
        if deeds.recalled_after_ms is not None:
            self.loop.world_later(deeds.recalled_after_ms / 1000, self._recall, message)
        if deeds.deleted_after_ms is not None:
            self.loop.world_later(deeds.deleted_after_ms / 1000, self._delete, message)

    def _recall(self, message: Message) -> None:
        self.note(f"{message.message_id} is recalled")
        message.recalled = True

    def _delete(self, message: Message) -> None:
        self.note(f"{message.message_id} is deleted")
        message.deleted = True

    # How it ends

    def _calm_down(self) -> None:
        self.note("calm")
        self.calm = True
        self.storage_away_until = self.world.offline_until = self.world.forbidden_until = 0
        for slot in self.slots:
            if slot.life is not None:
                slot.life.resume()
            if slot.life is None or slot.life.dead:
                self.begin_life(slot.number)
        jumps = sum(abs(each.ms) for each in self.plan.happenings if each.what == "clock")
        self.loop.world_later((SETTLES_WITHIN_MS + jumps) / 1000, self._end)  # a clock set back waits for its moments
        self.database.on_commit = self.world.on_idle = self._ask
        self._ask()

    def _is_over(self) -> bool:
        pending = self.world.under_way or self.database.look("SELECT 1 FROM parts WHERE lane IS NOT NULL LIMIT 1")
        return not pending

    def _ask(self) -> None:
        if self._asked or not self._is_over():
            return
        self._asked = True  # what is in somebody's hands has some seconds to come to an end
        self.loop.world_later(GRACE_S, self._ask_again)

    def _ask_again(self) -> None:
        self._asked = False
        if self._is_over():
            self._end()

    def _end(self) -> None:
        if self.ended is not None and not self.ended.done():
            self.ended.set_result(None)

    async def end_all(self) -> None:
        """Kill what lives, and wait until it has unwound."""
        self.database.on_commit = lambda: None
        lives = [slot.life for slot in self.slots if slot.life is not None]
        for life in lives:
            if not life.dead and life.task is not None and life.task.done():
                self.problem("liveness", f"{life.name} ended by itself: {life.task}")
            life.kill()
        await asyncio.gather(*(life.task for life in lives if life.task is not None), return_exceptions=True)


def run(plan: Plan, database: Database, *, trace: bool = False) -> Result:
    """Run a plan and judge it."""
    history = History(plan, database, trace=trace)
    loop = history.loop
    usual, pumping.LONGEST_WAIT_S = pumping.LONGEST_WAIT_S, plan.longest_wait_s
    playing = loop.create_task(history.play())
    try:
        loop.run_until_complete(playing)
    except (Stuck, TooLong) as error:
        history.problem("liveness", f"{type(error).__name__}: {error}")
        playing.cancel()
    finally:
        loop.most_steps += STEPS
        loop.run_until_complete(asyncio.gather(playing, history.end_all(), return_exceptions=True))
        loop.close()
        pumping.LONGEST_WAIT_S = usual
    for fault in loop.faults:
        history.problem("ledger", f"{fault.get('message')}: {fault.get('exception')!r}")
    states = Counter(state for (state,) in database.look("SELECT state FROM parts"))
    return Result(history.problems, history.trace or [], loop.steps, round(loop.time() * 1000), states)


def return_id(number: int) -> ReturnId:
    """The id of a planned return."""
    return ReturnId(f"t_{number}")


def route_of(planned: PlannedReturn) -> Route:
    """Where a planned return goes."""
    return Route(
        AppName(APP),
        ChatId(planned.chat),
        ThreadId(planned.thread) if planned.thread else None,
        MessageId(planned.question),
    )


def parts_of(plan: Plan) -> list[PartOf]:
    """All parts of a plan, in order."""
    found: list[PartOf] = []
    for number, planned in enumerate(plan.returns):
        for position, text in enumerate(planned.texts):
            part = part_id(return_id(number), position)
            keys = (idempotency_key(part, 0), idempotency_key(part, 1))
            found.append(PartOf(f"{number}.{position}", part, number, position, text, planned, keys))
    return found


class _PlannedStorage(Storage):
    """The plan's faults of the database."""

    def __init__(self, history: History) -> None:
        self._history = history

    def away(self) -> bool:
        return self._history.loop.now_ms() < self._history.storage_away_until

    def twice(self) -> bool:
        every = self._history.plan.twice
        return bool(every) and self._history.performed % every == 0

    def commit(self) -> tuple[bool, Exception | None]:
        history = self._history
        nth, history.performed = history.performed, history.performed + 1
        lost_commit = history._commits.get(nth)
        if lost_commit is None or history.calm:
            return True, None
        history.note(f"the outcome of a commit is lost ({'kept' if lost_commit.kept else 'not kept'})")
        return lost(lost_commit.kept, unknown=lost_commit.unknown)


class _PlannedDeeds(Script):
    """The plan's deeds of the provider; its best where there are none, and once the calm has come."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._pages = list(history.plan.pages)
        self._prepares = list(history.plan.prepares)

    def _of(self, key: str | None) -> Deeds | None:
        part = self._history.by_key.get(key or "")
        return None if part is None else self._history.deeds.get(part.name)

    def send(self, key: str) -> str:
        deeds = self._of(key)
        if self._history.calm or deeds is None or not deeds.sends:
            return "accept"
        return deeds.sends.pop(0)

    def read(self, message: Message | None) -> str:
        deeds = self._of(message.key) if message else None
        if self._history.calm or deeds is None or not deeds.reads:
            return "ok"
        return deeds.reads.pop(0)

    def page(self, chat: str) -> str:
        return self._pages.pop(0) if self._pages and not self._history.calm else "ok"

    def prepare(self) -> str:
        return self._prepares.pop(0) if self._prepares and not self._history.calm else "ok"

    def latency_ms(self) -> int:
        return int(self._history._chance() * self._history.plan.latency_ms)

    def hidden_ms(self, key: str) -> tuple[int, int]:
        deeds = self._of(key)
        return (0, 0) if deeds is None else (deeds.hidden_ms, deeds.unlisted_ms)
