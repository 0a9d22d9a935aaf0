"""What follows from the reports of a manager of several clusters for the Workload here."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest

from api.workloads import AdmissionCheckState, Workload
from controllers.quota.life.admitting import reserve
from controllers.quota.life.around import Around, Limits
from controllers.quota.life.dispatching import NOT_SERVED, ClusterReport
from controllers.quota.life.draft import Draft, Step
from controllers.quota.life.evicting import Preemption
from controllers.quota.life.life import EVICTION_OVERDUE, next_step, settle
from quota.search.decision import decide
from quota.state.workloads import attempt_of, holds_quota
from runtime.exchange.dispatch_reports import CheckReport, Dispatched
from runtime.exchange.workload_reports import Reported
from tests.kit.quota.objects import (
    at,
    cluster_queue,
    condition,
    cpu,
    evicted,
    local_queue,
    set_condition,
    snapshot,
    us,
    workload,
)
from webhooks.rules.workload_status import transition_causes

LIMITS: Final = Limits(overdue=us(300) - us(0), frees_overdue=False, message=us(10) - us(0), reason=0)
QUEUE, LOCAL = cluster_queue("q", cpu(10)), local_queue("q", "q")
CHECKS: Final = ("mk", "other")
VICTIM: Final = Preemption("ns/p", "w", "InClusterQueue", "for x", "q")
READY: Final = CheckReport("mk", "Ready", 'The workload was admitted on "east"')


def report(item: Workload, **given: Any) -> ClusterReport:
    """What the manager says about the quota that it holds now."""
    return ClusterReport(Dispatched(**{"attempt": attempt_of(item), "may_run": False, **given}), True)


def look(item: Workload, now: int, clusters: ClusterReport, limits: Limits = LIMITS, **given: Any) -> Step:
    """One look, as the API server would take its write."""
    known: dict[str, Any] = {"local_queue": LOCAL, "cluster_queue": QUEUE, "required": CHECKS}
    step = next_step(item, Around(clusters=clusters, **known | given), limits, us(now))
    old, new = msgspec.to_builtins(item), msgspec.to_builtins(step.workload)
    assert not list(transition_causes(new, old, elastic=False))
    return step


def settled(item: Workload, now: int, clusters: ClusterReport, **given: Any) -> Workload:
    """After as many looks as have something to write: at most two."""
    for _ in range(3):
        step = look(item, now, clusters, **given)
        if not step.writes_status:
            return item
        item = step.workload
    raise AssertionError(f"a third look writes again: {item.status}")


def reserved() -> Workload:
    """It holds quota since second 5, and its other check is Ready."""
    draft = Draft(workload("w", "q", 1), us(5))
    reserve(draft, decide(snapshot(QUEUE), draft.workload, us(5)), CHECKS)
    return with_check(settle(draft).workload, AdmissionCheckState("other", "Ready", at(5), ""))


def with_check(item: Workload, check: AdmissionCheckState) -> Workload:
    checks = [check if each.name == check.name else each for each in item.status.admission_checks or ()]
    return with_status(item, admission_checks=checks)


def with_status(item: Workload, **fields: Any) -> Workload:
    return msgspec.structs.replace(item, status=msgspec.structs.replace(item.status, **fields))


def running(cluster: str = "east") -> Workload:
    """It was admitted in the cluster at second 8."""
    item = settled(reserved(), 6, report(reserved(), nominated=("east", "west")))
    return settled(item, 8, report(item, check=READY, cluster=cluster, may_run=True))


def check_of(item: Workload, name: str = "mk") -> AdmissionCheckState:
    return next(each for each in item.status.admission_checks or () if each.name == name)


def is_true(item: Workload, kind: str) -> bool:
    found = condition(item, kind)
    return found is not None and found.status == "True"


# ---- what is reported is written


def test_nominated_clusters_and_the_message_are_written_as_reported() -> None:
    item = reserved()
    waits = CheckReport("mk", "Pending", "east: waits for quota\nwest: waits for quota")
    step = look(item, 9, report(item, check=waits, nominated=("east", "west")))
    assert step.workload.status.nominated_cluster_names == ["east", "west"]
    check = check_of(step.workload)
    assert (check.message, check.last_transition_time) == (waits.message, at(5)), "the state is the same"
    assert check_of(step.workload, "other").state == "Ready"
    again = look(step.workload, 10, report(item, check=waits, nominated=("east", "west")))
    assert not again.writes_status
    fewer = look(step.workload, 11, report(item, check=waits, nominated=("west",)))
    assert fewer.status == {"nominatedClusterNames": ["west"]}


def test_ready_the_cluster_and_admitted_come_in_one_write() -> None:
    item = settled(reserved(), 6, report(reserved(), nominated=("east", "west")))
    step = look(item, 8, report(item, check=READY, cluster="east", may_run=True))
    status = step.workload.status
    assert (status.cluster_name, status.nominated_cluster_names) == ("east", None)
    check = check_of(step.workload)
    assert (check.state, check.message, check.last_transition_time) == ("Ready", READY.message, at(8))
    assert is_true(step.workload, "Admitted")
    assert [each.reason for each in step.events] == ["Admitted"]


def test_the_cluster_is_named_before_the_check_is_ready() -> None:
    """The manager writes clusterName, then creates the Job, and then the check is Ready."""
    item = settled(reserved(), 6, report(reserved(), nominated=("east",)))
    item = settled(item, 7, report(item, check=CheckReport("mk", "Pending", ""), cluster="east"))
    assert item.status.cluster_name == "east"
    assert not is_true(item, "Admitted")


def test_a_cluster_that_was_not_nominated_is_nominated_first() -> None:
    """The webhook refuses a clusterName that is none of the stored nominatedClusterNames."""
    item = reserved()
    clusters = report(item, check=READY, cluster="east", may_run=True)
    first = look(item, 8, clusters)
    assert first.status == {"nominatedClusterNames": ["east"]}, "Ready waits for the clusterName"
    second = look(first.workload, 9, clusters)
    assert second.workload.status.cluster_name == "east"
    assert is_true(second.workload, "Admitted")


def test_the_cluster_does_not_change() -> None:
    item = settled(reserved(), 6, report(reserved(), nominated=("east", "west")))
    item = settled(item, 7, report(item, cluster="east"))
    for said in (report(item, check=READY, cluster="west"), report(item, nominated=("west",))):
        assert not look(item, 8, said).writes_status


def test_a_report_about_another_quota_does_not_count() -> None:
    item = reserved()
    other = ClusterReport(
        Dispatched("2026-01-01T00:00:01Z", READY, ("east",), "east", may_run=False), is_served=True
    )
    assert not look(item, 9, other).writes_status


def test_without_a_report_everything_stays() -> None:
    item = running()
    assert not look(item, 99, ClusterReport(is_served=True)).writes_status


def test_a_check_that_the_queue_lacks_is_not_added() -> None:
    item = reserved()
    step = look(item, 9, report(item, check=CheckReport("gone", "Ready", "")))
    assert not step.writes_status


def test_one_that_runs_there_keeps_its_check_when_the_queue_loses_it() -> None:
    """Without it the cluster could not give the Workload back, and the manager would stop its Job."""
    item = running()
    for now in (20, 21):
        item = settled(item, now, report(item, cluster="east"), required=())
    assert check_of(item).state == "Ready"
    assert is_true(item, "Admitted")
    waits = with_status(item, cluster_name=None)
    assert settled(waits, 22, report(waits), required=()).status.admission_checks is None


def test_an_end_there_is_an_end_here() -> None:
    item = running()
    said = report(item, check=READY, cluster="east", finished=("Succeeded", "Job finished successfully"))
    ended = condition(settled(item, 9, said), "Finished")
    assert ended is not None
    assert (ended.status, ended.reason, ended.message) == ("True", "Succeeded", "Job finished successfully")


# ---- Retry and Rejected


def test_a_retry_evicts_keeps_quota_until_nothing_runs_there_and_waits() -> None:
    item = running()
    retry = CheckReport("mk", "Retry", "Admitting remote lost", 60)
    item = settled(item, 20, report(item, check=retry, cluster="east", may_run=True))
    assert is_true(item, "Evicted")
    assert holds_quota(item)
    assert item.status.cluster_name == "east"
    assert check_of(item).requeue_after_seconds == 60
    # The report may be about an eviction that has happened, and changes nothing any longer.
    assert not look(item, 21, report(item, check=READY, cluster="east", may_run=True)).writes_status
    item = settled(item, 30, report(item, check=retry, cluster="east", may_run=False))
    assert not holds_quota(item)
    assert item.status.cluster_name is None
    assert item.status.requeue_state is not None
    assert item.status.requeue_state.requeue_at == at(80)
    item = settled(item, 80, ClusterReport(is_served=True))
    assert check_of(item).state == "Pending"
    assert check_of(item).retry_count == 1


def test_a_check_that_rejects_deactivates() -> None:
    item = reserved()
    step = look(item, 9, report(item, check=CheckReport("mk", "Rejected", "No multikueue adapter found")))
    assert step.deactivates
    assert is_true(step.workload, "DeactivationTarget")


# ---- quota and clusterName until the end


def deactivated(item: Workload) -> Workload:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, active=False))


def stopped(policy: Any) -> dict[str, Any]:
    return {"cluster_queue": cluster_queue("q", cpu(10), stop=policy)}


ENDS: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "preempted": (lambda item: item, {"preemption": VICTIM}),
    "deactivated": (deactivated, {}),
    "drained": (lambda item: item, stopped("HoldAndDrain")),
    "stopped by its owner": (lambda item: item, {"reported": Reported(eviction=("Stopped", "suspended"))}),
    "taken back": (lambda item: item, {"taken_back": "beyond the quota"}),
}


@pytest.mark.parametrize("state", ["Retry", "Rejected"])
def test_a_check_that_somebody_fails_by_hand_stays_so_whatever_is_reported(state: Any) -> None:
    """3841. The manager still reports Ready: it has not seen the other state yet."""
    by_hand = AdmissionCheckState("mk", state, at(9), "by hand")
    item = with_check(running(), by_hand)
    step = look(item, 10, report(running(), check=READY, cluster="east", may_run=True))
    if state == "Rejected":
        assert check_of(step.workload) == by_hand
        assert is_true(step.workload, "DeactivationTarget")
    else:
        assert is_true(step.workload, "Evicted")


@pytest.mark.parametrize("is_admitted", [True, False], ids=["admitted", "chosen"])
@pytest.mark.parametrize("how", ENDS)
def test_quota_and_cluster_stay_until_nothing_runs_there(how: str, is_admitted: bool) -> None:
    """7350, 9338: an eviction here is an eviction there. Its Job may run although it is not admitted yet."""
    change, given = ENDS[how]
    item = running()
    if not is_admitted:
        pending = AdmissionCheckState("mk", "Pending", at(5), "")
        item = with_check(set_condition(item, "Admitted", "False", "UnsatisfiedAdmissionChecks", 5), pending)
    runs = report(item, cluster="east", may_run=True)
    item = settled(change(item), 20, runs, **given)
    for clusters in (runs, ClusterReport(is_served=True)):
        # Pods that are here are no pods of it: `nothing_runs` says nothing about the cluster.
        item = settled(item, 30, clusters, **given, **({} if "reported" in given else ENDED))
        assert is_true(item, "Evicted")
        assert holds_quota(item)
        assert item.status.cluster_name == "east"
    item = settled(item, 40, report(item, cluster="east", may_run=False), **given)
    assert not holds_quota(item)
    assert item.status.cluster_name is None


ENDED: Final = {"reported": Reported(nothing_runs=True)}


def test_pods_of_a_job_here_do_not_keep_the_quota_of_one_that_runs_there() -> None:
    """The status of the Job here is the worker's, and stays if that is lost."""
    item = settled(evicted(running(), 20), 20, report(running(), cluster="east", may_run=True))
    item = settled(item, 30, report(item, may_run=False), reported=Reported(runs=True))
    assert not holds_quota(item)


