"""PreemptionPlan objects in a real etcd: one per decision, small enough, few enough, and enough to resume from."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from api.clock import SYSTEM_CLOCK
from api.meta import List
from api.plan_names import plan_name
from api.plans import Placement, PreemptionPlan, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.life import Ending
from controllers.gangs.writing.housekeeping import Housekeeping
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.stored import StoredPlans
from controllers.gangs.writing.writer import Writer
from controllers.gangs.writing.writes import Writes
from hack.controlplane.client import ApiError
from hack.controlplane.plane import ControlPlane
from runtime.mirror.resources import PLANS
from runtime.plans.plan_objects import PlanNotStoredError
from runtime.plans.plan_retention import Retention
from tests.e2e.served import read_metrics
from tests.e2e.support import REPRIEVE, PlaneFactory, Sandbox, SandboxFactory, wait_for
from tests.kit.connected import connected
from tests.kit.often import SELDOM

MEBIBYTE = 1024 * 1024
LARGE = 15_000


@pytest.fixture
def alone(control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox]) -> Sandbox:
    """A sandbox on a plane without reprieve, so that nobody else writes plans."""
    return sandboxes(control_plane)


@dataclass
class Plans:
    """What writes plans, and what is known of them: all that are stored, and what was written since."""

    store: PlanStore
    stored: StoredPlans
    housekeeping: Housekeeping


def with_plans(kubeconfig: Path, act: Callable[[Plans], Awaitable[None]]) -> None:
    async def run() -> None:
        async with connected(kubeconfig) as client:
            stored = StoredPlans(lambda _: None)
            store = PlanStore(Writer(client, SYSTEM_CLOCK), stored, stored.upsert, SYSTEM_CLOCK)
            writes = Writes(lambda _: None)
            housekeeping = Housekeeping(
                stored, store, writes, Retention(86400, 3), SYSTEM_CLOCK, uid_of=lambda _: "uid"
            )
            found = msgspec.json.decode(await client.request("GET", PLANS.path), type=List[PreemptionPlan])
            for plan in found.items:
                stored.upsert(plan)
            await act(Plans(store, stored, housekeeping))

    asyncio.run(run())


def decision(namespace: str, victims: int = 1, *, preemptor: str = "hero") -> PreemptionPlanSpec:
    """A plan with that many victims, one pod each."""
    pods = [
        VictimPod(namespace, f"batch-{i:05}-{'x' * 40}", f"{i:032x}", f"node-{i:05}") for i in range(victims)
    ]
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", REPRIEVE, namespace, preemptor, "uid", 100),
        outcome="Preempts",
        reason="because",
        priority_cutoff=10,
        victims=[Victim("Pod", namespace, pod.name, pod.uid, 10, False, [pod]) for pod in pods],
        placements=[Placement(f"{preemptor}-{i}", f"node-{i:05}", f"{i:032x}") for i in range(victims)],
    )


def test_a_plan_with_15000_victims_is_stored_and_resumed_from(alone: Sandbox) -> None:
    spec = decision(alone.namespace, LARGE)

    async def record(plans: Plans) -> None:
        await plans.store.record(spec, "Planned", "because")

    async def load(plans: Plans) -> None:
        found = [each for each in plans.stored if each.meta.namespace == alone.namespace]
        assert [each.active for each in found] == [spec]
        assert found[0].phase == "Planned"
        assert found[0].finalized
        await plans.store.end(found[0].key, Ending("Aborted", "Changed", "the test is over"))
        assert not any(each.finalized for each in plans.stored if each.meta.namespace == alone.namespace)

    plane = alone.plane
    assert plane is not None
    with_plans(plane.kubeconfig, record)
    plan = alone.plans("hero")[0]
    path = f"/apis/{REPRIEVE}/namespaces/{alone.namespace}/preemptionplans/{plan['metadata']['name']}"
    assert len(alone.client.text("GET", path)) < MEBIBYTE
    assert plan["spec"]["victimPods"] == LARGE
    with_plans(plane.kubeconfig, load)
    alone.remove()


def test_the_same_decision_again_only_updates_the_status(alone: Sandbox) -> None:
    async def twice(plans: Plans) -> None:
        await plans.store.record(decision(alone.namespace), "Unschedulable", "first")
        await plans.store.record(decision(alone.namespace), "Blocked", "second")

    assert alone.plane is not None
    with_plans(alone.plane.kubeconfig, twice)
    (plan,) = alone.plans("hero")
    assert plan["status"]["phase"] == "Blocked"
    assert [entry["message"] for entry in plan["status"]["conditions"]] == ["first", "second"]
    alone.remove()


def test_the_last_three_per_preemptor_are_kept_and_all_that_evicted(alone: Sandbox) -> None:
    async def many(plans: Plans) -> None:
        await plans.store.record(decision(alone.namespace, 1, preemptor="other"), "Unschedulable", "")
        for victims in range(1, 7):
            key = (alone.namespace, plan_name(decision(alone.namespace, victims)))
            await plans.store.record(decision(alone.namespace, victims), "Planned", "")
            if victims == 1:
                await plans.store._touch(key, "Evicting", "Evicting", "")
            await plans.store.end(key, Ending("Aborted", "Changed", ""))
            await asyncio.sleep(1.1)  # times in objects have whole seconds
        await plans.housekeeping.sweep(frozenset(), frozenset())

    assert alone.plane is not None
    with_plans(alone.plane.kubeconfig, many)
    assert sorted(plan["spec"]["victimPods"] for plan in alone.plans("hero")) == [1, 4, 5, 6]
    assert len(alone.plans("other")) == 1
    alone.remove()


WAVES = 2
AT_ONCE = 5
RETENTION_SECONDS = 3
KINDS = {"evicts": "1", "large": "100"}
"""CPUs of the only member."""


@SELDOM
def test_gangs_come_and_go_and_leave_no_plans(planes: PlaneFactory, sandboxes: SandboxFactory) -> None:
    """Half of them evict, the others fit nowhere. Names are new each time. While a group exists, its decision stays."""
    planning = {"planRetentionSeconds": RETENTION_SECONDS}
    plane = planes(reprieve=True, reprieve_settings={"planning": planning})
    sandbox = sandboxes(plane)
    nodes = sandbox.nodes(AT_ONCE, cpu="1")
    stays = sandbox.gang("stays", 1, priority=1, cpu="100")
    sandbox.wait_plan("stays", "Unschedulable")
    for wave in range(WAVES):
        pods = [
            pod for each, node in enumerate(nodes) for pod in sandbox.filler(f"low-{wave}-{each}", node, 1)
        ]
        sizes = {f"{kind}-{wave}-{each}": cpu for each in range(AT_ONCE) for kind, cpu in KINDS.items()}
        members = {name: sandbox.gang(name, 1, priority=100, cpu=cpu)[0] for name, cpu in sizes.items()}
        sandbox.wait_bound(*(member for name, member in members.items() if name.startswith("evicts")))
        sandbox.wait_gone(*pods)
        for name, member in members.items():
            sandbox.wait_plan(name, "Bound" if name.startswith("evicts") else "Unschedulable")
            sandbox.delete_group(name)
            sandbox.delete_pod(member)
        sandbox.wait_gone(*members.values())
    wait_for(lambda: names_of_preemptors(sandbox) == {"stays"}, what=sandbox.report)
    time.sleep(RETENTION_SECONDS)
    assert names_of_preemptors(sandbox) == {"stays"}
    assert not set(stays) & sandbox.bound().keys()
    named = [series for series in read_metrics(plane) if any(f"{kind}-" in series for kind in KINDS)]
    assert not named


def names_of_preemptors(sandbox: Sandbox) -> set[str]:
    return {plan["spec"]["preemptor"]["name"] for plan in sandbox.plans()}


def test_an_active_plan_that_is_deleted_stays_until_it_ends(alone: Sandbox) -> None:
    """In the middle of its evictions it would leave pods marked, and nobody would know why."""
    key = (alone.namespace, plan_name(decision(alone.namespace)))

    async def record(plans: Plans) -> None:
        await plans.store.record(decision(alone.namespace), "Planned", "")

    async def end(plans: Plans) -> None:
        await plans.store.end(key, Ending("Aborted", "Changed", ""))

    assert alone.plane is not None
    with_plans(alone.plane.kubeconfig, record)
    alone.client.delete(REPRIEVE, "PreemptionPlan", key[1], alone.namespace)
    (plan,) = alone.plans("hero")
    assert plan["metadata"]["deletionTimestamp"]
    with_plans(alone.plane.kubeconfig, end)
    assert alone.plans("hero") == []
    alone.remove()


def test_a_decision_is_immutable(alone: Sandbox) -> None:
    async def record(plans: Plans) -> None:
        await plans.store.record(decision(alone.namespace), "Unschedulable", "")

    assert alone.plane is not None
    with_plans(alone.plane.kubeconfig, record)
    name = alone.plans("hero")[0]["metadata"]["name"]
    with pytest.raises(ApiError, match="immutable"):
        alone.client.patch(REPRIEVE, "PreemptionPlan", name, {"spec": {"reason": "another"}}, alone.namespace)
    alone.remove()


def test_a_plan_that_cannot_be_stored_is_said_so(alone: Sandbox) -> None:
    async def record(plans: Plans) -> None:
        with pytest.raises(PlanNotStoredError, match="no-such-namespace"):
            await plans.store.record(decision("no-such-namespace"), "Planned", "")

    assert alone.plane is not None
    with_plans(alone.plane.kubeconfig, record)
    alone.remove()
