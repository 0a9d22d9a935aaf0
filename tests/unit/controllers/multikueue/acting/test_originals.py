"""The Workloads and Jobs here as the API server has them."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from api.jobs import JobStatus, TemplatedJob, TemplatedJobSpec
from api.meta import ObjectMeta
from api.workloads import Workload
from controllers.multikueue.acting.originals import LONGEST_KEPT, Originals
from kube.client import ApiClient
from tests.kit.apiserver import Api
from tests.kit.clock import ManualClock
from tests.kit.dispatched.seeing import ATTEMPT, job, workload

WORKLOADS, JOBS = "/apis/kueue.x-k8s.io/v1beta2/workloads", "/apis/batch/v1/jobs"


def stored(api: Api, path: str, spec: dict[str, Any], generation: int = 1) -> ObjectMeta:
    uid = f"uid of {path}"
    body = stored_body(uid, spec)
    body["metadata"]["generation"] = generation
    api.put(path, body)
    return ObjectMeta(name="train", namespace="team", uid=uid, generation=generation)


def stored_body(uid: str, spec: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": "train", "namespace": "team", "generation": 1, "uid": uid}
    return {"metadata": meta, "spec": spec}


def here(meta: ObjectMeta, *, attempt: bool = True) -> Workload:
    found = workload()
    found.metadata = meta
    if not attempt:
        found.status.conditions = []
    return found


async def test_a_digest_is_known_once_the_workload_was_read_in_this_state() -> None:
    api = Api()
    meta = stored(api, WORKLOADS, {"queueName": "q", "podSets": []})
    originals = Originals(cast(ApiClient, api), api.clock)
    assert originals.digest(here(meta)) is None
    body = await originals.workload(meta, ATTEMPT)
    assert body is not None
    digest = originals.digest(here(meta))
    assert digest is not None
    for other in (
        here(msgspec.structs.replace(meta, generation=2)),
        here(msgspec.structs.replace(meta, uid="another")),
        here(meta, attempt=False),
    ):
        assert originals.digest(other) is None
    originals.gone("team/train")
    assert originals.digest(here(meta)) is None


async def test_gates_here_do_not_change_the_digest() -> None:
    """12543."""
    digests = set[bytes | None]()
    for gates in ([], [{"name": "mine"}]):
        api = Api()
        meta = stored(api, WORKLOADS, {"queueName": "q", "podSets": [], "preemptionGates": gates})
        originals = Originals(cast(ApiClient, api), api.clock)
        await originals.workload(meta, ATTEMPT)
        digests.add(originals.digest(here(meta)))
    assert len(digests) == 1
    assert None not in digests


async def test_another_object_of_that_name_is_none() -> None:
    api = Api()
    meta = stored(api, WORKLOADS, {"queueName": "q"})
    of_job = stored(api, JOBS, {"parallelism": 1})
    originals = Originals(cast(ApiClient, api), api.clock)
    assert await originals.job(of_job) is not None
    assert await originals.job(msgspec.structs.replace(of_job, uid="another")) is None
    assert await originals.job(msgspec.structs.replace(of_job, name="gone")) is None
    assert await originals.workload(msgspec.structs.replace(meta, uid="another"), ATTEMPT) is None
    assert await originals.workload(msgspec.structs.replace(meta, name="gone"), ATTEMPT) is None


async def test_what_copies_and_jobs_are_made_from_is_read_once_for_an_attempt() -> None:
    api = Api()
    meta = stored(api, WORKLOADS, {"queueName": "q"})
    of_job = stored(api, JOBS, {"parallelism": 1})
    originals = Originals(cast(ApiClient, api), api.clock)
    first = await originals.workload(meta, ATTEMPT)
    template = await originals.template(of_job, ATTEMPT)
    assert first is not None
    assert template is not None
    first["spec"]["queueName"] = template["spec"]["parallelism"] = "changed by its user"
    api.put(WORKLOADS, stored_body("uid of " + WORKLOADS, {"queueName": "new"}))
    api.put(JOBS, stored_body("uid of " + JOBS, {"parallelism": 2}))
    again = await originals.workload(meta, ATTEMPT), await originals.template(of_job, ATTEMPT)
    assert [each and each["spec"] for each in again] == [{"queueName": "q"}, {"parallelism": 1}]
    now = await originals.job(of_job)
    assert now is not None
    assert now["spec"] == {"parallelism": 2}


@pytest.mark.parametrize(
    ("attempt", "changes"),
    [
        ("another", {}),
        (ATTEMPT, {"generation": 2}),
        (ATTEMPT, {"labels": {"team": "a"}}),
        (ATTEMPT, {"annotations": {"team": "a"}}),
    ],
)
async def test_it_is_read_anew_after_a_change_and_in_another_attempt(
    attempt: str, changes: dict[str, Any]
) -> None:
    api = Api()
    meta = stored(api, WORKLOADS, {"queueName": "q"})
    originals = Originals(cast(ApiClient, api), api.clock)
    await originals.workload(meta, ATTEMPT)
    body = stored_body(meta.uid, {"queueName": "new"})
    body["metadata"] |= changes
    api.put(WORKLOADS, body)
    found = await originals.workload(msgspec.structs.replace(meta, **changes), attempt)
    assert found is not None
    assert found["spec"] == {"queueName": "new"}


async def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controllers.multikueue.acting.originals.MOST_KEPT", 1)
    api = Api()
    of_job = stored(api, JOBS, {"parallelism": 1})
    large = stored(api, WORKLOADS, {"queueName": "q" * LONGEST_KEPT})
    originals = Originals(cast(ApiClient, api), api.clock)
    for meta, read in ((large, originals.workload), (of_job, originals.template)):
        await read(meta, ATTEMPT)
    api.put(JOBS, stored_body(of_job.uid, {"parallelism": 2}))
    api.put(WORKLOADS, stored_body(large.uid, {"queueName": "new"}))
    found = await originals.workload(large, ATTEMPT)
    assert found is not None
    assert found["spec"] == {"queueName": "new"}
    found = await originals.template(of_job, ATTEMPT)
    assert found is not None
    assert found["spec"] == {"parallelism": 2}  # the Workload took its place


def test_what_was_mirrored_is_compared_again_when_one_of_the_jobs_changes() -> None:
    originals = Originals(cast(ApiClient, Api()), ManualClock())

    def local(uid: str = "job", *, suspend: bool = False) -> TemplatedJob:
        return TemplatedJob(
            metadata=ObjectMeta(name="train", uid=uid),
            spec=TemplatedJobSpec(suspend=suspend),
            status=JobStatus(active=1),
        )

    remote = job(1)
    assert not originals.shown.is_shown("team/train", local(), remote)
    originals.shown.shows("team/train", local(), remote)
    assert originals.shown.is_shown("team/train", local(), remote)
    for mine, theirs in (
        (local("another"), remote),
        (local(suspend=True), remote),
        (local(), None),
        (local(), msgspec.structs.replace(remote, uid="another")),
    ):
        assert not originals.shown.is_shown("team/train", mine, theirs)
    originals.gone("team/train")
    assert not originals.shown.is_shown("team/train", local(), remote)
