"""``python -m gateway``: the same as ``lark-steward``."""

from __future__ import annotations

from gateway.cli.main import main

main()
