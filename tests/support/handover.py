"""A house for handover tests: a real database, the peer's API on a real socket, peers with tokens, questions asked."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from sqlalchemy import Connection, select

from gateway.api.peer import PeerApi
from gateway.http.cursors import Cursors
from gateway.http.server import HttpServer
from manager.decisions.brief import Brief, BriefMessage, MessageKind
from manager.decisions.decision import Audience, Decision, Delegate
from manager.ids import ConversationId, OpenId, PeerId, RequestId
from manager.ledger import peers, requests
from manager.ledger.requests import QuestionRoute, RequestView
from manager.ledger.tables import chats, conversations, facts, messages
from manager.service.handover import DecidedTurn, apply_decision
from manager.service.telling import Telling
from returns.decisions.bodies import to_json
from returns.ids import AppName, ChatId, MessageId, Millis
from returns.ledger.tables import parts, returns
from returns.ports import Transactions
from tests.support.databases import of_folder, opened
from tests.support.replay import check_replay

APP = AppName("default")


@dataclass
class Clock:
    """A clock that tests move."""

    at: int = 1_800_000_000_000

    def now(self) -> Millis:
        return Millis(self.at)


@dataclass
class Answer:
    """What the API said."""

    status: int
    body: dict
    raw: bytes = b""

    @property
    def code(self) -> str | None:
        return self.body.get("error", {}).get("code")

    @property
    def field(self) -> str | None:
        return self.body.get("error", {}).get("field")


@dataclass
class PeerSide:
    """A peer with its token."""

    house: House
    name: str
    token: str
    keys: itertools.count = field(default_factory=lambda: itertools.count(1))

    async def call(
        self, method: str, path: str, *, json: object = None, data: bytes | None = None, headers: dict | None = None
    ) -> Answer:
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        url = f"{self.house.url}/api/v1/peer{path}"
        async with self.house.http.request(method, url, json=json, data=data, headers=sent) as answer:
            raw = await answer.read()
            return Answer(answer.status, await answer.json(), raw)

    async def write(self, method: str, path: str, body: object, key: str | None = None) -> Answer:
        headers = {"Idempotency-Key": key or f"{self.name}-{next(self.keys)}"}
        return await self.call(method, path, json=body, headers=headers)

    async def list(self, query: str = "") -> Answer:
        return await self.call("GET", f"/requests{query}")

    async def read(self, request: str) -> Answer:
        return await self.call("GET", f"/requests/{request}")

    async def post(self, request: str, what: str, key: str | None = None, **body: object) -> Answer:
        return await self.write("POST", f"/requests/{request}/{what}", {"revision": 1, **body}, key)

    async def accept(self, request: str, revision: int = 1) -> str:
        """Present and accept; the attempt."""
        presented = await self.post(request, "presented", revision=revision)
        assert presented.status == 200, presented
        assessed = await self.post(request, "assessment", revision=revision, assessment="accepted")
        assert assessed.status == 200, assessed
        return presented.body["attempt"]


@dataclass
class House:
    """All of it."""

    transactions: Transactions
    clock: Clock
    telling: Telling
    http: aiohttp.ClientSession
    url: str
    counter: itertools.count = field(default_factory=lambda: itertools.count(1))

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self.counter):08x}"

    async def peer(self, name: str, *, audience: str = "shared", says: tuple[str, ...] = ("things",)) -> PeerSide:
        token = f"lsp_{name}"
        await self.transactions.run(
            lambda c: peers.add(
                c,
                peer_id=PeerId(self.new_id("p")),
                name=name,
                mode=peers.Mode.ATTACHED_HOST,
                audience=Audience(audience),
                goal=None,
                responsibilities=says,
                examples=(),
                digest=peers.token_digest(token),
                now=self.clock.now(),
            )
        )
        return PeerSide(self, name, token)

    async def stop(self, name: str) -> None:
        def work(connection: Connection) -> None:
            peer = peers.by_name(connection, name)
            peers.set_state(connection, peer.peer_id, peers.PeerState.STOPPED)

        await self.transactions.run(work)

    async def place(self, conversation: str = "c_1", *, private: bool = False) -> None:
        def work(connection: Connection) -> None:
            known = connection.execute(select(chats).where(chats.c.chat_ref == conversation)).first()
            if known is None:
                connection.execute(
                    chats.insert().values(
                        chat_ref=conversation,
                        app=APP,
                        chat_id=f"oc_{conversation}",
                        private=private,
                        external=False,
                        state="active",
                        created_at=1,
                    )
                )
                connection.execute(
                    conversations.insert().values(
                        conversation_id=conversation, chat_ref=conversation, thread_id="", created_at=1
                    )
                )

        await self.transactions.run(work)

    def route(self, message: str, conversation: str = "c_1") -> QuestionRoute:
        return QuestionRoute(APP, ChatId(f"oc_{conversation}"), None, MessageId(message), OpenId("ou_asker"), "d" * 64)

    async def ask(
        self, question: str, *, language: str = "en", private: bool = False, conversation: str = "c_1"
    ) -> RequestId:
        """A question was received; nothing is decided."""
        await self.place(conversation, private=private)
        request = RequestId(self.new_id("r"))
        now = self.clock.now()
        await self.transactions.run(
            lambda c: requests.create_request(
                c,
                request_id=request,
                conversation_id=ConversationId(conversation),
                app=APP,
                private=private,
                audience=Audience.PRIVATE if private else Audience.SHARED,
                asked_at=now,
                language=language,
                late=False,
                question=question,
                brief=Brief(
                    question, (BriefMessage("2027-01-15T08:00:00.000Z", "asker", question, MessageKind.QUESTION),)
                ),
                route=self.route(f"om_{request}_1", conversation),
                now=now,
            )
        )
        return request

    async def correct(self, request: RequestId, question: str) -> int:
        def work(connection: Connection) -> int:
            view = requests.current(connection, request)
            return requests.open_revision(
                connection,
                request,
                question=question,
                brief=Brief(
                    question,
                    (
                        BriefMessage("2027-01-15T08:00:00.000Z", "asker", "before", MessageKind.QUESTION),
                        BriefMessage("2027-01-15T08:01:00.000Z", "asker", question, MessageKind.CORRECTION),
                    ),
                ),
                route=self.route(f"om_{request}_{requests.number_of_next(connection, request)}", view.conversation_id),
                now=self.clock.now(),
            )

        return await self.transactions.run(work)

    async def decide(self, request: RequestId, decision: Decision) -> None:
        def work(connection: Connection) -> None:
            view = requests.current(connection, request)
            turn = DecidedTurn(request, view.revision, view.conversation_id, view.audience, view.language)
            apply_decision(connection, turn, decision, self.telling, self.clock.now())

        await self.transactions.run(work)

    async def handed(self, peer: str, question: str = "What is it?", **asked: object) -> RequestId:
        """A question was received and handed to a peer."""
        request = await self.ask(question, **asked)
        await self.decide(request, Delegate(peer, question))
        self.clock.at += 1
        return request

    async def told(self, request: RequestId) -> list[tuple[str, str]]:
        """What was owed to the asker, in order: (kind, text)."""

        def read(connection: Connection) -> list[tuple[str, str]]:
            kinds = (
                connection.execute(
                    select(returns.c.kind).where(returns.c.subject_id == request).order_by(returns.c.seq)
                )
                .scalars()
                .all()
            )
            texts = (
                connection.execute(
                    select(messages.c.text)
                    .where(messages.c.request_id == request, messages.c.author != "asker")
                    .order_by(messages.c.seq)
                )
                .scalars()
                .all()
            )
            return list(zip(kinds, texts, strict=True))

        return await self.transactions.read(read)

    async def parts(self, request: RequestId) -> list[str]:
        return list(
            await self.transactions.read(
                lambda c: (
                    c.execute(select(parts.c.state).where(parts.c.subject_id == request).order_by(parts.c.return_seq))
                    .scalars()
                    .all()
                )
            )
        )

    async def facts(self, request: RequestId) -> list[tuple[str, int, dict]]:
        rows = await self.transactions.read(
            lambda c: c.execute(select(facts).where(facts.c.request_id == request).order_by(facts.c.seq)).all()
        )
        return [(row.fact, row.revision, json.loads(row.detail)) for row in rows]

    async def current(self, request: RequestId) -> RequestView | None:
        return await self.transactions.read(lambda c: requests.current(c, request))

    async def axes(self, request: RequestId) -> tuple[str, str, str]:
        view = (await self.current(request)).newest
        return view.assignment.value, view.assessment.value, view.work.value


@asynccontextmanager
async def house(folder: Path, *, as_served: bool = False) -> AsyncIterator[House]:
    """Open the house; ``as_served`` makes the database by migrations, as a gateway does."""
    ids = itertools.count(1)
    telling = Telling(lambda document: len(to_json(document).encode()), 20_000, lambda prefix: f"{prefix}_{next(ids)}")
    clock = Clock()
    async with opened(of_folder(folder, migrated=as_served)) as transactions:
        attempts = itertools.count(1)
        api = PeerApi(
            transactions, clock, lambda prefix: f"{prefix}_n{next(attempts):06x}", telling, Cursors(b"secret" * 6)
        )
        async with HttpServer(api.routes(), "127.0.0.1", 0) as server, aiohttp.ClientSession() as http:
            yield House(transactions, clock, telling, http, server.url)
        await transactions.read(check_replay)


__all__ = ["APP", "Answer", "Clock", "House", "PeerSide", "house"]
