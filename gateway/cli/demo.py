"""``lark-steward demo``: the main job, here and now."""

from __future__ import annotations

import click


@click.command()
@click.option("--language", type=click.Choice(["en", "zh"]), help="The story's language; your locale's by default.")
@click.option("--serve", "keep_up", is_flag=True, help="Keep everything up at the end, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Only the proof, as JSON.")
def demo(language: str | None, keep_up: bool, as_json: bool) -> None:
    """Ask two real questions on a local Lark, lose one answer's response, and prove that each arrived once."""
    from gateway.cli.demonstrating import demonstrate

    raise SystemExit(demonstrate(language, keep_up=keep_up, as_json=as_json))
