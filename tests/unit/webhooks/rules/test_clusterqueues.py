"""Kueue's rules for ClusterQueue: on create, and on an update of an object that has the fault already."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.kit.manifests import Pairs, cluster_queue, created, group, pairs, preemption, updated
from webhooks.rules import Object
from webhooks.settings import Settings

GROUP = "spec.resourceGroups[0]"
QUOTA = f"{GROUP}.flavors[0].resources[0]"


def groups(*resource_groups: Object, **spec: Any) -> Object:
    return {"resourceGroups": list(resource_groups), **spec}


def renamed() -> Object:
    made = group(("cpu", "memory"), "spot")
    made["flavors"][0]["resources"].reverse()
    return made


def selector(**parts: Any) -> Object:
    return {"namespaceSelector": parts}


def expression(operator: str, *values: str, key: str = "team") -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


EXPRESSION = "spec.namespaceSelector.matchExpressions[0]"
WRONG: dict[str, tuple[Object, Pairs]] = {
    "resource name": (
        groups(group(("c pu",), "spot")),
        [(f"{GROUP}.coveredResources[0]", "Invalid")],
    ),
    "empty resource name: two faults": (
        groups(group(("",), "spot")),
        [(f"{GROUP}.coveredResources[0]", "Invalid")] * 2,
    ),
    "resource in two groups": (
        groups(group(("cpu",), "spot"), group(("cpu",), "a100")),
        [("spec.resourceGroups[1].coveredResources[0]", "Duplicate")],
    ),
    "flavor in two groups": (
        groups(group(("cpu",), "spot"), group(("gpu",), "spot")),
        [("spec.resourceGroups[1].flavors[0].name", "Duplicate")],
    ),
    "resources in another order": (
        groups(renamed()),
        [(f"{QUOTA}.name", "Invalid"), (f"{GROUP}.flavors[0].resources[1].name", "Invalid")],
    ),
    "negative quota": (
        groups(group(("cpu",), "spot", nominalQuota="-1m")),
        [(f"{QUOTA}.nominalQuota", "Invalid")],
    ),
    "negative limit": (
        groups(group(("cpu",), "spot", borrowingLimit=-1)),
        [(f"{QUOTA}.borrowingLimit", "Invalid")],
    ),
    "limits without a cohort": (
        groups(group(("cpu",), "spot", borrowingLimit=1, lendingLimit=1), cohortName=""),
        [(f"{QUOTA}.borrowingLimit", "Invalid"), (f"{QUOTA}.lendingLimit", "Invalid")],
    ),
    "more lent than there is": (
        groups(group(("cpu",), "spot", lendingLimit="10001m")),
        [(f"{QUOTA}.lendingLimit", "Invalid")],
    ),
    "selector's labels": (
        selector(matchLabels={"-": "", "ok": "not ok"}),
        [("spec.namespaceSelector.matchLabels", "Invalid")] * 2,
    ),
    "operator without values": (
        selector(matchExpressions=[expression("In")]),
        [(f"{EXPRESSION}.values", "Required")],
    ),
    "the other operator without values": (
        selector(matchExpressions=[expression("NotIn")]),
        [(f"{EXPRESSION}.values", "Required")],
    ),
    "operator with values": (
        selector(matchExpressions=[expression("Exists", "x")]),
        [(f"{EXPRESSION}.values", "Forbidden")],
    ),
    "the other operator with values": (
        selector(matchExpressions=[expression("DoesNotExist", "x")]),
        [(f"{EXPRESSION}.values", "Forbidden")],
    ),
    "operator": (selector(matchExpressions=[expression("Gt", "1")]), [(f"{EXPRESSION}.operator", "Invalid")]),
    "expression's key and value": (
        selector(matchExpressions=[expression("NotIn", "a", "-", key="a/b/c")]),
        [(f"{EXPRESSION}.key", "Invalid"), (f"{EXPRESSION}.values[1]", "Invalid")],
    ),
    "preference": (
        {
            "flavorFungibility": {
                "whenCanBorrow": "MayStopSearch",
                "whenCanPreempt": "TryNextFlavor",
                "preference": "BorrowingOverPreemption",
            }
        },
        [("spec.flavorFungibility.preference", "Invalid")],
    ),
    "preference with one of the policies": (
        {
            "flavorFungibility": {
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "MayStopSearch",
                "preference": "BorrowingOverPreemption",
            }
        },
        [("spec.flavorFungibility.preference", "Invalid")],
    ),
    "negative weight": ({"fairSharing": {"weight": -1}}, [("spec.fairSharing", "Invalid")]),
    "weight of a nano": ({"fairSharing": {"weight": "0.5n"}}, [("spec.fairSharing", "Invalid")]),
    "257 flavors": (
        groups(*(group((f"r{i}",), *(f"f{i}-{j}" for j in range(64 + (i == 3)))) for i in range(4))),
        [("spec.resourceGroups", "Invalid")],
    ),
    "257 resources": (
        groups(*(group(tuple(f"r{i}-{j}" for j in range(64 + (i == 3))), f"f{i}") for i in range(4))),
        [("spec.resourceGroups", "Invalid")],
    ),
    "513 combinations": (
        groups(group(tuple(f"r{i}" for i in range(27)), *(f"f{j}" for j in range(19)))),
        [(GROUP, "Invalid")],
    ),
    "check on another's flavor": (
        {"admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["spot", "gone"]}]}},
        [("spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]", "NotSupported")],
    ),
    "quantity that Go cannot read": (
        groups(group(("cpu",), "spot", nominalQuota="1e1.5")),
        [(f"{QUOTA}.nominalQuota", "Invalid")],
    ),
    "KEP-1337": (
        {"preemption": preemption(borrowWithinCohort={"policy": "LowerPriority"})},
        [("spec.preemption", "Invalid")],
    ),
}
RIGHT: dict[str, Object] = {
    "nothing": {},
    "zero quota, all of it lent": groups(group(("cpu",), "spot", nominalQuota=0, lendingLimit="0")),
    "256 flavors": groups(*(group((f"r{i}",), *(f"f{i}-{j}" for j in range(64))) for i in range(4))),
    "256 resources": groups(*(group(tuple(f"r{i}-{j}" for j in range(64)), f"f{i}") for i in range(4))),
    "512 combinations": groups(group(tuple(f"r{i}" for i in range(16)), *(f"f{j}" for j in range(32)))),
    "weight zero": {"fairSharing": {"weight": "0"}},
    "weight just above a nano": {"fairSharing": {"weight": "1.1n"}},
    "no selector": {"namespaceSelector": None},
    "every operator": selector(
        matchExpressions=[
            *(expression(operator, "a", "") for operator in ("In", "NotIn")),
            *(expression(operator) for operator in ("Exists", "DoesNotExist")),
        ]
    ),
    "preference with both policies": {
        "flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        }
    },
    "check on a flavor": {
        "admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["a100"]}]}
    },
    "reclaiming and borrowing": {
        "preemption": preemption(reclaimWithinCohort="Any", borrowWithinCohort={"policy": "LowerPriority"})
    },
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_is_allowed(case: str) -> None:
    queue = cluster_queue(**RIGHT[case])
    assert pairs(created(queue)) == []
    assert pairs(updated(cluster_queue(), queue)) == []


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_on_create(case: str) -> None:
    spec, causes = WRONG[case]
    assert pairs(created(cluster_queue(**spec))) == causes


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_on_every_update(case: str) -> None:
    spec, causes = WRONG[case]
    queue = cluster_queue(**spec)
    assert pairs(updated(cluster_queue(), queue)) == causes
    relabelled = copy.deepcopy(queue)
    relabelled["metadata"]["labels"] = {"a": "b"}
    # Flavors of checks are the one thing that may stay as it is.
    assert pairs(updated(queue, relabelled)) == ([] if case == "check on another's flavor" else causes)


@pytest.mark.parametrize("case", WRONG)
def test_kueue_itself_checks_what_is_its_own(case: str) -> None:
    queue = cluster_queue(**WRONG[case][0])
    assert created(queue, settings=Settings(beside_kueue=True)).allowed


@pytest.mark.parametrize("case", WRONG)
def test_status_is_not_checked(case: str) -> None:
    queue = cluster_queue(**WRONG[case][0])
    assert updated(queue, {**queue, "status": {"conditions": []}}, subresource="status").allowed


def test_a_message_says_what_is_wrong_with_which_value() -> None:
    quotas = groups(group(("cpu",), "spot", lendingLimit="11"))
    assert [str(cause) for cause in created(cluster_queue(**quotas)).causes] == [
        f"{QUOTA}.lendingLimit: '11' is more than nominalQuota, which is '10'"
    ]


@pytest.mark.parametrize("limit", ["borrowingLimit", "lendingLimit"])
def test_a_message_says_that_a_limit_needs_a_cohort(limit: str) -> None:
    alone = groups(group(("cpu",), "spot", **{limit: 1}), cohortName="")
    (cause,) = created(cluster_queue(**alone)).causes
    assert cause.message == "there is no cohort to lend to or borrow from"


def test_flavors_of_a_check_are_looked_at_again_when_they_or_the_queues_change() -> None:
    def queue(flavors: list[str], *names: str) -> Object:
        checks = {"admissionChecks": [{"name": "c", "onFlavors": flavors}]}
        return cluster_queue(admissionChecksStrategy=checks, resourceGroups=[group(("cpu",), *names)])

    stored = queue(["spot", "gone"], "spot", "other")
    assert updated(stored, queue(["gone", "spot"], "other", "spot")).allowed
    at = "spec.admissionChecksStrategy.admissionChecks[0].onFlavors"
    assert pairs(updated(stored, queue(["gone"], "spot", "other"))) == [(f"{at}[0]", "NotSupported")]
    assert pairs(updated(stored, queue(["spot", "gone"], "spot"))) == [(f"{at}[1]", "NotSupported")]
    assert updated(stored, queue(["spot", "gone"], "spot", "gone")).allowed


def test_the_policy_of_concurrent_admission_cannot_be_changed() -> None:
    policy = {"migration": {"mode": "RetainFirstAdmission"}}
    cause = [("spec.concurrentAdmissionPolicy", "Invalid")]
    with_it, without = cluster_queue(concurrentAdmissionPolicy=policy), cluster_queue()
    assert created(with_it).allowed
    assert updated(with_it, copy.deepcopy(with_it)).allowed
    assert pairs(updated(with_it, without)) == cause
    assert pairs(updated(without, with_it)) == cause


def test_what_is_stored_and_cannot_be_read_can_be_repaired() -> None:
    broken = cluster_queue(**groups(group(("cpu",), "spot", nominalQuota="abc")))
    assert pairs(updated(broken, {**broken, "metadata": {"name": "team-a", "labels": {}}})) != []
    assert updated(broken, cluster_queue()).allowed


def test_a_value_of_the_wrong_type_that_is_stored_is_named() -> None:
    broken = cluster_queue(stopPolicy=5, cohortName=None, unknown=[{}], resourceGroups=[None, 5])
    causes = [("spec.resourceGroups[1]", "TypeInvalid"), ("spec.stopPolicy", "TypeInvalid")]
    assert pairs(updated(broken, {**broken, "metadata": {}})) == causes
