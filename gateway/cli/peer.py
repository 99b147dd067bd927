"""``lark-steward peer``: a peer's side, over HTTP."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from gateway.cli.output import fail, print_json, printable
from gateway.cli.peer_printing import print_request, print_state

if TYPE_CHECKING:
    from gateway.cli.peer_client import PeerClient

REQUESTS: Final = "/api/v1/peer/requests"
LONGEST_WAIT_S: Final = 30
PAGE: Final = 100

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
key_option = click.option("--idempotency-key", "key", help="1 to 200 characters; a new one each time by default.")
attempt_option = click.option("--attempt", help="The attempt that `next` or `present` printed; your newest by default.")
revision_option = click.option("--revision", type=click.IntRange(1), help="The newest by default.")


@click.group()
@click.option(
    "--url",
    envvar="LARK_STEWARD_URL",
    default="http://127.0.0.1:8080",
    show_default=True,
    show_envvar=True,
    help="The gateway.",
)
@click.option("--token", envvar="LARK_STEWARD_PEER_TOKEN", show_envvar=True, help="The peer's token.")
@click.pass_context
def peer(ctx: click.Context, url: str, token: str | None) -> None:
    """A peer's side: take the next request, read it, assess it, tell progress, conclude, or hand a part on.

    LARK_STEWARD_URL says where the gateway is, LARK_STEWARD_PEER_TOKEN holds the token that `peers add` printed.
    """
    ctx.ensure_object(dict)
    ctx.obj = {**cast("dict[str, object]", ctx.obj), "url": url, "token": token}


@peer.command("next")
@click.option("--wait", "wait_s", type=click.IntRange(0, 86_400), default=0, help="Seconds to wait for one.")
@click.option("--turn", help="A name of your own for the turn that it is presented to.")
@key_option
@json_option
@click.pass_context
def next_request(ctx: click.Context, wait_s: int, turn: str | None, key: str | None, as_json: bool) -> None:
    """Print the oldest open request and present it; one that you deferred comes only where there is no other."""
    with _client(ctx) as client:
        found = _oldest(client, wait_s)
        if found is None:
            fail("No request is open.")
        presented = _present(client, str(found["request_id"]), cast("int", found["revision"]), turn, key)
        read = client.get(f"{REQUESTS}/{found['request_id']}", "brief")
    print_request({**read, "attempt": presented["attempt"]}, as_json=as_json)


@peer.command()
@click.argument("request_id")
@json_option
@click.pass_context
def read(ctx: click.Context, request_id: str, as_json: bool) -> None:
    """Print a request: its brief, its earlier revisions, its result."""
    with _client(ctx) as client:
        found = client.get(f"{REQUESTS}/{request_id}", "brief")
    print_request(found, as_json=as_json)


@peer.command()
@click.argument("request_id")
@revision_option
@click.option("--turn", help="A name of your own for the turn.")
@key_option
@json_option
@click.pass_context
def present(
    ctx: click.Context, request_id: str, revision: int | None, turn: str | None, key: str | None, as_json: bool
) -> None:
    """Say that a turn of yours has the request; an earlier attempt is replaced."""
    with _client(ctx) as client:
        answer = _present(client, request_id, revision or _revision(client, request_id), turn, key)
    print_state(answer, as_json=as_json)


@peer.command()
@click.argument("request_id")
@click.argument("assessment", type=click.Choice(["accepted", "partially_accepted", "deferred", "rejected"]))
@click.option("--accepted-scope", help="What you do of it.")
@click.option("--remaining", help="What you do not.")
@click.option("--reason", help="Why; told to the asker of a deferred or rejected request.")
@click.option("--resume-condition", help="When a deferred one goes on.")
@click.option("--owner", help="Whose a deferred one is.")
@revision_option
@attempt_option
@key_option
@json_option
@click.pass_context
def assess(
    ctx: click.Context,
    request_id: str,
    assessment: str,
    accepted_scope: str | None,
    remaining: str | None,
    reason: str | None,
    resume_condition: str | None,
    owner: str | None,
    revision: int | None,
    attempt: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Say what you do of a request: all, a part, nothing now, or nothing."""
    body = {
        "assessment": assessment,
        "accepted_scope": accepted_scope,
        "remaining": remaining,
        "reason": reason,
        "resume_condition": resume_condition,
        "owner": owner,
        "attempt": attempt,
    }
    _write(ctx, request_id, "assessment", body, revision, key, as_json=as_json)


