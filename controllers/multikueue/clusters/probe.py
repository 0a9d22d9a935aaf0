"""Whether a worker cluster honours preemption gates.

A Workload that is inactive, and in no queue, gets a gate. A quota controller that honours gates writes their positions
into its status, whatever else it does with the Workload. Then the Workload is deleted again.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

import msgspec

from api.clock import Clock
from api.kueue import API_VERSION
from api.meta import ObjectMeta
from api.multikueue import GATES_CONDITION, MANAGER_NAMESPACE, MULTIKUEUE_GATE
from api.workloads import Workload
from controllers.multikueue.clusters.origin_lease import lease_name
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import Sender
from runtime.mirror.resources import KUEUE

__all__ = ["CONDITION", "NOT_SERVED", "Probed", "probe"]

CONDITION: Final = GATES_CONDITION
"""The condition of a MultiKueueCluster that says what came."""
NOT_SERVED: Final = "NotServed"
PATIENCE_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.2
COLLECTION: Final = f"{KUEUE}/namespaces/{MANAGER_NAMESPACE}/workloads"


class Probed(NamedTuple):
    """The result of a probe, as a condition."""

    honours: bool | None
    """None: it could not be tried."""
    reason: str
    message: str


async def probe(client: ApiClient, sender: Sender, origin: str, clock: Clock) -> Probed:
    """Try it. A failure of the API server is an answer, too. Raises FencedError."""
    name = f"{lease_name(origin)}-gates"
    try:
        made = await _make(sender, name)
        try:
            return await _wait(client, made, clock)
        finally:
            await _delete(sender, made.metadata)
    except ApiError as error:
        if error.reason == "Fenced":
            raise
        return Probed(
            None, "ProbeFailed", f"a Workload in {MANAGER_NAMESPACE} could not be tried: {error.message}"
        )


async def _make(sender: Sender, name: str) -> Workload:
    """Create it anew: one of its name is left from a process that was killed."""
    body = msgspec.json.encode(
        {
            "apiVersion": API_VERSION,
            "kind": "Workload",
            "metadata": {"name": name, "namespace": MANAGER_NAMESPACE},
            "spec": {
                "active": False,
                "preemptionGates": [{"name": MULTIKUEUE_GATE}],
                "podSets": [{"name": "main", "count": 1, "template": {"spec": _pod()}}],
            },
        }
    )
    try:
        return _read(await sender.send("probe of gates", "POST", COLLECTION, body=body))
    except ApiError as error:
        if error.status != 409:
            raise
    left = _read(await sender.send("probe of gates", "GET", f"{COLLECTION}/{name}"))
    await _delete(sender, left.metadata)
    return _read(await sender.send("probe of gates", "POST", COLLECTION, body=body))


def _pod() -> dict[str, object]:
    container = {"name": "probe", "image": "probe", "resources": {"requests": {"cpu": "1m"}}}
    return {"containers": [container], "restartPolicy": "Never"}


async def _wait(client: ApiClient, made: Workload, clock: Clock) -> Probed:
    if not made.spec.preemption_gates:
        return Probed(False, NOT_SERVED, "the Workloads there have no preemption gates")
    end = clock.monotonic() + PATIENCE_SECONDS
    path = f"{COLLECTION}/{made.metadata.name}"
    while True:
        workload = _read(await client.request("GET", path))
        if any(each.name == MULTIKUEUE_GATE for each in workload.status.preemption_gates or ()):
            return Probed(True, "Honoured", "the quota controller there honours preemption gates")
        if clock.monotonic() >= end:
            return Probed(
                False,
                "NotHonoured",
                f"no quota controller there wrote the state of a preemption gate within {PATIENCE_SECONDS:.0f} s",
            )
        await asyncio.sleep(LOOK_SECONDS)


async def _delete(sender: Sender, meta: ObjectMeta) -> None:
    body = msgspec.json.encode({"preconditions": {"uid": meta.uid}})
    try:
        await sender.send("probe of gates", "DELETE", f"{COLLECTION}/{meta.name}", body=body)
    except ApiError as error:
        if error.status not in (404, 409):  # it is gone, or another one has its name
            raise


def _read(body: bytes) -> Workload:
    try:
        return msgspec.json.decode(body, type=Workload)
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", "the answer is no Workload") from error
