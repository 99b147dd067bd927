"""Two gateways replaced one after the other while an app is added: who has it already answers for it, undisturbed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from providers.lark_double.server import LarkDouble
from tests.support import postgresql
from tests.support.gateway_process import GatewayProcess, GatewaySettings, toml_pairs
from tests.support.gateways import TOKEN, WAIT_S, until
from tests.support.world import FINAL, PERSON, make_repository

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

QUESTION = "where is the class Engine defined?"
CHATS = 16


@dataclass
class MoreApps(GatewaySettings):
    """Settings with another app behind the first."""

    def write(self) -> Path:
        path = super().write()
        more = {
            "name": "new",
            "app_id": f"{self.app_id}_new",
            "app_secret": self.app_secret,
            "encrypt_key": self.encrypt_key,
            "verification_token": self.verification_token,
            "domain": self.lark_url,
        }
        path.write_text(path.read_text() + "\n".join(["", "[[apps]]", *toml_pairs(more), ""]))
        return path


async def test_an_app_that_one_gateway_does_not_have_yet(tmp_path: Path, postgresql_server: postgresql.Server) -> None:
    async with AsyncExitStack() as stack:
        url = stack.enter_context(postgresql_server.empty())
        lark = await stack.enter_async_context(LarkDouble.start())
        shared = {"database_url": url, "operator_token": TOKEN}
        has = MoreApps(tmp_path / "has", lark.url, workspace=make_repository(tmp_path / "project"), gateway=shared)
        lacks = GatewaySettings(tmp_path / "lacks", lark.url, workspace=has.workspace, gateway=shared)
        both = [GatewayProcess(settings, forked=True) for settings in (has, lacks)]
        lark.app(has.app_id, has.app_secret, has.encrypt_key, has.verification_token, name="Steward")
        new = lark.app(f"{has.app_id}_new", has.app_secret, has.encrypt_key, has.verification_token, name="New")
        for each in both:
            each.settings.folder.mkdir()
            each.settings.write()
            stack.push_async_callback(each.stop)
        await asyncio.gather(*(each.begin() for each in both))
        await asyncio.gather(*(each.ready(WAIT_S) for each in both))
        lark.set_webhook(new, f"{has.url}/lark/events/new")
        chats = [lark.create_chat(f"c{number}", [PERSON], [new.app_id]) for number in range(CHATS)]
        asked = [lark.say(chat, PERSON, QUESTION, mention=[new.app_id]) for chat in chats]
        async with httpx.AsyncClient(
            base_url=lacks.url, headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False, timeout=10
        ) as http:

            async def settled() -> list[dict[str, object]]:
                items = (await http.get("/api/v1/inbox", params={"limit": 100})).json()["items"]
                done = [item for item in items if item["delivery"]["status"] in FINAL]
                return items if len(done) == CHATS else []

            items = await until(settled)
            assert {item["delivery"]["status"] for item in items} == {"delivered"}
            for item in items:
                timeline = (await http.get(f"/api/v1/inbox/{item['request_id']}")).json()["timeline"]
                facts = [fact["fact"] for fact in timeline]
                assert not {"refused", "turn_waits", "turn_failed", "turn_resumed"} & set(facts)
                assert facts.count("read_back") <= 1
        assert [len(lark.replies(each)) for each in asked] == [1] * CHATS
        assert await until(lambda: all(lark.reactions(each) for each in asked))
