"""Gangs of Jobs whose pods end and are created again: none is held for ever, and none leaves its gang's domain."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from hack.controlplane.client import Client, Json
from tests.e2e.support import Sandbox, wait_for

RACK: Final = "rack"
DISRUPTED: Final = {"type": "DisruptionTarget", "status": "True", "reason": "Test"}
IGNORED: Final = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}


class Gang:
    """A gang whose pods a Job creates, in a sandbox with two racks."""

    def __init__(self, sandbox: Sandbox, min_count: int, *, small: int, large: int, **job: Any) -> None:
        """`small`, `large`: CPUs of the racks. The small one has the first name."""
        self.sandbox = sandbox
        self.rack_of = {
            sandbox.node(name, cpu=str(cpus), labels={RACK: name}): name
            for name, cpus in (("a-small", small), ("b-large", large))
        }
        sandbox.group("gang", min_count=min_count, priority=100, topology=RACK)
        sandbox.job("job", priority=100, group="gang", **job)

    def pods(self) -> list[Json]:
        """Pods that have neither ended nor terminate."""
        return [
            pod
            for pod in self.sandbox.list_pods()
            if pod["metadata"].get("labels", {}).get("reprieve.dev/pod-group") == "gang"
            if pod["status"]["phase"] not in ("Succeeded", "Failed")
            if "deletionTimestamp" not in pod["metadata"]
        ]

    def running(self) -> list[str]:
        """Names of those that run, sorted."""
        return sorted(pod["metadata"]["name"] for pod in self.pods() if pod["status"]["phase"] == "Running")

    def wait_running(self, count: int, *, but: list[str] | None = None) -> list[str]:
        """Until exactly `count` pods run, none waits, and none of these is among them."""

        def look() -> list[str] | None:
            running = self.running()
            whole = len(running) == len(self.pods()) == count
            return running if whole and not set(but or ()) & set(running) else None

        return wait_for(look, what=lambda: f"{count} pods do not run\n{self.sandbox.report()}")

    def racks(self) -> set[str]:
        """Where pods of the gang have been, of all that there ever were."""
        placed = (pod["spec"].get("nodeName") for _, pod in self.sandbox.history.states)
        return {self.rack_of[node] for node in placed if node in self.rack_of}

    def end(self, phase: str, *pods: str) -> None:
        """These pods end."""
        for name in pods:
            self.sandbox.end_pod(name, phase)

    def disrupt(self, *pods: str) -> None:
        """These pods fail in a way that the Job does not count, so that it replaces them at once."""
        status = {"conditions": [DISRUPTED], "phase": "Failed"}
        for name in pods:
            self.sandbox.client.patch("v1", "Pod", name, {"status": status}, self.sandbox.namespace, "status")

    def change(self, **spec: Any) -> None:
        """Change fields of the Job's spec."""
        self.sandbox.client.patch("batch/v1", "Job", "job", {"spec": spec}, self.sandbox.namespace)

    def finished(self) -> str:
        """The Job's final condition; empty while it goes on."""
        job = self.sandbox.client.get("batch/v1", "Job", "job", self.sandbox.namespace)
        conditions = job.get("status", {}).get("conditions") or ()
        ends = [each["type"] for each in conditions if each["status"] == "True"]
        return next((each for each in ends if each in ("Complete", "Failed")), "")


Gangs = dict[str, Gang]
STARTED: Final[dict[str, Callable[[Sandbox], Gang]]] = {
    "elastic": lambda sandbox: Gang(sandbox, 2, small=8, large=4, parallelism=4, completions=8),
    "tail": lambda sandbox: Gang(sandbox, 3, small=2, large=4, parallelism=3, completions=5),
    "backoff": lambda sandbox: Gang(
        sandbox, 3, small=2, large=3, parallelism=3, completions=3, backoffLimit=1
    ),
    "suspended": lambda sandbox: Gang(sandbox, 3, small=1, large=3, parallelism=3, completions=3),
    "indexed": lambda sandbox: Gang(
        sandbox,
        3,
        small=2,
        large=3,
        parallelism=3,
        completions=3,
        completionMode="Indexed",
        backoffLimitPerIndex=0,
        podFailurePolicy=IGNORED,
    ),
}
MEMBERS: Final = {"elastic": 4}
"""How many pods a Job runs at once, if it is not three."""


