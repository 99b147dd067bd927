"""Ended at every await: one return, one event and one turn, each carried on by the next life to the same end.

The provider accepts the first part and loses the answer, so that looking for it takes part. An await is every place
where a port is called, before and after its effect; and, in tests of their own, every step of the event loop.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from returns.decisions.policy import ReturnsPolicy
from returns.ids import AppName, ChatId, MessageId, Millis, ReturnId, SubjectId
from returns.ledger import leases
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ports import Route
from returns.service.pump import Pump
from tests.exploration.lives import NEVER, Fault, HouseDatabase, Ports, Ran, StepLoop, live
from tests.simulation.history import SimAuthority
from tests.simulation.loop import START_MS
from tests.simulation.provider import SimProvider
from tests.simulation.world import Script, World
from tests.support.returns import text

POLICY = ReturnsPolicy(app_per_second=10_000, app_per_minute=100_000, chat_per_second=10_000)
WORDS = ("one", "two")
MOST_PAIRS = 60


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class LosesFirst(Script):
    """The answer to the first send never comes."""

    def __init__(self) -> None:
        self.sends = 0

    def send(self, key: str) -> str:
        self.sends += 1
        return "reset" if self.sends == 1 else "accept"

    def latency_ms(self) -> int:
        return 5


class Delivery:
    """One return, of two parts."""

    def __init__(self, *, alone: bool = True) -> None:
        self.database = HouseDatabase()
        self.alone = alone
        """The only gateway of its database: what it finds held at its start is nobody's."""
        new = new_return(
            return_id=ReturnId("t_1"),
            subject=SubjectId("r_1"),
            revision=1,
            kind=ReturnKind.ANSWER,
            route=Route(AppName("default"), ChatId("oc_1"), None, MessageId("om_q")),
            documents=tuple(text(words) for words in WORDS),
        )
        self.database.perform(lambda c: enqueue(c, new, Millis(START_MS)))
        self.queued = self.database.driver.serialize()
        self.world: World | None = None

    def run(self, *kills: int, fault: Fault | None = None, step: int = NEVER) -> Ran:
        """Deliver it, and look at what became of it."""
        self.database.load(self.queued)
        loop = StepLoop(step)
        world = self.world = World(loop, LosesFirst())
        world.ask("om_q", "oc_1", None)
        ran = live(self.database, loop, self._work, self._done, kills=kills, fault=fault)
        self._judge(world, f"kills {kills}, fault {fault}, step {step}")
        return ran

    async def _work(self, ports: Ports) -> None:
        provider = SimProvider(self.world, ports.life, ports.awaits.point)
        if self.alone:
            await ports.patiently(lambda c: leases.release_all(c, ports.now()))
        pump = Pump(ports.transactions, provider, SimAuthority(), ports, POLICY, f"life {ports.number}")
        await pump.run()

    def _done(self) -> bool:
        return not self.database.look("SELECT 1 FROM parts WHERE lane IS NOT NULL")

    def _judge(self, world: World, when: str) -> None:
        told = [message.text for message in world.messages if message.ours]
        rows = self.database.look("SELECT state, error, attempts FROM parts ORDER BY position")
        assert told in ([], ["one"], ["one", "two"]), f"{when}: {told}"
        assert world.accepted.total() == len(told), f"{when}: something was accepted twice"
        for words, (state, error, _) in zip(WORDS, rows, strict=True):
            if words in told:
                assert state == "delivered", f"{when}: {words} is there and {state}/{error}"
            else:
                assert (state, error) in {
                    ("explicit_unverified", "no_match_found"),
                    ("queued", "earlier_part_unverified"),
                }, f"{when}: {words} is not there and {state}/{error}"
        ((status, operator),) = self.database.look("SELECT status, needs_operator FROM answers")
        assert bool(operator) == (told != list(WORDS)), f"{when}: {status} {told}"


def pairs_of(run: Callable[[], Ran]) -> list[tuple[int, int]]:
    """The awaits at which two lives can be ended, and some behind the last one."""
    most = run().awaits[0]
    return list(itertools.product(range(1, most + 1), range(1, most + 20)))


def every(run: Any, first: int = 1) -> int:
    """Run with 1, 2, 3 … until a run in which nothing happened any more; how many did."""
    for number in itertools.count(first):
        if run(number):
            return number - first
    raise AssertionError


class TestAReturn:
    @pytest.mark.parametrize("alone", [True, False], ids=["restarted", "taken over"])
    def test_ended_at_every_await(self, alone: bool) -> None:
        delivery = Delivery(alone=alone)
        count = every(lambda n: delivery.run(n).killed == 0)
        print(f"{count} awaits")
        assert count > 60

    def test_ended_at_every_step_of_the_loop(self) -> None:
        delivery = Delivery()
        count = every(lambda n: delivery.run(step=n).killed == 0)
        print(f"{count} steps")
        assert count > 100

    def test_ended_twice(self) -> None:
        """Seeded pairs; ``python -m tests.exploration pairs`` runs all of them."""
        delivery = Delivery()
        for pair in random.Random(3).sample(pairs_of(delivery.run), MOST_PAIRS):
            delivery.run(*pair)

    @pytest.mark.parametrize("what", ["away", "lost", "kept"])
    def test_every_transaction_fails_once(self, what: str) -> None:
        delivery = Delivery()
        count = delivery.run().transactions
        for number in range(1, count + 1):
            delivery.run(fault=Fault(number, what))
        assert count > 20
