"""The gang of a Job that is sent to another cluster."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.multikueue.kinds.groups import group_body, group_of
from controllers.multikueue.life.seen import Mark
from tests.kit.jobs import CLEAN, job, merge


def test_a_job_names_its_group_in_its_template() -> None:
    labels = {"metadata": {"labels": {"reprieve.dev/pod-group": "gang"}}}
    assert group_of(job(template=merge(CLEAN, labels))) == "gang"
    assert group_of(job()) == ""
    assert group_of(job(template={"spec": {}})) == ""


@pytest.mark.parametrize(
    ("policy", "kept"), [("Never", {"preemptionPolicy": "Never"}), ("PreemptLowerPriority", {})]
)
def test_the_cluster_fills_in_what_its_priority_class_says(policy: str, kept: dict[str, Any]) -> None:
    asked = {"schedulingPolicy": {"gang": {"minCount": 4}}, "priorityClassName": "high"}
    group = {
        "metadata": {"name": "gang", "namespace": "ns", "uid": "u", "finalizers": ["example.com/own"]},
        "spec": {**asked, "priority": 9, "preemptionPolicy": policy},
        "status": {"members": 4},
    }
    assert group_body(group, Mark("manager", "uid", "then"), "manager-1") == {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": "gang",
            "namespace": "ns",
            "labels": {"kueue.x-k8s.io/multikueue-origin": "manager-1"},
            "annotations": {"reprieve.dev/dispatched-by": "manager/uid/then"},
        },
        "spec": {**asked, **kept},
    }
