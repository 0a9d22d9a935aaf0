"""A Workload that one cluster has. Numbers are Kueue's issues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.jobs import JobStatus
from api.meta import Condition
from api.workloads import DEACTIVATION_TARGET
from controllers.multikueue.life.decision import (
    CreateJob,
    Decision,
    DeleteCopy,
    DeleteJob,
    EndTurn,
    MirrorJob,
    NeedsDigest,
    SetPriority,
)
from controllers.multikueue.life.memory import EMPTY
from runtime.exchange.dispatch_reports import Dispatched
from tests.kit.dispatched.seeing import (
    ATTEMPT,
    EVICTED,
    FINISHED,
    FOREIGN,
    OLD,
    QUOTA_RESERVED,
    admitted,
    at,
    cluster,
    copy,
    follows,
    gated,
    job,
    said,
    seen,
    turn,
    workload,
)

CHOSEN = workload(chosen="a")
READY = workload(chosen="a", state="Ready")
MEMORY = EMPTY.about("uid", ATTEMPT)
COMPLETE = JobStatus(conditions=[Condition("Complete", "True", "", "", "")])


def report(decision: Decision) -> Dispatched:
    assert decision.report is not None
    return decision.report


def test_the_other_copies_go_then_the_job_is_made_then_the_check_is_ready() -> None:
    """8585, and the order of 12404."""
    what = seen(cluster("a", admitted()), cluster("b", gated()), of=CHOSEN)
    first = follows(what)
    assert first.there == {"b": DeleteCopy("c-1", "cluster a has it")}
    assert report(first).check is None
    gone = seen(cluster("a", admitted()), cluster("b"), of=CHOSEN)
    assert follows(gone).there == {"a": CreateJob()}
    there = seen(cluster("a", admitted(), job(1)), cluster("b"), of=CHOSEN)
    ready = follows(there)
    assert (said(ready).state, said(ready).message) == ("Ready", 'The workload was admitted on "a"')
    assert (report(ready).cluster, report(ready).may_run) == ("a", True)


def test_a_slow_cluster_is_waited_for_only_if_a_job_runs_there() -> None:
    """11206: one hung worker stopped all. 11346: a Job that was left there must not run beside the new one."""
    for other, waits in (
        (cluster("b", gated(), is_prompt=False), False),
        (cluster("b", gated(), reach="Away"), False),
        (cluster("b", copy(mark=OLD), job(1, mark=OLD), is_prompt=False), True),
        (cluster("b", None, job(mark=OLD), is_prompt=False), False),
    ):
        acts = follows(seen(cluster("a", admitted()), other, of=CHOSEN)).there
        assert ("a" not in acts) is waits


def test_a_former_job_in_the_chosen_cluster_goes_first() -> None:
    what = seen(cluster("a", admitted(), job(mark=OLD)), of=CHOSEN)
    assert isinstance(follows(what).there["a"], DeleteJob)
    leaving = seen(cluster("a", admitted(), job(mark=OLD, is_deleting=True)), of=CHOSEN)
    assert follows(leaving).there == {}


def test_the_others_go_also_while_the_chosen_cluster_is_away() -> None:
    what = seen(cluster("a", admitted(), reach="Away"), cluster("b", gated()), of=CHOSEN)
    assert set(follows(what).there) == {"b"}


def test_the_status_of_the_job_is_mirrored_until_it_is_equal() -> None:
    what = seen(cluster("a", admitted(), job(1)), of=READY, is_mirrored=False)
    assert follows(what).here == MirrorJob("a")
    assert follows(replace(what, is_mirrored=True)).here is None


def test_a_priority_that_changes_here_changes_there() -> None:
    what = seen(cluster("a", admitted(), job(1)), of=workload(chosen="a", state="Ready", priority=3))
    assert follows(what).there == {"a": SetPriority("c-1", "7")}


def test_the_turn_says_who_admitted_it() -> None:
    what = seen(cluster("a", admitted(), job(1)), of=READY, turns=(turn(1, "a", 0),))
    assert follows(what, 9).here == EndTurn("turn-1", "Admitted", "a admitted the Workload.")


def test_a_copy_of_kueues_manager_runs_on() -> None:
    what = seen(cluster("a", admitted(mark=None), job(1, mark=None)), of=READY)
    decision = follows(what)
    assert decision.there == {}
    assert said(decision).state == "Ready"


# ---- the end


def test_finished_there_is_finished_here_when_the_job_here_shows_it() -> None:
    """And nothing of it goes before that."""
    ended = cluster("a", admitted(FINISHED, reason="Succeeded", message="done"), job(status=COMPLETE))
    what = seen(ended, of=READY, is_mirrored=False)
    first = follows(what)
    assert (first.here, report(first).finished, report(first).may_run) == (MirrorJob("a"), None, True)
    then = follows(replace(what, is_mirrored=True))
    assert (report(then).finished, report(then).may_run, then.there) == (("Succeeded", "done"), False, {})


def test_an_end_there_counts_also_if_it_is_evicted_here() -> None:
    """What has ended must not run again."""
    ended = cluster("a", admitted(FINISHED, reason="Succeeded"), job(status=COMPLETE))
    what = seen(ended, of=workload(EVICTED, chosen="a", state="Ready"), is_mirrored=False)
    first = follows(what)
    assert (first.here, report(first).may_run) == (MirrorJob("a"), True)
    assert report(follows(replace(what, is_mirrored=True))).finished is not None


def test_a_finished_job_that_was_deleted_there_has_ended() -> None:
    """14734: a TTL there deletes the finished Job, and it ran again."""
    what = seen(cluster("a", admitted(FINISHED, reason="Succeeded")), of=READY)
    assert report(follows(what)).finished is not None


def test_out_of_sync_is_no_end() -> None:
    """13047."""
    where = cluster("a", admitted(FINISHED, reason="OutOfSync"), job())
    decision = follows(seen(where, of=READY), 5)
    assert report(decision).finished is None
    assert said(decision).message == (
        'Remote workload on worker cluster "a" is out of sync with its user job, '
        'resetting for re-dispatch, Previously: "Ready"'
    )
    evicted = seen(where, of=workload(EVICTED, chosen="a"))
    assert report(follows(evicted)).finished is None


# ---- it comes back


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            admitted(EVICTED),
            'Workload evicted on worker cluster: "a", resetting for re-admission. Previously: "Ready"',
        ),
        (
            admitted(active=False),
            'Workload evicted on worker cluster: "a", resetting for re-admission. Previously: "Ready"',
        ),
        (
            admitted(digest=b"x"),
            'Workload was changed on worker cluster: "a", resetting for re-admission. Previously: "Ready"',
        ),
        (None, 'Admitting remote no longer exists, Previously: "Ready"'),
        (admitted(is_deleting=True), 'Admitting remote no longer exists, Previously: "Ready"'),
        (copy(QUOTA_RESERVED), 'Admitting remote no longer exists, Previously: "Ready"'),
        (admitted(mark=FOREIGN), 'Admitting remote no longer exists, Previously: "Ready"'),
    ],
)
def test_what_its_cluster_does_not_have_any_longer_is_tried_again(found: object, text: str) -> None:
    """8302: an eviction there left Admitted here. The words are Kueue's."""
    what = seen(cluster("a", found, job(1)), of=READY)  # type: ignore[arg-type] # a copy or none
    decision = follows(what, 5)
    assert (said(decision).state, said(decision).message) == ("Retry", text)
    assert said(decision).requeue_after_seconds == 1


