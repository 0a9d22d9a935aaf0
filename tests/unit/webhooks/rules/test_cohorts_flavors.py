"""Kueue's rules for Cohort and ResourceFlavor."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.manifests import Pairs, created, group, kueue, pairs, updated
from webhooks.rules import Object
from webhooks.settings import Settings

QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"


def cohort(**spec: Any) -> Object:
    return kueue("Cohort", "all", spec={"parentName": "root", **spec})


def flavor(**spec: Any) -> Object:
    return kueue("ResourceFlavor", "spot", spec=spec)


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Object:
    return {"key": key, "effect": effect, "value": value}


LIMITS = [group(("cpu",), "spot", borrowingLimit=1, lendingLimit=2)]
RIGHT = {
    "limits": cohort(resourceGroups=LIMITS),
    "more lent than there is": cohort(resourceGroups=[group(("cpu",), "spot", lendingLimit=99)]),
    "500 flavors": cohort(
        resourceGroups=[group((f"r{i}",), *(f"f{i}-{j}" for j in range(50))) for i in range(10)]
    ),
    "labels and taints": flavor(
        nodeLabels={"example.com/type": "spot"},
        nodeTaints=[taint("a"), taint("a", "NoExecute"), taint("b", value="x")],
        tolerations=[{"operator": "Exists"}, {"key": "example.com/a"}],
    ),
}
WRONG: dict[str, tuple[Object, Pairs]] = {
    "limits without a parent": (
        cohort(parentName="", resourceGroups=LIMITS),
        [(f"{QUOTA}.borrowingLimit", "Invalid"), (f"{QUOTA}.lendingLimit", "Invalid")],
    ),
    "negative limit": (
        cohort(resourceGroups=[group(("cpu",), "spot", lendingLimit=-1)]),
        [(f"{QUOTA}.lendingLimit", "Invalid")],
    ),
    "weight": (cohort(fairSharing={"weight": "1n"}), [("spec.fairSharing", "Invalid")]),
    "weight that Go cannot read": (
        cohort(fairSharing={"weight": "1e.5"}),
        [("spec.fairSharing.weight", "Invalid")],
    ),
    "labels": (flavor(nodeLabels={"a b": "-"}), [("spec.nodeLabels", "Invalid")] * 2),
    "taint's key and value": (
        flavor(nodeTaints=[taint("/a", value="a b")]),
        [("spec.nodeTaints[0].key", "Invalid"), ("spec.nodeTaints[0].value", "Invalid")],
    ),
    "a taint's value with two faults, told of at once": (
        flavor(nodeTaints=[taint("a", value="x" * 64 + "!")]),
        [("spec.nodeTaints[0].value", "Invalid")],
    ),
    "a taint twice": (
        flavor(nodeTaints=[taint("a"), taint("b"), taint("a", value="x"), taint("a")]),
        [("spec.nodeTaints[2]", "Duplicate"), ("spec.nodeTaints[3]", "Duplicate")],
    ),
    "toleration's key": (flavor(tolerations=[{"key": "-"}]), [("spec.tolerations[0].key", "Invalid")]),
}


def test_a_cohort_that_is_its_own_parent_is_refused_unless_it_is_stored() -> None:
    own = cohort(parentName="all")
    assert pairs(created(own)) == [("spec.parentName", "Invalid")]
    assert pairs(updated(own, own)) == []


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_is_allowed(case: str) -> None:
    assert pairs(created(RIGHT[case])) == []


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_stored_or_not(case: str) -> None:
    wrong, causes = WRONG[case]
    assert pairs(created(wrong)) == causes
    assert pairs(updated(wrong, {**wrong, "metadata": {"name": "x", "labels": {"a": "b"}}})) == causes
    assert created(wrong, settings=Settings(beside_kueue=True)).allowed


def test_the_status_of_a_cohort_is_not_checked() -> None:
    wrong, _ = WRONG["weight"]
    assert updated(wrong, {**wrong, "status": {}}, subresource="status").allowed


def test_a_message_says_that_a_limit_needs_a_parent() -> None:
    wrong, _ = WRONG["limits without a parent"]
    messages = {cause.message for cause in created(wrong).causes}
    assert messages == {"there is no parent to lend to or borrow from"}


def test_a_message_tells_of_both_faults_of_a_taints_value() -> None:
    wrong, _ = WRONG["a taint's value with two faults, told of at once"]
    (cause,) = created(wrong).causes
    assert cause.message.count("; ") == 1
