"""Asks the processes of reprieve what their mirrors hold, and compares that with lists."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import wait_until
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.stress.mirror import differences, identities

__all__ = ["ROOT", "showing", "wrong_mirrors"]

ROOT: Final = Path(__file__).parents[3]
NOT_SERVED: Final = 404


def showing(tree: Path = ROOT) -> dict[str, Any]:
    """Options of a plane whose processes of reprieve run the code of this tree, and show their mirrors."""
    return {
        "reprieve_command": (sys.executable, "-P", "-m", "tests.e2e.stress.process"),
        "reprieve_environment": {"PYTHONPATH": str(tree)},
    }


def wrong_mirrors(plane: ControlPlane) -> list[str]:
    """How the mirrors differ from what the API server lists now.

    Ask only at rest, and again: what is written between the two looks is a difference.
    """
    asked = {name: _file(plane, name) for name in plane.layout.replicas}
    for name, file in asked.items():
        file.unlink(missing_ok=True)
        os.kill(plane.processes[name].pid, signal.SIGUSR1)
    return [wrong for name, file in asked.items() for wrong in _differences(plane, name, file)]


def _differences(plane: ControlPlane, name: str, file: Path) -> list[str]:
    wait_until(file.exists, PATIENCE_SECONDS, lambda: f"{name} does not show its mirror")
    wrong = []
    for view in json.loads(file.read_text()):
        listed = _listed(plane.client, f"{view['path']}?{urlencode(view['query'])}")
        held = {(namespace, each): (uid, version) for namespace, each, uid, version in view["held"]}
        wrong += differences(name, view["kind"], held, identities(listed))
    return wrong


def _listed(client: Client, path: str) -> list[Json]:
    """The objects. A kind that is not served has none."""
    try:
        items: list[Json] = client.request("GET", path)["items"]
    except ApiError as error:
        if error.status != NOT_SERVED:
            raise
        return []
    return items


def _file(plane: ControlPlane, name: str) -> Path:
    """See `process`."""
    return plane.directory / f"{name}.mirror.json"
