"""A dump in which most pods differ: 500 applications, 40 priorities and five sizes make 100,000 classes of pods.

Each application asks for CPU of its own, and each priority for memory of its own, as where requests are fitted to
what pods use. Pods come in an order in which no two pods of a class are near one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hack.controlplane import objects
from hack.controlplane.client import Json

__all__ = ["items"]

APPLICATIONS: Final = 500
PRIORITIES: Final = 40
SIZES: Final = 5
CLASSES: Final = APPLICATIONS * PRIORITIES * SIZES
STRIDE: Final = 38_197
"""It has no divisor in common with CLASSES, so steps of this length come to all of them."""
SPREAD: Final = 2_654_435_761
"""Knuth's factor for hashes. It makes numbers that look like those of a cluster."""
DAY: Final = 86_400
SPARE: Final = 4000
"""Thousandths of a CPU that a node has above 4 CPU for each pod, which is what they request in the middle."""

TOLERATIONS: Final = [
    {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for what in ("not-ready", "unreachable")
]
"""What admission adds to every pod."""


def items(nodes: int, pods_per_node: int, racks: int, gang: int) -> Iterator[Json]:
    """Nodes that are full of pods, and a gang that needs half of a rack."""
    room = pods_per_node * 4000 + SPARE
    for i in range(nodes):
        yield objects.node(f"n{i:05}", cpu=f"{room}m", memory="4Ti", labels={"rack": f"r{i % racks}"})
    for i in range(nodes * pods_per_node):
        yield running(i, f"n{i // pods_per_node:05}")
    yield objects.pod_group("hero", min_count=gang, topology="rack", priority=1000)
    for i in range(gang):
        yield objects.pod(f"hero-{i:04}", cpu="2", group="hero", priority=1000)


def running(i: int, node: str) -> Json:
    """The pod number `i`, which runs. Of pods that come one after the other, each has another size."""
    rest, size = divmod(i * STRIDE % CLASSES, SIZES)
    app, priority = divmod(rest, PRIORITIES)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(i, app),
        "spec": _spec(app, priority, size, node),
        "status": _status(i),
    }


def _metadata(i: int, app: int) -> Json:
    mixed = i * SPREAD % 2**32
    return {
        "name": f"app-{app}-{app * SPREAD % 2**32:08x}-{mixed:08x}",
        "namespace": f"team-{app % 50}",
        "uid": f"{mixed:08x}-0000-4000-8000-{i:012x}",
        "resourceVersion": str(1_000_000 + i),
        "creationTimestamp": _time(mixed % (90 * DAY)),
        "labels": {
            "app.kubernetes.io/name": f"app-{app}",
            "app.kubernetes.io/part-of": f"product-{app % 40}",
            "pod-template-hash": f"{app * SPREAD % 2**32:08x}",
        },
    }


def _spec(app: int, priority: int, size: int, node: str) -> Json:
    amounts = {"cpu": f"{1250 * (size + 1) + app}m", "memory": f"{512 * (size + 1) + priority}Mi"}
    return {
        "containers": [
            {
                "name": "main",
                "image": f"images.example.com/app-{app}:1.0",
                "resources": {"requests": amounts, "limits": {"memory": amounts["memory"]}},
            }
        ],
        "nodeName": node,
        "priority": priority,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "tolerations": TOLERATIONS,
    }


def _status(i: int) -> Json:
    since = _time(i * SPREAD % 2**32 % (90 * DAY) + 3)
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
        for kind in ("Ready", "PodScheduled")
    ]
    return {"phase": "Running", "startTime": since, "conditions": conditions}


def _time(seconds: int) -> str:
    """Some time after 2026-01-01."""
    days, rest = divmod(seconds, DAY)
    month, day = divmod(days, 28)
    return f"2026-{month + 1:02}-{day + 1:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"
