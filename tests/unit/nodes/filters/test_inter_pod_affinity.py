"""InterPodAffinity: which terms are modelled, whom they select, and what is only named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from api.core import Pod
from nodes.filters.filter import NodeShape, Tenant, Token
from nodes.filters.inter_pod_affinity import InterPodAffinity
from nodes.state.columns.classes import node_shape
from tests.kit.objects import node, pod

AFFINITY = InterPodAffinity()
HOSTNAME = "kubernetes.io/hostname"
DB = {"matchLabels": {"app": "db"}}


def anti(
    name: str = "p", *, labels: dict[str, str] | None = None, namespace: str = "own", **term: Any
) -> Pod:
    terms = [{"topologyKey": HOSTNAME, "labelSelector": DB, **term}]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod(name, namespace=namespace, labels=labels, affinity=affinity)


def tenant(of: Pod) -> Tenant:
    return Tenant(AFFINITY.needs(of), of.metadata.namespace, of.metadata.labels or {})


def apart(tokens: Iterable[Token], one: Tenant, other: Tenant) -> bool:
    """Whether a token of the first forbids the second, or the other way round."""
    return any(
        (token.forbidden_by(one) and token.brought_by(other))
        or (token.forbidden_by(other) and token.brought_by(one))
        for token in tokens
    )


SELECTION = pytest.mark.parametrize(
    ("term", "namespace", "labels", "selected"),
    [
        ({}, "own", {"app": "db"}, True),
        ({}, "own", {"app": "web"}, False),
        ({}, "other", {"app": "db"}, False),
        ({"namespaces": ["other"]}, "other", {"app": "db"}, True),
        ({"namespaces": ["other"]}, "own", {"app": "db"}, False),
        ({"namespaceSelector": {}}, "anywhere", {"app": "db"}, True),
        ({"namespaceSelector": {}}, "anywhere", {"app": "web"}, False),
        ({"namespaceSelector": {}, "namespaces": ["other"]}, "anywhere", {"app": "db"}, True),
        ({"labelSelector": None}, "own", {"app": "db"}, False),
        ({"labelSelector": {}}, "own", {}, True),
    ],
)


@SELECTION
def test_a_members_term_keeps_it_off_whom_it_selects(
    term: dict[str, Any], namespace: str, labels: dict[str, str], selected: bool
) -> None:
    member, running = tenant(anti(**term)), Tenant(None, namespace, labels)
    assert apart(AFFINITY.tokens([member], []), member, running) is selected


@SELECTION
def test_a_running_pods_term_keeps_members_off_that_it_selects(
    term: dict[str, Any], namespace: str, labels: dict[str, str], selected: bool
) -> None:
    member, running = Tenant(None, namespace, labels), tenant(anti(**term))
    tokens = list(AFFINITY.tokens([member], [running]))
    assert apart(tokens, member, running) is selected
    assert bool(tokens) is selected


def test_a_term_that_selects_its_own_pod_keeps_such_pods_apart() -> None:
    one, other = tenant(anti("a", labels={"app": "db"})), tenant(anti("b", labels={"app": "db"}))
    (token,) = AFFINITY.tokens([one, other], [])
    assert token.brought_by(one)
    assert token.forbidden_by(other)


def test_label_keys_stand_for_the_pods_own_labels() -> None:
    """As the API server writes them into the selector; there they are not added again."""
    own = {"app": "db", "version": "2"}
    member = tenant(anti(labels=own, matchLabelKeys=["version", "absent"]))
    tokens = list(AFFINITY.tokens([member], []))
    assert apart(tokens, member, Tenant(None, "own", {"app": "db", "version": "2"}))
    assert not apart(tokens, member, Tenant(None, "own", {"app": "db", "version": "1"}))
    member = tenant(anti(labels=own, mismatchLabelKeys=["version"]))
    tokens = list(AFFINITY.tokens([member], []))
    assert not apart(tokens, member, Tenant(None, "own", {"app": "db", "version": "2"}))
    assert apart(tokens, member, Tenant(None, "own", {"app": "db", "version": "1"}))
    merged = {**DB, "matchExpressions": [{"key": "version", "operator": "In", "values": ["1"]}]}
    member = tenant(anti(labels=own, matchLabelKeys=["version"], labelSelector=merged))
    assert apart(AFFINITY.tokens([member], []), member, Tenant(None, "own", {"app": "db", "version": "1"}))


UNMODELLED: list[dict[str, Any]] = [
    {"namespaceSelector": {"matchLabels": {"team": "no value!"}}},
    {"labelSelector": {"matchLabels": {"app": "no value!"}}},
]
TEAM_A: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
NOT_A: dict[str, Any] = {
    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}
}


@pytest.mark.parametrize(
    ("term", "namespace", "its_labels", "selected"),
    [
        (TEAM_A, "other", {"team": "a"}, True),
        (TEAM_A, "other", {"team": "b"}, False),
        (TEAM_A, "own", {}, False),
        ({**TEAM_A, "namespaces": ["own"]}, "own", {}, True),
        ({**TEAM_A, "namespaces": ["own"]}, "other", {}, False),
        (NOT_A, "other", {}, True),
        (NOT_A, "other", {"team": "a"}, False),
        (TEAM_A, "other", None, False),
        (NOT_A, "other", None, False),
    ],
)
def test_a_term_chooses_namespaces_by_their_labels(
    term: dict[str, Any], namespace: str, its_labels: dict[str, str] | None, selected: bool
) -> None:
    other, labels = tenant(anti(**term)), {"app": "db"}
    there = Tenant(None, namespace, labels, its_labels)
    assert apart(AFFINITY.tokens([other], []), other, there) is selected
    tokens = list(AFFINITY.tokens([there], [other]))
    assert apart(tokens, there, other) is selected
    assert AFFINITY.reaches(tenant(anti(topologyKey="zone", **term)), there) is (
        selected or its_labels is None
    )
    named = AFFINITY.unmodelled_between(other, there)
    assert named == ("anti-affinity of running pods" if its_labels is None else None)
    assert AFFINITY.unmodelled_between(other, there._replace(labels={"app": "web"})) is None
    assert AFFINITY.namespaces_asked(other.needs) == "inter-pod anti-affinity"


@pytest.mark.parametrize("term", UNMODELLED)
def test_other_terms_are_named(term: dict[str, Any]) -> None:
    asking = anti(labels={"app": "db"}, **term)
    assert list(AFFINITY.unmodelled(asking)) == ["inter-pod anti-affinity"]
    assert list(AFFINITY.tokens([tenant(asking)], [tenant(asking)])) == []
    member = Tenant(None, "own", {"app": "db"})
    assert AFFINITY.unmodelled_between(tenant(asking), member) == "anti-affinity of running pods"


def test_a_term_that_selects_nobody_is_nothing() -> None:
    asking = anti(topologyKey="zone", labelSelector=None)
    assert AFFINITY.needs(asking) is None
    assert list(AFFINITY.unmodelled(asking)) == []


@pytest.mark.parametrize(
    ("term", "namespace", "labels", "named"),
    [
        ({}, "own", {"app": "db"}, True),
        ({}, "own", {"app": "web"}, False),
        ({}, "other", {"app": "db"}, False),
        ({"namespaces": ["other"]}, "other", {"app": "db"}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "anywhere", {"app": "db"}, True),
    ],
)
def test_a_term_of_another_topology_reaches_whom_it_selects(
    term: dict[str, Any], namespace: str, labels: dict[str, str], named: bool
) -> None:
    running, member = tenant(anti(topologyKey="zone", **term)), Tenant(None, namespace, labels)
    assert AFFINITY.reaches(running, member) is named
    assert not AFFINITY.reaches(tenant(anti(**{**term, "namespaceSelector": None})), member)
    chosen_by_label = bool(term.get("namespaceSelector"))
    assert (AFFINITY.unmodelled_between(running, member) is not None) is chosen_by_label


def test_a_modelled_term_is_not_named() -> None:
    asking = anti(labels={"app": "db"})
    assert list(AFFINITY.unmodelled(asking)) == []
    assert AFFINITY.unmodelled_between(tenant(asking), Tenant(None, "own", {"app": "db"})) is None


def shapes(*labels: dict[str, str]) -> list[NodeShape]:
    return [node_shape(node(f"n{index}", labels=each)) for index, each in enumerate(labels)]
