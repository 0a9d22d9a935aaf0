"""One sound object of every kind that the webhooks judge, and the same with something else in some places."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tests.kit.manifests import (
    TIME,
    cluster_queue,
    gate_state,
    group,
    pod_group,
    preemption,
    reserved,
    workload,
)
from webhooks.rules import Object

__all__ = ["JUNK", "SOUND", "spoiled"]

SOUND: list[Object] = [
    cluster_queue(
        annotations={"reprieve.dev/min-admit-duration": "1h"},
        preemption=preemption(withinClusterQueueConfig={"minAdmitDuration": "1h"}),
        fairSharing={"weight": "2"},
        namespaceSelector={
            "matchLabels": {"a": "b"},
            "matchExpressions": [{"key": "a", "operator": "Exists"}],
        },
        admissionChecksStrategy={"admissionChecks": [{"name": "c", "onFlavors": ["spot"]}]},
    ),
    {"kind": "Cohort", "metadata": {}, "spec": {"resourceGroups": [group(("cpu",), "spot")]}},
    {
        "kind": "ResourceFlavor",
        "metadata": {},
        "spec": {"nodeTaints": [{"key": "a", "effect": "NoSchedule"}]},
    },
    workload(
        annotations={"kueue.x-k8s.io/admission-gated-by": "a.b/c"},
        preemptionGates=[{"name": "gate"}],
        status=reserved(
            reclaimablePods=[{"name": "workers", "count": 1}],
            preemptionGates=[gate_state("gate", "Closed")],
            admissionChecks=[
                {
                    "name": "c",
                    "state": "Retry",
                    "lastTransitionTime": TIME,
                    "podSetUpdates": [{"name": "driver"}],
                }
            ],
        ),
    ),
    pod_group(priorityClassName="high", priority=1000, disruptionMode={"all": {}}),
    {"kind": "Pod", "metadata": {"labels": {"reprieve.dev/pod-group": "gang"}}, "spec": {"priority": 1}},
]
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", "-1", "1e1.5", "gate", "Open", TIME, "9999-12-31T23:59:59-24:00", "0000-01-01T00:00:00Z"]
    )
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


@st.composite
def spoiled(draw: st.DrawFn, sound: Object) -> Object:
    """The object with something else in one place, or several."""
    whole: Any = copy.deepcopy(sound)
    for _ in range(draw(st.integers(0, 3))):
        place = whole
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            keys = [key for key in keys if key != "kind"]
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], dict | list) or draw(st.integers(0, 4)) == 0:
                place[key] = draw(JUNK)
                break
            place = place[key]
    return dict(whole)
