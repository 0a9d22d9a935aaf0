"""Groups by owner are judged as PodGroups are: in forged histories, and in a cluster at one moment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.stress import evictions, rest
from tests.kit.stress.owned import show_groups, show_groups_at_rest
from tests.kit.stress.rest import Rest
from tests.unit.kit.forged import Forge, Json, group, node, plan, pod, victim

TRAIN = "PyTorchJob.kubeflow.org:train:uid-train"
RING = "Job.batch:ring:uid-ring"
GANG = {"reprieve.dev/gang": "true"}


def said(setting: str | None) -> dict[str, str]:
    return {"reprieve.dev/groups-by-owner": setting} if setting is not None else {}


def train(pods: int = 3, *, setting: str | None = None, least: int | None = None) -> Json:
    """A PyTorchJob."""
    meta = {"namespace": "d", "name": "train", "uid": "uid-train", "annotations": said(setting)}
    spec = {
        "pytorchReplicaSpecs": {"Worker": {"replicas": pods, "template": {"spec": {}}}},
        "runPolicy": {"schedulingPolicy": {"minAvailable": least}},
    }
    return {"kind": "PyTorchJob", "metadata": meta, "spec": spec}


def ring(pods: int, succeeded: int = 0, annotations: dict[str, str] | None = None) -> Json:
    """A Job whose pods say that they are a gang."""
    template = {"metadata": {"annotations": GANG if annotations is None else annotations}, "spec": {}}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    meta = {"namespace": "d", "name": "ring", "uid": "uid-ring"}
    return {"kind": "Job", "metadata": meta, "spec": spec, "status": {"succeeded": succeeded}}


def space(setting: str | None) -> Json:
    return {"kind": "Namespace", "metadata": {"name": "d", "uid": "uid-d", "annotations": said(setting)}}


def owned(name: str, kind: str = "PyTorchJob", owner: str = "train", **fields: Any) -> Json:
    """A pod of an owner."""
    body = pod(name, **fields)
    reference = {"kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    body["metadata"] |= {"ownerReferences": [reference], "annotations": GANG if kind == "Job" else {}}
    return body


def minimum(forge: Forge, uid: str) -> list[int | None]:
    """minCount of the group's states, in order; None where it is no gang."""
    history = forge.done()
    show_groups(history)
    policies = [each.body["spec"]["schedulingPolicy"] for each in history.of("PodGroup", uid)]
    return [each["gang"]["minCount"] if "gang" in each else None for each in policies]


def test_a_pod_of_an_owner_stays() -> None:
    forge = Forge()
    forge.tell(group("hero", 100), "ADDED")
    forge.tell(train(), "ADDED")
    pods = [forge.tell(owned(f"t{number}"), "ADDED") for number in range(3)]
    gone = {**victim(*pods, unit=TRAIN), "uid": "uid-train"}
    for phase in ("Planned", "Confirmed", "Evicting"):
        forge.tell(plan("plan", phase, victims=[gone]))
    for each in pods[:2]:
        forge.delete(each)
    history = forge.done()
    show_groups(history)
    assert evictions.broken_units(history) == [f"plan d/plan left ['t2'] of d/{TRAIN}"]


def test_what_an_owner_and_its_namespace_say_counts_from_then_on() -> None:
    forge = Forge()
    forge.tell(space(None), "ADDED")
    forge.tell(train(), "ADDED")
    forge.tell(space("Victims"))
    forge.tell(train(setting="Gangs", least=2))
    forge.tell(space("Gangs"))
    forge.tell(train(least=9))
    forge.tell(train(least=0))
    assert minimum(forge, "uid-train") == [3, None, 2, 2, 3, None]


def test_a_job_has_fewer_pods_in_the_end_and_is_a_group_if_its_pods_say_so() -> None:
    forge = Forge()
    forge.tell(ring(3), "ADDED")
    forge.tell(ring(3, succeeded=1))
    assert minimum(forge, "uid-ring") == [3, 2]
    forge.tell(ring(3, annotations={}), "ADDED")
    assert len(minimum(forge, "uid-ring")) == 2


@pytest.mark.parametrize(("setting", "wrong"), [("Gangs", ["t1", "t0"]), ("Victims", ["t0", "t1"])])
def test_at_rest_a_gang_of_an_owner_waits_though_it_fits(setting: str, wrong: list[str]) -> None:
    """As one, or each of its pods for itself. Nobody expects a status on an owner."""
    around = Rest([owned(name, node=None) for name in wrong], [node("n0")], [], [], [])
    shown = show_groups_at_rest(around, [train(2)], [space(setting)])
    found = [each for check in rest.CHECKS for each in check(shown)]
    if setting == "Gangs":
        assert found == [f"gang d/{TRAIN} waits though it fits: ['t0', 't1']"]
    else:
        assert found == [f"pod d/{name} waits though it fits on n0" for name in wrong]
