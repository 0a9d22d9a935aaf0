"""A Job that starts with fewer pods than it asks for, and gets them back."""

from __future__ import annotations

from typing import Any

import pytest

from api.integration import STARTED_WITH_ANNOTATION
from api.workloads import Workload
from controllers.jobs.batch.life import Around, PatchJob, next_step
from controllers.jobs.batch.partial import as_it_was, lowered, pods_with_quota, raised
from controllers.jobs.batch.starting import restore, start, strip
from controllers.jobs.batch.workload_of import wish_of, workload_body
from controllers.jobs.job_state import TemplateParts
from controllers.jobs.owned_workload import Classes
from quota.cycle.pod_set_infos import PodSetInfo
from tests.kit.jobs import CLEAN, Json, condition, job, merge, read_job, read_workload

LEAST = "kueue.x-k8s.io/job-min-parallelism"
FOLLOWS = "kueue.x-k8s.io/job-completions-equal-parallelism"
NONE = Classes({}, {})
INDEXED: Json = {"parallelism": 8, "completions": 8, "completionMode": "Indexed"}


def elastic(follows: str = "", least: str = "2", **spec: Any) -> Json:
    body = job(**{"parallelism": 8, "completions": 20, **spec})
    body["metadata"]["annotations"] = {LEAST: least} if least else {}
    if follows:
        body["metadata"]["annotations"][FOLLOWS] = follows
    return body


def workload_of(body: Json, count: int | None = None) -> Workload:
    """Its Workload, with quota for this number of pods."""
    made = read_job(body)
    workload = workload_body(made, wish_of(made, NONE))
    if count is not None:
        assignment = {"name": "main", "flavors": {"cpu": "f"}, "count": count}
        workload["status"] = {
            "admission": {"clusterQueue": "q", "podSetAssignments": [assignment]},
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
        }
    return read_workload(workload)


def info(count: int) -> PodSetInfo:
    return PodSetInfo("main", count, {}, {}, {}, ())


def counts(patch: Json) -> tuple[int | None, int | None]:
    return patch["spec"].get("parallelism"), patch["spec"].get("completions")


@pytest.mark.parametrize(
    ("body", "count", "expected"),
    [
        (elastic(), 3, (3, None)),
        (elastic(), 8, (None, None)),
        (elastic(completions=8), 3, (3, None)),
        (elastic("true", **INDEXED), 3, (3, 3)),
        (elastic("1", **INDEXED), 3, (3, 3)),
        (elastic("false", **INDEXED), 3, (3, None)),
        (elastic("true", completions=8), 3, (3, None)),
        (elastic("true", **{**INDEXED, "completions": 9}), 3, (3, None)),
        (elastic(least=""), 3, (None, None)),
    ],
    ids=[
        "fewer",
        "all",
        "fewer at once",
        "both",
        "both, as Go reads it",
        "not both",
        "not Indexed",
        "not equal",
        "needs all",
    ],
)
def test_a_job_starts_with_the_pods_that_have_quota(
    body: Json, count: int, expected: tuple[int | None, int | None]
) -> None:
    assert counts(start(read_job(body), workload_of(body, count), info(count))) == expected


@pytest.mark.parametrize(("body", "count"), [(elastic(), 3), (elastic(), 8), (elastic("true", **INDEXED), 3)])
def test_the_old_numbers_come_back(body: Json, count: int) -> None:
    workload = workload_of(body, count)
    started = merge(body, start(read_job(body), workload, info(count)))
    stopped = merge(started, {"spec": {"suspend": True}})
    given_back = merge(stopped, restore(read_job(stopped), workload, TemplateParts()))
    for field in ("parallelism", "completions"):
        assert given_back["spec"][field] == body["spec"][field]


def test_nothing_comes_back_to_a_job_that_was_not_lowered() -> None:
    body = elastic()
    assert raised(read_job(body), workload_of(body, 8)) == {}
    plain = elastic(least="")
    fewer = merge(plain, {"spec": {"parallelism": 3}})
    assert raised(read_job(fewer), workload_of(plain, 8)) == {}, "its user has done that"


@pytest.mark.parametrize(("parallelism", "expected"), [(3, {"parallelism": 8}), (2, {}), (5, {}), (8, {})])
def test_another_number_is_the_users(parallelism: int, expected: dict[str, int]) -> None:
    body = elastic()
    other = merge(body, {"spec": {"parallelism": parallelism}})
    assert raised(read_job(other), workload_of(body, 3)) == expected


@pytest.mark.parametrize(("count", "now"), [(3, None), (3, 5), (3, 8), (8, None), (8, 3)])
def test_the_numbers_come_back_whatever_quota_the_workload_has_now(count: int, now: int | None) -> None:
    """The API server took the restore late. The Workload has given its quota back, and may have other quota."""
    body = elastic("true", **INDEXED)
    stopped = merge(body, start(read_job(body), workload_of(body, count), info(count)))
    stopped = merge(stopped, {"spec": {"suspend": True}})
    given_back = merge(stopped, restore(read_job(stopped), workload_of(body, now), TemplateParts()))
    assert (given_back["spec"]["parallelism"], given_back["spec"]["completions"]) == (8, 8)
    assert STARTED_WITH_ANNOTATION not in given_back["spec"]["template"]["metadata"]["annotations"]


