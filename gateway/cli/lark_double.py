"""``lark-steward lark-double``: a local Lark on a port, with one app and one chat, to develop against."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the local Lark is to have."""

    host: str
    port: int
    control_port: int
    app_id: str
    app_secret: str
    encrypt_key: str
    verification_token: str
    webhook: str | None
    chat: str
    person: str
    as_json: bool


@click.command("lark-double")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8900, show_default=True, help="The port of the open API; 0 takes a free one.")
@click.option("--control-port", default=0, help="The port of the control API alone; 0 takes a free one.")
@click.option("--app-id", default="cli_local0000000001", show_default=True, help="The app's id; begins with cli_.")
@click.option("--app-secret", default="", help="The app's secret; made up when it is not given.")
@click.option("--encrypt-key", default="", help="The Encrypt Key; made up when it is not given.")
@click.option("--verification-token", default="", help="The Verification Token; made up when it is not given.")
@click.option("--webhook", default=None, metavar="URL", help="Where events go, http://127.0.0.1:8080/lark/events say.")
@click.option("--chat", default="dev", show_default=True, help="The name of the chat.")
@click.option("--person", default="alice", show_default=True, help="Who is in the chat beside the bot.")
@click.option("--json", "as_json", is_flag=True, help="Print the settings as one line of JSON.")
def lark_double(
    host: str,
    port: int,
    control_port: int,
    app_id: str,
    app_secret: str,
    encrypt_key: str,
    verification_token: str,
    webhook: str | None,
    chat: str,
    person: str,
    as_json: bool,
) -> None:
    """Run a local Lark until it is interrupted: nothing of it leaves this machine."""
    import asyncio
    import secrets

    wanted = Wanted(
        host=host,
        port=port,
        control_port=control_port,
        app_id=app_id,
        app_secret=app_secret or secrets.token_hex(16),
        encrypt_key=encrypt_key or secrets.token_hex(16),
        verification_token=verification_token or secrets.token_hex(16),
        webhook=webhook,
        chat=chat,
        person=person,
        as_json=as_json,
    )
    try:
        asyncio.run(_serve(wanted))
    except OSError as failed:
        raise click.ClickException(
            f"cannot listen at {host}:{port} ({failed.strerror}); choose another port with --port"
        ) from failed


async def _serve(wanted: Wanted) -> None:
    import asyncio
    import signal

    from providers.lark_double.server import LarkDouble

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for ending in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(ending, stopped.set)
    async with LarkDouble.start(wanted.port, host=wanted.host, control_port=wanted.control_port) as double:
        app = double.app(
            wanted.app_id, wanted.app_secret, wanted.encrypt_key, wanted.verification_token, wanted.webhook
        )
        chat = double.create_chat(wanted.chat, [wanted.person], [app])
        settings = {
            "url": double.url,
            "control_url": double.control_url,
            "app_id": app.app_id,
            "app_secret": app.app_secret,
            "encrypt_key": app.encrypt_key,
            "verification_token": app.verification_token,
            "webhook": wanted.webhook,
            "chat": chat.name,
            "chat_id": chat.chat_id,
            "person": wanted.person,
            "person_open_id": double.open_id(app, wanted.person),
            "bot_open_id": app.open_id,
        }
        _show(settings, as_json=wanted.as_json)
        await stopped.wait()


def _show(settings: dict[str, str | None], *, as_json: bool) -> None:
    import json

    if as_json:
        click.echo(json.dumps(settings, ensure_ascii=False))
        return
    control, app_id = f"{settings['url']}/_control", settings["app_id"]
    lines = [
        f"A local Lark listens at {settings['url']} (stop it with Ctrl-C). For steward.toml:",
        "",
        "[[apps]]",
        'name = "default"',
        *(f'{key} = "{settings[key]}"' for key in ("app_id", "app_secret", "encrypt_key", "verification_token")),
        f'domain = "{settings["url"]}"',
        f'owners = ["{settings["person_open_id"]}"]',
        "",
        "[[steward.workspaces]]",
        'path = "."  # what the steward may read: a git repository',
        "",
        f"{settings['person']} and the bot are in the chat {settings['chat']}. To drive it:",
        _curl(control, "say", chat=settings["chat"], person=settings["person"], mention=app_id, text="hello"),
        f"  curl '{control}/visible?chat={settings['chat']}'",
        f"While it is offline only {settings['control_url']}/_control answers.",
    ]
    if settings["webhook"] is None:
        lines.append("Its events go nowhere yet; to have them pushed:")
        lines.append(_curl(control, "set_webhook", app=app_id, url="http://127.0.0.1:8080/lark/events"))
    click.echo("\n".join(lines))


def _curl(control: str, action: str, **body: str | None) -> str:
    import json

    return f"  curl {control}/{action} -d '{json.dumps(body, ensure_ascii=False)}'"
