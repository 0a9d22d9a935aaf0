"""What the verbs are measured on: 5,000 nodes, each with a pod, and gangs that make room on 50 and on 1,000 of them.

There are only etcd and the API server, so no scheduler calls in between, and a pod that is deleted stays: its grace
period never ends. So a gang's plan stands still while its victims leave.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from hack.controlplane import objects
from hack.controlplane.client import Client, Json

__all__ = ["GANGS", "Case", "Gang", "cases", "fill", "grants", "preempt_by_gang"]

NODES: Final = 5_000
NAMESPACE: Final = "default"
GRANTS: Final = 200
"""Pods that filter has just let onto reserved nodes."""
GRACE_SECONDS: Final = 36_000
LIMIT_SECONDS: Final = 120.0
EVERYWHERE: Final = [{"operator": "Exists"}]
"""Nobody takes the not-ready taint off the nodes."""


@dataclass(frozen=True, slots=True)
class Gang:
    """A gang that fits on some nodes only, one member on each."""

    name: str
    first: int
    end: int
    """It fits on the nodes from `first` up to this one, which is left out."""

    @property
    def size(self) -> int:
        """The number of its members."""
        return self.end - self.first


GANGS: Final = (Gang("hero", 0, 50), Gang("crowd", 50, 1_000))
"""They come one after the other, and both stay. So 50 nodes are reserved at first, and then 1,000."""


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
    has_grants: bool = False
    """There are grants when it is sent (see `grants`)."""


def fill(client: Client) -> None:
    """Create nodes, a pod on each, and two ordinary pods that wait: only the small one fits beside a member."""
    client.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": NAMESPACE},
        }
    )
    client.create_all(objects.priority_class(f"p{value}", value) for value in (10, 50, 100))
    client.create_all(
        objects.node(_node(i), labels={gang.name: "fits" for gang in GANGS if gang.first <= i < gang.end})
        for i in range(NODES)
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
    client.create_all(
        objects.pod(name, cpu=cpu, priority_class="p50", tolerations=EVERYWHERE)
        for name, cpu in (("ordinary", "3600m"), ("small", "1m"))
    )


def preempt_by_gang(client: Client, gang: Gang, present: Callable[[bytes], object]) -> None:
    """Create the gang, and return when its victims are leaving.

    `present` calls filter with a body, as a scheduler that tries a member.
    """
    client.create(objects.pod_group(gang.name, min_count=gang.size, priority_class="p100"))
    client.create_all(
        objects.pod(
            f"{gang.name}-{i}",
            group=gang.name,
            cpu="3600m",
            priority_class="p100",
            nodeSelector={gang.name: "fits"},
            tolerations=EVERYWHERE,
        )
        for i in range(gang.size)
    )
    names = [_node(i) for i in range(gang.first, gang.end)]
    deadline = time.monotonic() + LIMIT_SECONDS
    while sum(bool(pod["metadata"].get("deletionTimestamp")) for pod in _pods(client)) < gang.end:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the gang {gang.name} evicts too few")
        present(_filter_body(client.get("v1", "Pod", f"{gang.name}-0", NAMESPACE), names))
        time.sleep(1)
    time.sleep(2)  # the last event arrives


def cases(client: Client, sizes: Sequence[int], gang: Gang | None) -> Iterator[Case]:
    """The requests about the world as it is: with the gang, which is the last one that came, or without any."""
    if gang is None:
        yield from _cases(client, sizes, "no groups, ordinary pod", "ordinary", lambda names: names)
        return
    reserved, most = f"{gang.end:,} nodes reserved", max(sizes)
    yield from _cases(
        client, sizes, f"{reserved}, ordinary pod", "ordinary", lambda names: max(0, names - gang.end)
    )
    yield from _cases(client, sizes, f"{reserved}, held member", f"{gang.name}-0", lambda _: 0)
    if gang is GANGS[-1]:
        for name, remaining in (("ordinary", most - gang.end), ("small", most)):
            pod = client.get("v1", "Pod", name, NAMESPACE)
            body = _filter_body(pod, [_node(i) for i in range(most)])
            title = f"{reserved}, {GRANTS} grants, {name} pod"
            yield Case(title, "filter", most, remaining, body, has_grants=True)


def grants(client: Client) -> Iterator[bytes]:
    """Filter calls for small pods. Each may use every second node. Filter remembers each for a while.

    A node takes 110 pods, so not all of them could use the same one.
    """
    pod = client.get("v1", "Pod", "small", NAMESPACE)
    for number in range(GRANTS):
        meta = {**pod["metadata"], "name": f"granted-{number}", "uid": f"granted-{number}"}
        names = [_node(i) for i in range(number % 2, NODES, 2)]
        yield _filter_body({**pod, "metadata": meta}, names)


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
        body = _filter_body(pod, [_node(i) for i in range(names)])
        yield Case(title, "filter", names, remaining(names), body)
        yield Case(title, "preempt", names, remaining(names), _preempt_body(pod, names, victims))


def _filter_body(pod: Json, names: Sequence[str]) -> bytes:
    return orjson.dumps({"Pod": _sent(pod), "Nodes": None, "NodeNames": names})


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
