"""A local Lark for the benchmarks: ``python -m tests.bench.lark_server CHATS``; prints where it is and what is there.

One app, its bot in each of the chats, a question in each, limits off. In a process of its own, so that what it costs
is not counted as the client's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from providers.lark_double.server import LarkDouble

APP_ID, SECRET, KEY, TOKEN = "cli_bench", "bench-secret", "bench-encrypt-key", "bench-verification"
PERSON = "lin"


@dataclass(frozen=True)
class Place:
    """A chat and the question in it."""

    chat_id: str
    question: str


@dataclass(frozen=True)
class Lark:
    """The running server."""

    url: str
    places: tuple[Place, ...]


@asynccontextmanager
async def lark_server(chats: int) -> AsyncIterator[Lark]:
    """Run it while the block runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.lark_server", str(chats), stdout=asyncio.subprocess.PIPE, limit=1 << 24
    )
    try:
        assert process.stdout is not None
        told = json.loads(await process.stdout.readline())
        yield Lark(told["url"], tuple(Place(*each) for each in told["places"]))
    finally:
        process.terminate()
        await process.wait()


async def main(chats: int) -> None:
    async with LarkDouble.start() as lark:
        app = lark.app(APP_ID, SECRET, KEY, TOKEN)
        lark.world.knobs.limits = False
        made = [lark.create_chat(f"chat {number}", [PERSON], [app.app_id]) for number in range(chats)]
        places = [[chat.chat_id, lark.say(chat, PERSON, "where is it?").message_id] for chat in made]
        print(json.dumps({"url": lark.url, "places": places}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
