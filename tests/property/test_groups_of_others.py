"""Groups that other programs make are searched like PodGroups in `all` mode that have their pods' lowest priority."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.examples import examples
from tests.kit.plans.clusters import clusters
from tests.kit.plans.engine import plan_for

Object = dict[str, Any]
Names = dict[str, str]
LABEL: Final = "reprieve.dev/pod-group"
KINDS: Final = ("native", "scheduler-plugins", "volcano", "owner", "annotated owner")
VERSIONS: Final = {
    "native": "scheduling.k8s.io/v1beta1",
    "scheduler-plugins": "scheduling.x-k8s.io/v1alpha1",
    "volcano": "scheduling.volcano.sh/v1beta1",
}
READ: Final = tuple(f"{kind}, with objects" for kind in VERSIONS)
"""Those whose objects are read as well."""


def is_other_group(item: Object) -> bool:
    return bool(item["kind"] == "PodGroup" and item["metadata"]["name"] != "hero")


def ours(objects: list[Object]) -> list[Object]:
    """Every group but the hero goes whole, and its own priority is above all others."""
    found = deepcopy(objects)
    for item in filter(is_other_group, found):
        item["spec"] |= {"disruptionMode": {"all": {}}, "priority": 2**31 - 1}
    return found


def foreign(objects: list[Object], kind: str) -> list[Object]:
    """The same groups, as pods of this kind tell them, without their objects or with those of the kind."""
    kind, _, are_read = kind.partition(", ")
    found = [each for each in deepcopy(objects) if not is_other_group(each)]
    if are_read:
        found += [its_object(each, kind) for each in objects if is_other_group(each)]
    for item in found:
        meta = item["metadata"]
        name = (meta.get("labels") or {}).get(LABEL, "hero")
        if item["kind"] == "Pod" and name != "hero":
            del meta["labels"][LABEL]
            tell(item, kind, name)
    return found


def its_object(group: Object, kind: str) -> Object:
    policy, meta = group["spec"]["schedulingPolicy"], group["metadata"]
    spec = {"minMember": policy.get("gang", {}).get("minCount", 0)}
    if kind == "native":
        spec = {"schedulingPolicy": policy}
    return {"apiVersion": VERSIONS[kind], "kind": "PodGroup", "metadata": deepcopy(meta), "spec": spec}


def tell(pod: Object, kind: str, name: str) -> None:
    meta, annotations = pod["metadata"], pod["metadata"].setdefault("annotations", {})
    controller = {"name": name, "uid": f"uid-{name}", "controller": True}
    if kind == "native":
        pod["spec"]["schedulingGroup"] = {"podGroupName": name}
    elif kind == "scheduler-plugins":
        meta["labels"]["scheduling.x-k8s.io/pod-group"] = name
    elif kind == "volcano":
        annotations["scheduling.k8s.io/group-name"] = name
    elif kind == "owner":
        meta["ownerReferences"] = [{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", **controller}]
    else:
        annotations["reprieve.dev/gang"] = "true"
        meta["ownerReferences"] = [{"apiVersion": "ray.io/v1", "kind": "RayCluster", **controller}]


def bare(plan: Object) -> Object:
    """The plan without the names and UIDs of groups that are victims."""
    for victim in plan["victims"]:
        if victim["kind"] == "PodGroup":
            del victim["name"], victim["uid"]
    return plan


@settings(max_examples=examples(200), deadline=None)
@given(clusters(), st.sampled_from(KINDS + READ))
def test_they_are_searched_like_ours(objects: list[Object], kind: str) -> None:
    assert bare(plan_for(foreign(objects, kind), "d/hero")) == bare(plan_for(ours(objects), "d/hero"))


@settings(max_examples=examples(100), deadline=None)
@given(clusters(), st.sampled_from(KINDS + READ), st.randoms(use_true_random=False))
def test_the_order_of_the_objects_does_not_matter(objects: list[Object], kind: str, dice: Random) -> None:
    given_objects = foreign(objects, kind)
    shuffled = dice.sample(given_objects, len(given_objects))
    assert plan_for(shuffled, "d/hero") == plan_for(given_objects, "d/hero")


@settings(max_examples=examples(100), deadline=None)
@given(clusters(), st.sampled_from(KINDS + READ))
def test_no_group_is_broken(objects: list[Object], kind: str) -> None:
    given_objects = foreign(objects, kind)
    gone = {pod["uid"] for victim in plan_for(given_objects, "d/hero")["victims"] for pod in victim["pods"]}
    for group in filter(is_other_group, objects):
        name = group["metadata"]["name"]
        running = {
            item["metadata"]["uid"]
            for item in objects
            if item["kind"] == "Pod"
            and (item["metadata"].get("labels") or {}).get(LABEL) == name
            and "deletionTimestamp" not in item["metadata"]
            and item["status"]["phase"] not in ("Succeeded", "Failed")
        }
        assert not gone & running or running <= gone
