"""Whose quota a pod uses: that of the PodGroup of ours that it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.jobs.pod_groups.members import ADMITTED_BY, GroupKey, GroupMembers
from tests.kit.objects import pod

NATIVE: dict[str, Any] = {"schedulingGroup": {"podGroupName": "native"}}


@pytest.mark.parametrize(
    ("fields", "groups"),
    [
        ({"group": "a"}, [("default", "a")]),
        ({"group": "a", "labels": {"scheduling.x-k8s.io/pod-group": "b"}}, [("default", "a")]),
        ({"group": "a", **NATIVE}, [("default", "a")]),
        ({**NATIVE}, []),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "b"}}, []),
        ({}, []),
    ],
)
def test_only_members_of_our_groups_count(fields: dict[str, Any], groups: list[GroupKey]) -> None:
    """Whichever group they are scheduled with."""
    told: list[GroupKey] = []
    members = GroupMembers(told.append)
    members.upsert(pod("p", **fields))
    assert members.groups == told == groups


@pytest.mark.parametrize(
    ("gates", "admitted_by"),
    [
        (["kueue.x-k8s.io/admission"], ""),
        (["kueue.x-k8s.io/admission", "reprieve.dev/gang"], ""),
        (["reprieve.dev/gang"], "w"),
        ([], "w"),
    ],
)
def test_what_a_pod_says_of_its_quota_does_not_count_beside_the_gate(
    gates: list[str], admitted_by: str
) -> None:
    """Whoever creates a pod may write the annotation. The webhook adds the gate all the same."""
    members = GroupMembers(lambda _: None)
    scheduling = [{"name": each} for each in gates]
    members.upsert(pod("p", group="a", annotations={ADMITTED_BY: "w"}, schedulingGates=scheduling))
    (member,) = members.of(("default", "a"))
    assert member.admitted_by == admitted_by
