"""Kueue's workers, played by their writes, under our manager."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Final

import pytest

from api.dispatch_words import ASKS
from api.multikueue import DISPATCHED_BY
from hack.controlplane.client import Client, Json, path_of
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import REPRIEVE, condition, wait_for
from tests.kit.multicluster.rules import RULES
from tests.kit.often import SELDOM
from tests.multicluster import kueue_objects
from tests.multicluster.box import Box, Boxes
from tests.multicluster.copies import copies_made, copies_that_changed
from tests.multicluster.kueue_worker import KueueWorker
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import GATES, MANAGER, WORKERS, Trio

REST_SECONDS: Final = 60.0


@pytest.fixture(scope="module", autouse=True)
def without_our_workers(whole_trio: Trio) -> Iterator[None]:
    """For all tests of this file."""
    whole_trio.absent.update(WORKERS)
    yield
    whole_trio.absent.clear()


class Played:
    """A box whose workers are played, and all that happens."""

    def __init__(self, box: Box, workers: dict[str, KueueWorker], recorder: Recorder) -> None:
        self.box, self.workers, self.recorder = box, workers, recorder

    def judge(self) -> None:
        """No rule was violated, and the players were refused nothing."""
        history = self.recorder.history()
        wrong = [text for rule in RULES for text in rule(history)]
        wrong += [text for worker in self.workers.values() for text in worker.errors]
        assert not wrong, f"{wrong}\n{history.story(self.box.name)}"


@pytest.fixture
def played(trio: Trio, boxes: Boxes) -> Iterator[Callable[..., Played]]:
    """`played("name", alpha=2, stale=True)`: see KueueWorker. `ours`: workers that reprieve manages."""
    with ExitStack() as stack:

        def make(
            name: str,
            *,
            honours_gates: bool = True,
            stale: bool = False,
            ours: Collection[str] = (),
            **cpus: int,
        ) -> Played:
            recorder = Recorder(trio)
            stack.callback(recorder.close)
            for worker in ours:
                trio.start(worker)
            workers = {
                worker: stack.enter_context(
                    KueueWorker(trio.client(worker), honours_gates=honours_gates, stale=stale)
                )
                for worker in WORKERS
                if worker not in ours
            }
            trio.rejoin(honours_gates=honours_gates)
            return Played(boxes(name, **cpus), workers, recorder)

        yield make


def fill(box: Box, name: str, pods: int, priority: int = 0) -> None:
    """A Workload without a Job takes quota of a worker."""
    place = box.places[name]
    place.workload(f"low-{name}", "q", 1, pods=pods, priority=priority)
    box.until(f"low-{name}", "Admitted", cluster=name)


def evicted(box: Box) -> list[str]:
    """The workers in which somebody was preempted."""
    return [name for name, place in box.workers.items() if place.is_true(f"low-{name}", "Preempted")]


def preempts(box: Box) -> tuple[str, str]:
    """Both workers are full, and a Job of higher priority comes. Its Workload, and where somebody was preempted for
    it."""
    for name in WORKERS:
        fill(box, name, 2)
    box.job("job", 2, priority=5)
    workload = box.workload_of("job")
    wait_for(lambda: evicted(box), what=box.story)
    [first] = evicted(box)
    return workload, first


def test_a_job_runs_in_a_cluster_and_ends(played: Callable[..., Played]) -> None:
    """Its copy is made once, and everything goes after the end."""
    made = played("runs")
    box = made.box
    box.job("job", 2)
    workload = box.workload_of("job")
    cluster = box.until_admitted(workload)
    place = box.places[cluster]
    place.until_running("job", 2)
    assert place.get(workload)["metadata"]["annotations"][DISPATCHED_BY]
    place.end_pods("job")
    box.until(workload, "Finished", reason="Succeeded")
    box.until_no_copy(workload)
    made.judge()
    added = [each for each in made.recorder.history().of("Workload", *WORKERS) if each.what == "ADDED"]
    assert len([each for each in added if each.key == f"{box.name}/{workload}"]) == len(WORKERS)


@pytest.mark.parametrize("stale", [False, pytest.param(True, marks=SELDOM)], ids=["fresh", "stale"])
def test_one_cluster_preempts_and_the_other_does_not(played: Callable[..., Played], stale: bool) -> None:
    """PendingEvaluation hides the closed gate (15547), and costs are unknown. Also where the scheduler applies older
    gates over the one that was opened."""
    made = played("preempts", stale=stale, alpha=2, beta=2)
    box = made.box
    workload, first = preempts(box)
    box.places[first].end(f"low-{first}")
    assert box.until_admitted(workload) == first
    assert evicted(box) == [first]
    [plan] = box.manager.client.list(REPRIEVE, "DispatchPlan", box.name)
    assert plan["spec"]["cluster"] == first
    assert all("cost" not in each or each["cost"] is None for each in plan["spec"]["clusters"])
    made.judge()


@SELDOM
@pytest.mark.parametrize("hours", [-5, 5])
def test_what_a_worker_says_of_the_time_decides_nothing(
    played: Callable[..., Played], monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """All times in the conditions and gates that workers write are hours off."""
    monkeypatch.setattr(kueue_objects, "OFF", hours * 3600.0)
    made = played("clocks", alpha=2, beta=2)
    box = made.box
    workload, first = preempts(box)
    box.places[first].end(f"low-{first}")
    assert box.until_admitted(workload) == first
    assert evicted(box) == [first]
    box.places[first].until_running("job", 2)
    made.judge()


@SELDOM
def test_unknown_costs_go_by_the_signal_that_was_seen_first(
    played: Callable[..., Played], trio: Trio
) -> None:
    """The second worker of the config looks at its copy first."""
    trio.restart_manager(nonPreemptingWindowSeconds=10)
    made = played("signals", alpha=2, beta=2)
    box = made.box
    for name in WORKERS:
        fill(box, name, 2)
    with made.workers["alpha"].paused():
        box.job("job", 2, priority=5)
        workload = box.workload_of("job")
        wait_for(lambda: f"beta: {ASKS}" in message(box, workload), what=box.story)
    plan = until_turn(box)
    assert plan["cluster"] == "beta"
    assert plan["reason"].startswith("beta asked first"), plan
    made.judge()


@SELDOM
def test_a_known_cost_comes_before_an_unknown_one(played: Callable[..., Played]) -> None:
    """beta is managed by reprieve, and says what its preemption costs. It is more than in alpha."""
    made = played("known", ours=["beta"], alpha=2, beta=2)
    box = made.box
    fill(box, "alpha", 2)
    fill(box, "beta", 2, priority=3)
    box.job("job", 2, priority=5)
    plan = until_turn(box)
    costs = {each["name"]: each.get("cost") for each in plan["clusters"]}
    assert (plan["cluster"], costs["alpha"], costs["beta"]["highestVictimPriority"]) == ("beta", None, 3)
    assert not plan["reason"].endswith("is the only cluster that asks to preempt."), plan
    made.judge()


def message(box: Box, workload: str) -> str:
    """Of the check on the manager."""
    checks = box.manager.get(workload).get("status", {}).get("admissionChecks") or [{"message": ""}]
    return str(checks[0]["message"])


def until_turn(box: Box) -> Json:
    """The spec of the first DispatchPlan of the only Workload."""
    found = wait_for(lambda: box.manager.client.list(REPRIEVE, "DispatchPlan", box.name), what=box.story)
    return next(each["spec"] for each in found if each["spec"]["number"] == 1)


@SELDOM
def test_what_the_manager_evicts_is_deactivated_there(played: Callable[..., Played]) -> None:
    """DeactivationTarget, and its quota here goes back when nothing runs there (7350)."""
    made = played("evicted")
    box = made.box
    box.job("job", 2)
    workload = box.workload_of("job")
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running("job", 2)
    box.manager.patch_spec("Workload", workload, {"active": False}, namespaced=True)
    box.until(workload, "QuotaReserved", "False")
    assert box.places[cluster].pods("job") == []
    box.until_no_copy(workload)
    reasons = {
        condition["reason"]
        for each in made.recorder.history().of("Workload", cluster)
        if each.key == f"{box.name}/{workload}"
        for condition in each.body.get("status", {}).get("conditions", ())
        if condition["type"] == "Evicted"
    }
    assert reasons == {"DeactivatedDueToEvictedOnManagerCluster"}
    made.judge()


@SELDOM
def test_one_cluster_at_a_time_also_with_workers_that_know_no_gates(played: Callable[..., Played]) -> None:
    """There the copy is the gate."""
    made = played("old", honours_gates=False, alpha=2, beta=2)
    box = made.box
    workload, first = preempts(box)
    assert [name for name, place in box.workers.items() if place.find(workload)] == [first]
    box.places[first].end(f"low-{first}")
    assert box.until_admitted(workload) == first
    made.judge()


@pytest.fixture
def older_objects(whole_trio: Trio) -> Iterator[None]:
    """The API servers of the workers drop the fields of gates. It begins before the workers are played."""
    with ExitStack() as stack:
        for name in WORKERS:
            stack.enter_context(without_gates(whole_trio.client(name)))
        yield


@SELDOM
def test_one_cluster_at_a_time_also_with_the_objects_of_an_older_kueue(
    older_objects: None, played: Callable[..., Played], trio: Trio
) -> None:
    """There is no field for a gate: the copy is the gate."""
    made = played("pruned", honours_gates=False, alpha=2, beta=2)
    box = made.box
    for name in WORKERS:
        found = condition(trio.client(MANAGER).get(KUEUE, "MultiKueueCluster", name), GATES)
        assert found is not None
        assert found["reason"] == "NotServed"
    workload, first = preempts(box)
    assert [name for name, place in box.workers.items() if place.find(workload)] == [first]
    copy = box.places[first].get(workload)
    assert "preemptionGates" not in {*copy["spec"], *copy.get("status", {})}
    other = next(name for name in WORKERS if name != first)
    # Its victims do not end: the other cluster has its turn, without the copy in the first one.
    box.until_copy(workload, other)
    assert box.places[first].find(workload) is None
    box.places[other].end(f"low-{other}")
    assert box.until_admitted(workload) == other
    made.judge()
    added = copies_made(made.recorder.history(), box.name)
    assert added == {f"{name}/{workload}": 1 for name in WORKERS}


@contextmanager
def without_gates(client: Client) -> Iterator[None]:
    """Inside, the Workloads of the cluster have no fields for gates, as in Kueue before them."""
    version, kind, name = "apiextensions.k8s.io/v1", "CustomResourceDefinition", "workloads.kueue.x-k8s.io"
    spec = client.get(version, kind, name)["spec"]
    older = deepcopy(spec)
    for each in older["versions"]:
        fields = each["schema"]["openAPIV3Schema"]["properties"]
        for part in ("spec", "status"):
            fields[part]["properties"].pop("preemptionGates", None)
    client.patch(version, kind, name, {"spec": {"versions": older["versions"]}})
    wait_for(lambda: not _knows_gates(client), what=lambda: "gates are still known")
    try:
        yield
    finally:
        client.patch(version, kind, name, {"spec": {"versions": spec["versions"]}})
        wait_for(lambda: _knows_gates(client), what=lambda: "gates are not known again")


def _knows_gates(client: Client) -> bool:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    sets = [{"name": "main", "count": 1, "template": template}]
    spec = {"active": False, "podSets": sets, "preemptionGates": [{"name": "example.com/any"}]}
    body = {"apiVersion": KUEUE, "kind": "Workload", "metadata": {"name": "probe"}, "spec": spec}
    answer = client.request("POST", f"{path_of(KUEUE, 'Workload', 'default')}?dryRun=All", body)
    return "preemptionGates" in answer["spec"]


@SELDOM
def test_the_class_of_a_worker_changes_no_priority(played: Callable[..., Played]) -> None:
    """13929. Nothing that a worker adds to its copy makes the manager write it again."""
    made = played("classes")
    box = made.box
    name = box.priority(5)
    for place in box.workers.values():
        body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": 7, "metadata": {"name": name}}
        place.client.create(body)
    box.job("job", 2, priority=5)
    workload = box.workload_of("job")
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running("job", 2)
    assert box.places[cluster].get(workload)["spec"]["priority"] == 5
    for place in box.workers.values():
        place.client.delete(KUEUE, "WorkloadPriorityClass", name)
    made.judge()


@SELDOM
def test_no_copy_is_made_twice_at_rest(played: Callable[..., Played]) -> None:
    """One Job runs, one waits for quota, and one waits for victims that do not end: its gate opens in one cluster after
    the other. The worker's scheduler applies older states."""
    made = played("rest", stale=True, alpha=4, beta=2)
    box = made.box
    for name in WORKERS:
        fill(box, name, 2)
    box.job("runs", 2, priority=9)
    assert box.until_admitted(box.workload_of("runs")) == "alpha"
    box.alpha.until_running("runs", 2)
    box.job("waits", 2)
    box.job("gated", 2, priority=5)
    wait_for(lambda: len(evicted(box)) == 2, what=box.story)
    time.sleep(REST_SECONDS)
    assert box.alpha.is_true(box.workload_of("runs"), "Admitted")
    history = made.recorder.history()
    copies = [f"{name}/{box.workload_of(job)}" for name in WORKERS for job in ("runs", "waits", "gated")]
    assert copies_made(history, box.name) == dict.fromkeys(copies, 1)
    assert copies_that_changed(history, box.name) == []
    made.judge()


@SELDOM
def test_a_job_that_the_worker_calls_out_of_sync_is_sent_again(played: Callable[..., Played]) -> None:
    """13047: it is no end."""
    made = played("out-of-sync")
    box = made.box
    box.job("job", 2)
    workload = box.workload_of("job")
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running("job", 2)
    first = box.places[cluster].get(workload)["metadata"]["uid"]
    box.places[cluster].patch_job("job", {"spec": {"parallelism": 1}})

    def again() -> bool:
        copies = [place.find(workload) for place in box.workers.values()]
        found = box.manager.is_true(workload, "Admitted")
        return found and first not in [each["metadata"]["uid"] for each in copies if each]

    wait_for(again, what=lambda: f"{box.story()}\n{made.recorder.history().story(box.name)}")
    assert not box.manager.is_true(workload, "Finished")
    made.judge()
