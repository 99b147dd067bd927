"""``/inbox`` for people: a list and one request, rendered here, without scripts, in English or Chinese."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gateway.http.auth import Operator
from gateway.http.cursors import Cursors
from gateway.http.errors import ApiError
from gateway.http.paging import cursor
from gateway.inbox.acts_in import kind_named
from gateway.inbox.asking import asking
from gateway.inbox.language import wants_chinese
from gateway.inbox.outcome_words import WAITING, say
from gateway.inbox.page_words import words
from gateway.inbox.path_ids import may_be_request
from gateway.inbox.possible import possible
from gateway.inbox.reading import STATUSES, Ask, Listing, list_requests, show_request
from manager.decisions.operators import Kind, Outcome
from returns.ports import Clock, StorageUnavailable, Transactions

T = TypeVar("T")

FOLDER = Path(__file__).parent / "templates"
PAGE_SIZE = 20
NEEDS = "needs_operator"
CALLER = "operator"
LONGEST_TOKEN = 1_000
SECURITY: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


class InboxPages:
    """``/inbox`` and under it; ``/`` leads there. Who is not signed in sees a form for the operator's token only."""

    def __init__(self, transactions: Transactions, operator: Operator, cursors: Cursors, clock: Clock) -> None:
        self._transactions = transactions
        self._operator = operator
        self._cursors = cursors
        self._clock = clock
        self._templates = Environment(
            loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, auto_reload=False
        )

    def routes(self) -> list[web.RouteDef]:
        """What to serve."""
        return [
            web.get("/", self.home),
            web.get("/inbox", self.list),
            web.get("/inbox/style.css", self.style),
            web.post("/inbox/sign-in", self.sign_in),
            web.post("/inbox/sign-out", self.sign_out),
            web.get("/inbox/{id}", self.show),
        ]

    async def home(self, request: web.Request) -> web.Response:
        """The address alone leads to the list."""
        self._operator.check_host(request)
        return _to_list()

    async def style(self, request: web.Request) -> web.Response:
        """The style sheet."""
        self._operator.check_host(request)
        content = (FOLDER / "style.css").read_text(encoding="utf-8")
        return web.Response(text=content, content_type="text/css", headers={"X-Content-Type-Options": "nosniff"})

    async def list(self, request: web.Request) -> web.Response:
        """The newest requests, by delivery status if wished."""
        self._operator.check_host(request)
        if not self._operator.is_operator(request):
            return self._form(request, 401)
        status = request.query.get("status", "")
        needs = status == NEEDS
        if status not in STATUSES:
            status = ""
        listing, chinese = Listing(status, needs_operator_at=self._clock.now() if needs else None), _chinese(request)
        try:
            given = cursor(request)
            position = None if given is None else self._cursors.decode(CALLER, listing.key, given)
            page = await self._read(lambda ask: list_requests(ask, listing, position, PAGE_SIZE, chinese=chinese))
        except ApiError:
            raise web.HTTPFound("/inbox") from None
        except StorageUnavailable:
            return self._render(request, "trouble.html", 503)
        following = page.next_position
        older = None if following is None else self._cursors.encode(CALLER, listing.key, following)
        return self._render(
            request,
            "list.html",
            200,
            items=page.items,
            older=older,
            chosen=NEEDS if needs else status,
            statuses=STATUSES,
            needs=NEEDS,
        )

    async def show(self, request: web.Request) -> web.Response:
        """One request with its timeline."""
        self._operator.check_host(request)
        if not self._operator.is_operator(request):
            return self._form(request, 401)
        request_id = request.match_info["id"]
        if not may_be_request(request_id):
            return self.unknown(request)
        return await self.shown(request, request_id, 200, done=_done(request))

    async def shown(
        self,
        request: web.Request,
        request_id: str,
        status: int,
        *,
        done: str = "",
        refused: str = "",
        revealed: Mapping[str, object] | None = None,
    ) -> web.Response:
        """A request's page, with what came of a command, and what it revealed."""
        chinese = _chinese(request)
        try:
            item = await self._read(lambda ask: show_request(ask, request_id, chinese=chinese))
        except StorageUnavailable:
            return self.trouble(request)
        if item is None:
            return self.unknown(request)
        acts = {kind.value: kind.value in possible(item) for kind in Kind}
        return self._render(
            request, "show.html", status, item=item, acts=acts, done=done, refused=refused, revealed=revealed
        )

    def sign_in_form(self, request: web.Request) -> web.Response:
        """What who is not signed in sees."""
        return self._form(request, 401)

    def unknown(self, request: web.Request) -> web.Response:
        """There is no such request."""
        return self._render(request, "unknown.html", 404)

    def trouble(self, request: web.Request) -> web.Response:
        """The database cannot be read."""
        return self._render(request, "trouble.html", 503)

    async def sign_in(self, request: web.Request) -> web.Response:
        """Take the token and give a cookie for it."""
        self._operator.check_host(request)
        self._operator.check_origin(request)
        token = (await request.post()).get("token")
        if not isinstance(token, str) or len(token) > LONGEST_TOKEN or not self._operator.is_token(token.strip()):
            return self._form(request, 401, wrong=True)
        response = _to_list()
        self._operator.sign_in(request, response)
        return response

    async def sign_out(self, request: web.Request) -> web.Response:
        """Take the cookie back."""
        self._operator.check_host(request)
        self._operator.check_origin(request)
        response = _to_list()
        self._operator.sign_out(response)
        return response

    async def _read(self, work: Callable[[Ask], T]) -> T:
        return await self._transactions.read(lambda connection: work(asking(connection)))

    def _form(self, request: web.Request, status: int, *, wrong: bool = False) -> web.Response:
        return self._render(request, "sign_in.html", status, wrong=wrong)

    def _render(self, request: web.Request, template: str, status: int, **values: object) -> web.Response:
        chinese = _chinese(request)
        text = self._templates.get_template(template).render(
            words=words(chinese=chinese), lang="zh" if chinese else "en", **values
        )
        return web.Response(text=text, status=status, content_type="text/html", headers=dict(SECURITY))


def _done(request: web.Request) -> str:
    """What the command that led here came to, as a sentence."""
    kind, outcome = kind_named(request.query.get("done", "")), request.query.get("outcome", "")
    known = next((each for each in Outcome if each.value == outcome), None)
    if kind is None or (known is None and (outcome or kind not in WAITING)):
        return ""
    return say(kind, known, chinese=_chinese(request))


def _chinese(request: web.Request) -> bool:
    return wants_chinese(request.headers.get("Accept-Language", ""))


def _to_list() -> web.Response:
    return web.Response(status=303, headers={"Location": "/inbox", "Cache-Control": "no-store"})