def test_one_that_runs_here_keeps_its_quota_although_a_manager_says_that_nothing_runs_there() -> None:
    """Its queue got the check when it was admitted already."""
    item = set_condition(reserved(), "Admitted", "True", "Admitted", 6)
    said = report(item, check=CheckReport("mk", "Rejected", "not managed by Kueue"))
    item = settled(evicted(item, 20), 20, said, reported=Reported(runs=True))
    assert holds_quota(item)
    assert not holds_quota(settled(item, 30, said, **ENDED))


def test_nominations_end_with_the_eviction() -> None:
    item = settled(reserved(), 6, report(reserved(), nominated=("east", "west")))
    item = settled(item, 9, report(item, nominated=("east",), may_run=True), preemption=VICTIM)
    assert item.status.nominated_cluster_names is None
    assert holds_quota(item), "the report says that pods may run"
    assert not holds_quota(settled(item, 10, report(item)))


def test_one_that_no_cluster_has_gives_its_quota_back_at_once() -> None:
    item = settled(reserved(), 6, report(reserved(), nominated=("east", "west")))
    for clusters in (report(item, nominated=("east", "west")), ClusterReport(is_served=True)):
        assert not holds_quota(look(item, 9, clusters, preemption=VICTIM).workload)


@pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
def test_a_stopped_queue_cancels_one_that_no_cluster_has(policy: str) -> None:
    item = settled(reserved(), 6, report(reserved(), nominated=("east", "west")))
    item = settled(item, 9, report(item, nominated=("east", "west")), **stopped(policy), inactive="stopped")
    assert not holds_quota(item)
    assert item.status.nominated_cluster_names is None
    assert not is_true(item, "Evicted")


