"""``lark-steward peers``: the directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from gateway.cli.output import fail, print_json, print_table, printable

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from manager.ledger.peers import Peer, PeerState

LONGEST_PHRASE = 500
MOST_PHRASES = 50

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def peers() -> None:
    """Keep the directory of peers: who they are, what is theirs, and whether they take requests."""


@peers.command()
@click.argument("name")
@click.option("--responsibility", "responsibilities", multiple=True, required=True, help="What is theirs; repeatable.")
@click.option("--example", "examples", multiple=True, help="A question for them; repeatable.")
@click.option(
    "--mode",
    type=click.Choice(["attached_host", "managed_runtime"]),
    default="attached_host",
    show_default=True,
    help="Whether they come by themselves or the gateway runs them.",
)
@click.option("--goal", help="The goal that they serve.")
@click.option(
    "--audience",
    type=click.Choice(["shared", "private"]),
    default="shared",
    show_default=True,
    help="private: known in private conversations only.",
)
@json_option
@click.pass_context
def add(
    ctx: click.Context,
    name: str,
    responsibilities: tuple[str, ...],
    examples: tuple[str, ...],
    mode: str,
    goal: str | None,
    audience: str,
    as_json: bool,
) -> None:
    """Register a peer. Its token is printed once and stored only as a digest."""
    import secrets

    from gateway.cli.database import database
    from gateway.system import SystemClock, new_id
    from manager.decisions.decision import Audience
    from manager.decisions.naming import problem
    from manager.ids import PeerId
    from manager.ledger import peers as ledger

    wrong = problem(name)
    if wrong is not None:
        raise click.BadParameter(wrong, param_hint="NAME")
    _check_phrases("--responsibility", responsibilities)
    _check_phrases("--example", examples)
    _check_phrases("--goal", () if goal is None else (goal,), longest=120)
    token = f"lsp_{secrets.token_urlsafe(32)}"

    def register(connection: Connection) -> bool:
        return ledger.add(
            connection,
            peer_id=PeerId(new_id("p")),
            name=name,
            mode=ledger.Mode(mode),
            audience=Audience(audience),
            goal=goal,
            responsibilities=responsibilities,
            examples=examples,
            digest=ledger.token_digest(token),
            now=SystemClock().now(),
        )

    with database(ctx) as transactions:
        if not transactions.run(register):
            fail(f"There is a peer called {name} already; names do not differ by case alone.")
    if as_json:
        print_json({"name": name, "token": token})
        return
    click.echo(f"Added {name} ({mode}, {audience}). Its token, shown this once:\n\n  {token}\n")
    click.echo(
        "The peer sends it as Authorization: Bearer, or has it in LARK_STEWARD_PEER_TOKEN for `lark-steward peer`."
    )


@peers.command("list")
@json_option
@click.pass_context
def list_peers(ctx: click.Context, as_json: bool) -> None:
    """List the peers, by name."""
    from gateway.cli.database import database
    from manager.ledger import peers as ledger

    def read(connection: Connection) -> list[tuple[Peer, int]]:
        return [(peer, ledger.open_requests(connection, peer.peer_id)) for peer in ledger.everyone(connection)]

    with database(ctx) as transactions:
        found = transactions.read(read)
    if as_json:
        print_json({"items": [_shape(peer, held) for peer, held in found], "next_cursor": None})
    elif not found:
        click.echo("No peers yet. `lark-steward peers add NAME --responsibility TEXT` registers one.")
    else:
        print_table(
            ("NAME", "STATE", "PRESENCE", "AUDIENCE", "OPEN", "RESPONSIBILITIES"),
            [
                (
                    peer.name,
                    peer.state.value,
                    peer.presence.value,
                    peer.audience.value,
                    str(held),
                    "; ".join(peer.responsibilities),
                )
                for peer, held in found
            ],
        )


@peers.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Show one peer."""
    from gateway.cli.database import database
    from manager.ledger import peers as ledger

    def read(connection: Connection) -> tuple[Peer, int]:
        peer = _known(connection, name)
        return peer, ledger.open_requests(connection, peer.peer_id)

    with database(ctx) as transactions:
        shape = _shape(*transactions.read(read))
    if as_json:
        print_json(shape)
        return
    for field, value in shape.items():
        shown = "; ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
        click.echo(f"{field:<22}{'-' if shown is None or shown == '' else printable(str(shown))}")


