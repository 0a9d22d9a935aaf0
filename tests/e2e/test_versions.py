"""From an earlier version to this one, and back, while gangs evict and ordinary pods arrive.

Nothing is released yet, so the versions are commits of this repository. Two of them prove most:

- SINGLE is the last one without a Lease. It runs alone, its deletions are not fenced, and it does not know plans that
  keep names of other namespaces back. So it must never run beside this version: it is scaled to 0 first, as
  docs/install.md says, and for some seconds nobody answers the scheduler.
- REPLICATED is the first one with two replicas. It has the Lease and passes calls on, but its marks name no term. It
  runs beside this version while a Deployment replaces one replica after the other.

REPRIEVE_E2E_SINGLE and REPRIEVE_E2E_REPLICATED name other commits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.audit import Findings
from tests.e2e.stream import Stream
from tests.e2e.support import Sandbox, SandboxFactory, wait_for
from tests.e2e.versions import CURRENT, REPLICATED, SINGLE, Version, version_of

VICTIMS: Final = 20
SOME: Final = 5
"""So many are evicted before the versions change."""
SLOWLY: Final = {"REPRIEVE_FAILPOINTS": "evict.between=2s"}
"""Sixteen go at once. The last four wait for the first ones."""
FIRST, SECOND, SURGE = "reprieve", "reprieve-2", "reprieve-3"

Make = Callable[[str], Version]


@pytest.fixture
def version(tmp_path: Path) -> Make:
    """Makes a version from a commit."""
    return lambda commit: version_of(commit, tmp_path / "earlier", knows_replicas=commit != SINGLE)


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """For three processes, of which none runs. Rights that only earlier versions use must not count as used."""
    options = Options(reprieve=True, replicas=3, start_reprieve=False)
    with ControlPlane(tmp_path / "plane", options) as made:
        yield made


def refused(plane: ControlPlane) -> list[str]:
    """What reprieve, in either version, had no right to do."""
    found = Findings()
    for line in plane.audit_log.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            found.add(json.loads(line))
    return found.refused


class Load:
    """Nodes that are full of victims, half of them of another namespace, and gangs that want all of the nodes."""

    def __init__(self, sandboxes: SandboxFactory, plane: ControlPlane) -> None:
        self.ours, self.others = sandboxes(plane), sandboxes(plane)
        self.nodes = self.ours.nodes(VICTIMS, cpu="1")
        self._victims: dict[Sandbox, list[str]] = {self.ours: [], self.others: []}

    def fill(self, prefix: str) -> None:
        """A victim on each node."""
        for number, node in enumerate(self.nodes):
            owner = self.others if number % 2 else self.ours
            self._victims[owner] += owner.pods(f"{prefix}-{number}", 1, priority=10, node_name=node)
        for owner, names in self._victims.items():
            owner.wait_running(*names[-VICTIMS // 2 :])

    def gang(self, name: str) -> list[str]:
        """A gang that evicts all victims, of which some are gone when this returns."""
        before = len(self.evicted())
        members = self.ours.gang(name, VICTIMS, priority=100)
        wait_for(lambda: len(self.evicted()) >= before + SOME, what=self.ours.report)
        return members

    def evicted(self) -> dict[str, int]:
        """How often each victim was preempted."""
        return {**self.ours.history.evictions(), **self.others.history.evictions()}

    def check(self, members: list[str]) -> None:
        """Every victim went once, and the gang is bound as a whole."""
        bound = self.ours.wait_bound(*members)
        assert sorted(bound[name] for name in members) == sorted(self.nodes)
        expected = [name for names in self._victims.values() for name in names]
        wait_for(lambda: len(self.evicted()) == len(expected), what=self.ours.report)
        assert self.evicted() == dict.fromkeys(expected, 1)

    def replace(self, gang: str, members: list[str], prefix: str) -> None:
        """New victims take the place of a gang. They come first: ordinary pods must find no room in between."""
        self.fill(prefix)
        self.ours.delete_group(gang)
        for name in members:
            self.ours.delete_pod(name)
        self.ours.wait_gone(*members)


def roll(plane: ControlPlane, old: str, version: Version, new: str) -> None:
    """As a Deployment does with maxSurge 1 and maxUnavailable 0."""
    version.start(plane, new)
    plane.processes[old].stop(60)


def test_one_replica_without_a_lease_is_replaced_by_two_and_these_by_one(
    plane: ControlPlane, sandboxes: SandboxFactory, version: Make
) -> None:
    """In between nobody runs. The scheduler may bind members where victims are gone, and a second plan takes the rest.

    Ordinary pods are scheduled all the time.
    """
    old = version(SINGLE)
    old.apply(plane, "crds", "base")
    old.start(plane, FIRST, SLOWLY)
    load = Load(sandboxes, plane)
    load.fill("low")
    with Stream(load.ours) as stream:
        members = load.gang("hero")
        plane.processes[FIRST].stop(60)
        CURRENT.apply(plane, "crds", "base")
        CURRENT.start(plane, SECOND, SLOWLY)
        CURRENT.start(plane, SURGE, SLOWLY)
        load.check(members)
        load.replace("hero", members, "again")
        members = load.gang("late")
        for name in (SECOND, SURGE):
            plane.processes[name].stop(60)
        old.apply(plane, "base")
        old.start(plane, FIRST)
        load.check(members)
        stream.wait_bound()
    assert refused(plane) == []


def test_replicas_are_replaced_one_by_one_forth_and_back(
    plane: ControlPlane, sandboxes: SandboxFactory, version: Make
) -> None:
    """The versions follow and lead each other. No promised room is taken meanwhile."""
    old = version(REPLICATED)
    old.apply(plane, "crds", "base")
    old.start(plane, FIRST, SLOWLY)
    wait_for(lambda: plane.leader() == FIRST, what="nobody leads")
    old.start(plane, SECOND, SLOWLY)
    load = Load(sandboxes, plane)
    load.fill("low")
    with Stream(load.ours) as stream:
        members = load.gang("hero")
        CURRENT.apply(plane, "crds", "base")
        roll(plane, FIRST, CURRENT, SURGE)
        roll(plane, SECOND, CURRENT, FIRST)
        load.check(members)
        assert len(load.ours.plans("hero")) == 1
        for name in (SURGE, FIRST):
            plane.processes[name].stop(60)
            CURRENT.start(plane, name, SLOWLY)
        load.replace("hero", members, "again")
        members = load.gang("late")
        old.apply(plane, "base")
        roll(plane, SURGE, old, SECOND)
        roll(plane, FIRST, old, SURGE)
        load.check(members)
        assert len(load.ours.plans("late")) == 1
        stream.wait_bound()
        assert stream.on(load.nodes) == []
    assert refused(plane) == []
