"""The writes of a dispatched Job, sent bare: in the same order, to the same API servers, while no reprieve runs.

Their bodies are those of a Job that was dispatched before. Other components act as before: they make the pod of each
Job that is resumed.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import orjson

from bench.dispatch_fleet import BATCH, KUEUE, MANAGER, job_body
from bench.dispatch_watching import JOBS, WORKLOADS
from hack.controlplane.client import Json
from hack.controlplane.fleet import Fleet
from hack.load.api import MERGE, Api

__all__ = ["Sample", "send"]

OWN: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers")
"""Metadata that the API server writes, and what nobody takes off."""
FINAL: Final = frozenset({"Admitted", "Finished"})


@dataclass(frozen=True)
class Sample:
    """The objects of a Job that runs in a worker cluster."""

    workload: Json
    copy: Json
    remote: Json
    status: Json
    """Of the Job here."""

    @classmethod
    def of(cls, fleet: Fleet, namespace: str, job: str) -> Self:
        """Of a Job whose pod runs."""
        client = fleet.manager.client
        found = client.list(KUEUE, "Workload", namespace)
        workload = next(each for each in found if each["metadata"]["ownerReferences"][0]["name"] == job)
        winner = fleet.workers[workload["status"]["clusterName"]].client
        return cls(
            _bare(workload),
            _bare(winner.get(KUEUE, "Workload", workload["metadata"]["name"], namespace)),
            _bare(winner.get(BATCH, "Job", job, namespace)),
            client.get(BATCH, "Job", job, namespace)["status"],
        )


def _bare(body: Json) -> Json:
    found = copy.deepcopy(body)
    for each in OWN:
        found["metadata"].pop(each, None)
    return found


async def send(apis: Mapping[str, Api], namespace: str, name: str, sample: Sample) -> None:
    """All writes of one Job, until its pod runs. `apis`: by cluster."""
    manager = apis[MANAGER]
    workloads, jobs = WORKLOADS.format(namespace), JOBS.format(namespace)
    workload, job = f"{workloads}/{name}", f"{jobs}/{name}"
    made = await manager.send("Job", "POST", jobs, job_body(namespace, name, dispatched=True))
    uid = orjson.loads(made)["metadata"]["uid"]
    body = _of(sample.workload, namespace, name)
    body["metadata"]["ownerReferences"] = [_owner(name, uid)]
    status = body.pop("status")
    await manager.send("Workload", "POST", workloads, body)
    reserved = {**status, "conditions": [each for each in status["conditions"] if each["type"] not in FINAL]}
    nominated = [each for each in apis if each != MANAGER]
    checks = [{**each, "state": "Pending"} for each in status["admissionChecks"]]
    reserved |= {"clusterName": None, "nominatedClusterNames": None, "admissionChecks": checks}
    await _patch(manager, workload, reserved)
    nomination = asyncio.create_task(_patch(manager, workload, {"nominatedClusterNames": nominated}))
    copies = {each: asyncio.create_task(_copy(apis[each], namespace, name, sample)) for each in nominated}
    await asyncio.wait(copies.values(), return_when=asyncio.FIRST_COMPLETED)
    winner = next(each for each, task in copies.items() if task.done())
    remote = _of(sample.remote, namespace, name, owned=False)
    for each in ("selector", "manualSelector"):
        remote["spec"].pop(each, None)
    remote["spec"]["suspend"] = True
    labels = remote["spec"]["template"]["metadata"].get("labels", {})
    for each in [each for each in labels if "job-name" in each or "controller-uid" in each]:
        del labels[each]
    remote.pop("status")
    await apis[winner].send("dry run", "POST", f"{jobs}?dryRun=All", remote)
    await nomination
    await _patch(manager, workload, {"clusterName": winner, "nominatedClusterNames": None})
    await asyncio.gather(*copies.values())
    others = [apis[each] for each in nominated if each != winner]
    await asyncio.gather(*(each.send("deletion", "DELETE", workload) for each in others))
    made = await apis[winner].send("Job", "POST", jobs, remote)
    ready = {"admissionChecks": status["admissionChecks"], "conditions": status["conditions"]}
    await _patch(manager, workload, ready)
    await asyncio.gather(
        _start(apis[winner], workload, job, orjson.loads(made)["metadata"]["uid"], name),
        _show(manager, job, sample.status),
    )


async def _copy(worker: Api, namespace: str, name: str, sample: Sample) -> None:
    body = _of(sample.copy, namespace, name, owned=False)
    status = body.pop("status")
    path = WORKLOADS.format(namespace)
    await worker.send("copy", "POST", path, body)
    await _patch(worker, f"{path}/{name}", status)


async def _start(worker: Api, workload: str, job: str, uid: str, name: str) -> None:
    """The worker's Job takes its Workload, and is resumed."""
    owner = {"metadata": {"ownerReferences": [_owner(name, uid)]}}
    await worker.send("owner", "PATCH", workload, owner, MERGE)
    await worker.send("start", "PATCH", job, {"spec": {"suspend": False}}, MERGE)


async def _show(manager: Api, job: str, status: Json) -> None:
    await manager.send("start", "PATCH", job, {"spec": {"suspend": False}}, MERGE)
    await _patch(manager, job, status)


async def _patch(api: Api, path: str, status: Json) -> None:
    await api.send("status", "PATCH", f"{path}/status", {"status": status}, MERGE)


def _of(body: Json, namespace: str, name: str, *, owned: bool = True) -> Json:
    """The same object with another name."""
    found = copy.deepcopy(body)
    found["metadata"] |= {"name": name, "namespace": namespace}
    if not owned:
        found["metadata"].pop("ownerReferences", None)
    return found


def _owner(name: str, uid: str) -> Json:
    return {"apiVersion": BATCH, "kind": "Job", "name": name, "uid": uid, "controller": True}