@pytest.fixture(scope="module")
def gangs(request: pytest.FixtureRequest, foreign: Client | None) -> Iterator[Gangs]:
    """All gangs run. A Job waits ten seconds before it replaces a pod that Failed, so all these wait at once."""
    plane = None if foreign else request.getfixturevalue("reprieve_plane")
    client = foreign or request.getfixturevalue("reprieve_plane").client
    begun = {
        name: start(Sandbox(client, f"{name}-{uuid.uuid4().hex[:5]}", plane))
        for name, start in STARTED.items()
    }
    for name, gang in begun.items():
        gang.wait_running(MEMBERS.get(name, 3))
        gang.sandbox.wait_condition("PodGroup", "gang", "PodGroupInitiallyScheduled", "True")
    begun["backoff"].end("Failed", begun["backoff"].running()[0])
    done, failed, _ = begun["tail"].running()
    begun["tail"].end("Succeeded", done)
    begun["tail"].end("Failed", failed)
    yield begun
    for gang in begun.values():
        gang.sandbox.remove()


def test_a_suspended_job_comes_back_whole_in_one_rack(gangs: Gangs) -> None:
    """Its first pod alone would fit in the small rack, where the others would have no room."""
    gang = gangs["suspended"]
    former = gang.running()
    gang.change(suspend=True)
    wait_for(lambda: not gang.pods(), what="the Job's pods stay")
    gang.change(suspend=False)
    gang.wait_running(3, but=former)
    assert gang.racks() == {"b-large"}


def test_members_beyond_min_count_and_replacements_stay_in_the_rack(gangs: Gangs) -> None:
    """Three of four come again: one by a plan, two beside the gang. The scheduler alone prefers the other rack."""
    gang = gangs["elastic"]
    racks, former = gang.racks(), gang.running()
    assert len(racks) == 1
    gang.change(parallelism=1)
    left = gang.wait_running(1)
    gang.change(parallelism=4)
    gang.wait_running(4, but=sorted(set(former) - set(left)))
    assert gang.racks() == racks


def test_a_replacement_does_not_wait_for_an_index_that_nobody_creates_again(gangs: Gangs) -> None:
    gang = gangs["indexed"]
    lost, evicted, _ = gang.running()
    gang.end("Failed", lost)
    gang.disrupt(evicted)
    gang.wait_running(2, but=[lost, evicted])
    assert gang.racks() == {"b-large"}


def test_the_tail_of_a_job_runs_in_the_rack_to_its_end(gangs: Gangs) -> None:
    """One member has Succeeded and one has Failed: their successors are bound, and the gang never waits for three."""
    gang = gangs["tail"]
    ended = {pod["metadata"]["name"] for pod in gang.sandbox.list_pods()} - set(gang.running())
    running = gang.wait_running(3, but=sorted(ended))
    gang.end("Succeeded", *running[:2])
    last = gang.wait_running(2, but=running[:2])
    gang.end("Succeeded", *last)
    assert wait_for(gang.finished) == "Complete"
    assert gang.racks() == {"b-large"}


def test_a_job_that_gives_up_leaves_nothing_behind(gangs: Gangs) -> None:
    """The first failure is made good; the second is one too many, and the Job ends its pods."""
    gang = gangs["backoff"]
    running = gang.wait_running(3)
    gang.end("Failed", running[0])
    assert wait_for(gang.finished) == "Failed"
    assert not gang.pods()
    assert gang.racks() == {"b-large"}
    phases = {plan["status"]["phase"] for plan in gang.sandbox.plans("gang")}
    assert phases <= {"Bound", "Aborted", "Unschedulable"}