@pytest.mark.parametrize("now", [None, 2, 3, 5])
def test_a_users_number_stays_whatever_quota_the_workload_has_now(now: int | None) -> None:
    body = elastic()
    started = merge(body, start(read_job(body), workload_of(body, 3), info(3)))
    theirs = merge(started, {"spec": {"suspend": True, "parallelism": 2}})
    assert counts(restore(read_job(theirs), workload_of(body, now), TemplateParts())) == (None, None)


def test_the_numbers_come_back_without_a_workload() -> None:
    """Somebody has taken its finalizer off."""
    body = elastic("true", **INDEXED)
    started = merge(body, start(read_job(body), workload_of(body, 3), info(3)))
    assert counts(strip(read_job(merge(started, {"spec": {"suspend": True}})))) == (8, 8)
    assert counts(strip(read_job(body))) == (None, None)


def test_completions_come_back_although_they_are_not_to_follow_any_longer() -> None:
    """The webhook takes that from whoever suspends the Job in the same write."""
    body = elastic("true", **INDEXED)
    started = merge(body, start(read_job(body), workload_of(body, 3), info(3)))
    changed = merge(started, {"spec": {"suspend": True}, "metadata": {"annotations": {FOLLOWS: None}}})
    assert counts(restore(read_job(changed), workload_of(body, 3), TemplateParts())) == (8, 8)


def test_parallelism_above_completions_comes_back() -> None:
    body = elastic(parallelism=30)
    started = merge(body, start(read_job(body), workload_of(body, 3), info(3)))
    assert counts(restore(read_job(started), workload_of(body, 3), TemplateParts())) == (30, None)


def test_what_was_copied_from_another_job_says_nothing() -> None:
    """A template of another Job, in a Job that waits for its own Workload."""
    template = merge(CLEAN, {"metadata": {"annotations": {STARTED_WITH_ANNOTATION: "8 of 30"}}})
    body = elastic(template=template)
    started = merge(body, start(read_job(body), workload_of(body, 8), info(8)))
    assert counts(restore(read_job(started), workload_of(body, 8), TemplateParts())) == (None, None)


def test_once_the_quota_is_given_back_a_smaller_number_counts_as_kueues() -> None:
    """Kueue has started the Job, so its template does not say with how many pods."""
    body = elastic()
    assert raised(read_job(merge(body, {"spec": {"parallelism": 2}})), workload_of(body)) == {
        "parallelism": 8
    }


def test_a_job_that_needs_fewer_pods_than_have_quota_is_not_lowered() -> None:
    """6 of 8 are left to run, and 6 have quota: Kueue would set parallelism to 6, which changes nothing."""
    body = elastic(completions=8)
    body["status"]["succeeded"] = 2
    assert lowered(read_job(body), workload_of(body).spec.pod_sets[0], 6) == {}


def running(body: Json, count: int) -> Json:
    started = merge(body, start(read_job(body), workload_of(body, count), info(count)))
    return merge(started, {"status": {"conditions": [condition("Suspended", "False")], "active": count}})


def reclaimable(body: Json, workload: Workload) -> object:
    made = read_job(body)
    return next_step(made, workload, Around(wish_of(made, NONE))).reported.reclaimable


def test_pods_without_quota_are_not_reclaimable() -> None:
    body = elastic()
    assert reclaimable(running(body, 3), workload_of(body, 3)) == {}


def test_pods_that_the_whole_job_would_not_need_are() -> None:
    """Of 20 completions, 2 are left. So 6 of the 8 pods are done with, also after an eviction."""
    body = elastic()
    late = merge(running(body, 3), {"status": {"succeeded": 18}})
    assert reclaimable(late, workload_of(body, 3)) == {"main": 6}
    assert as_it_was(read_job(late), workload_of(body)).spec.parallelism == 8


def test_completions_that_follow_are_those_of_the_whole_job() -> None:
    body = elastic("true", **INDEXED)
    late = merge(running(body, 3), {"status": {"completedIndexes": "0"}})
    assert reclaimable(late, workload_of(body, 3)) == {"main": 1}


def test_more_pods_than_have_quota_stop_the_job() -> None:
    body = elastic()
    more = merge(running(body, 3), {"spec": {"parallelism": 4}})
    made = read_job(more)
    step = next_step(made, workload_of(body, 3), Around(wish_of(made, NONE)))
    assert isinstance(step.write, PatchJob)
    assert step.write.what == "stop"
    assert step.event is not None
    assert "more pods (4) than have quota" in step.event.note


def test_a_lowered_job_goes_on() -> None:
    body = elastic()
    made = read_job(running(body, 3))
    assert next_step(made, workload_of(body, 3), Around(wish_of(made, NONE))).write is None


def test_the_event_says_how_many_pods_start() -> None:
    body = elastic(template=CLEAN)
    made, workload = read_job(body), workload_of(body, 3)
    step = next_step(made, workload, Around(wish_of(made, NONE), lambda _: [info(3)]))
    assert step.event is not None
    assert step.event.note == "Admitted by ClusterQueue q, with 3 of 8 pods"


def test_pods_with_quota() -> None:
    body = elastic()
    assert pods_with_quota(workload_of(body)) == {}
    assert pods_with_quota(workload_of(body, 3)) == {"main": 3}