@pytest.mark.parametrize("name", ["cluster_queue", "local_queue"])
def test_a_missing_queue_does_not_take_the_quota_of_one_that_runs_there(name: str) -> None:
    item = settled(reserved(), 6, report(reserved(), nominated=("east",)))
    item = settled(item, 7, report(item, cluster="east", may_run=True))
    after = settled(item, 9, report(item, cluster="east", may_run=True), **{name: None})
    assert holds_quota(after)
    assert after.status.cluster_name == "east"


def test_a_report_about_an_earlier_quota_frees_nothing() -> None:
    item = settled(evicted(running(), 20), 20, ClusterReport(is_served=True))
    stale = ClusterReport(Dispatched("2026-01-01T00:00:01Z", may_run=False), is_served=True)
    assert holds_quota(settled(item, 30, stale))


def test_quota_that_somebody_takes_away_leaves_no_cluster_behind() -> None:
    item = set_condition(running(), "QuotaReserved", "False", "Pending", 20)
    item = settled(item, 21, report(item))
    assert item.status.cluster_name is None


# ---- for too long


@pytest.mark.parametrize("is_served", [True, False])
def test_an_overdue_eviction_names_the_cluster(is_served: bool) -> None:
    """Without a manager nobody can say that it has ended there, and the text says so."""
    item = settled(running(), 20, ClusterReport(is_served=is_served), preemption=VICTIM)
    item = settled(item, 400, ClusterReport(is_served=is_served))
    overdue = condition(item, EVICTION_OVERDUE)
    assert overdue is not None
    assert (overdue.status, overdue.reason) == ("True", "QuotaHeld")
    assert "pods may be left in cluster east" in overdue.message
    assert (NOT_SERVED in overdue.message) is not is_served
    assert holds_quota(item)


def test_a_setting_frees_the_quota_of_an_overdue_one() -> None:
    frees = Limits(overdue=LIMITS.overdue, frees_overdue=True, message=LIMITS.message, reason=0)
    item = settled(running(), 20, ClusterReport(), preemption=VICTIM)
    step = look(item, 400, ClusterReport(), frees)
    assert not holds_quota(step.workload)
    assert step.workload.status.cluster_name is None
    overdue = condition(step.workload, EVICTION_OVERDUE)
    assert overdue is not None
    assert overdue.reason == "QuotaFreed"
