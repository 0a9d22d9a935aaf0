"""Whose a copy or a Job is."""

from __future__ import annotations

import pytest

from api.workloads import PriorityClassRef
from controllers.multikueue.life.belonging import (
    belonging,
    chosen_of,
    differs,
    find,
    has_other_priority,
    present_copy,
    present_job,
)
from controllers.multikueue.life.seen import Mark
from tests.kit.dispatched.seeing import (
    ATTEMPT,
    FOREIGN,
    MANAGER,
    MARK,
    OLD,
    cluster,
    copy,
    job,
    seen,
    workload,
)


@pytest.mark.parametrize(
    ("mark", "whose"),
    [
        (MARK, "Present"),
        (OLD, "Former"),
        (Mark(MANAGER, "another-workload", ATTEMPT), "Former"),
        (FOREIGN, "Foreign"),
        (None, "Former"),
    ],
)
def test_a_mark_says_whose_it_is(mark: Mark | None, whose: str) -> None:
    """What bears another manager's mark is never touched."""
    assert belonging(copy(mark=mark), seen(), "a") == whose
    assert belonging(job(mark=mark), seen(), "a") == whose


def test_what_kueues_manager_made_is_adopted_where_the_workload_names_its_cluster() -> None:
    """A manager can be replaced without stopping a Job."""
    what = seen(of=workload(chosen="a"))
    assert belonging(copy(mark=None), what, "a") == "Present"
    assert belonging(copy(mark=None), what, "b") == "Former"
    assert chosen_of(what) == "a"


def test_a_copy_that_is_being_deleted_is_not_present_and_its_job_is() -> None:
    where = cluster("a", copy(is_deleting=True), job(is_deleting=True))
    assert present_copy(where, seen()) is None
    assert present_job(where, seen()) is where.job
    assert present_job(cluster("a", None, job(mark=OLD)), seen()) is None


def test_a_cluster_outside_the_config_is_found() -> None:
    what = seen(cluster("a"), others=(cluster("b"),))
    assert [find(what, name) is not None for name in ("a", "b", "c")] == [True, True, False]


def test_a_spec_differs_by_its_digest_and_not_before_it_is_known() -> None:
    assert differs(copy(digest=b"other"), seen())
    assert not differs(copy(digest=b"other"), seen(digest=None))
    assert not differs(copy(), seen())


def test_a_priority_is_another_one_by_number_or_by_class() -> None:
    """8464: a change of priority is passed on. 13929: another value of the class there changes nothing."""
    ref = PriorityClassRef("kueue.x-k8s.io", "WorkloadPriorityClass", "high")
    here = workload(priority_class_ref=ref)
    assert has_other_priority(copy(), here)
    assert not has_other_priority(copy(priority_class="WorkloadPriorityClass/high"), here)
    assert has_other_priority(copy(priority=9), workload())
