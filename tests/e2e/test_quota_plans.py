"""Preemptions of Workloads on a real API server: the plan before the victim, its end, and a change of the leader."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from controllers.quota.plans.resuming import FENCED
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.plane import ControlPlane
from runtime.failpoints import configure
from tests.e2e.quota_leading import create, leading, remove, until, until_true, workload
from tests.e2e.support import REPRIEVE, condition
from tests.kit.manifests import KUEUE

HERE, THERE = "quota-plans", "quota-plans-foreign"


@pytest.fixture
def plane(api_plane: ControlPlane) -> Iterator[ControlPlane]:
    """One ClusterQueue of two CPUs, which two namespaces share."""
    client = api_plane.client
    quota = {"name": "qp-flavor", "resources": [{"name": "cpu", "nominalQuota": 2}]}
    spec = {
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    made: list[Json] = [
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "qp-flavor"}, "spec": {}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "qp"}, "spec": spec},
    ]
    for namespace in (HERE, THERE):
        if client.find("v1", "Namespace", namespace) is None:
            client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        meta = {"name": "lq", "namespace": namespace}
        made.append(
            {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": "qp"}}
        )
    for body in made:
        client.create(body)
    yield api_plane
    configure({})
    for kind in ("Workload", "LocalQueue"):
        for each in client.list(KUEUE, kind):
            remove(client, kind, each)
    for kind in ("ClusterQueue", "ResourceFlavor"):
        for each in client.list(KUEUE, kind):
            remove(client, kind, each)
    for each in client.list(REPRIEVE, "PreemptionPlan"):
        client.delete(REPRIEVE, "PreemptionPlan", each["metadata"]["name"], each["metadata"]["namespace"])


async def until_phase(client: Client, phase: str) -> Json:
    """The one plan, once it is in this phase."""
    (plan,) = await until(
        lambda: client.list(REPRIEVE, "PreemptionPlan", HERE),
        lambda plans: [each.get("status", {}).get("phase") for each in plans] == [phase],
        f"no plan is {phase}",
    )
    found: Json = plan
    return found


def end(client: Client, namespace: str, name: str) -> None:
    """Whoever made the Workload ends it."""
    body = client.get(KUEUE, "Workload", name, namespace)
    conditions = [
        each
        | ({"status": "False", "reason": "Pending"} if each["type"] in ("QuotaReserved", "Admitted") else {})
        for each in body["status"]["conditions"]
    ]
    value = {"status": {"conditions": conditions, "admission": None}}
    client.patch(KUEUE, "Workload", name, value, namespace, "status")


def test_the_plan_comes_first_and_tells_how_it_ended(plane: ControlPlane) -> None:
    client = plane.client

    async def run() -> None:
        async with leading(plane, 1):
            create(client, workload(HERE, "own", 1, 0), workload(THERE, "other", 1, 0))
            await until_true(client, HERE, "own", "Admitted")
            other = await until_true(client, THERE, "other", "Admitted")
            create(client, workload(HERE, "hero", 2, 5))
            plan = await until_phase(client, "Evicting")
            evicted = await until_true(client, THERE, "other", "Evicted")
            await until_true(client, HERE, "own", "Evicted")
            preempted = condition(evicted, "Preempted") or {}
            assert plan["metadata"]["creationTimestamp"] <= preempted["lastTransitionTime"]
            by_uid = {each["uid"]: each for each in plan["spec"]["victims"]}
            assert {each["name"] for each in by_uid.values()} == {"own", ""}, (
                "another namespace's has no name"
            )
            given_back = by_uid[other["metadata"]["uid"]]["quota"]
            reserved = condition(other, "QuotaReserved") or {}
            assert given_back == {
                "reason": preempted["reason"],
                "clusterQueue": "qp",
                "path": "/qp",
                "since": reserved["lastTransitionTime"],
            }
            whole = client.get(REPRIEVE, "ClusterPreemptionPlan", f"{HERE}.{plan['metadata']['name']}")
            assert {each["name"] for each in whole["spec"]["victims"]} == {"own", "other"}
            await asyncio.to_thread(end, client, HERE, "own")
            await asyncio.to_thread(end, client, THERE, "other")
            await until_true(client, HERE, "hero", "Admitted")
            ended = await until_phase(client, "QuotaReserved")
            assert [each["type"] for each in ended["status"]["conditions"]] == ["Evicting", "QuotaReserved"]

    asyncio.run(run())


def test_the_next_leader_goes_on_and_what_the_former_one_still_sends_is_refused(plane: ControlPlane) -> None:
    """The former one stands still between the plan and the first victim."""
    client = plane.client

    async def run() -> None:
        async with leading(plane, 1):
            create(client, workload(HERE, "own", 2, 0))
            seen = await until_true(client, HERE, "own", "Admitted")
            configure({"quota.plan_stored": "600s"})
            create(client, workload(HERE, "hero", 2, 5))
            await until_phase(client, "Evicting")
            configure({"quota.before_write": "600s"})
            async with leading(plane, 2):
                fenced = await until_true(client, HERE, "own", FENCED)
                assert (condition(fenced, "Evicted") or {}).get("status") != "True"
                late = {"metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]}, "status": {}}
                with pytest.raises(ApiError, match="409"):
                    client.patch(KUEUE, "Workload", "own", late, HERE, "status")
        configure({})
        async with leading(plane, 3):
            evicted = await until_true(client, HERE, "own", "Evicted")
            fence = condition(evicted, FENCED) or {}
            assert "[term 3 of holder-3, " in fence["message"]
            stats = evicted["status"]["schedulingStats"]["evictions"]
            assert [(each["reason"], each["count"]) for each in stats] == [("Preempted", 1)]
            await asyncio.to_thread(end, client, HERE, "own")
            await until_phase(client, "QuotaReserved")

    asyncio.run(run())
