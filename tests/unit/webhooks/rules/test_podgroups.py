"""KEP-5710: the priority of a PodGroup comes from its class; a pod with another one gets that answer."""

from __future__ import annotations

from typing import Any

import pytest

from api.groups import PodGroup
from api.validation import convert
from schema.verdict import Verdict
from tests.kit.manifests import CLASSES, created, pairs, pod_group, updated
from tests.kit.objects import priority_class
from webhooks.facts import NO_FACTS, UNKNOWN, Facts, KnownFacts, NotSynced
from webhooks.rules import Object, Operation, Request, default
from webhooks.settings import Settings

WITH_DEFAULT = KnownFacts([priority_class("usual", 7, default=True), priority_class("other", 8)])


def filled(new: Object, facts: Facts = CLASSES, old: Object | None = None) -> Object:
    """The spec after defaulting, without the scheduling policy."""
    operation: Operation = "UPDATE" if old is not None else "CREATE"
    request = Request(kind="PodGroup", operation=operation, new=new, old=old, facts=facts)
    spec = dict(default(request)["spec"])
    del spec["schedulingPolicy"]
    return spec


def test_priority_and_policy_come_from_the_class() -> None:
    assert filled(pod_group(priorityClassName="gone")) == {"priorityClassName": "gone"}
    high = {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"}
    assert filled(pod_group(priorityClassName="high")) == high
    assert filled(pod_group(priorityClassName="high", priority=None)) == high
    low = {"priorityClassName": "low", "priority": -5, "preemptionPolicy": "PreemptLowerPriority"}
    assert filled(pod_group(priorityClassName="low")) == low
    assert filled(pod_group(priorityClassName="low", preemptionPolicy="Never")) == low | {
        "preemptionPolicy": "Never"
    }


def test_without_a_class_the_global_default_is_taken_and_named() -> None:
    usual = {"priorityClassName": "usual", "priority": 7, "preemptionPolicy": "PreemptLowerPriority"}
    assert filled(pod_group(), WITH_DEFAULT) == usual
    assert filled(pod_group()) == {"priority": 0}
    # The empty policy is not absent: it is left for the schema to refuse.
    assert filled(pod_group(preemptionPolicy=""), WITH_DEFAULT) == {**usual, "preemptionPolicy": ""}


def test_an_empty_class_is_none() -> None:
    usual: Object = {"priorityClassName": "usual", "priority": 7, "preemptionPolicy": "PreemptLowerPriority"}
    assert filled(pod_group(priorityClassName=""), WITH_DEFAULT) == usual
    assert filled(pod_group(priorityClassName=""), NO_FACTS, pod_group(**usual)) == usual
    stored = pod_group(priorityClassName="", priority=0)
    assert filled(pod_group(priorityClassName="")) == {"priorityClassName": "", "priority": 0}
    request = Request(kind="PodGroup", operation="UPDATE", new=stored, old=stored, facts=CLASSES)
    assert default(request) is stored


def test_of_several_global_defaults_the_lowest_is_taken() -> None:
    several = KnownFacts([priority_class(name, value, default=True) for name, value in (("a", 9), ("b", 3))])
    assert filled(pod_group(), several)["priorityClassName"] == "b"


def test_what_is_filled_in_is_allowed() -> None:
    for facts in (CLASSES, WITH_DEFAULT):
        group = pod_group()
        group["spec"] |= filled(group, facts)
        assert created(group, facts=facts).allowed


def test_the_classes_of_the_system_are_always_known() -> None:
    group = pod_group("kube-system", priorityClassName="system-node-critical")
    assert filled(group, NO_FACTS)["priority"] == 2_000_001_000
    group["spec"] |= filled(group, NO_FACTS)
    assert created(group, facts=NO_FACTS).allowed


@pytest.mark.parametrize("group", [pod_group(), pod_group(priorityClassName="high")])
def test_before_the_classes_are_known_nothing_is_filled_in(group: Object) -> None:
    with pytest.raises(NotSynced):
        filled(group, NO_FACTS)


def test_an_update_that_leaves_them_out_leaves_them_as_they_are() -> None:
    stored = pod_group(priorityClassName="high", priority=1000, preemptionPolicy="Never")
    assert filled(pod_group(), NO_FACTS, stored) == filled(stored)
    assert filled(pod_group(priority=5), NO_FACTS, stored)["priority"] == 5
    assert filled(pod_group(), NO_FACTS, pod_group()) == {}


def test_an_update_of_the_status_fills_in_nothing() -> None:
    new = pod_group()
    stored = pod_group(priority=5)
    request = Request(kind="PodGroup", operation="UPDATE", subresource="status", new=new, old=stored)
    assert default(request) is new


def test_nothing_that_is_given_is_changed() -> None:
    group = pod_group()
    filled(group, WITH_DEFAULT)
    assert group == pod_group()


WRONG: dict[str, tuple[Object, list[tuple[str, str]]]] = {
    "against its class": (pod_group(priorityClassName="high", priority=1), [("spec.priority", "Invalid")]),
    # Its class was not there yet when defaults were filled in: without a priority it would count as 0, for ever.
    "before its class": (pod_group(priorityClassName="high"), [("spec.priority", "Required")]),
    "without a class": (pod_group(priority=1), [("spec.priority", "Invalid")]),
    "preempts against its class": (
        pod_group(priorityClassName="high", priority=1000, preemptionPolicy="PreemptLowerPriority"),
        [("spec.preemptionPolicy", "Invalid")],
    ),
    "no such class": (pod_group(priorityClassName="gone"), [("spec.priorityClassName", "NotFound")]),
    "class of the system": (
        pod_group(priorityClassName="system-cluster-critical", priority=2_000_000_000),
        [("spec.priorityClassName", "Forbidden")],
    ),
    "beyond what users can have": (
        pod_group(priorityClassName="high", priority=1_000_000_001),
        [("spec.priority", "Invalid")] * 2,
    ),
    "no class of the system that there is": (
        pod_group("kube-system", priorityClassName="system-x"),
        [("spec.priorityClassName", "NotFound")],
    ),
    "all pods of no whole": (
        pod_group(schedulingPolicy={"basic": {}}, disruptionMode={"all": {}}),
        [("spec.disruptionMode", "Invalid")],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_and_may_stay_once_it_is_stored(case: str) -> None:
    wrong, causes = WRONG[case]
    assert pairs(created(wrong, facts=CLASSES)) == causes
    relabelled = {**wrong, "metadata": {**wrong["metadata"], "labels": {"a": "b"}}}
    assert updated(wrong, relabelled, facts=CLASSES).allowed
    assert updated(pod_group(), wrong, facts=CLASSES, subresource="status").allowed


RIGHT = [
    pod_group(),
    pod_group(priority=0),
    pod_group(priorityClassName="high", priority=1000),
    pod_group(priorityClassName="high", priority=1000, preemptionPolicy="Never"),
    pod_group(priorityClassName="top", priority=10**9),
    pod_group(priorityClassName="top", priority=10**9, preemptionPolicy="Never"),
    pod_group("kube-system", priorityClassName="system-cluster-critical", priority=2_000_000_000),
    pod_group(schedulingPolicy={"basic": {}}, disruptionMode={"single": {}}),
    pod_group(disruptionMode={"all": {}}),
]


@pytest.mark.parametrize("group", RIGHT)
def test_what_is_right_is_allowed(group: Object) -> None:
    verdict = created(group, facts=CLASSES)
    assert (verdict.causes, verdict.warnings) == ((), ())


def test_namespaces_of_the_configuration_may_have_classes_of_the_system() -> None:
    group = pod_group("infra", priorityClassName="system-cluster-critical", priority=2_000_000_000)
    assert not created(group, facts=CLASSES).allowed
    assert created(group, facts=CLASSES, settings=Settings(system_namespaces=("infra",))).allowed


def test_without_a_namespace_the_default_one_is_meant() -> None:
    group = pod_group("", priorityClassName="system-cluster-critical", priority=2_000_000_000)
    (cause,) = created(group, facts=CLASSES).causes
    assert cause.message.endswith("is for PodGroups in kube-system, not in default")
    assert created(group, facts=CLASSES, settings=Settings(system_namespaces=("default",))).allowed
    (warning,) = created(pod(6, namespace=""), facts=facts_with(priority=5)).warnings
    assert "which counts, 5: " in warning


def test_a_class_that_is_not_known_yet_gets_a_warning() -> None:
    verdict = created(pod_group(priorityClassName="high", priority=1000), facts=NO_FACTS)
    assert verdict.allowed
    assert verdict.warnings == (
        "spec.priorityClassName: PriorityClass 'high' is not known and was not checked",
    )
    stored = pod_group(priorityClassName="high", priority=1000)
    assert updated(stored, stored, facts=NO_FACTS) == Verdict()
    assert created(pod_group(priority=0), facts=NO_FACTS) == Verdict()


def pod(priority: int | None, group: str = "gang", **metadata: Any) -> Object:
    spec = {} if priority is None else {"priority": priority}
    labels = {"reprieve.dev/pod-group": group}
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": labels} | metadata,
        "spec": spec,
    }


def facts_with(**spec: Any) -> Facts:
    groups = [convert(pod_group(**spec), PodGroup)]
    return KnownFacts([priority_class("high", 1000), priority_class("usual", 7, default=True)], groups)


@pytest.mark.parametrize(
    ("facts", "priority", "which"),
    [
        (facts_with(priority=5), 5, "the PodGroup has none"),
        (facts_with(priorityClassName="high"), 1000, "the PodGroup's is high"),
        (facts_with(), 7, "the PodGroup has none"),
    ],
)
def test_a_pod_whose_priority_is_not_its_groups_gets_a_warning(
    facts: Facts, priority: int, which: str
) -> None:
    verdict = created(pod(6), facts=facts)
    assert verdict.allowed
    assert verdict.warnings == (
        f"the pod's priority is 6, and that of its PodGroup gang, which counts, {priority}: "
        f"nothing is evicted for the group unless both have one priorityClassName ({which})",
    )
    assert created(pod(priority), facts=facts).warnings == ()


def test_a_pod_that_never_preempts_in_a_group_that_does_gets_a_warning() -> None:
    never = pod(1000)
    never["spec"]["preemptionPolicy"] = "Never"
    (warning,) = created(never, facts=facts_with(priorityClassName="high")).warnings
    assert warning == (
        "the pod's preemptionPolicy is Never, and that of its PodGroup gang is not: "
        "nothing is evicted for the group unless both have one priorityClassName (the PodGroup's is high)"
    )
    meek = facts_with(priorityClassName="high", preemptionPolicy="Never")
    assert created(never, facts=meek).warnings == ()
    classes = [priority_class("meek", 1000, policy="Never")]
    groups = [convert(pod_group(priorityClassName="meek"), PodGroup)]
    assert created(never, facts=KnownFacts(classes, groups)).warnings == ()
    never["spec"]["preemptionPolicy"] = "PreemptLowerPriority"
    assert created(never, facts=KnownFacts(classes, groups)).warnings == ()


@pytest.mark.parametrize(
    "other",
    [pod(6, "gone"), pod(None), pod(6, namespace="other"), pod(6, labels={}), pod(6, labels=None)],
)
def test_other_pods_get_none(other: Object) -> None:
    verdict = created(other, facts=facts_with(priority=5))
    assert (verdict.allowed, verdict.warnings) == (True, ())


@pytest.mark.parametrize("other", [pod(None), pod(6, labels={}), pod(6, labels=None), pod(6, "")])
def test_of_pods_without_a_group_nothing_needs_to_be_known(other: Object) -> None:
    assert created(other, facts=NO_FACTS) == Verdict()


def test_a_pod_of_a_group_that_is_not_known_yet_is_told_that_nobody_checked() -> None:
    (warning,) = created(pod(6)).warnings
    assert warning.startswith("PodGroup gang is not known")


def test_a_group_without_a_class_counts_as_zero_where_there_is_no_default() -> None:
    facts = KnownFacts(groups=[convert(pod_group(), PodGroup)])
    assert created(pod(0), facts=facts).warnings == ()
    (warning,) = created(pod(6), facts=facts).warnings
    assert "which counts, 0: " in warning


def test_a_group_of_a_class_that_is_gone_says_nothing_of_its_pods() -> None:
    facts = KnownFacts(groups=[convert(pod_group(priorityClassName="gone"), PodGroup)])
    assert created(pod(6), facts=facts).warnings == ()


def test_a_group_of_a_class_that_is_not_known_yet_says_nothing_either() -> None:
    class Classless(KnownFacts):
        def priority_class(self, name: str) -> Any:
            return UNKNOWN

    facts = Classless(groups=[convert(pod_group(priorityClassName="high"), PodGroup)])
    assert created(pod(6), facts=facts).warnings == ()


def saying(item: Object, **said: str) -> Object:
    annotations = {f"reprieve.dev/disruption-{name}": value for name, value in said.items()}
    return {**item, "metadata": {**item["metadata"], "annotations": annotations}}


@pytest.mark.parametrize("cost", ["-1", "1.5", "1e3", "", " 1", "\u0661", "2147483648", "1" * 40])
def test_a_cost_that_cannot_be_read(cost: str) -> None:
    """A PodGroup is refused. A pod is not, because other programs make it; it gets a warning."""
    field = "metadata.annotations[reprieve.dev/disruption-cost]"
    assert pairs(created(saying(pod_group(), cost=cost), facts=CLASSES)) == [(field, "Invalid")]
    verdict = created(saying(pod(None), cost=cost), facts=CLASSES)
    (warning,) = verdict.warnings
    assert verdict.allowed
    assert warning.startswith(f"{field}: ")
    assert warning.endswith(" is not a whole number from 0 to 2147483647: it counts as if it were absent")


@pytest.mark.parametrize("budgets", ["respect", "", "Prefer "])
def test_a_policy_for_budgets_that_there_is_not(budgets: str) -> None:
    field = "metadata.annotations[reprieve.dev/disruption-budgets]"
    assert pairs(created(saying(pod_group(), budgets=budgets), facts=CLASSES)) == [(field, "Invalid")]
    assert created(saying(pod(None), budgets=budgets), facts=CLASSES) == Verdict()


@pytest.mark.parametrize(
    "said", [{"cost": "0"}, {"cost": "2147483647", "budgets": "Respect"}, {"budgets": "Ignore"}]
)
def test_what_can_be_read_is_let_in(said: dict[str, str]) -> None:
    assert created(saying(pod_group(), **said), facts=CLASSES) == Verdict()
    assert created(saying(pod(None), **said), facts=CLASSES) == Verdict()


def test_an_update_says_only_what_is_new() -> None:
    """People write the annotation again at each checkpoint."""
    wrong = saying(pod(None), cost="a")
    assert len(updated(pod(None), wrong, facts=CLASSES).warnings) == 1
    assert updated(wrong, saying(pod(None), cost="a", budgets="Prefer"), facts=CLASSES).warnings == ()
    assert len(updated(wrong, saying(pod(None), cost="b"), facts=CLASSES).warnings) == 1
    stored = saying(pod_group(), cost="a")
    assert updated(
        stored, {**stored, "metadata": {**stored["metadata"], "labels": {"a": "b"}}}, facts=CLASSES
    ).allowed
    assert not updated(pod_group(), stored, facts=CLASSES).allowed


def test_pods_are_looked_at_when_they_are_made_and_not_again() -> None:
    facts = facts_with(priority=5)
    assert updated(pod(6), pod(6), facts=facts).warnings == ()
    assert created(pod(6), facts=facts, subresource="binding").warnings == ()
