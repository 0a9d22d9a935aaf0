"""Kueue's manager, played by its writes, over our worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from api.multikueue import WORKER_POD_LABEL
from hack.controlplane.client import Json
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import condition, wait_for
from tests.multicluster.box import Box, Boxes, Place
from tests.multicluster.kueue_manager import KueueManager, apply_status, known_status, template_of
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import MANAGER, Trio

WORKER = "alpha"


class Stage:
    """A worker's place, and Kueue's manager over it."""

    def __init__(self, box: Box, manager: KueueManager, recorder: Recorder) -> None:
        self.box, self.kueue, self.recorder = box, manager, recorder
        self.place: Place = box.places[WORKER]

    def until(self, name: str, kind: str, status: str = "True", reason: str | None = None) -> Json:
        return self.box.until(name, kind, status, reason, cluster=WORKER)

    def states(self, name: str) -> list[Json]:
        """All states of a Workload, in order."""
        return [
            each.body
            for each in self.recorder.history().of("Workload", WORKER)
            if each.key == f"{self.box.name}/{name}" and each.what != "DELETED"
        ]

    def run(self, name: str, pods: int = 1) -> None:
        """A copy is admitted, and its Job runs."""
        self.kueue.copy(name, pods=pods)
        self.until(name, "Admitted")
        self.kueue.job(f"job-{name}", name, pods=pods)
        self.place.until_running(f"job-{name}", pods)

    def until_nothing_is_left(self, *names: str) -> None:
        """No Workload, Job or pod of these, and no plan for them."""

        def left() -> list[str]:
            found = [each for each in names if self.place.find(each)]
            found += [f"job-{each}" for each in names if self.place.find_job(f"job-{each}")]
            pods = self.place.client.list("v1", "Pod", self.box.name)
            return found + [
                each["metadata"]["name"]
                for each in pods
                if each["metadata"].get("labels", {}).get("job-name") in {f"job-{name}" for name in names}
            ]

        wait_for(lambda: not left(), what=lambda: f"left: {left()}\n{self.box.story()}")


@pytest.fixture(scope="module", autouse=True)
def without_our_manager(whole_trio: Trio) -> Iterator[None]:
    """For all tests of this file."""
    whole_trio.absent.add(MANAGER)
    yield
    whole_trio.absent.clear()


@pytest.fixture
def stages(trio: Trio, boxes: Boxes) -> Iterator[Callable[..., Stage]]:
    """`stages("name", alpha=2)`: a box, and Kueue's manager over its alpha."""
    ends: list[Callable[[], None]] = []

    def make(name: str, **cpus: int) -> Stage:
        box = boxes(name, **cpus)
        manager = KueueManager(trio.fleet, WORKER, box.name)
        recorder = Recorder(trio)
        ends.extend((manager.close, recorder.close))
        return Stage(box, manager, recorder)

    yield make
    for end in ends:
        end()


def without_gates(spec: Json) -> Json:
    return {key: value for key, value in spec.items() if key != "preemptionGates"}


def test_the_spec_of_a_copy_reads_back_as_it_was_written_at_all_times(stages: Callable[..., Stage]) -> None:
    """Through admission, its Job, an eviction there, and the end; also where a class of that name has another value
    here (13929)."""
    stage = stages("reads-back", alpha=2)
    priority_class = stage.place.of("p")
    body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": 7}
    stage.place.client.create({**body, "metadata": {"name": priority_class}})
    pod = template_of(labels={"team": "a"}, tolerations=[{"key": "x", "operator": "Exists"}])
    written = stage.kueue.copy(
        "w", pods=2, priority=3, priority_class=priority_class, template=pod, maximumExecutionTimeSeconds=3600
    )
    stage.until("w", "Admitted")
    stage.kueue.job("job-w", "w", pods=2, template=pod)
    stage.place.until_running("job-w", 2)
    high = stage.place.workload("high", "q", 1, priority=9)
    stage.until(high, "Admitted")
    stage.until("w", "QuotaReserved", "False")
    stage.place.finish(high)
    stage.place.until_running("job-w", 2)
    stage.place.end_pods("job-w")
    stage.until("w", "Finished", reason="Succeeded")
    states = stage.states("w")
    assert len(states) > 5
    assert [
        each["spec"] for each in states if without_gates(each["spec"]) != without_gates(written["spec"])
    ] == []
    stage.place.client.delete(KUEUE, "WorkloadPriorityClass", priority_class)


@pytest.mark.parametrize(
    "spec", [{}, {"active": False}, {"queue": "nowhere"}], ids=["waits", "inactive", "no queue"]
)
def test_a_gate_is_closed_at_once(stages: Callable[..., Stage], spec: Json) -> None:
    """In the first write of the status, or before anything is decided."""
    stage = stages("closed", alpha=1)
    stage.kueue.copy("w", pods=2, **spec)
    wait_for(lambda: stage.box.gate("w", WORKER), what=stage.box.story)
    for each in stage.states("w"):
        if each.get("status", {}).get("conditions"):
            assert [gate["position"] for gate in each["status"].get("preemptionGates", ())] == ["Closed"]


def test_a_gate_that_opens_by_put_of_the_whole_status_lets_the_copy_preempt(
    stages: Callable[..., Stage],
) -> None:
    stage = stages("opens", alpha=2)
    stage.run("low", 2)
    stage.kueue.copy("high", pods=1, priority=5)
    stage.until("high", "BlockedOnPreemptionGates")
    assert stage.place.is_true("low", "Admitted")
    stage.kueue.set_gate("high", "Open")
    stage.until("high", "Admitted")
    found = condition(stage.place.get("low"), "Preempted")
    assert found is not None
    assert stage.place.get("high")["metadata"]["uid"] in found["message"]


