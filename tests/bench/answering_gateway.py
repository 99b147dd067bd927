"""A gateway whose runtime answers at once: ``python -m tests.bench.answering_gateway CONFIG``; prints its URL."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from gateway.composition import open_gateway
from gateway.settings import load
from manager.decisions.decision import Answer, Decision, TurnInput
from manager.ports import HostSession


class AtOnce:
    """A runtime without any cost of its own."""

    async def decide(self, turn: TurnInput, host: HostSession) -> Decision:
        return Answer(f"The transition table is in `returns/delivery.py:42@1a2b3c4`. ({turn.turn_id})")


async def main(config: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_gateway(load(config, os.environ, serving=True), config, runtime=AtOnce()) as gateway:
        print(gateway.url, flush=True)
        await gateway.run(stop)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
