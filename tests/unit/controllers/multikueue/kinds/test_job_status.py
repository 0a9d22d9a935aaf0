"""What is shown of a Job in another cluster. Random ones: tests/property/test_job_status.py."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.multikueue.kinds.job_status import mirrored_status

Json = dict[str, Any]
EARLY, LATER, LATEST = (f"2026-01-01T00:00:0{second}Z" for second in (1, 5, 9))


def local(status: Json | None = None, **spec: Any) -> Json:
    return {"metadata": {"creationTimestamp": EARLY}, "spec": spec, "status": status or {}}


def said(kind: str, since: str = LATEST, status: str = "True") -> Json:
    return {"type": kind, "status": status, "lastTransitionTime": since, "message": "m", "reason": "R"}


def conditions(status: Json | None) -> set[str]:
    assert status is not None
    return {each["type"] for each in status.get("conditions", ()) if each["status"] == "True"}


def test_an_end_needs_what_announces_it_also_from_an_old_cluster() -> None:
    done = {
        "conditions": [said("Complete")],
        "startTime": LATER,
        "succeeded": 2,
        "active": 1,
        "terminating": 1,
    }
    status = mirrored_status(local(), done)
    assert conditions(status) == {"Complete", "SuccessCriteriaMet"}
    assert status is not None
    assert (status["completionTime"], status["terminating"], status.get("active")) == (LATEST, 0, None)
    assert conditions(mirrored_status(local(), {"conditions": [said("Failed")], "startTime": LATER})) == {
        "Failed",
        "FailureTarget",
    }


@pytest.mark.parametrize(("first", "then"), [("FailureTarget", "Complete"), ("SuccessCriteriaMet", "Failed")])
def test_an_end_that_was_only_announced_in_a_lost_cluster_does_not_hinder_another_one(
    first: str, then: str
) -> None:
    """No API server takes an announcement back. So it comes together with the end."""
    status = mirrored_status(local(), {"conditions": [said(first)], "active": 1, "startTime": EARLY})
    assert conditions(status) == set()
    ended = mirrored_status(local(status), {"conditions": [said(then)], "startTime": LATER})
    assert then in conditions(ended)


@pytest.mark.parametrize(
    ("announced", "end", "is_shown"),
    [
        ("FailureTarget", "Failed", True),
        ("SuccessCriteriaMet", "Complete", True),
        ("FailureTarget", "Complete", False),
        ("SuccessCriteriaMet", "Failed", False),
    ],
)
def test_what_kueues_manager_has_announced_stays(announced: str, end: str, is_shown: bool) -> None:
    """No API server takes it back, nor another end after it. All else is shown."""
    job = local({"conditions": [said(announced, EARLY)], "startTime": EARLY})
    assert conditions(mirrored_status(job, {"active": 1})) == {announced}
    status = mirrored_status(job, {"conditions": [said(end)], "startTime": EARLY, "succeeded": 3})
    assert conditions(status) == ({announced, end} if is_shown else {announced})
    assert status is not None
    assert status["succeeded"] == 3


def test_a_second_attempt_keeps_counters_and_times_that_must_not_go_back() -> None:
    """The clock of the second cluster is behind."""
    job = local({"startTime": LATER, "failed": 3, "succeeded": 4, "active": 2}, suspend=False)
    again = {"startTime": EARLY, "failed": 1, "succeeded": 1, "active": 2}
    status = mirrored_status(job, again)
    assert status is None, "nothing is new"
    done = {**again, "active": 0, "conditions": [said("Complete", EARLY)], "completionTime": EARLY}
    status = mirrored_status(job, done)
    assert status is not None
    assert (status["startTime"], status["completionTime"]) == (LATER, LATER)
    assert (status["failed"], status["succeeded"]) == (3, 4)


def test_a_suspended_job_has_no_start_time_and_shows_what_still_runs() -> None:
    job = local({"startTime": EARLY, "active": 2}, suspend=True)
    status = mirrored_status(job, {"startTime": EARLY, "active": 1, "terminating": 1})
    assert status == {"active": 1, "terminating": 1}
    assert mirrored_status(local(status, suspend=True), None) == {}, "nothing is there any longer"


def test_an_end_is_for_good() -> None:
    job = local({"conditions": [said("Failed"), said("FailureTarget")], "startTime": EARLY})
    assert mirrored_status(job, {"active": 3}) is None
    assert mirrored_status(job, None) is None


def test_indexes_fit_the_job_here() -> None:
    there = {"completedIndexes": "0,2-5,9", "failedIndexes": "6-7"}
    indexed = {"completionMode": "Indexed", "completions": 4, "backoffLimitPerIndex": 1}
    assert mirrored_status(local({}, **indexed), there) == {"completedIndexes": "0,2-3", "failedIndexes": ""}
    assert mirrored_status(local({}, completions=4), there) is None


def test_a_cluster_that_was_taken_over_can_say_anything() -> None:
    there: Json = {
        "active": "many",
        "succeeded": 2**40,
        "failed": -1,
        "completedIndexes": "3,1,,x,1-0,99999999999",
        "conditions": [said("Own") | {"message": "x" * 10**6}, "none", {}] * 50,
        "startTime": LATER,
    }
    status = mirrored_status(local({}, completionMode="Indexed", completions=4), there)
    assert status is not None
    assert status["succeeded"] == 2**31 - 1
    assert status["completedIndexes"] == "3"
    assert len(str(status)) < 40_000
    odd = {"completedIndexes": 3, "failedIndexes": [], "startTime": 5, "completionTime": "never", "ready": {}}
    end = {"conditions": [said("Complete") | {"lastTransitionTime": 7, "type": ["x"]}, said("Complete")]}
    status = mirrored_status(
        local({}, completionMode="Indexed", completions=4, backoffLimitPerIndex=1), {**odd, **end}
    )
    assert status is not None
    assert (status["startTime"], status["completionTime"], status["ready"]) == (LATEST, LATEST, 0)


@pytest.mark.parametrize(
    "odd",
    [
        {"lastTransitionTime": "garbage"},
        {"lastTransitionTime": "9999-12-31T23:59:59-01:00"},
        {"lastTransitionTime": "0001-01-01T00:00:00Z"},
        {"lastProbeTime": 7},
        {"reason": ["R"]},
        {"message": {"m": 1}},
        {"unknown": {"a": 1}},
    ],
)
def test_what_a_condition_cannot_have_is_left_out(odd: Json) -> None:
    """An API server refuses the whole status if one field has another type: the Job here would never show its end."""
    field = next(iter(odd))
    status = mirrored_status(local(), {"conditions": [{**said("Suspended"), **odd}]})
    assert status is not None
    (condition,) = status["conditions"]
    assert {key: value for key, value in said("Suspended").items() if key != field} == condition


@pytest.mark.parametrize("odd", [{"status": "Maybe"}, {"status": True}, {"type": 5}, {"type": ""}])
def test_what_is_no_condition_is_left_out(odd: Json) -> None:
    there = {"conditions": [{**said("Suspended"), **odd}, None, "x", said("Other")]}
    assert conditions(mirrored_status(local(), there)) == {"Other"}
    assert mirrored_status(local(), {"conditions": "x", "active": True}) is None


def test_texts_of_conditions_have_a_length() -> None:
    status = mirrored_status(
        local(), {"conditions": [{**said("T" * 10_000), "reason": "R" * 10_000, "message": "m" * 100_000}]}
    )
    assert status is not None
    (condition,) = status["conditions"]
    assert [len(condition[name]) for name in ("type", "reason", "message")] == [316, 1024, 32768]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "today", 5])
def test_a_time_that_is_none_does_not_hinder_an_end(time: object) -> None:
    there = {
        "startTime": time,
        "completionTime": time,
        "conditions": [{**said("Complete"), "lastTransitionTime": time}],
    }
    status = mirrored_status(local(), there)
    assert status is not None
    assert (status["startTime"], status["completionTime"]) == (EARLY, EARLY)
