"""Write a dump of a cluster as `kubectl get -o json` does, for `reprieve plan`: python -m bench.dump PATH.

5,000 nodes, 150,000 pods, 250 racks, 40 priorities and a gang of 1,000: about 85 MB. Then measure:
time reprieve plan -f PATH --for default/hero
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from bench.decisions import RACKS, running
from hack.controlplane import objects
from hack.controlplane.client import Json

__all__ = ["dump"]


CONDITIONS: Final = [
    {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for kind in ("Ready", "PodScheduled")
]
"""What makes a pod about as long as in a cluster."""


def dump(path: Path, nodes: int = RACKS.nodes, pods_per_node: int = RACKS.pods_per_node) -> None:
    """Write the dump. With fewer nodes there are fewer racks, and the gang is smaller."""
    share = nodes / RACKS.nodes
    racks, gang = (max(1, round(share * each)) for each in (RACKS.racks, RACKS.gang))
    case = replace(RACKS, nodes=nodes, pods_per_node=pods_per_node, racks=racks, gang=gang)
    dice = random.Random(0)
    items: list[Json] = [
        objects.node(f"n{i:05}", cpu=str(4 * case.pods_per_node), labels={"rack": f"r{i % case.racks}"})
        for i in range(case.nodes)
    ]
    for i in range(case.nodes * case.pods_per_node):
        pod = running(case, i, dice)
        pod["status"]["conditions"] = CONDITIONS
        items.append(pod)
    items.append(objects.pod_group("hero", min_count=case.gang, topology=case.topology, priority=1000))
    items += [objects.pod(f"hero-{i:04}", cpu="2", group="hero", priority=1000) for i in range(case.gang)]
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))


if __name__ == "__main__":
    dump(Path(sys.argv[1]))
