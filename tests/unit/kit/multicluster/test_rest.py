"""The checker of clusters at rest finds what is wrong in forged ones, and nothing in clean ones."""

from __future__ import annotations

import pytest

from tests.kit.multicluster.history import MANAGER, Json
from tests.kit.multicluster.rest import Stand, unrest
from tests.unit.kit.multicluster.forged import (
    OPEN,
    condition,
    copy_of,
    dispatch_plan,
    job,
    job_copy,
    objects,
    workload,
)

ADMITTED = condition("Admitted")
QUOTA = condition("QuotaReserved")
BLOCKED = condition("BlockedOnPreemptionGates")
NO_QUOTA = condition("QuotaReserved", "False")
Clusters = dict[str, list[Json]]


def found(clusters: Clusters) -> list[str]:
    """What is wrong with objects by cluster."""
    stand = {name: objects(*clusters.get(name, ())) for name in (MANAGER, "alpha", "beta")}
    return unrest(Stand(stand, "check", ("alpha", "beta")))


def waits() -> Clusters:
    """A Workload that waits in both clusters, while it is alpha's turn."""
    return {
        MANAGER: [workload(), job(), dispatch_plan("alpha")],
        "alpha": [copy_of(gate="Open")],
        "beta": [copy_of()],
    }


def runs() -> Clusters:
    """A Workload that runs in alpha."""
    here = workload(ADMITTED, check="Ready", clusterName="alpha")
    return {
        MANAGER: [here, job(), dispatch_plan("alpha", phase="Admitted")],
        "alpha": [copy_of(QUOTA, ADMITTED), job_copy()],
    }


@pytest.mark.parametrize("clusters", [{}, waits(), runs()], ids=["nothing", "waits", "runs"])
def test_clean_clusters_pass(clusters: Clusters) -> None:
    assert found(clusters) == []


@pytest.mark.parametrize(
    ("here", "reason"),
    [
        ([], "its Workload uid-w is gone"),
        ([workload(NO_QUOTA), job()], "the present one is (none)"),
        ([workload(condition("Finished")), job()], "its Workload has finished"),
        ([workload(check="Rejected"), job()], "its check is Rejected"),
        ([{**workload(), "spec": {"active": False}}, job()], "its Workload is not active"),
    ],
    ids=["gone", "without quota", "finished", "rejected", "inactive"],
)
def test_a_copy_that_belongs_to_no_attempt(here: list[Json], reason: str) -> None:
    text, *_ = found({MANAGER: here, "beta": [copy_of()]})
    assert text.startswith("Workload ns/w is left in beta: ")
    assert text.endswith(reason)


def test_a_copy_of_a_former_attempt() -> None:
    clusters = {**waits(), "beta": [copy_of(mark="m/uid-w/2025-12-31T00:00:00Z")]}
    [text] = found(clusters)
    assert "its attempt is 2025-12-31T00:00:00Z" in text


def test_a_copy_without_a_mark() -> None:
    texts = found({**waits(), "beta": [copy_of(mark="")]})
    assert texts[0] == "Workload ns/w is left in beta: its Workload (no mark) is gone"


def test_a_copy_that_is_not_deleted_after_another_was_chosen() -> None:
    assert found({**runs(), "beta": [copy_of()]}) == ["Workload ns/w is left in beta: alpha was chosen"]


def test_a_copy_outside_the_config() -> None:
    clusters = waits()
    stand = {name: objects(*bodies) for name, bodies in clusters.items()}
    [text] = unrest(Stand(stand, "check", ("alpha",)))
    assert text == "Workload ns/w is left in beta: the cluster is not in the config"


def test_a_job_that_is_left() -> None:
    left = job_copy(suspend=True)
    [text] = found({MANAGER: [workload(NO_QUOTA), job()], "beta": [left]})
    assert text.startswith("Job ns/j is left in beta")