def test_it_waits_longer_each_time_and_not_after_a_minute() -> None:
    what = seen(cluster("a", admitted(EVICTED), job()), of=READY)
    memory, waits = MEMORY, list[int | None]()
    for number in range(3):
        memory = memory.about("uid", str(number)).about("uid", ATTEMPT)
        decision = follows(what, 59, memory)
        waits.append(said(decision).requeue_after_seconds)
        again = follows(what, 59, decision.memory)
        assert said(again) == said(decision)
        memory = decision.memory
    assert waits == [1, 2, 4]
    assert (
        said(follows(what, 60, memory.about("uid", "x").about("uid", ATTEMPT))).requeue_after_seconds is None
    )


def test_the_verdict_holds_for_the_attempt() -> None:
    """A cluster that was lost and comes back changes nothing any longer."""
    lost = follows(seen(cluster("a", admitted(), job(1), reach="Lost"), of=READY), 5)
    back = follows(seen(cluster("a", admitted(), job(1)), of=READY), 6, lost.memory)
    assert said(back) == said(lost)
    assert report(back).may_run


def test_a_cluster_that_is_away_changes_nothing_and_a_lost_one_is_left() -> None:
    """12999, 11496: a watch that reconnects must not evict. 13238: and a lost cluster is left."""
    away = follows(seen(cluster("a", reach="Away"), of=READY), 899)
    assert (report(away).check, report(away).may_run, away.there) == (None, True, {})
    lost = follows(seen(cluster("a", reach="Lost"), of=READY), 900)
    assert said(lost).message == 'Admitting remote lost, Previously: "Ready"'
    assert (said(lost).requeue_after_seconds, report(lost).may_run) == (None, False)


