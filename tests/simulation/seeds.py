"""What a seed makes: a few returns and what goes wrong with them. Small, so that many can be run."""

from __future__ import annotations

from random import Random

from tests.simulation.plan import Commit, Deeds, Happening, Plan, PlannedReturn, Stop
from tests.simulation.world import HOUR_MS, LIES, thread_on

POINTS = ("run", "read", "prepare", "send", "look", "list")

SENDS = ("lose", "lose", "reset", "no_id", "slow", "late", "late", "never", "offline", "limit", "refuse")

REFUSALS = ("stale_token", "configuration", "not_allowed", "content", "route_gone", "question_recalled", "offline")


def plan_of(seed: int) -> Plan:
    """The history of a seed."""
    return _Maker(seed).plan()


class _Maker:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(seed * 2 + 1)

    def _maybe(self, chance: float) -> bool:
        return self._random.random() < chance

    def _ms(self, least: int, most: int) -> int:
        """Short times are as likely as long ones: each of their lengths is."""
        span = most / max(least, 1)
        return round(max(least, 1) * span ** self._random.random())

    def _one(self, *of: str) -> str:
        return self._random.choice(of)

    def plan(self) -> Plan:
        returns = self._returns()
        names = [f"{number}.{position}" for number, each in enumerate(returns) for position in range(len(each.texts))]
        slots = self._random.choice((1, 1, 1, 2, 2, 3))
        plan = Plan(self._seed, returns, slots=slots)
        plan.starts_ms = [0] + [self._ms(1, 5_000) if self._maybe(0.3) else 0 for _ in range(slots - 1)]
        plan.dedup_ms = 0 if self._maybe(0.5) else HOUR_MS
        plan.page_size = self._random.choice((1, 2, 3, 50))
        plan.latency_ms = self._random.choice((0, 20, 200, 2_000))
        plan.delay = self._random.choice((0.05, 0.2, 0.5))
        plan.slow_reads = self._random.choice((plan.delay, 1.0, 1.0))
        plan.deaf = self._maybe(0.4)
        plan.shared_pace = slots > 1 and self._maybe(0.3)
        plan.twice = self._random.choice((0, 0, 0, 1, 3))
        plan.recalled_question = self._one("say_nothing", "answer_in_chat")
        twins = returns[0].thread is not None and len({text for each in returns for text in each.texts}) < len(names)
        for name in names:
            deeds = self._twin() if twins and self._maybe(0.5) else self._deeds()
            if deeds is not None:
                plan.deeds[name] = deeds
        if self._maybe(0.2):
            plan.pages = [self._bad_page() for _ in range(self._random.randint(1, 4))]
        if self._maybe(0.08):
            plan.prepares = [self._bad_prepare() for _ in range(self._random.randint(1, 3))]
        if self._maybe(0.5):
            plan.stops = [self._stop(slots) for _ in range(self._random.choice((1, 1, 2, 3)))]
        if self._maybe(0.25):
            plan.commits = [
                Commit(self._random.randrange(30), self._maybe(0.5), self._maybe(0.5))
                for _ in range(self._random.randint(1, 3))
            ]
        plan.happenings = self._happenings(plan, names)
        plan.happenings += self._threads(plan, names)
        latest = max([each.at_ms + each.ms for each in plan.happenings] + [each.at_ms for each in returns])
        plan.calm_at_ms = latest + self._ms(1_000, 60_000)
        return plan

    def _returns(self) -> list[PlannedReturn]:
        returns: list[PlannedReturn] = []
        chats = self._random.choice((1, 1, 2, 3))
        alike = self._maybe(0.45)
        in_thread = 1.0 if alike and self._maybe(0.5) else self._random.choice((0.0, 0.5, 1.0))
        for number in range(self._random.choice((1, 1, 1, 1, 2, 2, 2, 3))):
            chat = self._random.randrange(chats)
            count = self._random.choice((1, 1, 1, 1, 2, 2, 3))
            texts = ["Done." if alike and self._maybe(0.8) else f"{number}.{at}" for at in range(count)]
            returns.append(
                PlannedReturn(
                    subject=f"r_{number}",
                    chat=f"oc_{chat}",
                    texts=texts,
                    thread=f"omt_{chat}" if self._maybe(in_thread) else None,
                    question=f"om_q{chat if self._maybe(0.3) else number + 10}",
                    at_ms=self._ms(1, 20_000) if self._maybe(0.4) else 0,
                    kind="notice" if self._maybe(0.1) else "answer",
                )
            )
        if self._maybe(0.12):
            first = returns[0]
            again = PlannedReturn(
                first.subject, first.chat, list(first.texts), first.thread, first.question, first.at_ms, 2
            )
            again.at_ms += self._ms(1, 30_000)
            again.supersedes = True
            returns.append(again)
        return returns

    def _deeds(self) -> Deeds | None:
        if self._maybe(0.45):
            return None
        deeds = Deeds()
        if self._maybe(0.75):
            deeds.sends = [self._bad_send() for _ in range(self._random.choice((1, 1, 1, 2, 3)))]
        if self._maybe(0.3):
            deeds.reads = [self._bad_read() for _ in range(self._random.choice((1, 1, 2)))]
        if self._maybe(0.2):
            deeds.hidden_ms = self._ms(100, 90_000)
        if self._maybe(0.3):
            deeds.unlisted_ms = self._ms(100, 90_000)
        if self._maybe(0.1):
            deeds.recalled_after_ms = self._ms(1, 60_000)
        if self._maybe(0.06):
            deeds.deleted_after_ms = self._ms(1, 60_000)
        return deeds

    def _twin(self) -> Deeds:
        """One of several equal parts of a thread: their messages can only be told apart by who knows of which."""
        return Deeds(sends=[self._one("lose", "reset", "never", f"late:{self._ms(1_000, 120_000)}")])

    def _bad_send(self) -> str:
        kind = self._one(
            "lose", "lose", "reset", "no_id", "slow", "late", "late", "never", "offline", "limit", "refuse"
        )
        match kind:
            case "slow":
                return f"slow:{self._ms(1_000, 60_000)}"
            case "late":
                return f"late:{self._ms(1_000, 120_000)}"
            case "limit":
                return f"limit:{self._ms(1, 100_000) if self._maybe(0.7) else 0}"
            case "refuse":
                return f"refuse:{self._one(*REFUSALS)}"
            case _:
                return kind

    def _bad_read(self) -> str:
        kind = self._one("lie", "lie", "lie", "unreachable", "forbidden", "missing", "limit")
        if kind == "lie":
            return f"lie:{self._one(*LIES)}"
        return f"limit:{self._ms(1, 100_000)}" if kind == "limit" else kind

    def _bad_page(self) -> str:
        kind = self._one("lie", "lie", "unreachable", "unreachable", "forbidden", "limit", "ok", "ok")
        if kind == "lie":
            return f"lie:{self._one(*LIES)}"
        return f"limit:{self._ms(1, 100_000)}" if kind == "limit" else kind

    def _bad_prepare(self) -> str:
        kind = self._one("offline", "limit", "refuse")
        if kind == "limit":
            return f"limit:{self._ms(1, 100_000)}"
        return f"refuse:{self._one('configuration', 'stale_token')}" if kind == "refuse" else kind

    def _stop(self, slots: int) -> Stop:
        point = "any" if self._maybe(0.3) else f"{self._one(*POINTS)}.{self._one('before', 'after')}"
        nth = round(self._ms(1, 60)) - 1 if point == "any" else self._ms(1, 12) - 1
        pause = self._maybe(0.4)
        if pause and self._maybe(0.5):  # a send that outlives its lease
            point, nth = f"send.{self._one('before', 'after')}", self._random.choice((0, 0, 1, 2))
        longest = 200_000 if self._maybe(0.9) else 2_000_000
        what = f"pause:{self._ms(5_000, longest)}" if pause else f"kill:{self._ms(1, 60_000)}"
        return Stop(self._random.randrange(slots), self._random.choice((0, 0, 0, 1)), point, nth, what)

    def _threads(self, plan: Plan, names: list[str]) -> list[Happening]:
        """Threads that are begun under way; drawn apart, so that the rest of a seed's history stays what it was."""
        drawn, self._random = self._random, Random(self._seed * 2 + 2)
        found: list[Happening] = []
        outside = [each for each in plan.returns if each.thread is None]
        if outside and self._maybe(0.25):
            begun_on = self._random.choice(outside)
            found.append(Happening(self._ms(1, 30_000), "begin_thread", begun_on.question))
            for other in plan.returns:
                if other.question != begun_on.question and other.chat == begun_on.chat and self._maybe(0.6):
                    other.thread = thread_on(begun_on.question)
        if outside and self._maybe(0.15):
            found.append(Happening(self._ms(1, 60_000), "begin_thread_on_answer", self._one(*names)))
        if self._maybe(0.04):
            found.append(Happening(self._ms(1, 60_000), "delete_question", self._random.choice(plan.returns).question))
        self._random = drawn
        return found

    def _happenings(self, plan: Plan, names: list[str]) -> list[Happening]:
        found: list[Happening] = []

        def add(chance: float, what: str, about: str = "", ms: int = 0, late: int = 60_000) -> None:
            if self._maybe(chance):
                found.append(Happening(self._ms(1, late), what, about, ms))

        slots = [str(number) for number in range(plan.slots)]
        subjects = [each.subject for each in plan.returns]
        any_return = self._random.choice(plan.returns)
        add(0.15, "kill", self._one(*slots), self._ms(1, 60_000))
        add(0.12, "pause", self._one(*slots), self._ms(1_000, 120_000))
        add(0.12, "storage_away", ms=self._ms(100, 120_000))
        add(0.12, "offline", ms=self._ms(100, 120_000))
        add(0.002, "offline", ms=3 * HOUR_MS)
        add(0.08, "forbid", ms=self._ms(1_000, 120_000))
        add(0.015, "forbid", ms=900_000)
        add(0.04, "gone", any_return.thread or any_return.chat)
        add(0.08, "recall_question", any_return.question)
        add(0.05, "revoked", self._one(*subjects))
        add(0.03, "route_gone", self._one(*subjects))
        add(0.05, "question_recalled", self._one(*subjects))
        add(0.2, "look_again", self._one(*subjects), late=100_000)
        add(0.1, "look_again", self._one(*subjects), late=100_000)
        add(0.12, "echo", self._one(*names))
        add(0.08, "clock", self._one(*slots), self._random.randint(-50_000, 50_000))
        add(0.02, "clock", self._one(*slots), self._random.choice((-1, 1)) * self._ms(60_000, 4 * HOUR_MS))
        return found
