"""What queues say about themselves, and what keeps them, on a real API server. Nobody admits anything here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from cli.leaving.sweep import sweep_all
from cli.leaving.sweeps import QUEUE_FINALIZERS
from controllers.quota.queues.queue_statuses import FIELD_MANAGER
from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane
from quota.state.state import QuotaState
from tests.e2e.queue_part import keeping_queues
from tests.e2e.support import condition
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected

KUEUE = "kueue.x-k8s.io/v1beta2"
FINALIZER = "kueue.x-k8s.io/resource-in-use"
NAMESPACE = "queues"
KINDS = ("Workload", "LocalQueue", "ClusterQueue", "Cohort", "ResourceFlavor", "AdmissionCheck")
NAMESPACED = ("Workload", "LocalQueue")
NOW = "2026-01-01T00:00:00Z"


class Queues:
    """Kueue's objects on the API server, in the namespace of these tests. Calls come from threads."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(function, *arguments)

    async def make(self, kind: str, name: str, spec: Json | None = None, **metadata: Any) -> Json:
        meta = {"name": name, **({"namespace": NAMESPACE} if kind in NAMESPACED else {}), **metadata}
        body = {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec or {}}
        made: Json = await self.call(self.client.create, body)
        return made

    async def find(self, kind: str, name: str) -> Json | None:
        found: Json | None = await self.call(
            self.client.find, KUEUE, kind, name, NAMESPACE if kind in NAMESPACED else None
        )
        return found

    async def patch(self, kind: str, name: str, value: Json, part: str = "") -> None:
        space = NAMESPACE if kind in NAMESPACED else None
        await self.call(self.client.patch, KUEUE, kind, name, value, space, *([part] if part else []))

    async def delete(self, kind: str, name: str) -> None:
        space = NAMESPACE if kind in NAMESPACED else None
        await self.call(self.client.delete, KUEUE, kind, name, space)

    async def until(self, kind: str, name: str, holds: Callable[[Json], object]) -> Json:
        """The object, once this holds."""
        seen: Json | None = None
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (seen := await self.find(kind, name)) is None or not holds(seen):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(f"{kind} {name} stays as it is: {seen}")
        return seen

    async def until_gone(self, kind: str, name: str) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.find(kind, name) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def until_reason(self, kind: str, name: str, reason: str) -> Json:
        """The condition Active."""
        body = await self.until(
            kind, name, lambda body: (condition(body, "Active") or {}).get("reason") == reason
        )
        return condition(body, "Active") or {}

    async def holds(self, name: str, cpus: str, queue: str, *, admitted: bool = False) -> None:
        """The Workload holds quota."""
        types = ["QuotaReserved", *(["Admitted"] if admitted else [])]
        conditions = [
            {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": NOW}
            for each in types
        ]
        usage = {"name": "main", "count": 1, "flavors": {"cpu": "q-flavor"}, "resourceUsage": {"cpu": cpus}}
        admission = {"clusterQueue": queue, "podSetAssignments": [usage]}
        await self.patch(
            "Workload", name, {"status": {"conditions": conditions, "admission": admission}}, "status"
        )


def cluster_queue(cpus: int = 4, cohort: str | None = None, checks: list[str] | None = None) -> Json:
    quota = {"name": "q-flavor", "resources": [{"name": "cpu", "nominalQuota": cpus}]}
    spec: Json = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}]}
    if cohort is not None:
        spec["cohortName"] = cohort
    if checks is not None:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    return spec


def workload(queue: str, cpus: str) -> Json:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpus}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return {"queueName": queue, "podSets": [pods]}


def finalizers(body: Json) -> list[str]:
    found: list[str] = body["metadata"].get("finalizers") or []
    return found


@pytest.fixture
def queues(api_plane: ControlPlane) -> Iterator[Queues]:
    client = api_plane.client
    if client.find("v1", "Namespace", NAMESPACE) is None:
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield Queues(client)
    for kind in KINDS:
        for body in client.list(KUEUE, kind):
            name, space = body["metadata"]["name"], body["metadata"].get("namespace")
            if finalizers(body):
                client.patch(KUEUE, kind, name, {"metadata": {"finalizers": None}}, space)
            if client.find(KUEUE, kind, name, space) is not None:
                client.delete(KUEUE, kind, name, space)