def test_a_copy_that_goes_is_no_rest() -> None:
    clusters = waits()
    clusters["beta"][0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert found(clusters) == ["Workload ns/w is left in beta: it is being deleted"]


def test_quota_without_a_job() -> None:
    clusters = waits()
    clusters[MANAGER] = [each for each in clusters[MANAGER] if each["kind"] != "Job"]
    assert found(clusters) == ["Workload ns/w has quota, and no Job"]


def test_a_copy_is_admitted_and_nobody_chose_it() -> None:
    clusters = {**waits(), "beta": [copy_of(QUOTA, ADMITTED), job_copy(suspend=True)]}
    texts = found(clusters)
    assert texts[0] == "Workload ns/w is Admitted in beta, and the manager chose "
    assert "which is not so" in texts[1]


def test_an_admitted_copy_without_its_job() -> None:
    clusters = {**runs(), "alpha": [copy_of(QUOTA, ADMITTED)]}
    assert found(clusters) == [
        "Workload ns/w is Admitted in alpha, and no Job there uses it",
        "Workload ns/w is Admitted, and alpha has no Job of it",
    ]


def test_a_job_that_runs_where_it_was_not_sent() -> None:
    clusters = {**runs(), "beta": [job_copy(uid="uid-second")]}
    assert "Job ns/j runs in beta, and the manager chose alpha" in found(clusters)


def test_a_wait_without_a_reason() -> None:
    silent = workload(condition("QuotaReserved", "False", message=""))
    assert found({MANAGER: [silent, job()]}) == ["Workload ns/w waits without a reason"]


def test_a_reason_that_leaves_out_a_cluster() -> None:
    clusters = waits()
    clusters[MANAGER][0] = workload(said=OPEN)
    assert found(clusters) == [f"the check of ns/w says nothing of beta: {OPEN!r}"]


@pytest.mark.parametrize(
    ("text", "copy", "is_true"),
    [
        ("not in this attempt: LocalQueue q does not exist", None, True),
        ("waits for quota: not enough", copy_of(), True),
        ("waits for quota: not enough", copy_of(QUOTA), False),
        ("holds quota, and waits for its own admission checks", copy_of(QUOTA), True),
        ("holds quota, and waits for its own admission checks", copy_of(), False),
        ("would have to preempt, and waits for its turn", copy_of(BLOCKED), True),
        ("would have to preempt, and waits for its turn", copy_of(), False),
        ("may preempt until 2026-01-01T00:05:00Z", copy_of(), False),
        ("the copy is about to be made", None, False),
        ("not connected: timed out", copy_of(), False),
    ],
)
def test_a_reason_is_true(text: str, copy: Json | None, is_true: bool) -> None:
    clusters = {**waits(), "beta": [] if copy is None else [copy]}
    clusters[MANAGER][0] = workload(said=f"{OPEN}\nbeta: {text}")
    wrong = [f"the check of ns/w says of beta, which is not so: {text!r}"]
    assert found(clusters) == ([] if is_true else wrong)


def test_a_check_that_is_ready_and_nothing_follows() -> None:
    clusters = runs()
    clusters[MANAGER][0] = workload(check="Ready", clusterName="alpha")
    assert found(clusters) == ["Workload ns/w has quota and its check is Ready, but it is not Admitted"]


def test_a_check_that_is_rejected_and_nothing_follows() -> None:
    [text] = found({MANAGER: [workload(check="Rejected"), job()]})
    assert text == "Workload ns/w has quota and its check is Rejected, but it is not Admitted"


def test_a_turn_of_an_attempt_that_is_over() -> None:
    clusters = {MANAGER: [workload(NO_QUOTA), job(), dispatch_plan("alpha")]}
    assert found(clusters) == ["DispatchPlan ns/w-1 is Open, and its attempt is over"]


def test_a_gate_outside_its_turn() -> None:
    clusters = {**waits(), "beta": [copy_of(gate="Open")]}
    assert found(clusters) == ["the gate of ns/w is open in beta, whose turn it is not"]
