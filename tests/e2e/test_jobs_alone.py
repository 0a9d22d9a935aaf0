"""Jobs while reprieve is killed between any two of its writes, and when it leaves the cluster."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.group_sandbox import GroupSandbox
from tests.e2e.job_sandbox import QUEUE_NAME, JobSandbox
from tests.e2e.pages import ROOT, shell
from tests.e2e.quota_sandbox import KUEUE, QUOTA
from tests.e2e.support import POLL_SECONDS, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM

PAGE: Final = (ROOT / "docs" / "leaving.md").read_text()
WITHIN: Final[Json] = {"withinClusterQueue": "LowerPriority"}
PLACES: Final = ("stop", "create", "start", "stop", "reset", "restore", "start")
"""Writes of the Job that is preempted, in their order: its user did not suspend it."""
DEATHS: Final = [f"jobs.{when}_{place}" for place in PLACES for when in ("before", "after")]
OVERDUE_SECONDS: Final = 3
EVICTION_DEATHS: Final = ["quota.plan_stored", "quota.before_write"]
"""In between, before the write that evicts. After it, the Job may be stopped before the process dies."""
END_DEATH: Final = "quota.after_write"
"""After the write that finishes a Workload, when no write of the Job is to come."""


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Its API server and Job controller are as strict about templates as those of 1.35 and before."""
    gates = {"MutableSchedulingDirectivesForSuspendedJobs": False}
    quota = {**QUOTA["reprieve_settings"]["quota"], "overdueSeconds": OVERDUE_SECONDS}
    settings = {"reprieve_settings": {"quota": quota}}
    return start_plane(Options(**{**QUOTA, **settings}, feature_gates=gates))