def test_a_gate_that_a_stale_apply_closes_can_be_opened_again(stages: Callable[..., Stage]) -> None:
    """Kueue's scheduler applies older gates without a version: that works in the second in which the gate was closed.
    Later, the API server refuses a time that goes back."""
    stage = stages("stale", alpha=2)
    stage.run("low", 2)
    stage.kueue.copy("high", pods=2, priority=5)
    stage.until("high", "BlockedOnPreemptionGates")
    seen = stage.kueue.get("high")
    (gate,) = seen["status"]["preemptionGates"]
    stage.kueue.set_gate("high", "Open", gate["lastTransitionTime"])
    apply_status(stage.kueue.client, seen, versioned=False)
    stage.kueue.set_gate("high", "Open")
    stage.until("high", "Admitted")
    stage.until("low", "Preempted")


def test_a_put_of_the_whole_status_loses_nothing(stages: Callable[..., Stage]) -> None:
    """Nothing of ours is in the status but conditions."""
    stage = stages("put", alpha=2)
    stage.run("w")
    stage.kueue.copy("waits", pods=2)
    stage.until("waits", "QuotaReserved", "False")
    for name in ("w", "waits"):
        body = stage.kueue.get(name)
        assert known_status(body) == body["status"]
        before = {each["type"]: each["status"] for each in body["status"]["conditions"]}
        after = stage.kueue.put_status(name)["status"]
        assert {each["type"]: each["status"] for each in after["conditions"]} == before
    stage.place.until_running("job-w", 1)


def test_deactivation_target_evicts_and_others_are_admitted(stages: Callable[..., Stage]) -> None:
    """And this apply of kueue-admission does not mean that Kueue manages the worker."""
    stage = stages("deactivated", alpha=2)
    stage.run("w", 2)
    stage.kueue.copy("next", pods=2)
    stage.until("next", "QuotaReserved", "False")
    stage.kueue.deactivate("w")
    stage.until("w", "Evicted", reason="DeactivatedDueToEvictedOnManagerCluster")
    assert stage.place.get("w")["spec"]["active"] is False
    stage.until("w", "QuotaReserved", "False")
    assert stage.place.is_suspended("job-w")
    assert stage.place.pods("job-w") == []
    stage.until("next", "Admitted")
    stage.kueue.remove("w", "job-w")
    stage.until_nothing_is_left("w")


def test_what_the_manager_removes_leaves_nothing(stages: Callable[..., Stage]) -> None:
    """A copy that runs, one that waits, and one that waits for its gate. Their quota is free."""
    stage = stages("removed", alpha=2)
    stage.run("runs", 2)
    stage.kueue.copy("waits", pods=2)
    stage.kueue.copy("blocked", pods=2, priority=5)
    stage.until("blocked", "BlockedOnPreemptionGates")
    stage.until("waits", "QuotaReserved", "False")
    for name, job in (("blocked", ""), ("waits", ""), ("runs", "job-runs")):
        stage.kueue.remove(name, job)
    stage.until_nothing_is_left("runs", "waits", "blocked")
    stage.kueue.copy("next", pods=2, gated=False)
    stage.until("next", "Admitted")


def test_a_job_that_is_not_what_its_copy_says_finishes_the_copy(stages: Callable[..., Stage]) -> None:
    """OutOfSync: the manager makes another one (13047)."""
    stage = stages("out-of-sync", alpha=4)
    stage.kueue.copy("w", pods=2)
    stage.until("w", "Admitted")
    stage.kueue.job("job-w", "w", pods=3)
    found = stage.until("w", "Finished", reason="OutOfSync")
    assert found["message"] == "The prebuilt workload is out of sync with its user job"
    assert stage.place.is_suspended("job-w")


def test_a_job_that_comes_before_its_copy_waits_for_it(stages: Callable[..., Stage]) -> None:
    """Only the annotation names the Workload, and its name is longer than a label can be."""
    stage = stages("before", alpha=2)
    name = f"w-{'x' * 70}"
    stage.kueue.job("job-w", name)
    stage.place.until_event("job-w", "PrebuiltWorkloadNotFound")
    assert stage.place.is_suspended("job-w")
    stage.kueue.copy(name)
    stage.until(name, "Admitted")
    stage.place.until_running("job-w", 1)
    job = stage.place.get_job("job-w")
    copy = stage.place.get(name)
    assert copy["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == job["metadata"]["uid"]
    [owner] = copy["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (job["metadata"]["uid"], True)
    assert stage.place.names() == [name]


def test_pods_of_copies_have_the_label(stages: Callable[..., Stage]) -> None:
    """Pods of the worker's own Jobs do not."""
    stage = stages("labels", alpha=4)
    stage.run("w", 2)
    stage.box.fill(WORKER, "own", 1)
    labels = {
        each["metadata"]["labels"]["job-name"]: each["metadata"]["labels"].get(WORKER_POD_LABEL)
        for each in stage.place.client.list("v1", "Pod", stage.box.name)
    }
    assert labels == {"job-w": "true", "own": None}


def test_a_priority_that_the_manager_changes_counts(stages: Callable[..., Stage]) -> None:
    """8464. The second copy overtakes the first one."""
    stage = stages("priority", alpha=1)
    stage.run("runs")
    for name in ("first", "second"):
        stage.kueue.copy(name)
        stage.until(name, "QuotaReserved", "False")
    stage.kueue.set_priority("second", 5)
    stage.until("second", "BlockedOnPreemptionGates")
    stage.place.end_pods("job-runs")
    stage.until("second", "Admitted")
    assert not stage.place.is_true("first", "Admitted")
