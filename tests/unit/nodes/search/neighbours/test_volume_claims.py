"""Plans for gangs whose members mount claims: their nodes, their victims, and what is named."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import msgspec
import pytest

from api.plans import PreemptionPlanSpec
from nodes.search.decision import decide_group
from nodes.search.unmodelled import why_blocked
from nodes.state.pods.pod_facts import Change
from nodes.state.tables import Tables
from tests.kit.objects import gang, node, pod, tables
from tests.kit.plans.engine import STORAGE
from tests.unit.nodes.search.support import NS

ZONE = "topology.kubernetes.io/zone"
Json = dict[str, Any]


def claim(name: str = "c", *, volume: str = "", storage_class: str = "", **fields: Any) -> Json:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    meta = {"name": name, "namespace": NS, "uid": f"uid-{name}", "annotations": annotations}
    spec = {"volumeName": volume, "storageClassName": storage_class, **fields}
    return {"kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def volume(name: str, *, on: str = "", labels: Json | None = None, free: bool = False, **fields: Any) -> Json:
    """A PersistentVolume that the node `on` can use; `free`: claims of the class `local` may get it."""
    spec: Json = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"], **fields}
    if on:
        where = {"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}}
    if free:
        spec["storageClassName"] = "local"
    phase = "Available" if free else "Bound"
    meta = {"name": name, "labels": labels}
    return {"kind": "PersistentVolume", "metadata": meta, "spec": spec, "status": {"phase": phase}}


def storage_class(name: str, provisioner: str = "csi.example.com", **fields: Any) -> Json:
    waits = {"volumeBindingMode": "WaitForFirstConsumer"}
    return {"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner, **waits, **fields}


LOCAL = storage_class("local", "kubernetes.io/no-provisioner")


def csi_node(name: str, count: int) -> Json:
    driver = {"name": "csi.example.com", "allocatable": {"count": count}}
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [driver]}}


def mounts(*claims: str) -> list[Json]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def member(name: str, *claims: str, **fields: Any) -> Any:
    return pod(name, group="gang", requests={"cpu": "4"}, volumes=mounts(*claims), **fields)


def with_storage(found: Tables, *items: Json) -> Tables:
    for item in items:
        found.upsert_storage(msgspec.convert(item, STORAGE[item["kind"]]))
    return found


def nodes(count: int, **labels: str) -> list[Any]:
    return [node(f"n{i}", labels={"kubernetes.io/hostname": f"n{i}", **labels}) for i in range(count)]


def planned(*objects: Any) -> PreemptionPlanSpec:
    """The plan for the gang. Dictionaries describe storage."""
    items = [each for each in objects if isinstance(each, dict)]
    found = tables(*(each for each in objects if not isinstance(each, dict)))
    return decide_group(with_storage(found, *items).snapshot(), NS, "gang")


def places(plan: PreemptionPlanSpec) -> dict[str, str]:
    return {each.pod: each.node for each in plan.placements}


def test_a_bound_volume_says_where() -> None:
    low = [pod(f"low{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1) for i in range(3)]
    plan = planned(
        gang(minimum=1), *nodes(3), *low, member("m", "c"), claim(volume="pv"), volume("pv", on="n1")
    )
    assert (plan.outcome, places(plan), plan.not_modelled) == ("Preempts", {"m": "n1"}, [])
    assert [each.name for each in plan.victims] == ["low1"]


def test_zones_of_a_bound_volume() -> None:
    there = node("far", labels={ZONE: "b"})
    objects = gang(minimum=1), *nodes(1, **{ZONE: "a"}), there, member("m", "c"), claim(volume="pv")
    assert places(planned(*objects, volume("pv", labels={ZONE: "b"}))) == {"m": "far"}
    assert places(planned(*objects, volume("pv", labels={ZONE: "c__b"}))) == {"m": "far"}
    nowhere = planned(*objects, volume("pv", labels={ZONE: "c"}))
    assert "2 node(s) had no available volume zone" in nowhere.reason


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"volumeName": "pv"}, "pod has unbound immediate PersistentVolumeClaims"),
        ({}, "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_a_claim_that_must_be_bound_first(fields: Json, reason: str) -> None:
    waiting = claim()
    waiting["spec"] |= fields
    assert reason in planned(gang(minimum=1), *nodes(1), member("m", "c"), waiting).reason


def test_a_claim_that_is_going_is_of_no_use() -> None:
    going = claim(volume="pv")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    plan = planned(gang(minimum=1), *nodes(1), member("m", "c"), going, volume("pv"))
    assert 'persistentvolumeclaim "c" is being deleted' in plan.reason


@pytest.mark.parametrize(
    ("storage", "named"),
    [
        ([], "persistent volume claim"),
        ([claim(volume="pv")], "persistent volume that is not known"),
        ([claim(storage_class="fast")], "storage class that is not known"),
    ],
)
def test_what_is_not_known_is_named(storage: list[Json], named: str) -> None:
    """Files may leave it out."""
    plan = planned(gang(minimum=1), *nodes(1), member("m", "c"), *storage)
    assert (plan.outcome, plan.not_modelled) == ("Fits", [named])


@pytest.mark.parametrize(
    ("volumes", "storage", "reason"),
    [
        (mounts("c"), [], 'persistentvolumeclaim "c" not found'),
        (mounts("c"), [claim(volume="pv")], 'persistentvolume "pv" not found'),
        (mounts("c"), [claim(storage_class="fast")], "pod has unbound immediate PersistentVolumeClaims"),
        (
            [{"name": "v", "ephemeral": {}}],
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "m-v"',
        ),
    ],
    ids=["claim", "volume", "class", "ephemeral"],
)
def test_in_a_mirror_what_is_not_there_does_not_exist(
    volumes: list[Json], storage: list[Json], reason: str
) -> None:
    waits = pod("m", group="gang", volumes=volumes)
    found = Tables(is_complete=True)
    found.upsert_group(gang(minimum=1))
    found.upsert_node(*nodes(1))
    found.upsert_pod(waits)
    plan = decide_group(with_storage(found, *storage).snapshot(), NS, "gang")
    assert (plan.outcome, plan.not_modelled) == ("Unschedulable", [])
    assert reason in plan.reason
    behind, _ = found.behind(waits)
    assert behind is not None
    assert (bool(behind.unmodelled), behind.refusal) == (True, ""), "a pod to come gets its claims later"


DISKS: dict[str, tuple[str, Json]] = {
    "GCE persistent disk": ("kubernetes.io/gce-pd", {"gcePersistentDisk": {"pdName": "x"}}),
    "AWS EBS volume": ("kubernetes.io/aws-ebs", {"awsElasticBlockStore": {"volumeID": "x"}}),
    "Azure disk": ("kubernetes.io/azure-disk", {"azureDisk": {"diskName": "x", "diskURI": "x"}}),
    "Cinder volume": ("kubernetes.io/cinder", {"cinder": {"volumeID": "x"}}),
    "Portworx volume": ("kubernetes.io/portworx-volume", {"portworxVolume": {"volumeID": "x"}}),
}
"""Provisioner and source of the in-tree plugins that a CSI driver serves now."""


@pytest.mark.parametrize("named", DISKS)
def test_in_tree_volumes_are_named(named: str) -> None:
    """The scheduler takes them for volumes of a CSI driver, and counts them. Its word on a node settles it."""
    provisioner, source = DISKS[named]
    low = pod("low", node="n0", requests={"cpu": "4"}, priority=1)
    spec = pod("m", group="gang", requests={"cpu": "4"}, volumes=[{"name": "v", **source}])
    cluster = gang(minimum=1), *nodes(1), low
    disk = planned(*cluster, spec)
    bound = planned(*cluster, member("m", "c"), claim(volume="pv"), volume("pv", **source))
    waits = planned(*cluster, member("m", "c"), claim(storage_class="old"), storage_class("old", provisioner))
    assert [plan.not_modelled for plan in (disk, bound, waits)] == [
        [named],
        ["in-tree volume"],
        ["in-tree volume"],
    ]
    for plan in (disk, bound, waits):
        assert (plan.outcome, why_blocked(plan)) == ("Preempts", "")
        assert why_blocked(plan, asks=False) == f"not modelled: {plan.not_modelled[0]}"


@pytest.mark.parametrize("source", [{"nfs": {"server": "x", "path": "/"}}, {"hostPath": {"path": "/"}}])
def test_other_in_tree_volumes_are_no_matter(source: Json) -> None:
    spec = pod("m", group="gang", requests={"cpu": "4"}, volumes=[{"name": "v", **source}])
    assert planned(gang(minimum=1), *nodes(1), spec).not_modelled == []
    bound = claim(volume="pv"), volume("pv", **source)
    assert planned(gang(minimum=1), *nodes(1), member("m", "c"), *bound).not_modelled == []


def test_a_claim_is_free_once_its_pod_is_gone() -> None:
    """ReadWriteOncePod: the room on n1 is free, and yet the pod on n0 is evicted."""
    storage = claim(volume="pv", accessModes=["ReadWriteOncePod"]), volume("pv")
    plan = planned(gang(minimum=1), *nodes(2), user("user", "n0", "c", 1), member("m", "c"), *storage)
    assert plan.outcome == "Preempts"
    assert [each.name for each in plan.victims] == ["user"]
    safe = pod("user", node="n0", requests={"cpu": "1"}, priority=900, volumes=mounts("c"))
    assert planned(gang(minimum=1), *nodes(2), safe, member("m", "c"), *storage).outcome == "Unschedulable"
    shared = claim(volume="pv", accessModes=["ReadWriteOnce"])
    assert planned(gang(minimum=1), *nodes(2), safe, member("m", "c"), shared, storage[1]).outcome == "Fits"


def test_two_members_with_one_claim_of_one_pod() -> None:
    storage = claim(volume="pv", accessModes=["ReadWriteOncePod"]), volume("pv")
    low = [pod(f"low{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1) for i in range(2)]
    plan = planned(gang(), *nodes(2), *low, member("m0", "c"), member("m1", "c"), *storage)
    assert (plan.outcome, plan.not_modelled) == ("Unschedulable", [])
    assert plan.reason == "1 of 2 members can run: a claim with ReadWriteOncePod"


@pytest.mark.parametrize(("read_only", "outcome"), [(False, "Preempts"), (True, "Fits")])
def test_disks_that_pods_on_a_node_cannot_share(read_only: bool, outcome: str) -> None:
    disk = {"name": "v", "rbd": {"monitors": ["m"], "image": "i", "readOnly": read_only}}
    other = pod("user", node="n0", requests={"cpu": "1"}, priority=1, volumes=[disk])
    small = pod("m", group="gang", requests={"cpu": "1"}, volumes=[disk])
    assert planned(gang(minimum=1), *nodes(1), other, small).outcome == outcome


def test_unbound_claims_get_a_volume_each() -> None:
    claims = [claim(f"c{i}", storage_class="local") for i in range(2)]
    low = [pod(f"low{i}", node=f"n{i}", requests={"cpu": "4"}, priority=1) for i in range(3)]
    members = member("m0", "c0"), member("m1", "c1")
    free = [volume(f"pv{i}", on=f"n{i}", free=True) for i in (0, 2)]
    plan = planned(gang(), *nodes(3), *low, *members, *claims, LOCAL, *free)
    assert (plan.outcome, plan.not_modelled) == ("Preempts", [])
    assert sorted(places(plan).values()) == ["n0", "n2"]
    short = planned(gang(), *nodes(3), *low, *members, *claims, LOCAL, free[0])
    assert short.outcome == "Unschedulable"


def test_two_claims_that_may_want_one_volume_are_named() -> None:
    claims = [claim(f"c{i}", storage_class="local") for i in range(2)]
    members = [pod(f"m{i}", group="gang", requests={"cpu": "1"}, volumes=mounts(f"c{i}")) for i in range(2)]
    plan = planned(gang(), *nodes(1), *members, *claims, LOCAL, volume("pv", on="n0", free=True))
    assert plan.not_modelled == ["volumes that several claims want"]


def test_provisioning_by_topology_and_capacity() -> None:
    zoned = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    far = node("far", labels={ZONE: "b"})
    waiting = claim(storage_class="fast", resources={"requests": {"storage": "2Gi"}})
    objects = gang(minimum=1), *nodes(1, **{ZONE: "a"}), far, member("m", "c"), waiting
    assert places(planned(*objects, storage_class("fast", allowedTopologies=zoned))) == {"m": "far"}
    driver = {"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}}
    full = planned(*objects, storage_class("fast"), driver)
    assert "2 node(s) did not have enough free storage" in full.reason
    room: Json = {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "r", "namespace": NS},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {ZONE: "b"}},
        "capacity": "2Gi",
    }
    assert places(planned(*objects, storage_class("fast"), driver, room)) == {"m": "far"}
    room["maximumVolumeSize"] = "1Gi"
    assert planned(*objects, storage_class("fast"), driver, room).outcome == "Unschedulable"


def attached(*names: str) -> list[Json]:
    """Claims with a volume each, which a node has to attach."""
    volumes = [
        volume(f"pv-{name}", csi={"driver": "csi.example.com", "volumeHandle": name}) for name in names
    ]
    return [*(claim(name, volume=f"pv-{name}") for name in names), *volumes]


def user(name: str, node: str, used: str, priority: int, cpu: str = "1") -> Any:
    """A pod on the node that uses the claim."""
    return pod(name, node=node, requests={"cpu": cpu}, priority=priority, volumes=mounts(used))


@pytest.mark.parametrize(("count", "outcome"), [(1, "Unschedulable"), (2, "Preempts")])
def test_attach_limits_count_who_stays(count: int, outcome: str) -> None:
    """One volume of a pod that stays, and one of the member. The victim's volume goes with it."""
    stays, low = user("stays", "n0", "a", 900, "0"), user("low", "n0", "b", 1, "4")
    plan = planned(
        gang(minimum=1), *nodes(1), stays, low, member("m", "c"), *attached(*"abc"), csi_node("n0", count)
    )
    assert plan.outcome == outcome
    assert count == 2 or "1 node(s) exceed max volume count" in plan.reason


