"""Nothing of it stays, and its quota is kept while a pod of it may run. Numbers are Kueue's issues."""

from __future__ import annotations

import pytest

from api.jobs import JobStatus
from api.meta import Condition
from api.workloads import DEACTIVATION_TARGET
from controllers.multikueue.life.decision import Deactivate, DeleteCopy, DeleteJob, SuspendJob
from controllers.multikueue.life.leaving import clear, evict_there, may_run, remains, stop
from tests.kit.dispatched.seeing import (
    EVICTED,
    FINISHED,
    FOREIGN,
    OLD,
    admitted,
    cluster,
    copy,
    job,
    seen,
    workload,
)

CHOSEN = workload(EVICTED, chosen="a")
DONE = JobStatus(conditions=[Condition("Complete", "True", "", "", "")])


def test_first_the_job_goes_then_the_copy() -> None:
    """5452: pods were left behind."""
    both = cluster("a", copy(), job())
    assert clear(both, seen(), "why") == DeleteJob("j-1", "why")
    assert clear(cluster("a", copy(), job(is_deleting=True)), seen(), "why") == DeleteCopy("c-1", "why")
    assert clear(cluster("a", copy(is_deleting=True)), seen(), "why") is None
    assert clear(cluster("a", copy(), job(), reach="Away"), seen(), "why") is None


def test_what_has_ended_is_deleted_once() -> None:
    """The garbage collector there would delete the copy after its Job, besides the manager."""
    ended = job(status=DONE)
    assert clear(cluster("a", copy(FINISHED), ended), seen(), "why") == DeleteCopy("c-1", "why")
    leaves = cluster("a", copy(FINISHED, is_deleting=True), ended)
    assert clear(leaves, seen(), "why") == DeleteJob("j-1", "why")
    assert clear(cluster("a", None, ended), seen(), "why") == DeleteJob("j-1", "why")
    for other in (cluster("a", copy(FINISHED), job()), cluster("a", copy(), ended)):
        assert isinstance(clear(other, seen(), "why"), DeleteJob)


def test_another_managers_things_stay() -> None:
    foreign = cluster("a", copy(mark=FOREIGN), job(mark=FOREIGN))
    assert clear(foreign, seen(), "why") is None
    assert not remains(foreign, seen())


def test_only_what_is_of_former_attempts_goes_if_the_present_is_kept() -> None:
    mixed = cluster("a", copy(), job(mark=OLD))
    assert clear(mixed, seen(), "why", keep_present=True) == DeleteJob("j-1", "why")
    assert clear(cluster("a", copy(), job()), seen(), "why", keep_present=True) is None
    assert [remains(each, seen()) for each in (mixed, cluster("a", copy(), job()))] == [True, False]


def test_all_of_it_goes_but_in_one_cluster() -> None:
    what = seen(cluster("a", copy()), cluster("b", copy()), others=(cluster("c", None, job()),))
    assert set(stop(what, "why", but="a")) == {"b", "c"}


@pytest.mark.parametrize(
    ("where", "may"),
    [
        (cluster("a", copy(EVICTED), job(1)), True),
        (cluster("a", copy(EVICTED), job(status=JobStatus(terminating=1))), True),
        (cluster("a", copy(EVICTED), job()), False),
        (cluster("a", copy(EVICTED)), False),
        (cluster("a"), False),
        (cluster("a", None, job(1)), True),
        (cluster("a", None, job(1, mark=OLD)), True),
        (cluster("a", None, job(1, mark=FOREIGN)), False),
        (cluster("a", admitted(FINISHED), job(suspended=False, status=DONE)), False),
        (cluster("a", admitted()), True),
        (cluster("a", admitted(), job(1), reach="Away"), True),
        (cluster("a", reach="Away"), True),
        (cluster("a", admitted(), job(1), reach="Lost"), False),
        (cluster("b", copy(), job(1)), True),
    ],
)
def test_quota_is_kept_until_no_pod_can_run_there_or_the_cluster_is_lost(where: object, may: bool) -> None:
    """7350, 9338. A Job that is on its way to an Admitted copy would run."""
    assert may_run(seen(where, of=CHOSEN)) is may  # type: ignore[arg-type] # a cluster
    assert not may_run(seen(where, of=workload(EVICTED)))  # type: ignore[arg-type] # a cluster


def test_an_eviction_here_ends_the_copy_there() -> None:
    """7350: it did nothing there. The message is Kueue's."""
    what = seen(of=CHOSEN)
    assert evict_there(cluster("a", admitted(), job(1)), what, CHOSEN) == Deactivate(
        "c-1", "7", "Evicted on manager: why"
    )
    for found in (
        admitted(DEACTIVATION_TARGET),
        copy(active=False),
        admitted(FINISHED),
        copy(mark=FOREIGN),
    ):
        assert evict_there(cluster("a", found), what, CHOSEN) is None
    assert evict_there(cluster("a", admitted(), reach="Away"), what, CHOSEN) is None


def test_a_job_without_its_copy_is_stopped() -> None:
    what = seen(of=CHOSEN)
    assert evict_there(cluster("a", None, job(1)), what, CHOSEN) == SuspendJob("j-1", "9")
    assert evict_there(cluster("a", copy(is_deleting=True), job(1)), what, CHOSEN) == SuspendJob("j-1", "9")
    for found in (None, job(), job(1, mark=FOREIGN), job(1, is_deleting=True)):
        assert evict_there(cluster("a", None, found), what, CHOSEN) is None
