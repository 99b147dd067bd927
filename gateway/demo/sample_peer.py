"""A sample peer as a process of its own: ``python -m gateway.demo.sample_peer NAME REPOSITORY``.

It knows the gateway's URL and its own token (both from its environment) and talks HTTP, as any peer would: it waits for
a request, presents it, assesses it, works, and concludes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import httpx

from gateway.demo.sample_work import SKILLS, Work

WAIT_S = 20
HTTP_TIMEOUT_S = WAIT_S + 10
PAUSE_S = 1


class Gateway:
    """The gateway, as this peer may see it."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def get(self, path: str) -> dict[str, object]:
        """Read something."""
        return self._body(self._http.get(path))

    def write(self, method: str, path: str, key: str, body: Mapping[str, object]) -> dict[str, object]:
        """Write something once: the same key and body give the first answer again."""
        return self._body(self._http.request(method, path, json=dict(body), headers={"Idempotency-Key": key}))

    @staticmethod
    def _body(answer: httpx.Response) -> dict[str, object]:
        answer.raise_for_status()
        return cast("dict[str, object]", answer.json())


def serve_one(gateway: Gateway, work: Work, repository: Path) -> bool:
    """Wait for the oldest open request and carry it through; False when none came in time."""
    listed = gateway.get(f"/api/v1/peer/requests?state=open&limit=1&wait_s={WAIT_S}")
    items = cast("list[dict[str, object]]", listed["items"])
    if not items:
        return False
    identity, revision = str(items[0]["request_id"]), cast("int", items[0]["revision"])
    path = f"/api/v1/peer/requests/{identity}"
    once = f"{identity}.{revision}"
    gateway.write("POST", f"{path}/presented", f"{once}.presented", {"revision": revision, "turn": None})
    gateway.write("POST", f"{path}/assessment", f"{once}.assessment", {"revision": revision, "assessment": "accepted"})
    result = {"revision": revision, "outcome": "resolved", "text": work(repository)}
    gateway.write("POST", f"{path}/result", f"{once}.result", result)
    return True


def main(name: str, repository: Path) -> None:
    """Serve until the process is ended, or the gateway is gone."""
    headers = {"Authorization": f"Bearer {os.environ['LARK_STEWARD_PEER_TOKEN']}"}
    with httpx.Client(
        base_url=os.environ["LARK_STEWARD_URL"], headers=headers, timeout=HTTP_TIMEOUT_S, trust_env=False
    ) as http:
        gateway = Gateway(http)
        presence = {"state": "available", "capacity": 1}
        gateway.write("PUT", "/api/v1/peer/presence", f"{name}.{os.getpid()}", presence)
        work = SKILLS[name][2]
        while True:
            try:
                serve_one(gateway, work, repository)
            except httpx.TransportError:
                return
            except httpx.HTTPStatusError as refused:  # the same keys make it safe to begin again
                sys.stderr.write(f"{name}: {refused}\n")
                time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
