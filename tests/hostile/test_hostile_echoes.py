"""Row 15, the sign that only the ledger knows: a message of ours that comes back as if a person had written it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, select

from returns.decisions.document import Text
from returns.ledger.locators import Source, learn
from returns.ledger.outbox import ReturnKind, enqueue, new_return
from returns.ledger.tables import parts
from returns.ports import Locator, Route
from tests.support.hostile import door
from tests.support.webhook import NOW_S, message_event, push


def answer_sent(connection: Connection) -> None:
    """An answer of ours is in the chat, and its message is known."""
    route = Route("default", "oc_group0001", None, "om_earlier0001")
    document = ((Text("here is the pump"),),)
    enqueue(
        connection,
        new_return(
            return_id="a_1", subject="r_1", revision=1, kind=ReturnKind.ANSWER, route=route, documents=(document,)
        ),
        NOW_S * 1000,
    )
    part = connection.execute(select(parts.c.part_id)).scalar_one()
    assert learn(connection, part, Locator("om_answer0001", "oc_group0001", None), Source.DIRECT, NOW_S * 1000)


async def test_a_known_message_of_ours_asks_nothing(tmp_path: Path) -> None:
    async with door(tmp_path) as opened:
        await opened.store.run(answer_sent)
        echo = message_event("ev-echo", "om_answer0001")  # from a user, and it names the bot
        assert (await push(opened.server.port, echo)).status == 200
        assert [state for state, _ in await opened.states()] == ["ignored"]
        assert "turns" not in await opened.rows()


async def test_two_bots_in_one_group_do_not_answer_each_other(tmp_path: Path) -> None:
    async with door(tmp_path) as opened:
        for number in range(5):
            event = message_event(f"ev-{number}", f"om_bot{number:07}", text=f"and you? {number}")
            event["event"]["sender"] = {"sender_id": {"open_id": "ou_otherbot1"}, "sender_type": "app"}
            assert (await push(opened.server.port, event)).status == 200
        assert {state for state, _ in await opened.states()} == {"ignored"}
        assert not {"requests", "turns"} & set(await opened.rows())
