"""Which group a pod belongs to, by what the pod says itself."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.groups.forms import asking, implied
from nodes.groups.keys import foreign_name, is_foreign, short_name
from nodes.groups.registry import group_of, groups_of
from nodes.state.groups.owner_groups import OwnerGroups
from tests.kit.objects import gang, pod

GANG = {"reprieve.dev/gang": "true"}
NO_GANG = {"reprieve.dev/gang": "false"}
KUBEFLOW = ("kubeflow.org/v1", "PyTorchJob", "train")


def job_set(job: str = "sim-workers-0", **labels: str) -> dict[str, Any]:
    """A pod of a JobSet: who controls it, and its labels."""
    named = {"jobset-name": "sim", "replicatedjob-name": "workers", "job-index": "0"} | labels
    return {
        "owner": ("batch/v1", "Job", job),
        "labels": {f"jobset.sigs.k8s.io/{key.replace('_', '-')}": value for key, value in named.items()},
    }


def replica(stateful_set: str, index: str = "0") -> dict[str, Any]:
    """A pod of a LeaderWorkerSet: who controls it, and its labels."""
    return {
        "owner": ("apps/v1", "StatefulSet", stateful_set),
        "labels": {
            "leaderworkerset.sigs.k8s.io/name": "llm",
            "leaderworkerset.sigs.k8s.io/group-index": index,
        },
    }


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"group": "a"}, "a"),
        ({"schedulingGroup": {"podGroupName": "a"}}, "podgroups.scheduling.k8s.io:a"),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "a"}}, "podgroups.scheduling.x-k8s.io:a"),
        ({"labels": {"pod-group.scheduling.sigs.k8s.io": "a"}}, "podgroups.scheduling.x-k8s.io:a"),
        ({"annotations": {"scheduling.k8s.io/group-name": "a"}}, "podgroups.scheduling.volcano.sh:a"),
        ({"annotations": {"scheduling.volcano.sh/group-name": "a"}}, "podgroups.scheduling.volcano.sh:a"),
        ({"owner": KUBEFLOW}, "PyTorchJob.kubeflow.org:train:uid-train"),
        ({"owner": ("kubeflow.org/v2beta1", "MPIJob", "mpi")}, "MPIJob.kubeflow.org:mpi:uid-mpi"),
        (job_set(), "JobSet.jobset.x-k8s.io:sim"),
        (job_set(jobset_uid="u1"), "JobSet.jobset.x-k8s.io:sim:u1"),
        (replica("llm"), "LeaderWorkerSet.leaderworkerset.x-k8s.io:llm-0"),
        (replica("llm-0"), "LeaderWorkerSet.leaderworkerset.x-k8s.io:llm-0"),
        ({"owner": ("batch/v1", "Job", "array"), "annotations": GANG}, "Job.batch:array:uid-array"),
        ({"owner": ("ray.io/v1", "RayCluster", "r"), "annotations": GANG}, "RayCluster.ray.io:r:uid-r"),
    ],
)
def test_each_kind_has_keys_of_its_own(fields: dict[str, Any], name: str) -> None:
    assert OwnerGroups("Victims").unit_of(pod("p", namespace="team", **fields)) == ("team", name)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"schedulingGroup": {}},
        {"schedulingGroup": {"podGroupName": ""}},
        {"labels": {"scheduling.x-k8s.io/pod-group": ""}},
        {"annotations": {"scheduling.k8s.io/group-name": "No Name"}},
        {"annotations": {"scheduling.k8s.io/group-name": "a:b"}},
        {"annotations": {"scheduling.k8s.io/group-name": "a" * 254}},
        {"annotations": {"scheduling.k8s.io/group-name": "podgroup-uid-team-p"}, "namespace": "team"},
        {"annotations": {"scheduling.k8s.io/group-name": "podgroup-uid-web"}, "controller": "web"},
        {"owner": KUBEFLOW, "annotations": NO_GANG},
        {"owner": ("example.org/v1", "PyTorchJob", "other")},
        {"owner": ("kubeflow.org/v1", "Notebook", "note")},
        {"owner": ("batch/v1", "Job", "array")},
        {"owner": ("ray.io/v1", "RayCluster", "r")},
        {"owner": ("apps/v1", "DaemonSet", "agent"), "annotations": GANG},
        {"annotations": GANG},
        job_set("other"),
        job_set(replicatedjob_name="leader"),
        {**job_set(), "owner": ("apps/v1", "ReplicaSet", "sim-workers-0")},
        {**job_set(), "owner": None},
        replica("other"),
        replica("llm-1"),
        {**replica("llm"), "owner": None},
        {**replica("llm", "1-2")},
        {**replica("llm-1-2", "1-2")},
        {"owner": ("kubeflow.org/v1", "PyTorchJob", "train:uid-train")},
        {"owner": ("kubeflow.org/v1", "PyTorchJob", "t" * 254)},
        {"owner": ("v1", "JobSet.jobset.x-k8s.io:sim", "a"), "annotations": GANG},
        {"owner": ("example.org/v1", "K" * 64, "a"), "annotations": GANG},
        {"owner": ("example.org:8443/v1", "Kind", "a"), "annotations": GANG},
        {"owner": ("g" * 254 + "/v1", "Kind", "a"), "annotations": GANG},
    ],
)
def test_what_makes_no_group(fields: dict[str, Any]) -> None:
    assert OwnerGroups("Victims").unit_of(pod("p", **fields)) is None


def test_a_group_that_volcano_made_by_itself_does_not_hide_the_owner() -> None:
    made_up = {"scheduling.k8s.io/group-name": "podgroup-uid-train"}
    key = OwnerGroups("Victims").unit_of(pod("p", owner=KUBEFLOW, annotations=made_up))
    assert key == ("default", "PyTorchJob.kubeflow.org:train:uid-train")


def test_the_order_of_the_kinds() -> None:
    """Native, ours, scheduler-plugins, Volcano, owner."""
    fields: dict[str, Any] = {
        "owner": KUBEFLOW,
        "annotations": {"scheduling.k8s.io/group-name": "volcano"},
        "labels": {"scheduling.x-k8s.io/pod-group": "plugin"},
        "group": "ours",
        "schedulingGroup": {"podGroupName": "native"},
    }
    seen = []
    for said in ("schedulingGroup", "group", "labels", "annotations", "owner"):
        names = groups_of(pod("p", **fields))
        key = OwnerGroups("Victims").unit_of(pod("p", **fields))
        assert key is not None
        seen.append(key[1])
        assert names == ([key[1], *names[1:]] if names else [])
        assert len(names) == len(fields) - 1  # the owner is not said
        del fields[said]
    assert seen == [
        "podgroups.scheduling.k8s.io:native",
        "ours",
        "podgroups.scheduling.x-k8s.io:plugin",
        "podgroups.scheduling.volcano.sh:volcano",
        "PyTorchJob.kubeflow.org:train:uid-train",
    ]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"owner": KUBEFLOW}, None),
        (job_set(), None),
        (replica("llm"), None),
        ({"owner": KUBEFLOW, "annotations": GANG}, "PyTorchJob.kubeflow.org:train:uid-train"),
        ({**job_set(), "annotations": GANG}, "JobSet.jobset.x-k8s.io:sim"),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "a"}}, "podgroups.scheduling.x-k8s.io:a"),
    ],
)
def test_owners_can_be_left_out(fields: dict[str, Any], name: str | None) -> None:
    """What a pod says itself still counts."""
    key = OwnerGroups("Off").unit_of(pod("p", **fields))
    assert key == (("default", name) if name else None)


def test_the_group_of_ours_that_a_pod_names() -> None:
    assert group_of(pod("p", group="a")) == ("default", "a")
    assert group_of(pod("p", owner=KUBEFLOW)) is None
    assert group_of(pod("p", schedulingGroup={"podGroupName": "a"})) is None
    assert group_of(pod("p", group="a", schedulingGroup={"podGroupName": "b"})) == ("default", "a")
    assert group_of(pod("p", group="a", owner=KUBEFLOW)) == ("default", "a")


def test_names_tell_the_kind() -> None:
    name = foreign_name("PyTorchJob.kubeflow.org", "train", "uid-1")
    assert is_foreign(name)
    assert not is_foreign("train")
    assert short_name(name) == "PyTorchJob.kubeflow.org:train"
    assert short_name("default/train") == "default/train"


def test_an_implied_group_has_a_uid_of_its_own() -> None:
    """Plans name victims by UID: two groups never share one, and it is the same on every machine."""
    known = implied("a", foreign_name("PyTorchJob.kubeflow.org", "train", "uid-1"))
    assert known.metadata.uid == "uid-1"
    one, other = (implied(namespace, foreign_name("podgroups.x", "train")) for namespace in ("a", "b"))
    assert one.metadata.uid == implied("a", foreign_name("podgroups.x", "train")).metadata.uid
    assert len({one.metadata.uid, other.metadata.uid, ""}) == 3


def test_only_our_groups_speak_for_their_pods() -> None:
    ours = gang(minimum=1)
    assert asking(ours) is ours
    assert asking(implied("a", "x:y")) is None
    assert asking(None) is None
