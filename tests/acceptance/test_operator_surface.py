"""What an operator and their scripts get from a real gateway: shut doors, JSON, exit codes, nothing private."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.world import World, world

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

QUESTION = "where is the class Engine defined?"
OPERATORS = [
    ("GET", "/api/v1/inbox"),
    ("GET", "/api/v1/inbox/r_1"),
    ("POST", "/api/v1/inbox/r_1/verify"),
    ("GET", "/api/v1/events"),
    ("POST", "/api/v1/wakeup"),
    ("GET", "/metrics"),
]
PAGES = [("GET", "/inbox"), ("GET", "/inbox/r_1")]
PROVIDER_IDS = re.compile(r"\b(oc|om|omt|ou|on)_[A-Za-z0-9]")


def anybody(here: World) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=here.gateway.settings.url, trust_env=False, timeout=10)


def token_of(here: World) -> str:
    return (here.gateway.settings.data_dir / "operator.token").read_text("utf-8").strip()


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_the_operator_s_doors(tmp_path: Path) -> None:
    async with world(tmp_path, gateway={"hosts": ["steward.example.org"]}) as here, anybody(here) as http:
        token = token_of(here)
        file = here.gateway.settings.data_dir / "operator.token"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(token) >= 32
        signed = {"Authorization": f"Bearer {token}"}
        for method, path in OPERATORS:
            assert error_of(await http.request(method, path)) == (401, "unauthenticated")
            wrong = {"Authorization": f"Bearer {token}x"}
            assert error_of(await http.request(method, path, headers=wrong)) == (401, "unauthenticated")
            elsewhere = {**signed, "Host": "attacker.example.org"}
            assert error_of(await http.request(method, path, headers=elsewhere)) == (403, "forbidden_host")
            asked = await http.request(method, path, headers=signed)
            assert asked.status_code in {200, 202} or error_of(asked) == (404, "not_found")
            proxied = await http.request(method, path, headers={**signed, "Host": "steward.example.org"})
            assert proxied.status_code == asked.status_code
            if method == "POST":
                forged = {**signed, "Origin": "https://attacker.example.org"}
                assert error_of(await http.request(method, path, headers=forged)) == (403, "forbidden_origin")
        for method, path in PAGES:
            page = await http.request(method, path)
            assert (page.status_code, page.headers["Content-Type"]) == (401, "text/html; charset=utf-8")
            assert 'name="token"' in page.text
            assert error_of(await http.request(method, path, headers={"Host": "attacker.example.org"}))[0] == 403
        for path in ("/healthz", "/readyz"):
            assert (await http.get(path, headers={"Host": "attacker.example.org"})).status_code in {200, 503}
        peers = await http.get("/api/v1/peer/requests", headers=signed)
        assert error_of(peers) == (401, "unauthenticated"), "the operator is no peer"


async def test_a_signed_in_page(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.ask("<script>alert(1)</script> " + QUESTION)
        await here.settled()
        url, token = here.gateway.settings.url, token_of(here)
        async with anybody(here) as http:
            form = {"token": "wrong"}
            assert (await http.post("/inbox/sign-in", data=form, headers={"Origin": url})).status_code == 401
            form = {"token": token}
            forged = await http.post("/inbox/sign-in", data=form, headers={"Origin": "https://attacker.example.org"})
            assert error_of(forged) == (403, "forbidden_origin")
            entered = await http.post("/inbox/sign-in", data=form, headers={"Origin": url})
            assert (entered.status_code, entered.headers["Location"]) == (303, "/inbox")
            cookie = entered.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert token not in cookie
            page = await http.get("/inbox", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
            assert page.status_code == 200
            assert "收件箱" in page.text
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
            assert "<script" not in page.text
            assert "script-src" not in page.headers["Content-Security-Policy"]
            (item,) = (await http.get("/api/v1/inbox")).json()["items"]
            shown = await http.get(f"/inbox/{item['request_id']}", headers={"Accept-Language": "en"})
            assert "delivered" in shown.text
            look = f"/api/v1/inbox/{item['request_id']}/verify"
            assert error_of(await http.post(look)) == (403, "forbidden_origin")
            assert (await http.post(look, headers={"Origin": url})).status_code in {200, 202}
            await here.gateway.stop()
            await here.gateway.start()
            assert (await http.get("/inbox")).status_code == 200, "a cookie outlives a restart"
            await http.post("/inbox/sign-out", headers={"Origin": url})
            assert (await http.get("/inbox")).status_code == 401


async def test_verify_wakes_the_gateway_wherever_it_listens(tmp_path: Path) -> None:
    """The commands read the address from the gateway itself: the configured port may be 0, or changed since."""
    returns = {"settle_s": 0.1, "retry_first_s": 200, "retry_max_s": 300}
    async with world(tmp_path, returns=returns) as here:
        here.lark.forbid_history(chat=here.chat)
        here.lark.fault("drop_after", "reply", times=1)
        here.ask(QUESTION)

        def unreadable(items: list[dict[str, Any]]) -> str | None:
            found = [item for item in items if item["delivery"]["error"] == "provider_verification_unavailable"]
            return found[0]["request_id"] if found else None

        request = await here.inbox_until(unreadable)
        here.lark.forbid_history(chat=here.chat, forbidden=False)
        config = here.gateway.settings.config
        config.write_text(
            config.read_text("utf-8").replace(f"port = {here.gateway.settings.port}", "port = 0"), "utf-8"
        )
        item = await here.gateway.command("inbox", "verify", request, "--wait=30")
        assert item["delivery"] == {**item["delivery"], "status": "delivered", "verification": "reconciled"}


SECRETS = ("app-secret-of-a-test", "encrypt-key-of-a-test", "verification-token-of-a-test")
PRIVATE = "canaryprivatequestion"
RESULT = "canaryresultbody"


async def test_nothing_private_comes_out_whatever_goes_wrong(tmp_path: Path) -> None:
    """Provider ids, secrets, tokens, bodies, private questions: not in the log, nor in an answer or a command."""
    async with world(tmp_path, app={"private": "open"}, steward={"turn_timeout_s": 20}) as here:
        peer = await here.add_peer("scribe")
        private = here.lark.private_chat("lin", here.app)
        here.lark.say(private, "lin", f"what is {PRIVATE}?")
        here.lark.say(private, "lin", f"ask nobody to look at {PRIVATE}")
        here.lark.fault("drop_after", "reply", times=1)
        here.lark.fault("http_500", "get", times=1)
        here.ask(QUESTION)
        here.ask("ask scribe to write")
        await peer.conclude(RESULT)
        await here.settled(4)
        here.lark.remove_bot(here.chat, here.app)
        await wrong_requests(here)
        said = await everything(here)
        await here.gateway.stop()
        said["the log"] = here.gateway.output()
        assert len(said) > 20
        operator, peer_token = token_of(here), peer.http.headers["Authorization"].removeprefix("Bearer ")
        for name, text in said.items():
            for secret in (*SECRETS, operator, peer_token, PRIVATE, RESULT):
                assert secret not in text, f"{secret} in {name}"
            assert not PROVIDER_IDS.search(text), f"{PROVIDER_IDS.search(text)} in {name}"
        assert "Engine" not in said["GET /metrics"]
        assert QUESTION not in said["the log"]
        await peer.http.aclose()


async def wrong_requests(here: World) -> None:
    """Requests that fail in many ways, some with what may not be repeated in their answers."""
    async with anybody(here) as http, here.gateway.operator() as operator:
        for body in (b"{", b'{"encrypt": "' + SECRETS[1].encode() + b'"}', b"\xff\xfe"):
            assert (await http.post("/lark/events", content=body)).status_code == 401
        forged = {
            "X-Lark-Signature": "0" * 64,
            "X-Lark-Request-Timestamp": "1",
            "X-Lark-Request-Nonce": "om_0123456789",
        }
        assert (await http.post("/lark/events", content=b"{}", headers=forged)).status_code == 401
        assert (await operator.get("/api/v1/inbox", params={"cursor": "om_0123456789"})).status_code == 400
        assert (await operator.get("/api/v1/inbox/om_0123456789")).status_code == 404


async def everything(here: World) -> dict[str, str]:
    """Every answer that an operator, or nobody in particular, can get; and what the commands print."""
    said: dict[str, str] = {}
    async with anybody(here) as http, here.gateway.operator() as operator:
        for path in ("/healthz", "/readyz", "/inbox", "/api/v1/inbox", "/nothing/om_0123456789", "/lark/events"):
            said[f"anybody GET {path}"] = (await http.get(path)).text
        items = (await operator.get("/api/v1/inbox?all=1&limit=100")).json()["items"]
        paths = [f"{base}/{item['request_id']}" for item in items for base in ("/inbox", "/api/v1/inbox")]
        events = [f"/api/v1/events?state={state}" for state in ("parked", "late", "alarm")]
        for path in ("/api/v1/inbox", "/inbox", "/metrics", "/api/v1/inbox?cursor=om_0123456789", *paths, *events):
            said[f"GET {path}"] = (await operator.get(path)).text
    ids = [item["request_id"] for item in items]
    commands = [
        ["inbox", "list"],
        ["inbox", "events"],
        ["peers", "list"],
        ["peers", "show", "scribe"],
        ["grants", "list"],
    ]
    for command in (*commands, *(["inbox", "show", each] for each in ids[:3])):
        for form in ([], ["--json"]):
            ran = await run(here, *command, *form)
            assert ran.code == 0, ran.err
            said[" ".join([*command, *form])] = ran.out + ran.err
    return said


async def test_metrics_count_without_naming(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.ask(QUESTION)
        await here.settled()
        async with here.gateway.operator() as http:
            await http.get("/api/v1/inbox/some-id-of-somebody")
            answer = await http.get("/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
        assert any(line.startswith("lark_steward_events_total{") and 'outcome="new"' in line for line in lines), lines
        assert any('route="/api/v1/inbox/{id}"' in line for line in lines)
        assert "some-id-of-somebody" not in answer.text
        names = {line.split("{")[0].split(" ")[0] for line in lines}
        assert {"lark_steward_http_requests_total", "process_resident_memory_bytes"} <= names


@dataclass(frozen=True)
class Ran:
    code: int | None
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


async def run(here: World, *arguments: str, environ: dict[str, str] | None = None) -> Ran:
    """A command against the gateway's configuration."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LARK_")}
    code, out, err = await here.gateway.run(*arguments, environment={**clean, **(environ or {})})
    assert b"Traceback" not in err, err.decode()
    return Ran(code, out.decode("utf-8"), err.decode("utf-8"))


