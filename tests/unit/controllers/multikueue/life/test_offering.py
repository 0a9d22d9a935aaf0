"""Copies and the choice. Numbers are Kueue's issues."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from controllers.multikueue.life.decision import (
    CreateCopy,
    DeleteCopy,
    DeleteJob,
    NeedsDigest,
    OpenGate,
    SetPriority,
    TryJob,
)
from controllers.multikueue.life.memory import EMPTY
from tests.kit.dispatched.seeing import (
    ATTEMPT,
    EVICTED,
    FINISHED,
    FOREIGN,
    OLD,
    QUOTA_RESERVED,
    SECOND,
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
    workload,
)

WAITS = copy(waits="Pending")
OFF = replace(SETTINGS, has_gates=False)
MEMORY = EMPTY.about("uid", ATTEMPT)


# ---- copies


def test_each_cluster_of_the_config_gets_a_copy_with_a_gate() -> None:
    decision = follows(seen(cluster("b"), cluster("a")))
    assert decision.there == {"b": CreateCopy(has_gate=True), "a": CreateCopy(has_gate=True)}
    assert decision.report is not None
    assert (decision.report.nominated, decision.report.may_run) == (("b", "a"), False)
    assert said(decision).state == "Pending"


def test_without_the_feature_copies_have_no_gate_and_closed_ones_open() -> None:
    what = seen(cluster("a"), cluster("b", gated()), cluster("c", honours_gates=False))
    acts = follows(what, settings=OFF).there
    assert acts["a"] == acts["c"] == CreateCopy(has_gate=False)
    assert isinstance(acts["b"], OpenGate)


def test_a_copy_without_a_gate_is_replaced_once_gates_count() -> None:
    """The feature was turned on, or the cluster has learned to honour gates."""
    bare = copy(waits="Pending", has_gate=False, gate="Missing")
    assert isinstance(follows(seen(cluster("a", bare))).there["a"], DeleteCopy)
    holds = copy(QUOTA_RESERVED, has_gate=False, gate="Missing")
    assert follows(seen(cluster("a", holds))).there == {}


def test_nothing_happens_before_what_is_of_a_former_attempt_is_gone() -> None:
    """11346: copies left on a worker that was away. First the Job goes."""
    assert follows(seen(cluster("a", copy(mark=OLD), job(mark=OLD)))).there == {
        "a": DeleteJob("j-1", "it is of a former attempt")
    }
    assert follows(seen(cluster("a", copy(mark=OLD)))).there == {
        "a": DeleteCopy("c-1", "it is of a former attempt")
    }
    for left in (
        cluster("a", copy(mark=OLD, is_deleting=True)),
        cluster("a", None, job(mark=OLD, is_deleting=True)),
    ):
        assert follows(seen(left)).there == {}
        assert follows(seen(msgspec.structs.replace(left, honours_gates=False)), 9).there == {}


def test_a_copy_of_kueues_manager_is_not_taken_for_ours_before_a_cluster_is_chosen() -> None:
    assert isinstance(follows(seen(cluster("a", copy(mark=None)))).there["a"], DeleteCopy)


def test_another_managers_copy_is_left_alone_and_its_cluster_is_out() -> None:
    decision = follows(seen(cluster("a", copy(mark=FOREIGN), job(mark=FOREIGN)), cluster("b")))
    assert set(decision.there) == {"b"}
    assert "another manager has a copy" in said(decision).message
    assert decision.report is not None
    assert decision.report.nominated == ("b",)


def test_a_cluster_that_refuses_is_out_and_the_message_says_why() -> None:
    what = seen(cluster("a"), cluster("b"))
    decision = follows(what, memory=MEMORY.refused("a", "Forbidden", "no right there"))
    assert set(decision.there) == {"b"}
    assert "a: not in this attempt: no right there" in said(decision).message


def test_gates_here_are_no_difference() -> None:
    """12543: a gate on the manager's Workload made and deleted copies without end. The digest leaves gates out
    (tests/property/test_digests.py)."""
    assert follows(seen(cluster("a", WAITS))).there == {}


def test_a_changed_priority_is_passed_on_and_another_difference_replaces_the_copy() -> None:
    """8464."""
    assert follows(seen(cluster("a", WAITS), of=workload(priority=3))).there == {"a": SetPriority("c-1", "7")}
    assert follows(seen(cluster("a", copy(digest=b"x")))).there == {
        "a": DeleteCopy("c-1", "its spec is another one than here")
    }


@pytest.mark.parametrize("found", [copy(EVICTED), copy(active=False), copy(FINISHED), copy(digest=b"x")])
def test_a_copy_that_cannot_win_is_made_anew_after_a_while(found: object) -> None:
    """Waits grow from a second to a minute. However often somebody looks, each copy counts once."""
    what = seen(cluster("a", found))  # type: ignore[arg-type] # a copy
    decision = follows(what)
    assert isinstance(decision.there["a"], DeleteCopy)
    for _ in range(5):
        decision = follows(what, 0.1, decision.memory)
    gone = seen(cluster("a"))
    waits = follows(gone, 0.9, decision.memory)
    assert (waits.there, waits.again) == ({}, at(1))
    assert follows(gone, 1, waits.memory).there == {"a": CreateCopy(has_gate=True)}


def test_a_copy_that_disappears_is_made_again() -> None:
    assert follows(seen(cluster("a")), 9).there == {"a": CreateCopy(has_gate=True)}
    assert follows(seen(cluster("a", reach="Away")), 9).there == {}


def test_a_cluster_that_is_taken_out_of_the_config_keeps_nothing() -> None:
    what = seen(cluster("a", WAITS), others=(cluster("b", WAITS, job()),))
    assert follows(what).there == {"b": DeleteJob("j-1", "its cluster is not in the config")}


def test_a_config_that_is_not_known_changes_nothing() -> None:
    """10122."""
    decision = follows(seen(others=(cluster("b", WAITS),), is_configured=False))
    assert decision.there == {}
    assert "MultiKueueConfig is missing" in said(decision).message


def test_the_spec_must_be_known() -> None:
    assert follows(seen(cluster("a", WAITS), digest=None)).here == NeedsDigest()


def test_one_that_was_nominated_stays_so_while_it_is_away() -> None:
    away = cluster("a", WAITS, reach="Away")
    for before, now in ((("a", "b"), ("a", "b")), (("b",), ("b",))):
        report = follows(seen(away, cluster("b", WAITS), of=workload(nominated=before))).report
        assert report is not None
        assert report.nominated == now


# ---- the choice


def test_the_job_is_tried_before_its_cluster_is_chosen() -> None:
    """12404: a cluster with a Job of that name was chosen, and nothing ran. 11849: and that Job was deleted."""
    what = seen(cluster("a", WAITS), cluster("b", admitted()))
    decision = follows(what)
    assert decision.there == {"b": TryJob()}
    assert decision.report is not None
    assert decision.report.cluster == ""
    refused = follows(what, memory=decision.memory.refused("b", "AlreadyExists", "a Job of this name"))
    assert isinstance(refused.there["b"], DeleteCopy)
    took = follows(what, memory=decision.memory.took("b"))
    assert took.report is not None
    assert (took.report.cluster, took.report.nominated) == ("b", ())


def test_no_copy_goes_before_one_is_admitted_and_chosen() -> None:
    """8585: other copies were deleted before one was Admitted."""
    what = seen(cluster("a", copy(QUOTA_RESERVED)), cluster("b", WAITS), cluster("c", admitted()))
    assert set(follows(what).there) == {"c"}
    assert follows(what, memory=MEMORY.took("c")).there == {}


def test_the_first_one_that_was_seen_admitted_wins_and_of_several_the_configs_order() -> None:
    both = seen(cluster("b", admitted()), cluster("a", admitted()))
    assert follows(both).there == {"b": TryJob()}
    first = follows(seen(cluster("b", WAITS), cluster("a", admitted())))
    assert follows(both, 1, first.memory).there == {"a": TryJob()}
    away = seen(cluster("b", admitted()), cluster("a", admitted(), reach="Away"))
    assert follows(away, 1, first.memory).there == {"b": TryJob()}


def test_no_copy_is_made_while_there_is_a_winner() -> None:
    assert set(follows(seen(cluster("a"), cluster("b", admitted()))).there) == {"b"}


def test_a_job_of_a_former_attempt_goes_before_the_new_one_is_tried() -> None:
    what = seen(cluster("a", admitted(), job(mark=OLD)))
    assert isinstance(follows(what, memory=MEMORY.took("a")).there["a"], DeleteJob)


# ---- giving up


def test_a_workload_that_no_cluster_takes_gives_its_quota_back() -> None:
    """8602."""
    settings = replace(SETTINGS, give_up=60 * SECOND)
    what = seen(cluster("a", WAITS))
    assert follows(what, 59, settings=settings).again == at(60)
    gives_up = follows(what, 60, settings=settings)
    assert said(gives_up).state == "Retry"
    assert gives_up.report is not None
    assert not gives_up.report.may_run
    assert said(follows(what, 9999)).state == "Pending"
    assert said(follows(seen(is_configured=False), 60, settings=settings)).state == "Retry"
    chosen = follows(seen(cluster("a", admitted())), 60, MEMORY.took("a"), settings)
    assert chosen.report is not None
    assert chosen.report.cluster == "a"
    never_tried = seen(cluster("a", admitted()))
    assert said(follows(never_tried, 60, settings=settings)).state == "Retry"