@peers.command()
@click.argument("name")
@json_option
@click.pass_context
def stop(ctx: click.Context, name: str, as_json: bool) -> None:
    """Give a peer nothing new; it may conclude what it holds."""
    from manager.ledger.peers import PeerState

    _set_state(ctx, name, PeerState.STOPPED, as_json=as_json)


@peers.command()
@click.argument("name")
@json_option
@click.pass_context
def start(ctx: click.Context, name: str, as_json: bool) -> None:
    """Let a stopped peer take requests again."""
    from manager.ledger.peers import PeerState

    _set_state(ctx, name, PeerState.ACTIVE, as_json=as_json)


@peers.command()
@click.argument("name")
@click.option("--force", is_flag=True, help="Cancel what it still holds; the inbox shows it as cancelled.")
@json_option
@click.pass_context
def remove(ctx: click.Context, name: str, force: bool, as_json: bool) -> None:
    """Take a peer out of the directory. Its token opens nothing any more, its name may be given again.

    What it concluded and was not sent yet is not sent; to let that go out, stop the peer and remove it later.
    """
    from gateway.cli.database import database
    from gateway.system import SystemClock
    from manager.ledger import peers as ledger
    from manager.ledger.departures import cancel_held
    from manager.ledger.peers import PeerState

    def work(connection: Connection) -> tuple[str, int]:
        peer = _known(connection, name)
        ledger.set_state(connection, peer.peer_id, PeerState.STOPPED)  # nothing new from here on, on any gateway
        held = ledger.open_requests(connection, peer.peer_id)
        if held and not force:
            fail(
                f"{peer.name} holds {held} open request{'' if held == 1 else 's'}. Stop it and let it conclude them, "
                "or use --force to cancel them."
            )
        cancel_held(connection, peer.peer_id, SystemClock().now())
        ledger.remove(connection, peer.peer_id)
        return peer.name, held

    with database(ctx) as transactions:
        removed, held = transactions.run(work)
    if as_json:
        print_json({"name": removed, "removed": True, "cancelled": held})
    else:
        click.echo(f"Removed {removed}." + (f" {held} open cancelled." if held else ""))


def _set_state(ctx: click.Context, name: str, state: PeerState, *, as_json: bool) -> None:
    from gateway.cli.database import database
    from manager.ledger import peers as ledger

    def work(connection: Connection) -> str:
        peer = _known(connection, name)
        ledger.set_state(connection, peer.peer_id, state)
        return peer.name

    with database(ctx) as transactions:
        found = transactions.run(work)
    if as_json:
        print_json({"name": found, "state": state.value})
    else:
        click.echo(f"{found} is {state.value}.")


def _known(connection: Connection, name: str) -> Peer:
    from manager.ledger import peers as ledger

    peer = ledger.by_name(connection, name)
    if peer is None:
        fail(f"There is no peer called {printable(name)}. `lark-steward peers list` shows who there is.")
    return peer


def _shape(peer: Peer, held: int) -> dict[str, object]:
    from manager.decisions.moments import iso

    return {
        "name": peer.name,
        "state": peer.state.value,
        "presence": peer.presence.value,
        "presence_at": None if peer.presence_at is None else iso(peer.presence_at),
        "mode": peer.mode.value,
        "endpoint": peer.endpoint,
        "host_surface": peer.host_surface,
        "executor_endpoint_id": peer.executor_endpoint_id,
        "capacity": peer.capacity,
        "audience": peer.audience.value,
        "goal": peer.goal,
        "responsibilities": peer.responsibilities,
        "examples": peer.examples,
        "open_requests": held,
        "created_at": iso(peer.created_at),
    }


def _check_phrases(option: str, phrases: tuple[str, ...], longest: int = LONGEST_PHRASE) -> None:
    if len(phrases) > MOST_PHRASES:
        raise click.BadParameter(f"at most {MOST_PHRASES}", param_hint=option)
    for phrase in phrases:
        if not phrase.strip() or len(phrase) > longest or not phrase.isprintable():
            raise click.BadParameter(f"1 to {longest} printable characters", param_hint=option)
