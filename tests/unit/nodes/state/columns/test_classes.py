"""Static filters, and what makes two pods or nodes alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from api.core import Pod
from nodes.state.columns.classes import admits, node_shape, pod_class
from tests.kit.objects import node, pod

TAINTED = {"key": "team", "value": "a", "effect": "NoSchedule"}
UNTOLERATED = "node(s) had untolerated taint(s)"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"

HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def refusal(asking: Pod, **node_fields: Any) -> str | None:
    return admits(pod_class(asking), node_shape(node("n1", **node_fields)), "n1")


def affinity(*terms: Mapping[str, object]) -> dict[str, object]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": required}


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_hard_taint_keeps_out_whoever_does_not_tolerate_it(effect: str) -> None:
    taint = {**TAINTED, "effect": effect}
    assert refusal(pod("p"), taints=[taint]) == UNTOLERATED
    tolerating = pod("p", tolerations=[{"key": "team", "value": "a", "effect": effect}])
    assert refusal(tolerating, taints=[taint]) is None
    elsewhere = pod("p", tolerations=[{"key": "team", "value": "b"}])
    assert refusal(elsewhere, taints=[taint]) == UNTOLERATED


def test_a_soft_taint_keeps_nobody_out() -> None:
    assert refusal(pod("p"), taints=[{**TAINTED, "effect": "PreferNoSchedule"}]) is None


def test_every_hard_taint_must_be_tolerated() -> None:
    asking = pod("p", tolerations=[{"key": "team", "operator": "Exists"}])
    assert refusal(asking, taints=[TAINTED]) is None
    assert refusal(asking, taints=[TAINTED, {"key": "other", "effect": "NoExecute"}]) == UNTOLERATED


def test_a_cordoned_node_takes_only_who_tolerates_its_taint() -> None:
    assert refusal(pod("p"), unschedulable=True) == "node(s) were unschedulable"
    daemon = pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert refusal(daemon, unschedulable=True) is None


def test_node_selector_and_affinity_must_both_hold() -> None:
    zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
    asking = pod("p", nodeSelector={"disk": "ssd"}, affinity=affinity(zone))
    assert refusal(asking, labels={"disk": "ssd", "zone": "b"}) is None
    assert refusal(asking, labels={"zone": "b"}) == NOT_SELECTED
    assert refusal(asking, labels={"disk": "ssd", "zone": "c"}) == NOT_SELECTED


def test_affinity_may_name_the_node() -> None:
    def field(name: str) -> dict[str, object]:
        return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}

    assert refusal(pod("p", affinity=affinity(field("n1")))) is None
    assert refusal(pod("p", affinity=affinity(field("n2")))) == NOT_SELECTED
    assert refusal(pod("p", affinity=affinity(field("n2"), field("n1")))) is None
    assert refusal(pod("p", affinity=affinity())) == NOT_SELECTED


def test_pods_that_differ_in_name_only_share_a_class() -> None:
    one = pod("a", uid="1", labels={"app": "x"}, priority=5, nodeSelector={"x": "1", "y": "2"})
    other = pod("b", uid="2", nodeSelector={"y": "2", "x": "1"})
    assert pod_class(one) == pod_class(other)
    assert hash(pod_class(one)) == hash(pod_class(other))
    assert pod_class(one) != pod_class(pod("c", requests={"cpu": "1001m"}, nodeSelector={"x": "1", "y": "2"}))
    assert pod_class(one) != pod_class(pod("c"))


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({}, ()),
        ({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "projected": {"sources": []}}]}, ()),
        (
            {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
            (),
        ),
        ({"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}, ()),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            ("persistent volume claim",),
        ),
        ({"volumes": [{"name": "v", "ephemeral": {}}]}, ("ephemeral volume",)),
        ({"volumes": [{"name": "v", "rbd": {"monitors": []}}]}, ()),
        ({"volumes": [{"name": "v", "cinder": {"volumeID": "x"}}]}, ("Cinder volume",)),
        ({"resourceClaims": [{"name": "gpu"}]}, ("resource claims (DRA)",)),
        (
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "no value!"}}}
                        ]
                    }
                }
            },
            ("inter-pod affinity",),
        ),
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 1, "podAffinityTerm": {"topologyKey": "z"}}
                        ]
                    }
                }
            },
            (),
        ),
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "z", "labelSelector": {}}
                        ]
                    }
                }
            },
            (),
        ),
        ({"schedulingGroup": {"podGroupName": "g"}}, ("native pod group (scheduling.k8s.io)",)),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            (),
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
                ]
            },
            (),
        ),
        ({"tolerations": [{"key": "k", "operator": "Gt", "value": "1"}]}, ("toleration operator Gt",)),
    ],
)
def test_filters_that_are_not_modelled_are_named(spec: dict[str, Any], named: tuple[str, ...]) -> None:
    assert pod_class(pod("p", **spec)).unmodelled == named


@pytest.mark.parametrize(
    ("spec", "asks"),
    [
        ({}, False),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": {}}]}}},
            False,
        ),
        ({"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "rack", "labelSelector": {}}]}}}, True),
        ({"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": {}}]}}}, True),
        (
            {"topologySpreadConstraints": [{"topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}]},
            True,
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}]},
            False,
        ),
        ({"resourceClaims": [{"name": "gpu"}]}, True),
    ],
)
def test_who_asks_about_pods_on_other_nodes(spec: dict[str, Any], asks: bool) -> None:
    assert pod_class(pod("p", **spec)).asks_about_others is asks