def test_a_pod_goes_because_its_volume_takes_the_slot() -> None:
    """There is room on both nodes. The volume of n0 leaves with its pod, and the scheduler has to say that it does."""
    low, safe = user("low", "n0", "a", 1), user("safe", "n1", "b", 900)
    small = pod("m", group="gang", requests={"cpu": "1"}, volumes=mounts("c"))
    limits = csi_node("n0", 1), csi_node("n1", 1)
    plan = planned(gang(minimum=1), *nodes(2), low, safe, small, *attached(*"abc"), *limits)
    assert (plan.outcome, places(plan)) == ("Preempts", {"m": "n0"})
    assert [each.name for each in plan.victims] == ["low"]
    assert plan.not_modelled == ["volumes that must be detached first"]
    assert why_blocked(plan, asks=False)
    assert not why_blocked(plan)


def test_nobody_goes_for_a_slot_that_is_free_elsewhere() -> None:
    low = user("low", "n0", "a", 1)
    small = pod("m", group="gang", requests={"cpu": "1"}, volumes=mounts("c"))
    plan = planned(
        gang(minimum=1), *nodes(2), low, small, *attached(*"ac"), csi_node("n0", 1), csi_node("n1", 1)
    )
    assert (plan.outcome, places(plan), plan.not_modelled) == ("Fits", {"m": "n1"}, [])


