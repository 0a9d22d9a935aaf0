"""Rules get through whatever is stored: any value of any type in any place."""

from __future__ import annotations

import copy
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.webhooks.rules import objects
from tests.unit.webhooks.rules.objects import CLASSES, NOW, TIME
from webhooks.rules import Object, Request, default, validate
from webhooks.settings import Settings

SOUND: list[Object] = [
    objects.cluster_queue(
        annotations={"reprieve.dev/min-admit-duration": "1h"},
        preemption=objects.preemption(withinClusterQueueConfig={"minAdmitDuration": "1h"}),
        fairSharing={"weight": "2"},
        namespaceSelector={
            "matchLabels": {"a": "b"},
            "matchExpressions": [{"key": "a", "operator": "Exists"}],
        },
        admissionChecksStrategy={"admissionChecks": [{"name": "c", "onFlavors": ["spot"]}]},
    ),
    {"kind": "Cohort", "metadata": {}, "spec": {"resourceGroups": [objects.group(("cpu",), "spot")]}},
    {
        "kind": "ResourceFlavor",
        "metadata": {},
        "spec": {"nodeTaints": [{"key": "a", "effect": "NoSchedule"}]},
    },
    objects.workload(
        annotations={"kueue.x-k8s.io/admission-gated-by": "a.b/c"},
        preemptionGates=[{"name": "gate"}],
        status=objects.reserved(
            reclaimablePods=[{"name": "workers", "count": 1}],
            preemptionGates=[objects.gate_state("gate", "Closed")],
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
    objects.pod_group(priorityClassName="high", priority=1000, disruptionMode={"all": {}}),
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


@st.composite
def requests(draw: st.DrawFn) -> Request:
    sound = draw(st.sampled_from(SOUND))
    operation: Literal["CREATE", "UPDATE"] = draw(st.sampled_from(["CREATE", "UPDATE"]))
    return Request(
        kind=sound["kind"],
        operation=operation,
        subresource=draw(st.sampled_from(["", "status"])),
        new=draw(spoiled(sound)),
        old=draw(spoiled(sound)) if operation == "UPDATE" else None,
        user=draw(st.sampled_from(["", "u"])),
        facts=CLASSES,
        settings=Settings(gate_openers={"gate": ("v",)}, beside_kueue=draw(st.booleans())),
        now=NOW,
    )


@settings(max_examples=600, deadline=None)
@given(requests())
def test_every_request_is_answered_and_left_as_it_was(request: Request) -> None:
    before = copy.deepcopy((request.new, request.old))
    completed = default(request)
    verdict = validate(request)
    assert (request.new, request.old) == before
    assert all(cause.field and cause.type and cause.message for cause in verdict.causes)
    # What is filled in stays as it is when the rest is written again.
    again = Request(
        kind=request.kind, operation="UPDATE", new=completed, old=completed, facts=CLASSES, now=NOW
    )
    assert default(again) is completed
