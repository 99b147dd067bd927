"""What may happen to one answer while an operator acts on it, drawn by chance: the asker, the chat, the gateways."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from manager.decisions.operators import Cancel, Found, Outcome, Resend, Verify
from returns.delivery import State
from returns.ports import Refusal, Unknown, Unreachable
from tests.support.operators_chat import Late
from tests.support.operators_judge import look
from tests.support.operators_world import LEASE_OVER_MS, World
from tests.support.returns import refused

WORDS = (("one",), ("one", "two"), ("one", "two"), ("one", "two", "three"))
KINDS = ("held", "held", "late", "late and lost", "lost", "lost", "lost", "never", "refused", "refused", "fine")
MOST_RESENDS = 5
MOST_MOVES = 10
SENT_ANEW = frozenset({Outcome.QUEUED.value, Outcome.PROVED.value})
GOES_ON = SENT_ANEW | {Outcome.CHANGED.value, Outcome.AMBIGUOUS.value}
RESENDABLE = frozenset({State.EXPLICIT_UNVERIFIED.value, State.UNDELIVERABLE.value})


class Story:
    """One history: what happens is drawn, done and written down."""

    def __init__(self, home: World, rng: random.Random) -> None:
        self.home, self.rng = home, rng
        self.log: list[str] = []
        self._held: list[asyncio.Event] = []
        self._corrections: list[str] = []
        """Those that stand."""
        self._named = 0

    def note(self, words: str) -> None:
        self.log.append(words)

    # Of which a history is made

    async def tell(self) -> None:
        """From the question to the moment at which nothing happens any more."""
        await self.begin()
        for _ in range(self.rng.randint(4, 12)):
            await self.anything()
        for name in list(self._corrections) if self.rng.random() < 0.7 else ():
            await self.take_back(name)
        await self.heal()

    async def begin(self) -> None:
        """The first answer is sent; often its gateway stands still in that, and another one takes over."""
        home, words = self.home, self.rng.choice(WORDS)
        self.fault(*KINDS[:-1])
        home.provider.hiding = self.rng.random() < 0.9
        self.note(f"answered in {len(words)} parts, new messages are {'hidden' if home.provider.hiding else 'shown'}")
        await home.ask(words)
        if self.rng.random() < 0.75:
            await home.step()
            await self.another_gateway()
            await self.until_resendable()
        if self.rng.random() < 0.3:
            await self.offline()

    async def anything(self) -> None:
        steps, weights = zip(*STEPS, strict=True)
        (step,) = self.rng.choices(steps, weights)
        await step(self)

    async def heal(self) -> None:
        """Nothing goes wrong any more, the steward answers what is open, and all that goes on by itself has ended."""
        home = self.home
        home.provider.heal()
        self.note("everything heals")
        if self.rng.random() < 0.3:
            self.note("what is held stays so for a while")
            await home.go_on(8)
            home.clock.move(LEASE_OVER_MS)
            await home.go_on(8)
        while self._held:
            await self.let_go()
        await home.settled()
        while await self.answered():
            await home.settled()

    # What may happen

    def fault(self, *kinds: str) -> None:
        """The next send goes wrong, or not."""
        kind = self.rng.choice(kinds or KINDS)
        self.note(f"a send will be {kind}")
        faults = self.home.provider.faults
        if kind in {"held", "late", "late and lost"}:
            event = asyncio.Event()
            self._held.append(event)
            faults.append(event if kind == "held" else Late(event, lost=kind == "late and lost"))
            return
        refusal = refused(self.rng.choice((Refusal.CONTENT, Refusal.NOT_ALLOWED)))
        faults.append({"lost": "lose", "never": Unknown("timeout"), "refused": refusal, "fine": None}[kind])

    async def goes_wrong(self) -> None:
        self.fault()

    async def let_go(self) -> None:
        if not self._held:
            return
        self.note("what was held is let go")
        self._held.pop(0).set()
        await self.home.step()

    async def another_gateway(self) -> None:
        """The leases are over, and where there is no second gateway, one starts."""
        home = self.home
        if len(home.pumps) == 1:
            home.start_pump()
        self.note("the leases are over")
        home.clock.move(LEASE_OVER_MS)
        await home.step()

    async def time_passes(self) -> None:
        moves, ms = self.rng.randint(1, 6), self.rng.choice((None, None, 5, 3_000))
        self.note(f"{moves} moves of the clock by {ms or 'what is due'}")
        await self.home.go_on(moves, ms)

    async def offline(self) -> None:
        self.note("offline")
        self.home.provider.offline = True

    async def online(self) -> None:
        self.note("online")
        self.home.provider.offline = False
        await self.home.step()

    async def hide_or_show(self) -> None:
        hidden = self.rng.random() < 0.4
        self.note("all is hidden" if hidden else "all is shown")
        self.home.provider.show(hidden=hidden)

    async def unread(self) -> None:
        count = self.rng.randint(1, 4)
        self.note(f"{count} readings fail")
        faults = self.rng.choice((self.home.provider.read_faults, self.home.provider.list_faults))
        faults += [Unreachable()] * count

    async def resend(self) -> None:
        """Mostly once it can be; then what is sent anew may meet trouble, too."""
        for name in list(self._corrections) if self.rng.random() < 0.6 else ():
            await self.take_back(name)
        if not await self.until_resendable() and self.rng.random() < 0.8:
            return
        if self.rng.random() < 0.5:
            self.home.provider.faults.clear()
            self.fault()
        said = await self.home.order(Resend("it is not there"))
        self.note(f"resend: {said}")
        if said == "waits":
            await self.home.go_on(self.rng.choice((0, 4, 8)))
            self.note(f"by now: {await self.home.last_outcome()}")

    async def until_resendable(self) -> bool:
        """Let time pass as long as something happens by itself, but not for long."""
        for _ in range(MOST_MOVES):
            await self.home.step()
            if (await self.home.item())["delivery"]["status"] in RESENDABLE:
                return True
            if not await self.home.move():
                return False
        return False

    async def verify(self) -> None:
        self.note(f"verify: {await self.home.order(Verify())}")

    async def found(self) -> None:
        """Any message: the right one or a wrong one."""
        messages = self.home.provider.messages
        name = self.rng.choice(messages).message_id if messages else "om_nowhere"
        self.note(f"found {name}: {await self.home.order(Found(name))}")

    async def cancel(self) -> None:
        self.note(f"cancel: {await self.home.order(Cancel('nobody wants it'))}")

    async def correct(self) -> None:
        if self.home.cancelled or self.home.asked[1] in self.home.provider.gone:
            return
        self._named += 1
        name = f"om_c{self._named}"
        self.note(f"corrected by {name}")
        self._corrections.append(name)
        await self.home.correct(name)

    async def answered(self) -> int | None:
        revision = await self.home.answer(self.rng.choice(WORDS[:3]))
        if revision is not None:
            self.note(f"the steward answers revision {revision}: {self.home.words[revision]}")
            await self.home.step()
        return revision

    async def answered_amiss(self) -> None:
        if self._corrections:
            self.fault()
            await self.answered()

    async def recalled(self) -> None:
        if self._corrections:
            await self.take_back(self.rng.choice(self._corrections))

    async def take_back(self, name: str) -> None:
        self.note(f"{name} is taken back")
        self._corrections.remove(name)
        await self.home.recall(name)

    async def question_recalled(self) -> None:
        self.note("the question is taken back")
        await self.home.recall(self.home.asked[1])

    # The end

    async def operator_ends_it(self) -> list[str]:
        """The operator has it sent anew until nobody is asked any more; what is wrong with that."""
        for _ in range(MOST_RESENDS):
            truth = await look(self.home)
            if self.home.cancelled or not truth.item["needs_operator"] or truth.status not in RESENDABLE:
                return []
            outcome = await self.ordered(Resend("at the end"))
            if outcome not in GOES_ON:
                forbidden = outcome == Outcome.FORBIDDEN.value and not truth.stands
                return [] if forbidden else [f"the last resend ended as {outcome}"]
            if outcome == Outcome.AMBIGUOUS.value:
                await self.ordered(Found("1"))
            delivered = (await look(self.home)).status == State.DELIVERED.value
            if outcome in SENT_ANEW and truth.stands and not delivered:
                return [f"the last resend ended as {outcome}, and it is not delivered"]
        return ["it cannot be ended by sending it anew"]

    async def ordered(self, act: Resend | Found) -> str | None:
        """What an order comes to, once all that follows of it has ended."""
        said = await self.home.order(act)
        await self.home.settled()
        outcome = await self.home.last_outcome() if said == "waits" else said
        self.note(f"at the end {type(act).__name__.lower()}: {outcome}")
        while await self.answered():
            await self.home.settled()
        return outcome


STEPS: Sequence[tuple[Callable[[Story], Awaitable[None]], float]] = (
    (Story.resend, 5),
    (Story.correct, 3),
    (Story.recalled, 4),
    (Story.answered_amiss, 3),
    (Story.time_passes, 3),
    (Story.another_gateway, 2),
    (Story.let_go, 2),
    (Story.goes_wrong, 2),
    (Story.online, 1.5),
    (Story.offline, 1),
    (Story.hide_or_show, 2),
    (Story.unread, 1),
    (Story.verify, 1),
    (Story.found, 1.5),
    (Story.cancel, 0.1),
    (Story.question_recalled, 0.2),
)
"""What may happen, and how often."""
