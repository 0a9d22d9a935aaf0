"""PodGroups that preempt each other, on a real control plane: they stop."""

from __future__ import annotations

import time

from tests.e2e.support import Sandbox, wait_for

SPARED_SECONDS = 3.0
"""How long nothing may be evicted once the status of the gang says so. The plan that would evict was made by then."""


class Rivals:
    """Two groups that each need a CPU for their second pod. Their first pod is of low priority, and runs aside.

    A group in `all` mode is worth as much as the least of its pods, so each group may preempt the other.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._aside = sandbox.node("aside", cpu="200m")
        self._count = 0
        for name in ("a", "b"):
            sandbox.group(name, min_count=2, mode="all", priority=100)

    def start(self, group: str) -> list[str]:
        """The group's two pods come, or come again; returns their names."""
        self._count += 1
        name = f"{group}-{self._count}"
        self.sandbox.pod(f"{name}-low", group=group, priority=10, cpu="100m", node_name=self._aside)
        self.sandbox.wait_running(f"{name}-low")
        return [f"{name}-low", self.sandbox.pod(f"{name}-high", group=group, priority=100)]


def test_groups_that_evicted_each_other_stop(sandbox: Sandbox) -> None:
    rivals = Rivals(sandbox)
    node = sandbox.node("node", cpu="1")
    first = rivals.start("a")
    assert sandbox.wait_bound(*first)[first[1]] == node
    second = rivals.start("b")
    sandbox.wait_gone(*first)
    sandbox.wait_bound(*second)
    third = rivals.start("a")
    sandbox.wait_gone(*second)
    sandbox.wait_bound(*third)
    evicted = sandbox.history.evictions()
    assert evicted == dict.fromkeys([*first, *second], 1)
    fourth = rivals.start("b")
    wait_told(sandbox, "b", "a")
    stays(sandbox, evicted)
    other = sandbox.node("other", cpu="1")
    assert sandbox.wait_bound(*fourth)[fourth[1]] == other, "it takes free room"
    sandbox.filler("wall", node, 1, priority=1000)
    sandbox.delete_pod(third[1])
    sandbox.pod("a-again", group="a", priority=100)
    wait_told(sandbox, "a", "b")
    stays(sandbox, evicted)
    assert "a-again" not in sandbox.bound()


def wait_told(sandbox: Sandbox, preemptor: str, spared: str) -> None:
    """Until both groups have the event that the preemptor spares the other one."""
    note = f"PodGroup {sandbox.namespace}/{preemptor} evicts no pods of PodGroup {sandbox.namespace}/{spared}"

    def told() -> bool:
        events = [each for each in sandbox.events("PreemptionCycle") if each["note"].startswith(note)]
        return {each["regarding"]["name"] for each in events} == {"a", "b"}

    wait_for(told, what=sandbox.report)


def stays(sandbox: Sandbox, evicted: dict[str, int]) -> None:
    """Nothing else is evicted."""
    until = time.monotonic() + SPARED_SECONDS
    while time.monotonic() < until:
        assert sandbox.history.evictions() == evicted, sandbox.report()
        time.sleep(0.5)