class Deaths:
    """Processes of reprieve that die one after the other. The last one stays alive."""

    def __init__(self, plane: ControlPlane, places: list[str]) -> None:
        self._plane, self._to_come = (
            plane,
            [{"REPRIEVE_FAILPOINTS": f"{each}=kill"} for each in places] + [{}],
        )
        plane.reprieve.kill()
        self._start()

    def _start(self) -> None:
        self._plane.reprieve.environment = self._to_come.pop(0)
        self._plane.start_reprieve(wait=False)

    def look(self) -> None:
        """Start the next process if one has died."""
        if not self._plane.reprieve.running:
            assert self._plane.reprieve.wait(1) == -signal.SIGKILL
            self._start()

    def until(self, is_so: Callable[[], bool], what: Callable[[], str]) -> None:
        """Until this is so, whoever dies meanwhile."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, f"{len(self._to_come)} deaths are to come: {what()}"
            self.look()
            time.sleep(POLL_SECONDS)

    @property
    def over(self) -> bool:
        """Whether all have died that were to die."""
        return self._to_come == []


def live(box: JobSandbox, deaths: Deaths) -> None:
    """A Job runs, is preempted, comes back, and ends, while processes die."""
    box.queue("q", 2, preemption=WITHIN)

    def runs(job: str, pods: int) -> bool:
        return [each["status"]["phase"] for each in box.pods(job)].count("Running") == pods

    box.job("low", "q", 2)
    deaths.until(lambda: runs("low", 2), lambda: box.told("low"))
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 9}
    box.client.create({**body, "metadata": {"name": box.of("high")}})
    box.job("high", "q", 1, labels={"kueue.x-k8s.io/priority-class": box.of("high")})
    deaths.until(lambda: runs("high", 1), lambda: box.told("high"))
    deaths.until(lambda: not box.pods("low"), lambda: box.told("low"))
    box.end_pods("high")
    deaths.until(lambda: runs("low", 2), lambda: box.told("low"))
    box.end_pods("low")
    names = [box.workload_of(job) for job in ("high", "low")]
    deaths.until(lambda: all(box.is_true(name, "Finished") for name in names), box.report)


@SELDOM
def test_jobs_live_on_while_reprieve_dies_at_each_write(plane: ControlPlane) -> None:
    deaths = Deaths(plane, [*DEATHS[:6], *EVICTION_DEATHS, *DEATHS[6:], END_DEATH])
    live(JobSandbox(plane, "job-crashes"), deaths)
    deaths.until(lambda: deaths.over, lambda: "not everybody has died")


def change(box: JobSandbox, deaths: Deaths) -> None:
    """A Job that waits gets more pods, and one that runs gets another queue, while processes die."""
    box.queue("one", 1)
    box.queue("two", 2)
    box.job("moves", "one", 1, suspend=True)
    deaths.until(lambda: len(box.pods("moves")) == 1, lambda: box.told("moves"))
    box.job("grows", "one", 1, completions=2, suspend=True)
    workload = box.workload_of("grows")
    box.patch_job("grows", {"spec": {"parallelism": 2}})
    deaths.until(lambda: box.get(workload)["spec"]["podSets"][0]["count"] == 2, lambda: box.told("grows"))
    box.patch_job("moves", {"metadata": {"labels": {QUEUE_NAME: "two"}}})

    def has_moved() -> bool:
        found = box.client.list(KUEUE, "Workload", box.name)
        queues = [
            each["spec"]["queueName"] for each in found if each["metadata"]["name"].startswith("job-moves")
        ]
        return queues == ["two"] and len(box.pods("moves")) == 1

    deaths.until(has_moved, lambda: box.told("moves"))


def test_a_job_changes_while_reprieve_dies_at_each_write(plane: ControlPlane) -> None:
    deaths = Deaths(plane, ["jobs.before_change", "jobs.before_delete", "jobs.before_unprotect"])
    change(JobSandbox(plane, "job-changes"), deaths)
    assert deaths.over, "not everybody has died"


def test_a_group_lives_on_while_reprieve_dies_at_each_write(plane: ControlPlane) -> None:
    """It is admitted, preempted and admitted again. One member finds no node: it goes without a plan."""
    box = GroupSandbox(plane, "group-crashes")
    places = ["groups.before_admit", "groups.after_admit", "groups.before_delete", "quota.before_write"]
    deaths = Deaths(plane, places)
    box.queue("q", 3, preemption=WITHIN)
    box.group("gang", "q", 2)
    bound = box.members("gang", 2)
    box.member("gang", "nowhere", nodeSelector={"example.com/no": "node"})
    deaths.until(lambda: box.bound("gang") == bound, lambda: str(box.member_pods("gang")))
    box.workload("high", "q", 2, priority=9)
    deaths.until(lambda: not box.member_pods("gang"), box.report)
    deaths.until(lambda: box.is_true("high", "Admitted"), box.report)
    box.members("gang", 2)
    box.finish("high")
    deaths.until(lambda: box.bound("gang") == bound, lambda: str(box.member_pods("gang")))
    assert deaths.over, "not everybody has died"


def test_pods_that_do_not_go_are_named(plane: ControlPlane) -> None:
    """Of a Job and of a PodGroup whose Workloads were evicted: as on a node that is gone, they terminate for ever."""
    box = GroupSandbox(plane, "overdue")
    box.queue("q", 3)
    box.job("stays", "q", 1, finalizers=True, suspend=True)
    (pod,) = box.until_running("stays", 1)
    box.group("gang", "q", 2)
    members = box.members("gang", 2, finalizers=["example.com/keeps"])
    box.until_bound("gang", members)
    for workload, names in (
        (box.workload_of("stays"), [pod["metadata"]["name"]]),
        (box.group_workload("gang"), members),
    ):
        box.patch_spec("Workload", workload, {"active": False}, namespaced=True)
        box.until(workload, "reprieve.dev/EvictionOverdue", "True", "QuotaHeld")
        wait_for(partial(names_all, box, workload, names), what=box.report)
        assert box.is_true(workload, "QuotaReserved")
        for name in names:
            box.client.patch("v1", "Pod", name, {"metadata": {"finalizers": None}}, box.name)
        box.until(workload, "QuotaReserved", "False")


def names_all(box: GroupSandbox, workload: str, pods: list[str]) -> bool:
    """Whether the condition and an event name all these pods."""
    said = [
        each["message"] for each in box.get(workload)["status"]["conditions"] if "Overdue" in each["type"]
    ]
    events = box.client.list("events.k8s.io/v1", "Event", box.name)
    told = [
        each["note"]
        for each in events
        if (each["reason"], each["regarding"]["name"]) == ("EvictionOverdue", workload)
    ]
    return all(any(pod in text for text in texts) for pod in pods for texts in (said, told))


def is_gone(box: JobSandbox, kind: str, name: str) -> bool:
    return name not in {each["metadata"]["name"] for each in box.client.list(KUEUE, kind)}


def test_leaving_by_the_page_holds_nothing_back(plane: ControlPlane) -> None:
    """For stock Kubernetes: what waits runs, and all can be deleted."""
    box = JobSandbox(plane, "leaving")
    box.queue("q", 1)
    box.job("runs", "q", 1)
    (pod,) = box.until_running("runs", 1)
    box.job("waits", "q", 1)
    box.until(box.workload_of("waits"), "QuotaReserved", "False", "WaitingForQuota")
    box.client.create({**objects.pod_group("gang", box.name, min_count=2)})
    gates = [{"name": "reprieve.dev/gang"}, {"name": "kueue.x-k8s.io/admission"}]
    box.client.create(objects.pod("member", box.name, group="gang", schedulingGates=gates))
    plane.reprieve.stop()
    (command,) = re.findall(r"^ *(reprieve release)$", PAGE, re.MULTILINE)
    result = shell(plane, command)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    # Jobs of the other tests here are resumed as well, and take room.
    box.client.create(objects.node(box.of("free"), cpu="64"))
    wait_for(
        lambda: [each["status"]["phase"] for each in box.pods("waits")] == ["Running"], what=result.stdout
    )
    wait_for(lambda: box.client.get("v1", "Pod", "member", box.name)["status"]["phase"] == "Running")
    assert [each["metadata"]["uid"] for each in box.pods("runs")] == [pod["metadata"]["uid"]]
    assert box.names() == []
    for kind, name in (("ClusterQueue", box.of("q")), ("ResourceFlavor", box.flavor)):
        box.client.delete(KUEUE, kind, name)
        wait_for(partial(is_gone, box, kind, name))
    assert shell(plane, command).stdout == "0 objects freed; 0 still held.\n"