def test_members_share_the_slots_of_a_node() -> None:
    """One more volume on each node: two members go to two nodes, though one has the room for both."""
    members = [pod(f"m{i}", group="gang", requests={"cpu": "1"}, volumes=mounts(f"c{i}")) for i in range(2)]
    objects = gang(), *nodes(2), *members, *attached("c0", "c1"), csi_node("n0", 1)
    plan = planned(*objects, csi_node("n1", 1))
    assert (plan.outcome, sorted(places(plan).values()), plan.not_modelled) == ("Fits", ["n0", "n1"], [])
    assert planned(*objects, csi_node("n1", 0)).outcome == "Unschedulable"


def test_a_terminating_pod_leaves_its_slot() -> None:
    going = pod("going", node="n0", requests={"cpu": "1"}, priority=900, volumes=mounts("a"), deleting=True)
    plan = planned(gang(minimum=1), *nodes(1), going, member("m", "c"), *attached(*"ac"), csi_node("n0", 1))
    assert (plan.outcome, plan.not_modelled) == ("Fits", ["volumes that must be detached first"])


def test_a_volume_that_several_pods_use_is_named_where_it_may_be_one_too_many() -> None:
    members = [pod(f"m{i}", group="gang", requests={"cpu": "1"}, volumes=mounts("c")) for i in range(2)]
    objects = gang(), *nodes(1), *members, *attached("c")
    plan = planned(*objects, csi_node("n0", 1))
    assert (plan.outcome, plan.not_modelled) == ("Fits", [])
    plan = planned(*objects, csi_node("n0", 0))
    assert plan.not_modelled == ["attach limits for a volume that several pods use"]


