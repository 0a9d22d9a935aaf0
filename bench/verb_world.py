"""What the verbs are measured on: 5,000 nodes, each with a pod, and a gang that makes room on 50 of them.

There are only etcd and the API server, so no scheduler calls in between, and a pod that is deleted stays: its grace
period never ends. So the gang's plan stands still while its victims leave.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from hack.controlplane import objects
from hack.controlplane.client import Client, Json

__all__ = ["Case", "cases", "fill", "preempt_by_gang"]

NODES: Final = 5_000
RESERVED: Final = 50
NAMESPACE: Final = "default"
GROUP: Final = "hero"
GRACE_SECONDS: Final = 36_000
LIMIT_SECONDS: Final = 120.0
EVERYWHERE: Final = [{"operator": "Exists"}]
"""Nobody takes the not-ready taint off the nodes."""


@dataclass(frozen=True, slots=True)
class Case:
    """A request."""

    title: str
    verb: str
    names: int
    """How many nodes it names."""
    remaining: int
    """How many of them the answer should name."""
    body: bytes


def fill(client: Client) -> None:
    """Create nodes, a pod on each, and an ordinary pod that waits."""
    client.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": NAMESPACE},
        }
    )
    client.create_all(objects.priority_class(f"p{value}", value) for value in (10, 50, 100))
    client.create_all(
        objects.node(_node(i), labels={"bench": "reserved"} if i < RESERVED else {}) for i in range(NODES)
    )
    client.create_all(
        objects.pod(
            f"low-{i:04}",
            cpu="3600m",
            priority_class="p10",
            node_name=_node(i),
            grace_seconds=GRACE_SECONDS,
            tolerations=EVERYWHERE,
        )
        for i in range(NODES)
    )
    client.create(objects.pod("ordinary", cpu="3600m", priority_class="p50", tolerations=EVERYWHERE))


def preempt_by_gang(client: Client, present: Callable[[bytes], object]) -> None:
    """Create a gang that fits on the reserved nodes only, and return when its victims are leaving.

    `present` calls filter with a body, as a scheduler that tries a member.
    """
    client.create(objects.pod_group(GROUP, min_count=RESERVED, priority_class="p100"))
    members = [
        objects.pod(
            f"{GROUP}-{i}",
            group=GROUP,
            cpu="3600m",
            priority_class="p100",
            nodeSelector={"bench": "reserved"},
            tolerations=EVERYWHERE,
        )
        for i in range(RESERVED)
    ]
    client.create_all(members)
    deadline = time.monotonic() + LIMIT_SECONDS
    while sum(bool(pod["metadata"].get("deletionTimestamp")) for pod in _pods(client)) < RESERVED:
        if time.monotonic() > deadline:
            raise TimeoutError("the gang evicts nobody")
        present(_filter_body(client.get("v1", "Pod", f"{GROUP}-0", NAMESPACE), RESERVED))
        time.sleep(1)
    time.sleep(2)  # the last event arrives


def cases(client: Client, sizes: Sequence[int], *, has_gang: bool) -> Iterator[Case]:
    """The requests about the world as it is: with the gang, or before there was one."""
    if has_gang:
        reserved = f"{RESERVED} nodes reserved"
        yield from _cases(
            client, sizes, f"{reserved}, ordinary pod", "ordinary", lambda names: names - RESERVED
        )
        yield from _cases(client, sizes, f"{reserved}, held member", f"{GROUP}-0", lambda _: 0)
    else:
        yield from _cases(client, sizes, "no groups, ordinary pod", "ordinary", lambda names: names)


def _cases(
    client: Client, sizes: Sequence[int], title: str, name: str, remaining: Callable[[int], int]
) -> Iterator[Case]:
    pod = client.get("v1", "Pod", name, NAMESPACE)
    victims = {
        each["spec"]["nodeName"]: each["metadata"]["uid"]
        for each in _pods(client)
        if "nodeName" in each["spec"]
    }
    for names in sizes:
        yield Case(title, "filter", names, remaining(names), _filter_body(pod, names))
        yield Case(title, "preempt", names, remaining(names), _preempt_body(pod, names, victims))


def _filter_body(pod: Json, names: int) -> bytes:
    return orjson.dumps({"Pod": _sent(pod), "Nodes": None, "NodeNames": [_node(i) for i in range(names)]})


def _preempt_body(pod: Json, names: int, victims: dict[str, str]) -> bytes:
    candidates = {
        _node(i): {"Pods": [{"UID": victims[_node(i)]}], "NumPDBViolations": 0} for i in range(names)
    }
    return orjson.dumps({"Pod": _sent(pod), "NodeNameToVictims": None, "NodeNameToMetaVictims": candidates})


def _sent(pod: Json) -> Json:
    """The pod as the scheduler sends it: its cache does not keep who wrote which field."""
    meta = {name: value for name, value in pod["metadata"].items() if name != "managedFields"}
    return {"metadata": meta, "spec": pod["spec"], "status": pod["status"]}


def _pods(client: Client) -> list[Json]:
    return client.list("v1", "Pod", NAMESPACE)


def _node(index: int) -> str:
    return f"worker-{index:04}.example.internal"
