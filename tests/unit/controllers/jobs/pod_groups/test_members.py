"""Whose quota a pod uses: that of the PodGroup of ours that it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.jobs.pod_groups.members import GroupKey, GroupMembers
from tests.kit.objects import pod

NATIVE: dict[str, Any] = {"schedulingGroup": {"podGroupName": "native"}}


@pytest.mark.parametrize(
    ("fields", "groups"),
    [
        ({"group": "a"}, [("default", "a")]),
        ({"group": "a", "labels": {"scheduling.x-k8s.io/pod-group": "b"}}, [("default", "a")]),
        ({"group": "a", **NATIVE}, []),
        ({"labels": {"scheduling.x-k8s.io/pod-group": "b"}}, []),
        ({}, []),
    ],
)
def test_only_members_of_our_groups_count(fields: dict[str, Any], groups: list[GroupKey]) -> None:
    told: list[GroupKey] = []
    members = GroupMembers(told.append)
    members.upsert(pod("p", **fields))
    assert members.groups == told == groups