async def test_the_directory_and_a_peer_s_side_by_command(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        added = await run(here, "peers", "add", "scribe", "--responsibility", "writes things down", "--json")
        assert added.code == 0
        assert set(added.json()) == {"name", "token"}
        again = await run(here, "peers", "add", "scribe", "--responsibility", "writes things down", "--json")
        assert again.code == 1
        assert (await run(here, "peers", "add", "two words", "--responsibility", "x")).code == 2
        shown = (await run(here, "peers", "show", "scribe", "--json")).json()
        assert {"state", "presence", "mode", "endpoint", "host_surface", "responsibilities"} <= set(shown)
        assert added.json()["token"] not in json.dumps(shown)
        assert (await run(here, "peers", "show", "nobody", "--json")).code == 1
        assert [peer["name"] for peer in (await run(here, "peers", "list", "--json")).json()["items"]] == ["scribe"]
        for command, state in (("stop", "stopped"), ("start", "active")):
            assert (await run(here, "peers", command, "scribe")).code == 0
            assert (await run(here, "peers", "show", "scribe", "--json")).json()["state"] == state

        peer = {"LARK_STEWARD_URL": here.gateway.settings.url, "LARK_STEWARD_PEER_TOKEN": added.json()["token"]}
        assert (await run(here, "peer", "next", "--json", environ=peer)).code == 1
        assert (await run(here, "peer", "presence", "available", "--json", environ=peer)).code == 0
        question = here.ask("ask scribe to write it down")
        found = await run(here, "peer", "next", "--wait", "20", "--json", environ=peer)
        assert found.code == 0
        request = found.json()["request_id"]
        steps = (
            ("read", request), ("present", request), ("assess", request, "accepted"),
            ("progress", request, "half of it"), ("conclude", request, "--text", "written"),
        )  # fmt: skip
        for step in steps:
            ran = await run(here, "peer", *step, "--json", environ=peer)
            assert (ran.code, bool(ran.json())) == (0, True), (step, ran.err)
        assert (await run(here, "peer", "read", "r_none", "--json", environ=peer)).code == 1
        assert (await run(here, "peer", "assess", request, "perhaps", environ=peer)).code == 2
        nobody = {**peer, "LARK_STEWARD_PEER_TOKEN": "lsp_wrong"}
        assert (await run(here, "peer", "next", "--json", environ=nobody)).code == 1
        await here.settled()
        assert here.lark.replies(question)[-1].text.endswith("written")

        assert (await run(here, "peers", "remove", "scribe", "--json")).code == 0
        assert (await run(here, "peers", "list", "--json")).json()["items"] == []
        assert (await run(here, "no-such-command")).code == 2


async def test_the_inbox_and_authority_by_command(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        here.ask(QUESTION)
        await here.settled()
        listed = await run(here, "inbox", "list", "--json")
        request = listed.json()["items"][0]["request_id"]
        assert (await run(here, "inbox", "--json")).out == listed.out
        item = (await run(here, "inbox", "show", request, "--json")).json()
        assert [fact["at"] for fact in item["timeline"]] == sorted(fact["at"] for fact in item["timeline"])
        assert (await run(here, "inbox", "verify", request, "--json")).code == 0
        assert (await run(here, "inbox", "show", "r_none", "--json")).code == 1
        assert (await run(here, "inbox", "show")).code == 2
        assert (await run(here, "inbox", "events", "--json")).json() == {"items": [], "next_cursor": None}

        grants = (await run(here, "grants", "list", "--json")).json()["items"]
        assert [(grant["effect"], grant["revoked_at"]) for grant in grants] == [("converse", None)]
        assert set(grants[0]) >= {
            "grant_id", "principal", "resource", "effect", "audience", "granted_by", "created_at", "expires_at",
            "revoked_at",
        }  # fmt: skip
        revoke = ("grants", "revoke", grants[0]["grant_id"])
        assert (await run(here, *revoke)).code == 2, "a reason is needed"
        assert (await run(here, *revoke, "--reason", "enough", "--json")).code == 0
        assert (await run(here, "grants", "list", "--json")).json()["items"] == []
        assert len((await run(here, "grants", "list", "--all", "--json")).json()["items"]) == 1
        wanted = ("--principal", "steward:default", "--effect", "converse", "--resource", grants[0]["resource"])
        assert (await run(here, "grants", "add", *wanted, "--json")).code == 0


async def test_the_inbox_while_a_gateway_runs_and_while_none_does(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        before = await run(here, "inbox", "list")
        assert (before.code, "(nothing)" in before.out) == (0, True)
        here.ask(QUESTION)
        await here.settled()
        async with here.gateway.operator() as http:
            served = (await http.get("/api/v1/inbox")).json()
        running = (await run(here, "inbox", "list", "--json")).json()
        await here.gateway.stop()
        stopped = (await run(here, "inbox", "list", "--json")).json()
        assert served == running == stopped
        request = stopped["items"][0]["request_id"]
        assert (await run(here, "inbox", "show", request)).code == 0
        assert (await run(here, "inbox", "verify", request, "--wait=1")).code == 0
        script = Path(sys.executable).with_name("manager-inbox")
        process = await asyncio.create_subprocess_exec(
            str(script), "--config", str(here.gateway.settings.config), "--json", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        assert (process.returncode, json.loads(out)) == (0, stopped)


async def test_the_local_lark_says_where_it_is_and_ends_when_told(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", "lark-double", "--port", "0", "--json", cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
        async with httpx.AsyncClient(trust_env=False) as http:
            body = {"app_id": said["app_id"], "app_secret": said["app_secret"]}
            url = f"{said.get('domain') or said['url']}/open-apis/auth/v3/tenant_access_token/internal"
            assert (await http.post(url, json=body)).json()["code"] == 0
        process.terminate()
        _, err = await asyncio.wait_for(process.communicate(), 15)
        assert (process.returncode, err) == (0, b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