@pytest.fixture
async def kept(api_plane: ControlPlane, queues: Queues) -> AsyncIterator[QuotaState]:
    async with keeping_queues(api_plane) as state:
        yield state


async def test_the_numbers_follow_and_stay_right_until_the_end(queues: Queues, kept: QuotaState) -> None:
    await queues.make("ResourceFlavor", "q-flavor")
    await queues.make("ClusterQueue", "q", cluster_queue(4, "q-team"))
    await queues.make("LocalQueue", "l", {"clusterQueue": "q"})
    body = await queues.until("ClusterQueue", "q", lambda body: finalizers(body) and body.get("status"))
    assert finalizers(body) == [FINALIZER]
    for name in ("w1", "w2"):
        await queues.make("Workload", name, workload("l", "3"))
    for kind, name in (("ClusterQueue", "q"), ("LocalQueue", "l")):
        await queues.until(kind, name, lambda body: body["status"]["pendingWorkloads"] == 2)
    await queues.holds("w1", "3", "q", admitted=True)
    await queues.holds("w2", "2500m", "q")
    body = await queues.until("ClusterQueue", "q", lambda body: body["status"]["reservingWorkloads"] == 2)
    status = body["status"]
    (active,) = status.pop("conditions")
    assert active["lastTransitionTime"]
    assert (active["status"], active["reason"], active["message"]) == (
        "True",
        "Ready",
        "Can admit new workloads",
    )
    cpu = {"name": "cpu", "total": "5500m", "borrowed": "1500m"}
    used = {"name": "cpu", "total": "3", "borrowed": "0"}
    assert status == {
        "pendingWorkloads": 0,
        "reservingWorkloads": 2,
        "admittedWorkloads": 1,
        "flavorsReservation": [{"name": "q-flavor", "resources": [cpu]}],
        "flavorsUsage": [{"name": "q-flavor", "resources": [used]}],
    }
    body = await queues.until("LocalQueue", "l", lambda body: body["status"]["reservingWorkloads"] == 2)
    usage = [{"name": "q-flavor", "resources": [{"name": "cpu", "total": "5500m"}]}]
    assert body["status"]["flavorsReservation"] == usage
    assert (condition(body, "Active") or {})["message"] == "Can submit new workloads to localQueue"

    await queues.delete("ClusterQueue", "q")
    active = await queues.until_reason("ClusterQueue", "q", "Terminating")
    assert active["message"] == "Can't admit new workloads; clusterQueue is terminating"
    await queues.until_reason("LocalQueue", "l", "ClusterQueueIsInactive")
    await queues.delete("Workload", "w1")
    body = await queues.until("ClusterQueue", "q", lambda body: body["status"]["reservingWorkloads"] == 1)
    assert body["status"]["admittedWorkloads"] == 0
    assert finalizers(body) == [FINALIZER]
    await queues.delete("Workload", "w2")
    await queues.until_gone("ClusterQueue", "q")
    await queues.until_reason("LocalQueue", "l", "ClusterQueueDoesNotExist")


