"""The leader is taken away while it preempts twenty Workloads for one, and comes back later."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import islice
from typing import Any, Final

import pytest

from api.workloads import EVICTED
from controllers.quota.plans.resuming import FENCED
from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.plane import ControlPlane
from tests.e2e.quota_recorder import QuotaRecorder
from tests.e2e.quota_sandbox import KUEUE, QUOTA, QuotaSandbox
from tests.e2e.support import REPRIEVE, condition, wait_for
from tests.kit.quota.history import QuotaHistory
from tests.kit.quota.rules import CHECKS

__all__ = ["OPTIONS", "WAYS", "TwentyVictims", "Way", "paused"]

VICTIMS: Final = 20
IN_FLIGHT: Final = 4
"""Writes of Workloads at a time. So the twenty go one after the other."""
DELAY_SECONDS: Final = 0.2
"""By which each request of the leader comes later, and each answer."""
SOME: Final = 5
"""The number of evictions before the leader is taken away."""

OPTIONS: Final[Mapping[str, Any]] = {
    **QUOTA,
    "replicas": 2,
    "reprieve_settings": {
        "quota": {"mode": "Enforce", "writesInFlight": IN_FLIGHT, "waitingReasonSeconds": 0.01}
    },
}
"""Two processes of reprieve. Another one leads after three seconds (`hack.controlplane.manifests.SOON`)."""

Way = Callable[[ControlPlane, str], None]


def killed(plane: ControlPlane, name: str) -> None:
    """What it has sent may still arrive."""
    plane.processes[name].kill()


def paused(plane: ControlPlane, name: str) -> None:
    """The evictions that it has sent stay in the network until it goes on."""
    time.sleep(1.3 * DELAY_SECONDS)  # the answers have come, and the next requests are on their way
    plane.networks[name].disturb("Hold")
    plane.processes[name].pause()


def cut_off(plane: ControlPlane, name: str) -> None:
    """From the API server. The other process reaches it all the same."""
    plane.networks[name].disturb("BlackHole")


WAYS: Final[tuple[Way, ...]] = (killed, paused, cut_off)


class TwentyVictims:
    """A preemptor, and as many Workloads of one CPU as it asks for CPUs.

    Makers end no Workload before the test lets them.
    """

    def __init__(self, plane: ControlPlane, way: Way) -> None:
        self.plane, self.way = plane, way
        self.box = QuotaSandbox(plane, way.__name__.replace("_", "-"))
        self.victims = [f"low-{number}" for number in range(VICTIMS)]
        self.former = wait_for(plane.leader, what="nobody leads")
        self.recorder = QuotaRecorder(plane.client)
        self._late: list[int] = []
        """Status codes that reprieve got for writes of victims while the former leader came back."""

    def run(self, away: float = 0.0) -> None:
        """Take the leader away in the middle of the evictions, for at least `away` seconds, and judge the end."""
        try:
            self._preempt()
            began = time.time()
            evicted = self._take_away()
            back = time.monotonic() + away
            wait_for(lambda: len(self._evicted()) == VICTIMS, what=self.box.report)
            time.sleep(max(0.0, back - time.monotonic()))
            self._come_back()
            self.recorder.fault(began)
            self._end()
            self._judge()
        finally:
            self.recorder.close()
        print(f"{self.way.__name__}: {evicted} of {VICTIMS} were evicted before another process led")

    # ---- what happens

    def _preempt(self) -> None:
        """Evictions begin, and take a while. The leader is as fast as usual until then."""
        box = self.box
        box.queue("q", VICTIMS, preemption={"withinClusterQueue": "LowerPriority"})
        for name in self.victims:
            box.workload(name, "q", 1)
        wait_for(lambda: box.admitted() == set(self.victims), what=box.report)
        self.plane.networks[self.former].disturb("Pass", delay=DELAY_SECONDS)
        box.workload("hero", "q", VICTIMS, priority=10)
        wait_for(lambda: len(self._evicted()) >= SOME, what=box.report)

    def _take_away(self) -> int:
        """Returns how many were evicted when another process led."""
        self.way(self.plane, self.former)
        wait_for(lambda: self.plane.leader() not in ("", self.former), what="nobody else leads")
        return len(self._evicted())

    def _come_back(self) -> None:
        plane, name = self.plane, self.former
        network, process = plane.networks[name], plane.processes[name]
        seen = plane.audit_log.read_bytes().count(b"\n")
        network.disturb("Pass")
        if self.way is paused:
            self._arrives_late()
            process.resume()
        elif self.way is cut_off:
            network.cut()
        else:
            plane.start_reprieve(name, wait=False)
        plane.wait_reprieve(name)
        self._late = self._answers(seen)

    def _arrives_late(self) -> None:
        """An eviction of the former term arrives now, and is refused.

        A busy machine may have stopped the process before it sent one. So one more is sent in its name.
        """
        read = self._read_before_fence()
        assert read, "the next term has fenced nobody"
        name, version = next(iter(read.items()))
        client = Client.of_kubeconfig(self.plane.layout.kubeconfig_of(self.former))
        body = {"metadata": {"resourceVersion": version}, "status": {"conditions": []}}
        path = f"{path_of(KUEUE, 'Workload', self.box.name, name)}/status"
        with closing(client), pytest.raises(ApiError, match="409"):
            client.request("PATCH", path, body, "application/merge-patch+json")

    def _end(self) -> None:
        for name in self.victims:
            self.box.end(name)
        self.box.until_admitted("hero")
        wait_for(lambda: self._phases() == ["QuotaReserved"], what=self._phases)

    # ---- what must hold

    def _judge(self) -> None:
        history = self.recorder.history()
        wrong = [each for check in CHECKS for each in check(history)]
        assert wrong == [], wrong
        evictions = sorted(each.metadata.name for _, each in self._evictions(history))
        assert evictions == sorted(self.victims)
        for name in self.victims:
            stats = self.box.get(name)["status"]["schedulingStats"]["evictions"]
            assert [(each["reason"], each["count"]) for each in stats] == [("Preempted", 1)]
        self._judge_fence(history)

    def _judge_fence(self, history: QuotaHistory) -> None:
        """The next term writes a victim before it evicts it. Nothing of the former term succeeds after that."""
        fenced = self._read_before_fence()
        assert fenced, "the former leader has evicted all: this run proves nothing"
        assert set(self._late) <= {409}, self._late
        if self.way is paused:
            assert self._late, "nothing arrived late"
            print(f"{len(self._late)} writes of the former term arrived late, and were refused")

    # ---- what is seen

    def _evicted(self) -> list[str]:
        found = self.box.client.list(KUEUE, "Workload", self.box.name)
        return [
            each["metadata"]["name"]
            for each in found
            if (condition(each, EVICTED) or {}).get("status") == "True"
        ]

    def _evictions(self, history: QuotaHistory) -> list[tuple[int, Any]]:
        return [each for each in history.evictions() if each[1].metadata.namespace == self.box.name]

    def _phases(self) -> list[str]:
        plans = self.box.client.list(REPRIEVE, "PreemptionPlan", self.box.name)
        return [each.get("status", {}).get("phase", "") for each in plans]

    def _read_before_fence(self) -> dict[str, str]:
        """By victim that the next term has written: the version that the former term had read."""
        found: dict[str, str] = {}
        for _, before, after in self.recorder.history().workloads():
            if before is not None and after.metadata.namespace == self.box.name:
                fenced = [
                    any(each.type == FENCED for each in state.status.conditions or ())
                    for state in (before, after)
                ]
                if fenced == [False, True]:
                    found[after.metadata.name] = before.metadata.resource_version
        return found

    def _answers(self, seen: int) -> list[int]:
        """Status codes that reprieve got for its writes of victims, by the audit log without its first `seen` lines."""
        with self.plane.audit_log.open() as log:
            events: list[Json] = [json.loads(line) for line in islice(log, seen, None) if line.endswith("\n")]
        return [
            event["responseStatus"]["code"]
            for event in events
            if event["user"]["username"] == REPRIEVE_USER
            and event["verb"] == "patch"
            and event["objectRef"].get("resource") == "workloads"
            and event["objectRef"].get("namespace") == self.box.name
            and event["objectRef"].get("name") in self.victims
        ]
