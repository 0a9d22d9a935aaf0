"""What an admission adds to pods, and what it must not contradict."""

from __future__ import annotations

import msgspec
import pytest

from api.core import PodSpec, TimedToleration, Toleration
from api.kueue import ResourceFlavor, ResourceFlavorSpec
from api.meta import ObjectMeta
from api.podsets import PodSet, PodSetAssignment, PodSetUpdate, PodTemplate
from api.workloads import Admission, AdmissionCheckState, Workload, WorkloadSpec, WorkloadStatus
from quota.cycle.pod_set_infos import PodSetConflict, PodSetInfo, pod_set_infos, with_info

SPOT = TimedToleration("spot", "Exists")
FLAVORS = {
    "spot": ResourceFlavor(
        metadata=ObjectMeta(name="spot"),
        spec=ResourceFlavorSpec(node_labels={"kind": "spot", "zone": "a"}, tolerations=[SPOT]),
    ),
    "zoned": ResourceFlavor(
        metadata=ObjectMeta(name="zoned"), spec=ResourceFlavorSpec(node_labels={"zone": "b"})
    ),
}


def workload(*updates: PodSetUpdate, **flavors: str) -> Workload:
    """Two pods of four have quota. Each update comes from a check of its own."""
    checks = [
        AdmissionCheckState(f"check-{number}", "Ready", "2026-01-01T00:00:00Z", "", pod_set_updates=[update])
        for number, update in enumerate(updates)
    ]
    admission = Admission("q", [PodSetAssignment("main", flavors=flavors, count=2)])
    return Workload(
        metadata=ObjectMeta(name="w", namespace="ns"),
        spec=WorkloadSpec(pod_sets=[PodSet(PodTemplate(), count=4)]),
        status=WorkloadStatus(admission=admission, admission_checks=checks),
    )


def test_without_an_admission_nothing_is_added() -> None:
    pending = msgspec.structs.replace(workload(cpu="spot"), status=WorkloadStatus())
    assert pod_set_infos(pending, FLAVORS) == []


def test_flavors_and_checks_are_added_up() -> None:
    """A flavor that gives two resources counts once, and one that is gone adds nothing."""
    update = PodSetUpdate(
        "main", {"l": "1"}, {"a": "2"}, {"zone": "a", "rack": "r"}, [SPOT, TimedToleration("x")]
    )
    (info,) = pod_set_infos(workload(update, cpu="spot", gpu="spot", memory="gone"), FLAVORS)
    assert info == PodSetInfo(
        "main",
        2,
        {"l": "1"},
        {"a": "2"},
        {"kind": "spot", "zone": "a", "rack": "r"},
        (SPOT, TimedToleration("x")),
    )


def test_an_update_of_another_pod_set_is_not_added() -> None:
    (info,) = pod_set_infos(workload(PodSetUpdate("other", {"l": "1"}), cpu="spot"), FLAVORS)
    assert info.labels == {}


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (workload(cpu="spot", gpu="zoned"), "nodeSelector zone: ResourceFlavor zoned asks for 'b', and 'a'"),
        (
            workload(PodSetUpdate("main", node_selector={"zone": "c"}), cpu="zoned"),
            "nodeSelector zone: AdmissionCheck check-0 asks for 'c', and 'b'",
        ),
        (
            workload(PodSetUpdate("main", {"l": "1"}), PodSetUpdate("main", {"l": "2"}), cpu="spot"),
            "label l: AdmissionCheck check-1 asks for '2', and '1'",
        ),
    ],
    ids=["two flavors", "a flavor and a check", "two checks"],
)
def test_two_values_for_one_key_are_a_conflict(made: Workload, message: str) -> None:
    with pytest.raises(PodSetConflict) as error:
        pod_set_infos(made, FLAVORS)
    assert str(error.value).startswith(message)


def test_a_template_with_another_value_is_a_conflict() -> None:
    (info,) = pod_set_infos(workload(PodSetUpdate("main", {"l": "1"}), cpu="zoned"), FLAVORS)
    both = with_info(PodTemplate(spec=PodSpec(node_selector={"zone": "b", "own": "x"})), info)
    assert both.spec.node_selector == {"zone": "b", "own": "x"}
    assert both.metadata is not None
    assert both.metadata.labels == {"l": "1"}
    with pytest.raises(PodSetConflict, match="the admission of pod set main asks for 'b', and 'c' is there"):
        with_info(PodTemplate(spec=PodSpec(node_selector={"zone": "c"})), info)
    with pytest.raises(PodSetConflict, match="label l"):
        with_info(PodTemplate(metadata=ObjectMeta(labels={"l": "2"})), info)


def test_tolerations_are_added_once() -> None:
    (info,) = pod_set_infos(workload(cpu="spot"), FLAVORS)
    both = with_info(PodTemplate(spec=PodSpec(tolerations=[Toleration("own"), SPOT])), info)
    assert both.spec.tolerations == [Toleration("own"), SPOT]
