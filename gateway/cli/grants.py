"""``lark-steward grants``: authority, as stored facts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from gateway.cli.output import fail, print_json, print_table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from manager.ledger.grants import Grant, Revocation
    from returns.ids import Millis

LONGEST = 120
LONGEST_EFFECT = 40
LONGEST_REASON = 1_000
PAGE = 500

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def grants() -> None:
    """Read, give and revoke authority: who may do what, where, for whom."""


@grants.command("list")
@click.option("--all", "every", is_flag=True, help="Revoked and expired ones, too.")
@json_option
@click.pass_context
def list_grants(ctx: click.Context, every: bool, as_json: bool) -> None:
    """List the grants, oldest first."""
    from gateway.cli.database import database
    from gateway.system import SystemClock
    from manager.decisions.moments import iso
    from manager.ledger import grants as ledger

    now = SystemClock().now()

    def read(connection: Connection) -> list[Grant]:
        found: list[Grant] = []
        while page := ledger.page(connection, now, every=every, after=_place(found), limit=PAGE):
            found.extend(page)
        return found

    with database(ctx) as transactions:
        found = transactions.read(read)
    if as_json:
        print_json({"items": [_shape(grant) for grant in found]})
    elif not found:
        click.echo("No grants." if every else "No active grants; --all shows revoked and expired ones.")
    else:
        print_table(
            ("GRANT", "PRINCIPAL", "EFFECT", "RESOURCE", "AUDIENCE", "BY", "SINCE", "STATE"),
            [
                (
                    grant.grant_id,
                    grant.principal,
                    grant.effect,
                    grant.resource,
                    grant.audience,
                    grant.granted_by,
                    iso(grant.created_at),
                    "active" if grant.active(now) else "revoked" if grant.revoked_at else "expired",
                )
                for grant in found
            ],
        )


@grants.command()
@click.option("--principal", required=True, help="Who: steward:APP for listening and telling.")
@click.option("--effect", required=True, help="What: converse.")
@click.option("--resource", required=True, help="Where: a conversation as the inbox shows it, c_… or c_….t_….")
@click.option("--audience", type=click.Choice(["shared", "private"]), default="shared", show_default=True)
@click.option("--expires", help="Until when: ISO 8601, UTC unless it says otherwise.")
@json_option
@click.pass_context
def add(
    ctx: click.Context,
    principal: str,
    effect: str,
    resource: str,
    audience: str,
    expires: str | None,
    as_json: bool,
) -> None:
    """Give a grant."""
    from gateway.cli.database import database
    from gateway.system import SystemClock, new_id
    from manager.decisions.decision import Audience
    from manager.ids import GrantId
    from manager.ledger import grants as ledger

    for option, value, longest in (
        ("--principal", principal, LONGEST),
        ("--effect", effect, LONGEST_EFFECT),
        ("--resource", resource, LONGEST),
    ):
        _check(option, value, longest)
    now = SystemClock().now()
    grant = ledger.Grant(
        grant_id=GrantId(new_id("g")),
        principal=principal,
        resource=resource,
        effect=effect,
        audience=audience,
        granted_by="operator",
        created_at=now,
        expires_at=None if expires is None else _moment(expires, now),
        revoked_at=None,
        revoke_reason=None,
    )

    def work(connection: Connection) -> None:
        ledger.add(
            connection,
            grant_id=grant.grant_id,
            principal=principal,
            resource=resource,
            effect=effect,
            audience=Audience(audience),
            granted_by=grant.granted_by,
            now=now,
            expires_at=grant.expires_at,
        )

    with database(ctx) as transactions:
        transactions.run(work)
    if as_json:
        print_json(_shape(grant))
    else:
        click.echo(f"Granted {grant.grant_id}: {principal} may {effect} in {resource} ({audience}).")


@grants.command()
@click.argument("grant_id")
@click.option("--reason", required=True, help="Why; kept with the grant.")
@json_option
@click.pass_context
def revoke(ctx: click.Context, grant_id: str, reason: str, as_json: bool) -> None:
    """End a grant. What was not told yet under it is told no more."""
    from gateway.cli.database import database
    from gateway.system import SystemClock
    from manager.ids import GrantId
    from manager.ledger import grants as ledger

    _check("--reason", reason, LONGEST_REASON)

    def work(connection: Connection) -> Revocation:
        return ledger.revoke(connection, GrantId(grant_id), reason=reason, now=SystemClock().now())

    with database(ctx) as transactions:
        outcome = transactions.run(work)
    if outcome is ledger.Revocation.UNKNOWN:
        fail("There is no such grant. `lark-steward grants list --all` shows all.")
    if as_json:
        print_json({"grant_id": grant_id, "revoked": True, "already": outcome is ledger.Revocation.ALREADY})
    else:
        already = " already; the first time and reason stay" if outcome is ledger.Revocation.ALREADY else ""
        click.echo(f"{grant_id} is revoked{already}.")


def _shape(grant: Grant) -> dict[str, object]:
    from manager.decisions.moments import iso

    def moment(at: Millis | None) -> str | None:
        return None if at is None else iso(at)

    return {
        "grant_id": grant.grant_id,
        "principal": grant.principal,
        "resource": grant.resource,
        "effect": grant.effect,
        "audience": grant.audience,
        "granted_by": grant.granted_by,
        "created_at": moment(grant.created_at),
        "expires_at": moment(grant.expires_at),
        "revoked_at": moment(grant.revoked_at),
        "revoke_reason": grant.revoke_reason,
    }


def _place(found: list[Grant]) -> tuple[Millis, str] | None:
    return (found[-1].created_at, found[-1].grant_id) if found else None


def _check(option: str, value: str, longest: int) -> None:
    if not value.strip() or len(value) > longest or not value.isprintable():
        raise click.BadParameter(f"1 to {longest} printable characters", param_hint=option)


def _moment(text: str, now: Millis) -> Millis:
    from returns.ids import Millis

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter("not ISO 8601, such as 2030-01-31T12:00:00Z", param_hint="--expires") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    at = Millis(int(aware.timestamp() * 1000))
    if at <= now:
        raise click.BadParameter("this is in the past", param_hint="--expires")
    return at
