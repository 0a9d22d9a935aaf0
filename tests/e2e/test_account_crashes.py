"""SIGKILL at each write of the account: the next process counts nothing twice.

tests/unit/controllers/account/test_crashes.py has the same without a control plane, in `make test`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hack.controlplane.client import Json
from hack.controlplane.components import OBSERVER_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.support import Sandbox, SandboxFactory, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM

WRITE = ("account.before_write", "account.after_write")
STAYS = "example.com/stays"
"""A finalizer: the pod terminates until the test lets it go."""


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    settings = {"planning": {"mode": "Observe"}, "observing": {"episodeSeconds": 30}}
    return start_plane(Options(reprieve=True, reprieve_settings=settings, manifests=OBSERVER_FOLDERS))


@SELDOM
def test_killed_at_each_write_the_next_process_counts_nothing_twice(
    plane: ControlPlane, sandboxes: SandboxFactory
) -> None:
    """Before the gang runs, and after it. The victims terminate until the first two processes are dead."""
    sandbox = sandboxes(plane)
    sandbox.nodes(2, cpu="2")
    low = sandbox.pods("low", 2, priority=1, cpu="2", finalizers=[STAYS])
    sandbox.wait_bound(*low)
    plane.reprieve.stop()
    start(plane, WRITE[0])
    members = sandbox.gang("hero", 2, priority=100, cpu="2")
    plane.reprieve.wait(PATIENCE_SECONDS)
    start(plane, WRITE[1], wait=False)
    plane.reprieve.wait(PATIENCE_SECONDS)
    first = said(sandbox)
    for name in low:
        sandbox.client.patch("v1", "Pod", name, {"metadata": {"finalizers": None}}, sandbox.namespace)
    sandbox.wait_bound(*members)
    for place in WRITE:
        start(plane, place, wait=False)
        plane.reprieve.wait(PATIENCE_SECONDS)
    start(plane, "")
    wait_for(lambda: said(sandbox).get("concluded"), what=lambda: f"{said(sandbox)}")
    last = said(sandbox)
    assert last["victims"] == first["victims"]
    assert (last["victims"]["pods"], last["state"], last["bound"]) == (2, "Same", True)


def start(plane: ControlPlane, place: str, *, wait: bool = True) -> None:
    """A process that dies there, if it is named."""
    plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": f"{place}=kill"} if place else {}
    plane.start_reprieve(wait=wait)


def said(sandbox: Sandbox) -> Json:
    """What the only plan says that says something."""
    found = [each["status"]["instead"] for each in sandbox.plans("hero") if each["status"].get("instead")]
    assert len(found) <= 1
    return found[0] if found else {}