@pytest.mark.parametrize("installed", [True, False])
def test_a_driver_that_a_node_must_have(installed: bool) -> None:
    driver = {"preventPodSchedulingIfMissing": True}
    needed = {"kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": driver}
    there = {
        "kind": "CSINode",
        "metadata": {"name": "n1"},
        "spec": {"drivers": [{"name": "csi.example.com"}]},
    }
    low = pod("low", node="n1", requests={"cpu": "4"}, priority=1)
    objects = gang(minimum=1), *nodes(2), low, member("m", "c"), *attached("c"), needed
    plan = planned(*objects, *([there] if installed else []))
    if installed:
        assert (plan.outcome, places(plan), plan.not_modelled) == ("Preempts", {"m": "n1"}, [])
    else:
        assert "2 csi.example.com CSI driver is not installed on the node" in plan.reason


def test_a_node_has_changed_whose_limits_have() -> None:
    """So a gang is searched for again, and nothing counts that a scheduler has said of the node."""
    found = tables(*nodes(2))
    before, seen = found.nodes.last_change, found.version
    with_storage(found, csi_node("n0", 1))
    assert found.nodes.names_since(before) == {"n0"}
    assert found.version > seen
    before = found.nodes.last_change
    with_storage(found, csi_node("n0", 1), csi_node("gone", 1))
    assert found.nodes.last_change == before
    found.delete_storage(STORAGE["CSINode"], "", "n0")
    assert found.nodes.names_since(before) == {"n0"}


