"""What is said of everybody is what each decision alone says."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from api.fates import changes
from api.groups import POD_GROUP_LABEL
from api.plans import PreemptionPlanSpec
from nodes.answers.asking import decide_pod
from nodes.answers.fates import node_fates
from nodes.answers.plan_words import said_of, victims_of
from nodes.groups.keys import short_name
from nodes.search.decision import DecisionError, decide_group
from nodes.search.unmodelled import why_blocked
from nodes.state.snapshot import Snapshot
from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import snapshot_of

Object = dict[str, Any]


def decided(snapshot: Snapshot, kind: str, name: str) -> PreemptionPlanSpec | None:
    """The decision for the gang or the pod; None if there cannot be one."""
    namespace, _, name = name.partition("/")
    try:
        if kind == "Pod":
            return decide_pod(snapshot, namespace, name, strict=False)
        whole = next(
            key[1] for key in snapshot.group_keys if key[0] == namespace and short_name(key[1]) == name
        )
        return decide_group(snapshot, namespace, whole, strict=False)
    except DecisionError:
        return None


@st.composite
def doubled(draw: st.DrawFn) -> list[Object]:
    """Everything that waits is there twice, the second time with other names and another label.

    Sometimes something that decides differs, too.
    """
    objects = draw(clusters())
    priority, has_topology = draw(st.sampled_from((None, None, 0, 3, 1000))), draw(st.booleans())
    waiting = [each for each in objects if each["kind"] == "Pod" and not each["spec"].get("nodeName")]
    names = {(each["metadata"].get("labels") or {}).get(POD_GROUP_LABEL) for each in waiting}
    groups = [each for each in objects if each["kind"] == "PodGroup" and each["metadata"]["name"] in names]
    found = list(objects)
    for each in deepcopy([*groups, *waiting]):
        meta = each["metadata"]
        meta["name"] += "-twin"
        if meta.get("uid"):
            meta["uid"] += "-twin"
        if priority is not None:
            each["spec"]["priority"] = priority
            each["spec"].pop("priorityClassName", None)
        if not has_topology:
            each["spec"].pop("schedulingConstraints", None)
        if each["kind"] == "Pod":
            labels = meta["labels"] = {**(meta.get("labels") or {}), "twin": "true"}
            if POD_GROUP_LABEL in labels:
                labels[POD_GROUP_LABEL] += "-twin"
        found.append(each)
    return found


@settings(max_examples=examples(200))
@given(doubled())
def test_each_fate_is_that_of_a_decision_alone(objects: list[Object]) -> None:
    snapshot = snapshot_of(objects)
    fates = node_fates(snapshot)
    gone, might = set[str](), set[str]()
    for fate in (each for each in fates.values() if each.waits):
        spec = decided(snapshot, fate.kind, fate.name)
        if spec is None:
            assert fate.reason == "Misconfigured"
            continue
        assert fate.sentence == said_of(spec)
        goes_ahead = spec.outcome in ("Fits", "Preempts") and not why_blocked(spec)
        known = spec.outcome if not spec.not_modelled else "Unknown"
        assert fate.state == (known if goes_ahead else "Waits")
        if fate.state != "Unknown":
            assert fate.because == (victims_of(spec) if goes_ahead else ())
        if goes_ahead:
            pods = {f"{pod.namespace}/{pod.name}" for victim in spec.victims for pod in victim.pods}
            gone, might = (gone | pods, might) if known != "Unknown" else (gone, might | pods)
    running = {key.partition("running Pod ")[2]: fate for key, fate in fates.items() if not fate.waits}
    assert {name for name, fate in running.items() if fate.state == "Preempted"} == gone
    assert {name for name, fate in running.items() if fate.state == "Unknown"} == might - gone
    assert {fate.state for fate in running.values()} <= {"Preempted", "Unknown", "Stays"}
    for name, fate in running.items():
        assert (fate.state != "Stays") == bool(fate.because), name


@settings(max_examples=examples(50))
@given(clusters())
def test_the_same_cluster_changes_nothing(objects: list[Object]) -> None:
    again = list(reversed(deepcopy(objects)))
    assert changes(node_fates(snapshot_of(objects)), node_fates(snapshot_of(again))) == []