async def test_what_a_queue_lacks_and_what_it_keeps(queues: Queues, kept: QuotaState) -> None:
    await queues.make("LocalQueue", "l", {"clusterQueue": "q"})
    await queues.until_reason("LocalQueue", "l", "ClusterQueueDoesNotExist")
    await queues.make("ClusterQueue", "q", cluster_queue(checks=["q-check"]))
    active = await queues.until_reason("ClusterQueue", "q", "FlavorNotFound")
    assert active["message"] == (
        "Can't admit new workloads: references missing ResourceFlavor(s): q-flavor, "
        "references missing AdmissionCheck(s): q-check."
    )
    await queues.make("ResourceFlavor", "q-flavor")
    await queues.until_reason("ClusterQueue", "q", "AdmissionCheckNotFound")
    await queues.make("AdmissionCheck", "q-check", {"controllerName": "example.com/none"})
    await queues.until_reason("ClusterQueue", "q", "AdmissionCheckInactive")
    on = {"type": "Active", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": NOW}
    await queues.patch("AdmissionCheck", "q-check", {"status": {"conditions": [on]}}, "status")
    await queues.until_reason("ClusterQueue", "q", "Ready")
    await queues.until_reason("LocalQueue", "l", "Ready")
    for policy in ("Hold", "HoldAndDrain"):
        await queues.patch("ClusterQueue", "q", {"spec": {"stopPolicy": policy}})
        await queues.until_reason("ClusterQueue", "q", "Stopped")
        await queues.until_reason("LocalQueue", "l", "ClusterQueueIsInactive")
        await queues.patch("ClusterQueue", "q", {"spec": {"stopPolicy": "None"}})
        await queues.until_reason("LocalQueue", "l", "Ready")
    await queues.patch("LocalQueue", "l", {"spec": {"stopPolicy": "Hold"}})
    await queues.until_reason("LocalQueue", "l", "Stopped")

    for kind, name in (("ResourceFlavor", "q-flavor"), ("AdmissionCheck", "q-check")):
        await queues.until(kind, name, finalizers)
        await queues.delete(kind, name)
        assert await queues.find(kind, name) is not None
    await queues.until_reason("ClusterQueue", "q", "Ready")
    await queues.patch("ClusterQueue", "q", {"spec": {"admissionChecksStrategy": None}})
    await queues.until_gone("AdmissionCheck", "q-check")
    await queues.delete("ClusterQueue", "q")
    await queues.until_gone("ClusterQueue", "q")
    await queues.until_gone("ResourceFlavor", "q-flavor")


async def test_what_kueue_wrote_is_replaced(queues: Queues, api_plane: ControlPlane) -> None:
    """Also what it listed and is there no longer, and with the finalizer that it added."""
    old = {"name": "old", "resources": [{"name": "cpu", "total": "7", "borrowed": "0"}]}
    status = {
        "conditions": [
            {"type": "Active", "status": "False", "reason": "X", "message": "x", "lastTransitionTime": NOW},
            {
                "type": "example.com/Own",
                "status": "True",
                "reason": "X",
                "message": "x",
                "lastTransitionTime": NOW,
            },
        ],
        "pendingWorkloads": 9,
        "flavorsReservation": [old],
        "flavorsUsage": [old],
        "fairSharing": {"weightedShare": 5},
    }
    await queues.make("ResourceFlavor", "q-flavor")
    await queues.make("ClusterQueue", "q", cluster_queue(), finalizers=["example.com/own", FINALIZER])
    await queues.patch("ClusterQueue", "q", {"status": status}, "status")
    async with keeping_queues(api_plane):
        body = await queues.until("ClusterQueue", "q", lambda body: "fairSharing" not in body["status"])
        listed = [each["name"] for each in body["status"]["flavorsReservation"]]
        assert (listed, body["status"]["pendingWorkloads"]) == (["q-flavor"], 0)
        assert (condition(body, "Active") or {})["reason"] == "Ready"
        assert condition(body, "example.com/Own") is not None
        managers = [
            each["manager"] for each in body["metadata"]["managedFields"] if each["operation"] == "Apply"
        ]
        assert managers == [FIELD_MANAGER]
        await queues.delete("ClusterQueue", "q")
        body = await queues.until("ClusterQueue", "q", lambda body: FINALIZER not in finalizers(body))
        assert finalizers(body) == ["example.com/own"]


async def test_a_workload_that_cannot_be_read_is_named(queues: Queues, kept: QuotaState) -> None:
    await queues.make("ResourceFlavor", "q-flavor")
    await queues.make("ClusterQueue", "q", cluster_queue())
    await queues.make("LocalQueue", "l", {"clusterQueue": "q"})
    await queues.make("Workload", "w", workload("l", "3"))
    await queues.holds("w", "3", "q")
    await queues.until(
        "ClusterQueue", "q", lambda body: body.get("status", {}).get("reservingWorkloads") == 1
    )
    usage = {"name": "main", "flavors": {"cpu": "q-flavor"}, "resourceUsage": {"cpu": "-1"}}
    broken = {"status": {"admission": {"clusterQueue": "q", "podSetAssignments": [usage]}}}
    await queues.patch("Workload", "w", broken, "status")
    body = await queues.until(
        "ClusterQueue",
        "q",
        lambda body: (condition(body, "Active") or {})["message"].endswith(
            "; 1 object cannot be read, and the last readable state counts: Workload queues/w"
        ),
    )
    assert body["status"]["flavorsReservation"][0]["resources"][0]["total"] == "3"
    await queues.delete("Workload", "w")
    await queues.until("ClusterQueue", "q", lambda body: body["status"]["reservingWorkloads"] == 0)
    await queues.until(
        "ClusterQueue",
        "q",
        lambda body: (condition(body, "Active") or {})["message"] == "Can admit new workloads",
    )


async def test_workloads_of_nobody_lose_the_finalizer_and_others_keep_it(
    queues: Queues, kept: QuotaState
) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
    for name, owners in (("free", None), ("owned", [owner])):
        extra = {"finalizers": [FINALIZER], **({"ownerReferences": owners} if owners else {})}
        await queues.make("Workload", name, workload("l", "1"), **extra)
        await queues.delete("Workload", name)
    await queues.until_gone("Workload", "free")
    body = await queues.find("Workload", "owned")
    assert body is not None
    assert finalizers(body) == [FINALIZER]


async def test_shares_of_queues_and_cohorts(queues: Queues, api_plane: ControlPlane) -> None:
    await queues.make("ResourceFlavor", "q-flavor")
    await queues.make("Cohort", "q-team")
    await queues.make("ClusterQueue", "q", cluster_queue(2, "q-team"))
    await queues.make("ClusterQueue", "lender", cluster_queue(6, "q-team"))
    await queues.make("LocalQueue", "l", {"clusterQueue": "q"})
    await queues.make("Workload", "w", workload("l", "4"))
    async with keeping_queues(api_plane, fair_sharing=True):
        await queues.until("Cohort", "q-team", lambda body: body.get("status", {}).get("fairSharing"))
        await queues.holds("w", "4", "q")
        await queues.until(
            "ClusterQueue",
            "q",
            lambda body: body.get("status", {}).get("fairSharing") == {"weightedShare": 250},
        )
        await queues.patch("ClusterQueue", "lender", cluster_queue_quota(2))
        await queues.until(
            "ClusterQueue", "q", lambda body: body["status"]["fairSharing"]["weightedShare"] == 500
        )
    async with keeping_queues(api_plane):
        for kind, name in (("ClusterQueue", "q"), ("Cohort", "q-team")):
            await queues.until(kind, name, lambda body: "fairSharing" not in body["status"])


def cluster_queue_quota(cpus: int) -> Json:
    return {"spec": cluster_queue(cpus, "q-team")}


async def test_leaving(queues: Queues, api_plane: ControlPlane) -> None:
    await queues.make("ResourceFlavor", "q-flavor")
    await queues.make("AdmissionCheck", "q-check", {"controllerName": "example.com/none"})
    await queues.make("ClusterQueue", "q", cluster_queue(checks=["q-check"]), finalizers=["example.com/own"])
    made = ("ClusterQueue", "q"), ("ResourceFlavor", "q-flavor"), ("AdmissionCheck", "q-check")
    async with keeping_queues(api_plane):
        for kind, name in made:
            await queues.until(kind, name, lambda body: FINALIZER in finalizers(body))
    async with connected(api_plane.kubeconfig) as client:
        result = await sweep_all(client, QUEUE_FINALIZERS, lambda _: None)
    assert sorted(result.freed) == sorted(f"{kind} {name}" for kind, name in made)
    assert (result.errors, result.left) == ([], [])
    assert finalizers(await queues.find("ClusterQueue", "q") or {}) == ["example.com/own"]
    for kind, name in made[1:]:
        await queues.delete(kind, name)
        assert await queues.find(kind, name) is None
