"""The status that a Job here gets from other clusters: an API server takes every one of them, whatever came before.

A Job may be sent to several clusters, one after the other. Each has a clock and counters of its own, and may say
anything. The rules are those of tests/kit/job_status.py, which tests/e2e/test_mirrored_jobs.py compares with a real
API server.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.multikueue.kinds.job_status import mirrored_status, status_patch
from tests.kit.examples import examples
from tests.kit.job_status import ended, refusals, said
from tests.kit.jobs import merge

Json = dict[str, Any]
TIMES = [f"2026-01-01T00:00:0{second}Z" for second in range(10)]
TARGETS = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}
KINDS = ("Suspended", "FailureTarget", "SuccessCriteriaMet", "Complete", "Failed", "example.com/Own")


def times() -> st.SearchStrategy[str]:
    return st.sampled_from(TIMES)


def conditions() -> st.SearchStrategy[list[Json]]:
    each = st.fixed_dictionaries(
        {"type": st.sampled_from(KINDS), "status": st.sampled_from(("True", "True", "False"))},
        optional={"lastTransitionTime": times(), "message": st.just("m"), "reason": st.just("R")},
    )
    return st.lists(each, max_size=4, unique_by=lambda said: said["type"])


@st.composite
def indexes(draw: st.DrawFn) -> str:
    chosen = sorted(draw(st.sets(st.integers(0, 7))))
    return ",".join(map(str, chosen))


def statuses() -> st.SearchStrategy[Json]:
    """Also such that no API server ever stores: a cluster may be old, or taken over."""
    numbers = st.integers(0, 6)
    return st.fixed_dictionaries(
        {},
        optional={
            "active": numbers,
            "ready": numbers,
            "terminating": numbers,
            "succeeded": numbers,
            "failed": numbers,
            "startTime": times(),
            "completionTime": times(),
            "completedIndexes": indexes(),
            "failedIndexes": indexes(),
            "uncountedTerminatedPods": st.just({"succeeded": ["a-pod"]}),
            "conditions": conditions(),
        },
    )


def honest(status: Json) -> Json:
    """No index has both completed and failed, as in every real cluster."""
    done = set((status.get("completedIndexes") or "").split(","))
    failed = [each for each in (status.get("failedIndexes") or "").split(",") if each not in done]
    return {**status, "failedIndexes": ",".join(failed)} if "failedIndexes" in status else status


SPECS = st.fixed_dictionaries(
    {"parallelism": st.just(3), "completions": st.sampled_from((3, 5))},
    optional={
        "completionMode": st.sampled_from(("Indexed", "NonIndexed")),
        "backoffLimitPerIndex": st.just(1),
    },
)
STEPS = st.lists(
    st.tuples(st.booleans(), st.one_of(st.none(), statuses().map(honest)), st.booleans()), max_size=12
)
"""Whether the Job here is suspended; what is there; whether a new attempt begins before."""


@settings(max_examples=examples(500), deadline=None)
@given(SPECS, STEPS, st.sampled_from(("", "", "FailureTarget", "SuccessCriteriaMet")))
def test_an_api_server_takes_all_that_is_mirrored(spec: Json, steps: list[Any], announced: str) -> None:
    """`announced`: what Kueue's manager has written before."""
    first = [{"type": announced, "status": "True"}] if announced else []
    job: Json = {"metadata": {"creationTimestamp": TIMES[0]}, "spec": spec, "status": {"conditions": first}}
    for suspended, remote, again in steps:
        job["spec"] = {**spec, "suspend": suspended}
        if again and suspended and not ended(job["status"]):
            job["status"].pop("startTime", None)
        before = job["status"]
        status = mirrored_status(job, remote)
        if status is None:
            continue
        assert not list(refusals(job, status)), (job, remote)
        job["status"] = merge(before, status_patch(job, status))
        assert job["status"] == status
        assert mirrored_status(job, remote) is None, "one write is enough"
        for name in ("failed", "succeeded"):
            assert status.get(name, 0) >= before.get(name, 0)
        if remote is not None:
            judge(job, remote, before, announced)


def judge(job: Json, remote: Json, before: Json, announced: str) -> None:
    """It shows what happens there."""
    status = job["status"]
    for name in ("failed", "succeeded"):
        assert status.get(name, 0) >= remote.get(name, 0)
    assert not ended(before), "an end is for good"
    end = "Complete" if said(remote, "Complete") else "Failed" if said(remote, "Failed") else ""
    if announced and end and announced != TARGETS[end]:
        assert not ended(status), "no API server would take it"
        return
    for kind, target in TARGETS.items():
        assert said(status, kind) == (end == kind)
        assert said(status, target) == (end == kind or announced == target)
    if not end:
        assert status.get("active", 0) == remote.get("active", 0)
    if not job["spec"]["suspend"] and remote.get("startTime"):
        assert status["startTime"] == before.get("startTime", remote["startTime"])