def test_a_chosen_cluster_that_leaves_the_config_is_left() -> None:
    """10428."""
    what = seen(cluster("b"), others=(cluster("a", admitted(), job(1)),), of=READY)
    decision = follows(what, 5)
    assert "not in the configuration" in said(decision).message
    assert report(decision).may_run
    unknown = seen(others=(cluster("a", admitted(), job(1)),), of=READY, is_configured=False)
    assert said(follows(unknown, 5)).state == "Ready"


def test_a_job_that_the_cluster_refuses_after_the_choice_is_tried_elsewhere() -> None:
    """12404: it was tried again for ever."""
    what = seen(cluster("a", admitted()), of=CHOSEN)
    decision = follows(what, 5, MEMORY.refused("a", "AlreadyExists", "a Job of this name exists there"))
    assert said(decision).message.startswith('a Job of this name exists there on worker cluster: "a"')
    foreign = seen(cluster("a", admitted(), job(1, mark=FOREIGN)), of=CHOSEN)
    assert said(follows(foreign, 5)).state == "Retry"
    assert follows(foreign, 5).there == {}


def test_a_job_that_was_deleted_there_is_not_made_again_in_place() -> None:
    decision = follows(seen(cluster("a", admitted()), of=READY), 5)
    assert said(decision).state == "Retry"
    assert "The Job was deleted" in said(decision).message
    assert decision.there == {}


def test_the_spec_must_be_known_before_it_is_compared() -> None:
    what = seen(cluster("a", admitted(digest=b"x"), job(1)), of=READY, digest=None)
    decision = follows(what)
    assert (decision.here, report(decision).check) == (NeedsDigest(), None)


def test_a_copy_that_is_told_to_end_is_no_eviction_there_yet() -> None:
    what = seen(cluster("a", admitted(DEACTIVATION_TARGET), job(1)), of=READY)
    assert said(follows(what)).state == "Ready"


def test_a_priority_that_the_cluster_does_not_take_is_not_written_again() -> None:
    """A policy there changes it back. The Job goes on."""
    what = seen(cluster("a", admitted(priority=7), job()), of=READY)
    assert isinstance(follows(what).there["a"], SetPriority)
    decision = follows(
        what, memory=MEMORY.refused("a", "Changed", "the cluster changes the Workload (priority)")
    )
    assert decision.there == {}
    check = report(decision).check
    assert check is not None
    assert check.state == "Ready"


@pytest.mark.parametrize(
    ("status", "is_out"),
    [(JobStatus(), True), (JobStatus(start_time=ATTEMPT), False), (JobStatus(failed=1), False)],
)
def test_a_cluster_that_changes_the_job_is_out_in_the_next_attempt_too(
    status: JobStatus, is_out: bool
) -> None:
    """13047. Otherwise it would admit the copy first again and again, and no other cluster would get the Job."""
    out_of_sync = copy(QUOTA_RESERVED, FINISHED, reason="OutOfSync")
    what = seen(cluster("a", out_of_sync, job(status=status)), cluster("b"), of=READY)
    decision = follows(what, memory=MEMORY)
    check = report(decision).check
    assert check is not None
    assert check.state == "Retry"
    again = decision.memory.about("uid", "another attempt")
    assert again.returns == 1
    memory, due = again.shunning(at(0))
    assert (set(memory.out), due) == (({"a"}, at(600)) if is_out else (set(), None))
    later, due = memory.shunning(at(601))
    assert (later.out, later.shunned, due) == ({}, {}, None)
