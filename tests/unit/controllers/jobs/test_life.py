"""Steps that random lives do not reach."""

from __future__ import annotations

from api.integration import PREBUILT_WORKLOAD_LABEL
from controllers.jobs.life import Around, ChangeWorkload, next_step
from controllers.jobs.owned_workload import Classes
from controllers.jobs.workload_of import wish_of, workload_body
from runtime.finalizers import RESOURCE_IN_USE
from tests.kit.jobs import UID, job, merge, read_job, read_workload


def test_a_prebuilt_workload_becomes_the_jobs_with_all_that_protects_it() -> None:
    made = read_job(job(labels={PREBUILT_WORKLOAD_LABEL: "mine"}))
    wish = wish_of(made, Classes({}, {}))
    body = workload_body(made, wish)
    body["metadata"] = {"name": "mine", "namespace": "ns", "finalizers": ["example.com/own"]}
    step = next_step(made, read_workload(body), Around(wish))
    assert isinstance(step.write, ChangeWorkload)
    adopted = read_workload(merge(body, step.write.patch)).metadata
    assert adopted.finalizers == ["example.com/own", RESOURCE_IN_USE]
    assert adopted.labels == {"kueue.x-k8s.io/job-uid": UID}
    assert [each.uid for each in adopted.owner_references or ()] == [UID]
