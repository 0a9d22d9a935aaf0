"""The check of quota that is given back finds what goes back too early, and accuses nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.stress import returns
from tests.unit.kit.forged import Forge, Json, pod

JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j"}
GROUP = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "PodGroup", "name": "hero", "uid": "uid-hero"}


def workload(owner: Json, **conditions: str) -> Json:
    """A Workload with the status of each condition."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"namespace": "d", "name": "w", "uid": "uid-w", "ownerReferences": [owner]},
        "status": {"conditions": [{"type": kind, "status": is_true} for kind, is_true in conditions.items()]},
    }


def judged(
    owner: Json, *, ends: Json | None = None, gap: bool = False, late: bool = False, **after: str
) -> list[str]:
    """A Workload holds quota, and its pod runs. `ends` changes the pod's metadata or phase before the Workload changes.

    `late`: the pod comes at the moment of the change.
    """
    forge = Forge()
    forge.tell(workload(owner, QuotaReserved="True"), "ADDED")
    member = pod("a", group="hero")
    member["metadata"]["ownerReferences"] = [JOB]
    if not late:
        forge.now -= 5
        forge.tell(member, "ADDED")
        forge.now += 5
    changes: dict[str, Any] = dict(ends or {})
    if "phase" in changes:
        member = {**member, "status": {"phase": changes.pop("phase")}}
    forge.tell(member, **changes)
    if gap:
        forge.miss("Workload", workload(owner, QuotaReserved="False"))
    else:
        forge.tell(workload(owner, **(after or {"QuotaReserved": "False"})))
    return [text for check in returns.CHECKS for text in check(forge.done())]


@pytest.mark.parametrize("owner", [JOB, GROUP], ids=["job", "group"])
def test_quota_goes_back_while_a_pod_runs(owner: Json) -> None:
    expected = ["workload d/w gave its quota back at version 4, and pod d/a ran"]
    assert judged(owner) == expected
    assert judged(owner, QuotaReserved="True", Finished="True") == expected


def test_a_terminating_pod_holds_the_quota_of_a_group_and_not_of_a_job() -> None:
    terminating = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert judged(GROUP, ends=terminating)
    assert not judged(JOB, ends=terminating)


@pytest.mark.parametrize("owner", [JOB, GROUP], ids=["job", "group"])
def test_nobody_else_is_accused(owner: Json) -> None:
    assert not judged(owner, ends={"phase": "Succeeded"})
    assert not judged(owner, gap=True)
    assert not judged(owner, late=True)
    assert not judged(owner, QuotaReserved="True")
    assert not judged({**owner, "uid": "uid-other", "name": "other"})