def test_pods_follow_their_claims() -> None:
    found = tables(gang(minimum=1), *nodes(2), member("m", "c"))
    assert decide_group(found.snapshot(), NS, "gang").not_modelled == ["persistent volume claim"]
    bound = msgspec.convert(claim(volume="pv"), STORAGE["PersistentVolumeClaim"])
    assert found.upsert_storage(bound) == Change.DECISION
    assert found.upsert_storage(bound) == Change.NOTHING
    with_storage(found, volume("pv", on="n1"))
    assert places(decide_group(found.snapshot(), NS, "gang")) == {"m": "n1"}
    assert found.delete_storage(STORAGE["PersistentVolume"], "", "pv") == Change.DECISION
    assert decide_group(found.snapshot(), NS, "gang").not_modelled == ["persistent volume that is not known"]
    assert found.delete_storage(STORAGE["PersistentVolumeClaim"], NS, "c") == Change.DECISION
    assert decide_group(found.snapshot(), NS, "gang").not_modelled == ["persistent volume claim"]


def test_an_object_that_cannot_be_read_changes_nothing() -> None:
    found = with_storage(tables(), claim(volume="pv"))
    bad = claim(resources={"requests": {"storage": "much"}})
    with pytest.raises(ValueError, match="much"):
        with_storage(found, bad)
    assert found.volumes.claims[NS, "c"].bound


def test_pods_are_looked_at_once_for_many_volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each free volume is one more for every claim of its class, and a cluster brings thousands at once."""
    members = [member(f"m{i}", f"c{i}") for i in range(3)]
    found = tables(gang(minimum=3), *nodes(20), *members)
    with_storage(found, LOCAL, *(claim(f"c{i}", storage_class="local") for i in range(3)))
    found.settle()
    resolve = Mock(wraps=found.volumes.resolve)
    monkeypatch.setattr(found.volumes, "resolve", resolve)
    with_storage(found, *(volume(f"pv{i}", on=f"n{i}", free=True) for i in range(20)))
    plan = decide_group(found.snapshot(), NS, "gang")
    assert (plan.outcome, len(set(places(plan).values())), resolve.call_count) == ("Fits", 3, 3)


def test_a_volume_that_no_claim_can_get_decides_nothing() -> None:
    found = with_storage(tables(gang(minimum=1), *nodes(1), member("m", "c")), claim(volume="pv"))
    version = found.snapshot().version
    other = msgspec.convert(volume("other", free=True), STORAGE["PersistentVolume"])
    assert (found.upsert_storage(other), found.snapshot().version) == (Change.NOTHING, version)
