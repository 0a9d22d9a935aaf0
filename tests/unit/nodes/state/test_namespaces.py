"""Labels of namespaces in the tables: they keep pods off nodes, they count as a change, and they wake gangs."""

from __future__ import annotations

from typing import Any, Final

from api.core import Namespace
from nodes.search.decision import decide_group
from nodes.state.pods.pod_facts import Change
from nodes.state.tables import Tables
from tests.kit.objects import GANG, gang, make, node, pod, tables

HOSTNAME: Final = "kubernetes.io/hostname"
TERM: Final[dict[str, Any]] = {
    "topologyKey": HOSTNAME,
    "labelSelector": {},
    "namespaceSelector": {"matchLabels": {"team": "a"}},
}
REPELS: Final[dict[str, Any]] = {
    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}
}
ATTRACTED: Final[dict[str, Any]] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}


def namespace(name: str, **labels: str) -> Namespace:
    return make(Namespace, {"metadata": {"name": name, "labels": labels}})


def cluster(**running: Any) -> Tables:
    """A node with room, on which a pod of `other` runs that nobody may evict, and a gang of one."""
    return tables(
        node("n1", cpu="8", labels={HOSTNAME: "n1"}),
        pod("there", namespace="other", node="n1", priority=1000, **running),
        gang(minimum=1),
        pod("m", group=GANG),
    )


def decided(found: Tables) -> tuple[str, list[str]]:
    spec = decide_group(found.snapshot(), "default", GANG)
    return spec.outcome, list(spec.not_modelled)


def test_a_running_pods_term_follows_the_labels_of_the_members_namespace() -> None:
    found = cluster(affinity=REPELS)
    found.upsert_namespace(namespace("default", team="b"))
    assert decided(found) == ("Fits", [])
    found.upsert_namespace(namespace("default", team="a"))
    assert decided(found) == ("Unschedulable", [])


def test_a_members_term_follows_the_labels_of_other_namespaces() -> None:
    found = cluster()
    found.upsert_pod(pod("m", group=GANG, affinity=REPELS))
    for each in (namespace("default"), namespace("other", team="a")):
        found.upsert_namespace(each)
    assert decided(found) == ("Unschedulable", [])
    found.upsert_namespace(namespace("other"))
    assert decided(found) == ("Fits", [])


def test_affinity_follows_the_labels_too() -> None:
    found = cluster()
    found.upsert_pod(pod("m", group=GANG, affinity=ATTRACTED))
    for each in (namespace("default"), namespace("other", team="a")):
        found.upsert_namespace(each)
    assert decided(found) == ("Fits", [])
    found.upsert_namespace(namespace("other"))
    assert decided(found) == ("Unschedulable", [])


def test_a_namespace_whose_labels_are_not_known_is_named() -> None:
    found = cluster(affinity=REPELS)
    assert decided(found) == ("Fits", ["anti-affinity of running pods"])
    found.upsert_namespace(namespace("default"))
    assert decided(found) == ("Fits", [])
    found.upsert_pod(pod("m", group=GANG, affinity=REPELS))
    assert decided(found) == ("Fits", ["inter-pod anti-affinity"])
    found.upsert_namespace(namespace("other"))
    assert decided(found) == ("Fits", [])


def test_labels_count_only_while_a_pod_chooses_namespaces_by_them() -> None:
    found = cluster()
    assert found.upsert_namespace(namespace("other", team="a")) == Change.NOTHING
    found.upsert_pod(pod("m", group=GANG, affinity=ATTRACTED))
    version, seen, apart = found.version, found.last_change, found.pods.apart_changes
    assert found.upsert_namespace(namespace("other", team="a")) == Change.NOTHING
    assert (found.version, found.last_change) == (version, seen)
    assert found.upsert_namespace(namespace("other", team="b")) == Change.DECISION
    assert found.version > version
    assert found.pods.apart_changes > apart
    assert found.nodes.released_since(seen) == ["n1"]
    assert found.delete_namespace("other") == Change.DECISION
    assert found.delete_namespace("other") == Change.NOTHING
    found.delete_pod("default", "m")
    assert found.upsert_namespace(namespace("other", team="c")) == Change.NOTHING


def test_a_victim_whose_end_the_scheduler_does_not_notice_is_named() -> None:
    """kube-scheduler asks the term of a deleted pod without the labels of the member's namespace."""
    unnoticed = "anti-affinity by namespaceSelector of a victim: the scheduler does not notice its end"

    def plan(term: dict[str, Any], **member: Any) -> tuple[str, list[str]]:
        repels = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM | term]}}
        found = tables(
            node("n1", cpu="2", labels={HOSTNAME: "n1"}),
            pod("victim", namespace="default", node="n1", priority=0, affinity=repels),
            gang(minimum=1),
            pod("m", group=GANG, **member),
        )
        found.upsert_namespace(namespace("default", team="a"))
        return decided(found)

    assert plan({}) == ("Preempts", [unnoticed])
    assert plan({"namespaces": ["default"]}) == ("Preempts", [])
    assert plan({"namespaceSelector": {}}) == ("Preempts", [])
    assert plan({"labelSelector": {"matchLabels": {"app": "x"}}}, requests={"cpu": "2"}) == ("Preempts", [])
    absent = {"matchExpressions": [{"key": "absent", "operator": "DoesNotExist"}]}
    assert plan({"namespaceSelector": absent}) == ("Preempts", [])
