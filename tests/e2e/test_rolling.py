"""Replicas are replaced one by one, as a Deployment does it, while gangs evict and ordinary pods arrive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.stream import Stream
from tests.e2e.support import Sandbox, SandboxFactory, wait_for
from tests.kit.often import SELDOM

VICTIMS: Final = 20
SOME: Final = 5
"""The number of evictions before the first replica is replaced."""
SLOWLY: Final = {"REPRIEVE_FAILPOINTS": "evict.between=2s"}
"""Sixteen go at once. The last four wait for the first ones."""
FIRST, SECOND, SURGE = "reprieve", "reprieve-2", "reprieve-3"


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """For three processes. Two run."""
    options = Options(reprieve=True, replicas=3, start_reprieve=False, reprieve_environment=SLOWLY)
    with ControlPlane(tmp_path / "plane", options) as made:
        made.start_reprieve(FIRST)
        wait_for(lambda: made.leader() == FIRST, what="nobody leads")
        made.start_reprieve(SECOND)
        yield made


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
        """A gang that evicts all victims. Some are gone when this returns."""
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


def roll(plane: ControlPlane, old: str, new: str) -> None:
    """As a Deployment does with maxSurge 1 and maxUnavailable 0."""
    plane.start_reprieve(new)
    plane.processes[old].stop(60)


@SELDOM
def test_replicas_are_replaced_one_by_one(plane: ControlPlane, sandboxes: SandboxFactory) -> None:
    """The leader goes first, and then the other one. No promised room is taken meanwhile."""
    load = Load(sandboxes, plane)
    load.fill("low")
    with Stream(load.ours) as stream:
        members = load.gang("hero")
        roll(plane, FIRST, SURGE)
        roll(plane, SECOND, FIRST)
        load.check(members)
        assert len(load.ours.plans("hero")) == 1
        load.replace("hero", members, "again")
        members = load.gang("late")
        roll(plane, plane.leader(), SECOND)
        load.check(members)
        assert len(load.ours.plans("late")) == 1
        stream.wait_bound()
        assert stream.on(load.nodes) == []
