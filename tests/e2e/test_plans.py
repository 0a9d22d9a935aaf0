"""PreemptionPlan objects in a real etcd: one per decision, small enough, few enough, and enough to go on from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.plans import PlanNotStoredError, PlanStore
from controllers.gangs.writer import Writer
from hack.controlplane.client import ApiError
from hack.controlplane.plane import ControlPlane
from kube.client import ApiClient
from tests.e2e.support import REPRIEVE, Sandbox

MEBIBYTE = 1024 * 1024
LARGE = 15_000


@pytest.fixture
def alone(control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox]) -> Sandbox:
    """A sandbox on a plane without reprieve, so that nobody else writes plans."""
    return sandboxes(control_plane)


def with_store(kubeconfig: Path, act: Callable[[PlanStore], Awaitable[None]]) -> None:
    async def run() -> None:
        async with ApiClient.connect(kubeconfig) as client:
            await act(PlanStore(Writer(client), kept=3))

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

    async def record(store: PlanStore) -> None:
        await store.record(spec, "Planned", "because")

    async def load(store: PlanStore) -> None:
        found = [
            stored for stored in await store.load() if stored.spec.preemptor.namespace == alone.namespace
        ]
        assert [stored.spec for stored in found] == [spec]
        assert found[0].phase == "Planned"

    plane = alone.plane
    assert plane is not None
    with_store(plane.kubeconfig, record)
    plan = alone.plans("hero")[0]
    path = f"/apis/{REPRIEVE}/namespaces/{alone.namespace}/preemptionplans/{plan['metadata']['name']}"
    assert len(alone.client.text("GET", path)) < MEBIBYTE
    assert plan["spec"]["victimPods"] == LARGE
    with_store(plane.kubeconfig, load)
    alone.remove()


def test_the_same_decision_again_only_updates_the_status(alone: Sandbox) -> None:
    async def twice(store: PlanStore) -> None:
        await store.record(decision(alone.namespace), "Planned", "first")
        await store.record(decision(alone.namespace), "Blocked", "second")

    assert alone.plane is not None
    with_store(alone.plane.kubeconfig, twice)
    (plan,) = alone.plans("hero")
    assert plan["status"]["phase"] == "Blocked"
    assert [entry["message"] for entry in plan["status"]["conditions"]] == ["first", "second"]
    alone.remove()


def test_the_last_three_per_preemptor_are_kept(alone: Sandbox) -> None:
    async def many(store: PlanStore) -> None:
        await store.record(decision(alone.namespace, 1, preemptor="other"), "Planned", "")
        for victims in range(1, 6):
            await store.record(decision(alone.namespace, victims), "Planned", "")

    assert alone.plane is not None
    with_store(alone.plane.kubeconfig, many)
    assert sorted(plan["spec"]["victimPods"] for plan in alone.plans("hero")) == [3, 4, 5]
    assert len(alone.plans("other")) == 1
    alone.remove()


def test_a_decision_is_immutable(alone: Sandbox) -> None:
    async def record(store: PlanStore) -> None:
        await store.record(decision(alone.namespace), "Planned", "")

    assert alone.plane is not None
    with_store(alone.plane.kubeconfig, record)
    name = alone.plans("hero")[0]["metadata"]["name"]
    with pytest.raises(ApiError, match="immutable"):
        alone.client.patch(REPRIEVE, "PreemptionPlan", name, {"spec": {"reason": "another"}}, alone.namespace)
    alone.remove()


def test_a_plan_that_cannot_be_stored_is_said_so(alone: Sandbox) -> None:
    async def record(store: PlanStore) -> None:
        with pytest.raises(PlanNotStoredError, match="no-such-namespace"):
            await store.record(decision("no-such-namespace"), "Planned", "")

    assert alone.plane is not None
    with_store(alone.plane.kubeconfig, record)
    alone.remove()
