"""KEP-1337 and KEP-8522: preemption policies that cannot work are refused; what is stored may stay."""

from __future__ import annotations

from typing import Any

import pytest

from api.kueue import MIN_ADMIT_DURATION_ANNOTATION
from tests.kit.manifests import Pairs, cluster_queue, created, pairs, preemption, updated
from webhooks.rules import Object
from webhooks.settings import Settings

CONFIG = "spec.preemption.withinClusterQueueConfig"
DURATION = f"{CONFIG}.minAdmitDuration"
ANNOTATION = f"metadata.annotations[{MIN_ADMIT_DURATION_ANNOTATION}]"
TIME_BASED = "LowerOrNewerEqualPriority"


def queue(config: Any = None, policy: str = TIME_BASED, annotation: str | None = None, **more: Any) -> Object:
    """A ClusterQueue with that `withinClusterQueueConfig`, or with the annotation in its place."""
    fields = {"withinClusterQueue": policy, **more} | (
        {} if config is None else {"withinClusterQueueConfig": config}
    )
    annotations = {} if annotation is None else {MIN_ADMIT_DURATION_ANNOTATION: annotation}
    return cluster_queue(preemption=preemption(**fields), annotations=annotations)


@pytest.mark.parametrize("duration", ["1m", "60s", "59.999999999s1ns", "1h30m", "2540400h"])
def test_a_duration_of_a_minute_or_more_is_allowed(duration: str) -> None:
    assert created(queue({"minAdmitDuration": duration})).allowed
    assert created(queue(annotation=duration)).allowed


@pytest.mark.parametrize(
    "duration", ["59s", "59.999999999s", "0", "0s", "-1h", "", "1", "1d", " 1h", "1h ", "soon"]
)
def test_another_one_is_refused_where_it_stands(duration: str) -> None:
    assert pairs(created(queue({"minAdmitDuration": duration}))) == [(DURATION, "Invalid")]
    assert pairs(created(queue(annotation=duration))) == [(ANNOTATION, "Invalid")]


@pytest.mark.parametrize("config", [{}, {"minAdmitDuration": "1h"}])
@pytest.mark.parametrize("policy", ["Never", "LowerPriority"])
def test_it_goes_with_the_policy_that_lets_equals_go(config: Object, policy: str) -> None:
    assert pairs(created(queue(config, policy))) == [(CONFIG, "Invalid")]
    assert created(queue(config)).allowed
    assert pairs(created(queue(None, policy, annotation="1h"))) == [(ANNOTATION, "Invalid")]


def test_beside_kueue_the_annotation_is_still_checked() -> None:
    settings = Settings(beside_kueue=True)
    assert pairs(created(queue(annotation="1s"), settings=settings)) == [(ANNOTATION, "Invalid")]


def test_the_annotation_is_ignored_where_the_field_is_set() -> None:
    both = created(queue({"minAdmitDuration": "1h"}, annotation="2h"))
    assert both.warnings == (f"{ANNOTATION} has no effect: {DURATION} is set",)
    assert created(queue({"minAdmitDuration": "1h"})).warnings == ()
    assert created(queue({"minAdmitDuration": "1h"}, annotation="1h")).warnings == ()
    assert created(queue({}, annotation="1h")).warnings == ()


STORED = {
    "too short": (queue({"minAdmitDuration": "1s"}), [(DURATION, "Invalid")]),
    "wrong policy": (queue({"minAdmitDuration": "1h"}, "LowerPriority"), [(CONFIG, "Invalid")]),
    "annotation": (queue(annotation="1s"), [(ANNOTATION, "Invalid")]),
}


@pytest.mark.parametrize("case", STORED)
def test_a_fault_that_is_stored_does_not_hold_up_another_change(case: str) -> None:
    stored, causes = STORED[case]
    changed = {**stored, "spec": {**stored["spec"], "stopPolicy": "Hold"}}
    assert updated(stored, changed).allowed
    assert pairs(updated(cluster_queue(), changed)) == causes


@pytest.mark.parametrize(
    ("old", "new", "causes"),
    [
        (queue({"minAdmitDuration": "1s"}), queue({"minAdmitDuration": "2s"}), [(DURATION, "Invalid")]),
        (queue({}, "Never"), queue({}, "LowerPriority"), [(CONFIG, "Invalid")]),
        (
            queue({"minAdmitDuration": "1s"}),
            queue({"minAdmitDuration": "1s"}, "Never"),
            [(CONFIG, "Invalid")],
        ),
        (queue(annotation="1s"), queue({"minAdmitDuration": "1s"}), [(DURATION, "Invalid")]),
        # Of the wrong policy, the duration is what the fault is about as well.
        (
            queue({"minAdmitDuration": "1h"}, "Never"),
            queue({"minAdmitDuration": "2h"}, "Never"),
            [(CONFIG, "Invalid")],
        ),
        (queue(None, "Never", "1h"), queue(None, "Never", "2h"), [(ANNOTATION, "Invalid")]),
    ],
)
def test_a_change_of_what_is_wrong_has_to_put_it_right(old: Object, new: Object, causes: Pairs) -> None:
    assert pairs(updated(old, new)) == causes


@pytest.mark.parametrize("policy", ["Never", None])
def test_a_threshold_without_a_policy_gets_a_warning(policy: str | None) -> None:
    borrowing = {"maxPriorityThreshold": 100} | ({"policy": policy} if policy else {})
    verdict = created(queue(borrowWithinCohort=borrowing, reclaimWithinCohort="Any"))
    assert [warning.partition(" ")[0] for warning in verdict.warnings] == [
        "spec.preemption.borrowWithinCohort.maxPriorityThreshold"
    ]
    working = {"maxPriorityThreshold": 100, "policy": "LowerPriority"}
    assert created(queue(borrowWithinCohort=working, reclaimWithinCohort="Any")).warnings == ()


def test_without_a_policy_of_reclaiming_there_is_no_borrowing_either() -> None:
    # The schema knows no empty policy, but what was stored without one may be read and written.
    empty = queue(borrowWithinCohort={"policy": "LowerPriority"}, reclaimWithinCohort="")
    assert pairs(created(empty)) == [("spec.preemption", "Invalid")]
    for borrowing in ({"policy": "Never"}, {}):
        assert created(queue(borrowWithinCohort=borrowing, reclaimWithinCohort="")).allowed
    assert updated(empty, {**empty, "metadata": {"name": "team-a", "labels": {}}}).allowed
