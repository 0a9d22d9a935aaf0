"""What the life of a dispatched Workload does in each situation of the Workload here. Numbers are Kueue's issues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.jobs import JobStatus, TemplatedJob
from api.meta import ObjectMeta
from controllers.multikueue.life.decision import (
    Deactivate,
    DeleteCopy,
    DeleteJob,
    EndTurn,
    MirrorJob,
    ReadJob,
)
from controllers.multikueue.life.life import decide
from controllers.multikueue.life.memory import EMPTY
from controllers.multikueue.life.seen import Seen
from tests.kit.dispatched.seeing import (
    ADMITTED,
    ATTEMPT,
    EVICTED,
    FINISHED,
    MANAGER,
    SETTINGS,
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

RUNS = cluster("a", admitted(), job(1))


def gone(*clusters: object) -> Seen:
    return Seen("team/train", None, MANAGER, others=clusters)  # type: ignore[arg-type] # clusters


def test_nothing_stays_of_a_workload_that_is_gone() -> None:
    """15488: also after --cascade=orphan."""
    decision = decide(gone(RUNS), EMPTY, SETTINGS, at(0))
    assert isinstance(decision.there["a"], DeleteJob)
    assert isinstance(decide(gone(cluster("a", copy())), EMPTY, SETTINGS, at(0)).there["a"], DeleteCopy)
    assert isinstance(
        decide(gone(cluster("a", copy(mark=None))), EMPTY, SETTINGS, at(0)).there["a"], DeleteCopy
    )


def test_the_turns_of_a_workload_that_is_gone_end() -> None:
    what = replace(gone(), former_turns=(turn(1, "a", 0),))
    assert isinstance(decide(what, EMPTY, SETTINGS, at(9)).here, EndTurn)


def test_nothing_stays_when_the_job_or_the_check_is_gone_or_it_is_deleted() -> None:
    deleted = workload(chosen="a")
    deleted.metadata.deletion_timestamp = ATTEMPT
    ready = workload(chosen="a", state="Ready")
    for what in (seen(RUNS, of=ready, job=None), seen(RUNS, of=ready, check=""), seen(RUNS, of=deleted)):
        decision = follows(what)
        assert isinstance(decision.there["a"], DeleteJob)
        assert decision.report is not None
        assert decision.report.may_run


def test_nothing_stays_after_the_end() -> None:
    done = workload(FINISHED, ADMITTED, chosen="a", state="Ready")
    decision = follows(seen(cluster("a", admitted(FINISHED), job()), of=done, turns=(turn(1, "a", 0),)), 9)
    assert isinstance(decision.there["a"], DeleteJob)
    assert isinstance(decision.here, EndTurn)


def test_nothing_stays_without_quota() -> None:
    waits = workload()
    waits.status.conditions = []
    decision = follows(seen(cluster("a", gated()), of=waits, attempt=""))
    assert isinstance(decision.there["a"], DeleteCopy)


def test_no_copy_is_made_before_the_other_checks_are_ready() -> None:
    pending = workload(others={"other": "Pending"})
    assert follows(seen(cluster("a"), of=pending)).there == {}
    assert isinstance(follows(seen(cluster("a", gated()), of=pending)).there["a"], DeleteCopy)
    assert "a" in follows(seen(cluster("a"), of=workload(others={"other": "Ready"}))).there


def test_an_owner_that_no_cluster_can_get_is_rejected_and_no_copy_stays() -> None:
    """3841: copies stayed after Rejected. The words are Kueue's."""
    what = seen(cluster("a", gated(), job()), refusal="No multikueue adapter found")
    first = follows(what)
    assert (said(first).state, said(first).message) == (
        "Rejected",
        'No multikueue adapter found, Previously: "Pending"',
    )
    assert isinstance(first.there["a"], DeleteJob)
    then = follows(seen(cluster("a", gated()), refusal="No multikueue adapter found"), memory=first.memory)
    assert isinstance(then.there["a"], DeleteCopy)
    assert said(then) == said(first)


def test_a_check_that_somebody_rejected_leaves_no_copy_either() -> None:
    decision = follows(seen(cluster("a", gated()), of=workload(state="Rejected")))
    assert isinstance(decision.there["a"], DeleteCopy)
    assert decision.report is not None
    assert decision.report.check is None


def test_evicted_here_its_pods_end_and_then_its_quota_goes_back() -> None:
    """7350, 9338, 11062."""
    here = workload(EVICTED, chosen="a", state="Ready")
    decision = follows(seen(RUNS, cluster("b", gated()), of=here))
    assert isinstance(decision.there["a"], Deactivate)
    assert isinstance(decision.there["b"], DeleteCopy)
    assert decision.report is not None
    assert decision.report.may_run
    what = seen(cluster("a", copy(EVICTED, active=False), job()), of=here)
    ended = follows(what)
    assert ended.report is not None
    assert (ended.report.may_run, ended.there) == (True, {"a": ReadJob("j-1")})
    read = follows(what, memory=ended.memory.has_read("9"))
    assert read.report is not None
    assert (read.report.may_run, read.there) == (False, {})
    another = follows(what, memory=ended.memory.has_read("8"))
    assert another.there == {"a": ReadJob("j-1")}


@pytest.mark.parametrize(("reach", "keeps"), [("Away", True), ("Lost", False)])
def test_evicted_here_while_its_cluster_is_away(reach: str, keeps: bool) -> None:
    """The manager's quota of a Workload whose worker was lost stayed held."""
    here = workload(EVICTED, chosen="a", state="Ready")
    decision = follows(seen(cluster("a", admitted(), job(1), reach=reach), of=here))
    assert decision.report is not None
    assert decision.report.may_run is keeps


def test_a_workload_that_is_deactivated_here_ends_there() -> None:
    here = workload(chosen="a", state="Ready", active=False)
    assert isinstance(follows(seen(RUNS, of=here)).there["a"], Deactivate)


def test_evicted_before_a_cluster_was_chosen_all_copies_go() -> None:
    decision = follows(seen(cluster("a", gated()), cluster("b", admitted()), of=workload(EVICTED)))
    assert set(decision.there) == {"a", "b"}
    assert decision.report is not None
    assert not decision.report.may_run


def test_the_job_here_shows_no_pods_of_a_cluster_that_is_lost() -> None:
    shows = TemplatedJob(
        metadata=ObjectMeta(name="train", namespace="team", uid="job"), status=JobStatus(active=2)
    )
    waits = workload()
    waits.status.conditions = []
    what = seen(cluster("a"), of=waits, attempt="", job=shows, is_mirrored=False)
    assert follows(what).here == MirrorJob("")
    assert follows(replace(what, is_mirrored=True)).here is None


def test_what_is_remembered_is_about_one_attempt() -> None:
    """Verdicts and refusals end with it. Another attempt begins anew."""
    refused = EMPTY.about("uid", "former").refused("a", "Forbidden", "no")
    assert "a" in follows(seen(cluster("a")), memory=refused.about("uid", ATTEMPT)).there
    assert decide(gone(), refused, SETTINGS, at(0)).memory == EMPTY
