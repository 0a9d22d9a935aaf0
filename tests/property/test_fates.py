"""What is said of everybody is what each decision alone says."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings

from api.fates import changes
from api.plans import PreemptionPlanSpec
from nodes.answers.asking import decide_pod
from nodes.answers.fates import node_fates
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


@settings(max_examples=examples(200))
@given(clusters())
def test_each_fate_is_that_of_a_decision_alone(objects: list[Object]) -> None:
    snapshot = snapshot_of(objects)
    fates = node_fates(snapshot)
    gone, might = set[str](), set[str]()
    for fate in (each for each in fates.values() if each.waits):
        spec = decided(snapshot, fate.kind, fate.name)
        if spec is None:
            assert fate.reason == "Misconfigured"
            continue
        goes_ahead = spec.outcome in ("Fits", "Preempts") and not why_blocked(spec)
        known = spec.outcome if not spec.not_modelled else "Unknown"
        assert fate.state == (known if goes_ahead else "Waits")
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
