"""The operator's hands: ``verify``, ``found``, ``resend``, ``cancel``, ``note``, ``snooze``, ``reveal``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

import click

from gateway.cli.config_option import config_option
from gateway.cli.inbox_settings import settings_of

if TYPE_CHECKING:
    from manager.decisions.operators import Act

WAIT_S: Final = 60.0

F = TypeVar("F", bound=Callable[..., None])


class WaitCommand(click.Command):
    """A command whose ``--wait`` may stand without a number, also before an argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a bare ``--wait`` its default. A number that stands beside it is an argument, which the refusal says."""
        given = [f"--wait={WAIT_S:g}" if arg == "--wait" else arg for arg in args]
        beside = [after for arg, after in pairwise(args) if arg == "--wait" and after.isdecimal()]
        try:
            return super().parse_args(ctx, given)
        except click.UsageError as wrong:
            if not beside:
                raise
            said = f"{wrong.message.rstrip('.')}. Seconds are written --wait={beside[0]}."
            raise click.UsageError(said, wrong.ctx) from wrong


def _common(function: F) -> F:
    """The options that every acting command has."""
    options = (
        config_option,
        click.option("--json", "as_json", is_flag=True, help="As JSON."),
        click.option("--as", "who", metavar="NAME", help="Who acts; the operating system's user by default."),
    )
    for option in options:
        function = option(function)
    return function


def _waiting(function: F) -> F:
    option = click.option("--wait", type=click.FloatRange(0, 3600), metavar="[=SECONDS]", help="Wait for the gateway.")
    return option(function)


def _act(ctx: click.Context, request_id: str, act: Act, who: str | None, wait: float | None, *, as_json: bool) -> None:
    from gateway.inbox.acting import Asked
    from gateway.inbox.acting import act as carry_out
    from gateway.system import user_name

    asked = Asked(request_id, act, user_name() if who is None else who, wait, as_json)
    ctx.exit(carry_out(settings_of(ctx), asked))


@click.command(cls=WaitCommand)
@click.argument("request_id", metavar="ID")
@_waiting
@_common
@click.pass_context
def verify(ctx: click.Context, request_id: str, wait: float | None, who: str | None, as_json: bool) -> None:
    """Have the gateway look again at a delivery that is not proved. It reads; nothing is sent.

    Where several messages could be the answer, they are listed with their numbers, for `found`.

    Exit code 0: the delivery is proved; 3: it still needs someone; 1: there is no such request.
    """
    from manager.decisions.operators import Verify

    _act(ctx, request_id, Verify(), who, wait, as_json=as_json)


@click.command(cls=WaitCommand)
@click.argument("request_id", metavar="ID")
@click.argument("ref", metavar="REF")
@_waiting
@_common
@click.pass_context
def found(ctx: click.Context, request_id: str, ref: str, wait: float | None, who: str | None, as_json: bool) -> None:
    """Say which message the answer is: REF is its id, or the number of a candidate that `verify` lists.

    It is read and compared like any other; only that proves it. A wrong one can be corrected by another `found`.

    Exit code 0: the delivery is proved; 3: it still needs someone; 1: there is no such request, or it was refused.
    """
    from manager.decisions.operators import Found

    _act(ctx, request_id, Found(ref), who, wait, as_json=as_json)


@click.command(cls=WaitCommand)
@click.argument("request_id", metavar="ID")
@click.option("--reason", required=True, help="Why you hold that it was not sent; kept with your name.")
@_waiting
@_common
@click.pass_context
def resend(
    ctx: click.Context, request_id: str, reason: str, wait: float | None, who: str | None, as_json: bool
) -> None:
    """Send the unproved part of an answer, and those after it, anew. The chat is read first.

    If the message is found there, that settles it and nothing goes out. If the chat cannot be read, nothing goes out.
    Only for deliveries that are explicit_unverified or undeliverable.

    Exit code 0: the delivery is proved, or a new return is queued; 3: it still needs someone; 1: refused, or there is
    no such request.
    """
    from manager.decisions.operators import Resend

    _act(ctx, request_id, Resend(reason), who, wait, as_json=as_json)


@click.command()
@click.argument("request_id", metavar="ID")
@click.option("--reason", required=True, help="Why; kept with your name.")
@_common
@click.pass_context
def cancel(ctx: click.Context, request_id: str, reason: str, who: str | None, as_json: bool) -> None:
    """Cancel a request, and what peers were asked for under it. What was not sent of its answer stays unsent.

    Where a peer has it already, it is told with its next write, and the request is cancelled then or at its deadline.
    """
    from manager.decisions.operators import Cancel

    _act(ctx, request_id, Cancel(reason), who, None, as_json=as_json)


@click.command()
@click.argument("request_id", metavar="ID")
@click.argument("text", metavar="TEXT")
@_common
@click.pass_context
def note(ctx: click.Context, request_id: str, text: str, who: str | None, as_json: bool) -> None:
    """Put a note into the timeline. It is shown to operators and told to nobody."""
    from manager.decisions.operators import Note

    _act(ctx, request_id, Note(text), who, None, as_json=as_json)


@click.command()
@click.argument("request_id", metavar="ID")
@click.option("--until", default="1d", show_default=True, metavar="TIME", help="90m, 4h, 2d or a time in UTC.")
@_common
@click.pass_context
def snooze(ctx: click.Context, request_id: str, until: str, who: str | None, as_json: bool) -> None:
    """Leave a request out of `list --needs-operator` until then; it comes back by itself. `--until 0m` wakes it."""
    from gateway.inbox.moments_in import FORMS, later
    from gateway.system import SystemClock
    from manager.decisions.operators import Snooze

    moment = later(until, SystemClock().now())
    if moment is None:
        raise click.BadParameter(f"it is like {FORMS}.", ctx, param_hint="--until")
    _act(ctx, request_id, Snooze(moment), who, None, as_json=as_json)


@click.command()
@click.argument("request_id", metavar="ID")
@_common
@click.pass_context
def reveal(ctx: click.Context, request_id: str, who: str | None, as_json: bool) -> None:
    """Show what is private of a request: question, ids of the messages, what was told. That you did is recorded."""
    from manager.decisions.operators import Reveal

    _act(ctx, request_id, Reveal(), who, None, as_json=as_json)


ACTING: Final = (verify, found, resend, cancel, note, snooze, reveal)
