"""Room that others take again and again, on a real control plane: reprieve stops evicting for it."""

from __future__ import annotations

import time

from tests.e2e.support import Sandbox, wait_for

QUIET_SECONDS = 20
"""How long nobody else may go. Without the rule, somebody went every few seconds."""


def test_a_gang_whose_room_is_taken_twice_evicts_nobody_any_longer(sandbox: Sandbox) -> None:
    """Each victim lingers until a pod with a nodeName, which no scheduler sees, has taken its room."""
    nodes = sandbox.nodes(4, cpu="1")
    low = {
        sandbox.filler(f"low-{number}", node, 1, finalizers=["test.reprieve.dev/linger"])[0]: node
        for number, node in enumerate(nodes)
    }
    member = sandbox.gang("hero", 1, priority=100)[0]
    before: set[str] = set()
    for round_ in (1, 2):
        victim = next(iter(newly_evicted(sandbox, before)))
        before.add(victim)
        sandbox.filler(f"other-{round_}", low[victim], 1)
        sandbox.release(victim)
        wait_in_vain(sandbox, round_)
    deadline = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < deadline:
        assert set(sandbox.history.evicted()) == before, sandbox.report()
        assert member not in sandbox.bound()
        time.sleep(0.5)
    said = sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    assert said["reason"] == "EvictedInVain"
    assert "2 plans for it evicted pods in vain" in said["message"]
    free = sandbox.node("free", cpu="1")
    assert sandbox.wait_bound(member)[member] == free, "it takes free room"


def newly_evicted(sandbox: Sandbox, before: set[str]) -> set[str]:
    return wait_for(lambda: set(sandbox.history.evicted()) - before, what=sandbox.report)


def wait_in_vain(sandbox: Sandbox, count: int) -> None:
    """Until so many plans have the verdict."""

    def verdicts() -> int:
        conditions = (plan.get("status", {}).get("conditions", ()) for plan in sandbox.plans("hero"))
        return sum((c["type"], c["status"]) == ("InVain", "True") for each in conditions for c in each)

    wait_for(lambda: verdicts() == count, what=sandbox.report)
