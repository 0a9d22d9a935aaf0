"""What the nodes plane is asked about a Workload."""

from __future__ import annotations

import msgspec
import pytest

from api.core import TimedToleration
from api.kueue import ResourceFlavor, ResourceFlavorSpec
from api.meta import ObjectMeta, OwnerReference
from api.podsets import PodSetAssignment
from api.workloads import Admission, Workload
from controllers.quota.scheduling.asking import asking_of, owner_of
from quota.cycle.pod_set_infos import PodSetConflict
from quota.state.surroundings import NO_SURROUNDINGS
from runtime.exchange.placements import Owner
from tests.kit.quota.objects import workload

OWNER = Owner("Job", "ns", "job", "uid-job")
SPOT = TimedToleration("spot", "Exists")
FLAVORS = {
    name: ResourceFlavor(
        metadata=ObjectMeta(name=name),
        spec=ResourceFlavorSpec(node_labels={"zone": zone}, tolerations=[SPOT]),
    )
    for name, zone in (("a", "a"), ("b", "b"))
}


def admission(count: int, **flavors: str) -> Admission:
    return Admission("q", [PodSetAssignment("main", flavors=flavors, count=count)])


def with_owner(reference: OwnerReference) -> Workload:
    item = workload("w", "q", 1)
    meta = msgspec.structs.replace(item.metadata, owner_references=[reference])
    return msgspec.structs.replace(item, metadata=meta)


@pytest.mark.parametrize(
    ("reference", "owner"),
    [
        (OwnerReference("batch/v1", "Job", "job", "uid-job", controller=True), OWNER),
        (
            OwnerReference("reprieve.dev/v1alpha1", "PodGroup", "group", "uid-group", controller=True),
            Owner("PodGroup", "ns", "group", "uid-group"),
        ),
        (OwnerReference("batch/v1", "Job", "job", "uid-job"), None),
        (OwnerReference("example.com/v1", "Job", "job", "uid-job", controller=True), None),
        (OwnerReference("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", "u", controller=True), None),
    ],
)
def test_pods_are_known_of_jobs_and_our_groups_only(reference: OwnerReference, owner: Owner | None) -> None:
    assert owner_of(with_owner(reference)) == owner


def test_a_workload_without_owner_has_none() -> None:
    assert owner_of(workload("w", "q", 1)) is None


def test_pods_have_what_the_admission_adds() -> None:
    item = workload("w", "q", 1, count=3)
    item.spec.pod_sets[0].template.spec.node_selector = {"own": "x"}
    asking = asking_of(item, OWNER, NO_SURROUNDINGS, FLAVORS, admission(2, cpu="a"))
    assert (asking.namespace, asking.name, asking.uid, asking.owner) == ("ns", "w", "w", OWNER)
    (pods,) = asking.pods
    assert (pods.pod_set, pods.count) == ("main", 2)
    assert pods.pod.metadata.namespace == "ns"
    assert pods.pod.spec.node_selector == {"own": "x", "zone": "a"}
    assert pods.pod.spec.tolerations == [SPOT]


def test_without_an_admission_all_pods_are_asked_about() -> None:
    (pods,) = asking_of(workload("w", "q", 1, count=3), OWNER, NO_SURROUNDINGS, FLAVORS, None).pods
    assert (pods.count, pods.pod.spec.node_selector) == (3, None)


def test_flavors_that_conflict_are_an_error() -> None:
    with pytest.raises(PodSetConflict, match="nodeSelector zone"):
        asking_of(workload("w", "q", 1), OWNER, NO_SURROUNDINGS, FLAVORS, admission(1, cpu="a", memory="b"))
