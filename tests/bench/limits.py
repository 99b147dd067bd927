"""At the provider's limits, on time that jumps: a full outbox drained, and an outage settled by reading alone."""

from __future__ import annotations

import asyncio

from tests.bench.report import Figure
from tests.support.pacing import works

CHATS = 2_000
EACH = 5
ALL = CHATS * EACH
OUTAGE_CHATS = 40
LOST = 2_000
AIM = 0.95
CALLS_AIM = 0.5


async def measure() -> list[Figure]:
    """Both, each in a thread: they have a loop of their own."""
    return [*await asyncio.to_thread(_drain), *await asyncio.to_thread(_outage)]


def _drain() -> list[Figure]:
    with works() as it:
        for _ in range(EACH):
            for chat in range(CHATS):
                it.put(f"oc_{chat}")
        it.pump()
        it.run(lambda: it.states()["delivered"] >= ALL)
        assert (it.world.refusals, it.world.twice) == ([], 0)
        took, ideal = it.loop.time(), it.ideal_s(ALL)
    what = f"seconds (virtual) until {ALL:,} answers in {CHATS:,} chats are proved; no limit answer"
    share = ideal / took
    return [Figure(what, took, "s", "what the limits permit", ideal, share, f"≥ {AIM:g}", share >= AIM)]


def _outage() -> list[Figure]:
    with works() as it:
        dark_s = int(it.ideal_s(LOST)) + 120
        it.world.lose_until = it.world.dark_until = it.loop.now_ms() + dark_s * 1000
        for _ in range(LOST // OUTAGE_CHATS):
            for chat in range(OUTAGE_CHATS):
                it.put(f"oc_{chat}")
        it.pump()
        it.run(lambda: it.loop.time() >= dark_s)
        assert it.states()["verification_required"] == LOST
        it.world.calls.clear()
        it.run(lambda: it.states()["delivered"] >= LOST)
        calls = it.world.calls
        assert (calls["sends"], it.world.refusals, it.world.twice) == (0, [], 0)
        readings, took = calls["lists"] + calls["reads"], it.loop.time() - dark_s
    each = readings / LOST
    of_them = f"{LOST:,} unknown answers in {OUTAGE_CHATS} chats after an outage"
    return [
        Figure(
            f"readings for each of {of_them}",
            each,
            "",
            "a search and a readback each",
            2,
            each / 2,
            f"≤ {CALLS_AIM:g}",
            each / 2 <= CALLS_AIM,
        ),
        Figure(f"seconds (virtual) until they are proved, at the limits, no send: {of_them}", took, "s"),
    ]
