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
PLACES = (*WRITE, *WRITE)
"""What a plan says first, and that it is concluded."""


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    settings = {"planning": {"mode": "Observe"}, "observing": {"episodeSeconds": 30}}
    return start_plane(Options(reprieve=True, reprieve_settings=settings, manifests=OBSERVER_FOLDERS))


@SELDOM
def test_killed_at_each_write_the_next_process_counts_nothing_twice(
    plane: ControlPlane, sandboxes: SandboxFactory
) -> None:
    sandbox = sandboxes(plane)
    sandbox.nodes(2, cpu="2")
    low = sandbox.pods("low", 2, priority=1, cpu="2")
    sandbox.wait_bound(*low)
    plane.reprieve.stop()
    start(plane, PLACES[0])
    members = sandbox.gang("hero", 2, priority=100, cpu="2")
    sandbox.wait_bound(*members)
    for place in PLACES[1:]:
        plane.reprieve.wait(PATIENCE_SECONDS)
        start(plane, place, wait=False)
    plane.reprieve.wait(PATIENCE_SECONDS)
    before = said(sandbox)
    start(plane, "")
    wait_for(lambda: said(sandbox).get("concluded"), what=lambda: f"{said(sandbox)}")
    after = said(sandbox)
    assert (after["victims"]["pods"], after["bound"], after["groupsBroken"]) == (2, True, 0)
    assert before["concluded"], "it died after that was written"
    assert after == before


def start(plane: ControlPlane, place: str, *, wait: bool = True) -> None:
    """A process that dies there, if it is named."""
    plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": f"{place}=kill"} if place else {}
    plane.start_reprieve(wait=wait)


def said(sandbox: Sandbox) -> Json:
    """What the only plan says that says something."""
    found = [each["status"]["instead"] for each in sandbox.plans("hero") if each["status"].get("instead")]
    assert len(found) <= 1
    return found[0] if found else {}
