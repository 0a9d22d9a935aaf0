"""A pod's class is the same whether or not pods like it were seen before."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from api.core import Pod
from controllers.gangs.scheduler.configuration import parse
from hack.fidelity.worlds import random_world
from nodes.filters.profile import Profiles
from nodes.state.columns.classes import PodClass, pod_class
from nodes.state.columns.known_classes import KnownClasses
from tests.kit.examples import examples

TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]
ASKED = [{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": 1}, {"cpu": 1.0}]
RESIZES = ["Infeasible", "Deferred"]


def varied(pod: dict[str, Any], random: Random, number: int) -> Pod:
    """The pod with other names and times, and with random values where a cluster's own components write."""
    meta, spec = {**pod["metadata"]}, {**pod["spec"]}
    meta |= {"name": f"pod-{number}", "uid": f"uid-{number}", "annotations": {"note": str(number)}}
    meta["creationTimestamp"] = random.choice(TIMES)
    spec |= {"nodeName": random.choice(["", "n1", "n2"]), "priority": random.choice([0, 5])}
    spec["preemptionPolicy"] = random.choice([None, "Never"])
    spec["schedulingGates"] = random.choice([None, [{"name": "x.io/gate"}]])
    spec["terminationGracePeriodSeconds"] = random.choice([None, 0, 60])
    token = {"name": f"kube-api-access-{number}", "projected": {"sources": []}}
    spec["volumes"] = [*(spec.get("volumes") or []), *random.choice([[], [token]])]
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": random.choice(TIMES)}]
    if random.random() < 0.3:
        resize = {"type": "PodResizePending", "status": "True", "reason": random.choice(RESIZES)}
        conditions.append(resize)
    status: dict[str, Any] = {"phase": random.choice(["Pending", "Running"]), "conditions": conditions}
    status["startTime"] = random.choice([None, *TIMES])
    if random.random() < 0.3:
        names = [each["name"] for each in spec["containers"]]
        status["containerStatuses"] = [
            {"name": name, "allocatedResources": random.choice(ASKED)} for name in names
        ]
    if random.random() < 0.3:
        spec["resources"] = {"requests": random.choice(ASKED)}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Pod)


def whole(its_class: PodClass) -> tuple[Any, ...]:
    """Everything that a class says: comparing classes looks at their keys alone."""
    return tuple(getattr(its_class, name) for name in PodClass.__dataclass_fields__)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32))
def test_pods_seen_before_make_no_difference(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)
    configuration = world.configuration
    profiles: Profiles = parse(msgspec.json.encode(configuration).decode()).profiles if configuration else {}
    known = KnownClasses(profiles)
    pods = [varied(each, random, number) for number, each in enumerate([*world.pods, *world.members] * 3)]
    for pod in pods:
        assert whole(known.of(pod)) == whole(pod_class(pod, profiles))