@peer.command()
@click.argument("request_id")
@click.argument("text")
@revision_option
@attempt_option
@key_option
@json_option
@click.pass_context
def progress(
    ctx: click.Context,
    request_id: str,
    text: str,
    revision: int | None,
    attempt: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Say how far you are; operators see it, the chat does not."""
    _write(ctx, request_id, "progress", {"text": text, "attempt": attempt}, revision, key, as_json=as_json)


@peer.command()
@click.argument("request_id")
@click.option("--text", help="The result, as Markdown.")
@click.option(
    "--file",
    "source",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="The file that holds it; standard input by default, or for -.",
)
@click.option("--outcome", type=click.Choice(["resolved", "declined"]), default="resolved", show_default=True)
@click.option("--declined", "outcome", flag_value="declined", help="The same as --outcome declined.")
@click.option("--covers", multiple=True, help="What of the request it covers; repeatable.")
@click.option("--remaining", help="What is left.")
@click.option("--artifact", "artifacts", multiple=True, help="A digest of something that belongs to it; repeatable.")
@revision_option
@attempt_option
@key_option
@json_option
@click.pass_context
def conclude(
    ctx: click.Context,
    request_id: str,
    text: str | None,
    source: Path | None,
    outcome: str,
    covers: tuple[str, ...],
    remaining: str | None,
    artifacts: tuple[str, ...],
    revision: int | None,
    attempt: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Bring the result; it is told to the asker as you wrote it."""
    if text is not None and source is not None:
        raise click.UsageError("--text and --file exclude each other.")
    body = {
        "outcome": outcome,
        "text": _text(source) if text is None else text,
        "covers": list(covers),
        "remaining": remaining,
        "artifacts": list(artifacts),
        "attempt": attempt,
    }
    _write(ctx, request_id, "result", body, revision, key, as_json=as_json)


@peer.command()
@click.option("--to", required=True, help="The other peer's name.")
@click.option("--parent", required=True, help="The request of yours that it is a part of.")
@click.option("--purpose", required=True, help="What it is for.")
@click.option("--constraint", "constraints", multiple=True, help="What must hold; repeatable.")
@click.option("--owed", multiple=True, help="What you need back; repeatable.")
@key_option
@json_option
@click.pass_context
def delegate(
    ctx: click.Context,
    to: str,
    parent: str,
    purpose: str,
    constraints: tuple[str, ...],
    owed: tuple[str, ...],
    key: str | None,
    as_json: bool,
) -> None:
    """Hand a part of a request that you hold to another peer; read its result with `read`."""
    brief = {"purpose": purpose, "constraints": list(constraints), "owed": list(owed)}
    with _client(ctx) as client:
        answer = client.write("POST", REQUESTS, {"to": to, "parent": parent, "brief": brief}, key)
    if as_json:
        print_json(answer)
    else:
        click.echo(printable(f"{answer['request_id']} is stored for {to}."))


@peer.command()
@click.argument("state", type=click.Choice(["available", "busy", "away"]))
@click.option("--capacity", type=click.IntRange(0, 10_000), help="How many requests at once.")
@click.option("--executor", help="The endpoint id of what executes for you.")
@click.option("--host-surface", help="Where you run.")
@key_option
@json_option
@click.pass_context
def presence(
    ctx: click.Context,
    state: str,
    capacity: int | None,
    executor: str | None,
    host_surface: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Say whether you are there."""
    body = {"state": state, "capacity": capacity, "executor_endpoint_id": executor, "host_surface": host_surface}
    with _client(ctx) as client:
        answer = client.write("PUT", "/api/v1/peer/presence", body, key)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"You are {state}.")


@contextmanager
def _client(ctx: click.Context) -> Generator[PeerClient]:
    from gateway.cli.peer_client import PeerClient

    given = cast("Mapping[str, str | None]", ctx.obj)
    url, token = given["url"] or "", given["token"]
    if not token:
        raise click.UsageError("Give the peer's token by LARK_STEWARD_PEER_TOKEN or --token.")
    if not url.startswith(("http://", "https://")):
        raise click.UsageError("--url begins with http:// or https://.")
    if not token.isascii() or not token.isprintable():
        raise click.UsageError("The token is not one: it has characters that no token has.")
    with PeerClient(url, token) as client:
        yield client


def _oldest(client: PeerClient, wait_s: int) -> dict[str, object] | None:
    """The oldest open request that is not deferred, else the oldest; None after ``wait_s`` seconds without any."""
    while True:
        step = min(wait_s, LONGEST_WAIT_S)
        listed = client.get(REQUESTS, "items", state="open", limit=PAGE, wait_s=step)
        items = cast("list[dict[str, object]]", listed["items"])
        if items:
            return next((item for item in items if item["assessment"] != "deferred"), items[0])
        wait_s -= step
        if wait_s <= 0:
            return None


def _revision(client: PeerClient, request_id: str) -> int:
    return cast("int", client.get(f"{REQUESTS}/{request_id}", "revision")["revision"])


def _present(
    client: PeerClient, request_id: str, revision: int, turn: str | None, key: str | None
) -> dict[str, object]:
    return client.write("POST", f"{REQUESTS}/{request_id}/presented", {"revision": revision, "turn": turn}, key)


def _write(
    ctx: click.Context,
    request_id: str,
    what: str,
    body: Mapping[str, object],
    revision: int | None,
    key: str | None,
    *,
    as_json: bool,
) -> None:
    with _client(ctx) as client:
        whole = {**body, "revision": revision or _revision(client, request_id)}
        answer = client.write("POST", f"{REQUESTS}/{request_id}/{what}", whole, key)
    print_state(answer, as_json=as_json)


def _text(source: Path | None) -> str:
    try:
        data = sys.stdin.buffer.read() if source is None or str(source) == "-" else source.read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        fail(f"The result cannot be read: {error.strerror}.")
    except UnicodeDecodeError:
        fail("The result is not UTF-8.")
