"""A worker that is away while something happens: nothing that was there by then stays after its return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from hack.controlplane.client import Json
from hack.controlplane.fleet import CHECK
from tests.e2e.job_sandbox import BATCH
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for
from tests.kit.often import SELDOM
from tests.multicluster.box import Box, Boxes
from tests.multicluster.trio import Trio

AWAY: Final = "alpha"
LONG: Final = 600
"""`workerLostTimeoutSeconds` of a manager whose worker is not lost while a test lasts."""
LEAVES: Final = ("deleted", "orphaned", "rejected", "evicted-here", "finished")
"""Jobs that nobody needs any longer."""


class Absence:
    """Jobs that run in a worker, one for each thing that may happen while it is away."""

    def __init__(self, trio: Trio, box: Box) -> None:
        """The other worker has no room."""
        self._trio, self.box, self.place = trio, box, box.places[AWAY]
        self.workloads: dict[str, str] = {}

    def run(self, job: str, *, priority: int = 1) -> None:
        """A Job of one pod runs there."""
        self.box.job(job, priority=priority)
        self.workloads[job] = self.box.workload_of(job)
        assert self.box.until_admitted(self.workloads[job]) == AWAY
        self.place.until_running(job, 1)

    def there(self) -> dict[str, str]:
        """All Workloads, Jobs and pods of these Jobs there: by UID, what it is."""
        kinds = ((KUEUE, "Workload"), (BATCH, "Job"), ("v1", "Pod"))
        found = [
            (kind, each)
            for version, kind in kinds
            for each in self.place.client.list(version, kind, self.box.name)
        ]
        return {
            each["metadata"]["uid"]: f"{kind} {_job_of(each)}" for kind, each in found if self._is_mine(each)
        }

    def _is_mine(self, body: Json) -> bool:
        return any(_job_of(body) in (job, workload) for job, workload in self.workloads.items())

    def begin(self) -> dict[str, str]:
        """The worker cannot be reached from now on. Returns what is there."""
        found = self.there()
        assert len(found) == 3 * len(self.workloads), found
        self._trio.proxy(AWAY).disturb("BlackHole")
        return found

    def end(self, before: dict[str, str]) -> None:
        """The worker comes back. Nothing of what was there by then stays."""
        self._trio.proxy(AWAY).disturb("Pass")

        def left() -> list[str]:
            return sorted(before[uid] for uid in before.keys() & self.there().keys())

        wait_for(lambda: not left(), what=lambda: f"left: {left()}\n{self.box.story()}")

    # ---- what happens

    def happens(self) -> None:
        """All of it, in the order in which there is room."""
        self.finished()
        self.evicted_there()
        self.deleted()
        self.orphaned()
        self.rejected()
        self.evicted_here()

    def deleted(self) -> None:
        """The Job is deleted."""
        self.box.manager.client.delete(BATCH, "Job", "deleted", self.box.name)

    def orphaned(self) -> None:
        """The Job is deleted with --cascade=orphan."""
        self.box.delete_orphaning("orphaned")

    def rejected(self) -> None:
        """Somebody rejects the check by hand."""
        self.box.manager.set_check(self.workloads["rejected"], CHECK, "Rejected", message="by hand")

    def evicted_here(self) -> None:
        """The Workload is deactivated here."""
        spec = {"active": False}
        self.box.manager.patch_spec("Workload", self.workloads["evicted-here"], spec, namespaced=True)
        self.box.until(self.workloads["evicted-here"], "Evicted")

    def evicted_there(self) -> None:
        """A Job of the worker's own users takes the room of the one that has ended, and preempts this one. An
        administrator there deactivates it, so that it does not run again before the manager hears of that."""
        workload = self.workloads["evicted-there"]
        self.box.fill(AWAY, "own", 2, priority=9)
        self.box.until(workload, "Preempted", cluster=AWAY)
        self.place.patch_spec("Workload", workload, {"active": False}, namespaced=True)

    def finished(self) -> None:
        """The Job ends there."""
        self.box.end(AWAY, "finished")
        self.box.until(self.workloads["finished"], "Finished", cluster=AWAY)


def _job_of(body: Json) -> str:
    meta = body["metadata"]
    return str(meta.get("labels", {}).get("job-name") or meta["name"])


@pytest.fixture
def absences(trio: Trio, boxes: Boxes) -> Callable[..., Absence]:
    """`absences("name", alpha=2)`: Jobs run in alpha, and nothing runs in beta."""
    return lambda name, **cpus: Absence(trio, boxes(name, beta=0, **cpus))


@SELDOM
def test_nothing_stays_of_jobs_that_nobody_needs_after_the_return(
    absences: Callable[..., Absence], trio: Trio
) -> None:
    """15488, 5452, 3841, 7350, 11346. The worker is not lost. What has ended there has ended here, too."""
    trio.restart_manager(workerLostTimeoutSeconds=LONG)
    absence = absences("back", alpha=6)
    for job in LEAVES:
        absence.run(job)
    absence.run("evicted-there", priority=0)
    before = absence.begin()
    absence.happens()
    absence.end(before)
    box, workloads = absence.box, absence.workloads
    box.until(workloads["finished"], "Finished", reason="Succeeded")
    box.until(workloads["evicted-here"], "QuotaReserved", "False")
    box.until(workloads["rejected"], "QuotaReserved", "False")
    # It has come back, and is sent anew. Others have left room.
    assert box.until_admitted(workloads["evicted-there"]) == AWAY
    absence.place.until_running("evicted-there", 1)
    assert {each["metadata"]["name"] for each in absence.place.copies()} == {workloads["evicted-there"]}


@SELDOM
def test_nothing_stays_after_the_return_of_a_worker_that_was_lost(absences: Callable[..., Absence]) -> None:
    """11346: quota here goes back when the cluster counts as lost, and leftovers never win."""
    absence = absences("lost", alpha=6)
    for job in LEAVES:
        absence.run(job)
    absence.run("evicted-there", priority=0)
    before = absence.begin()
    absence.happens()
    box, workloads = absence.box, absence.workloads
    for job in ("rejected", "evicted-here"):
        box.until(workloads[job], "QuotaReserved", "False")
    for job in ("evicted-there", "finished"):  # of the end there nothing is known here: it is sent anew
        box.until(workloads[job], "Requeued")
    absence.end(before)
    assert box.until_admitted(workloads["evicted-there"]) == AWAY


@SELDOM
def test_nothing_stays_after_the_return_of_a_worker_that_left_the_config(
    absences: Callable[..., Absence], trio: Trio
) -> None:
    """10122. Another worker gets the Job once the first one is back: until then it may run there."""
    trio.restart_manager(workerLostTimeoutSeconds=LONG)
    absence = absences("config", alpha=1)
    config = absence.box.config(["alpha", "beta"])
    absence.run("train")
    before = absence.begin()
    trio.fleet.add_config(config, ["beta"])
    absence.box.beta.set_quota("q", 1)
    absence.end(before)
    assert absence.box.until_admitted(absence.workloads["train"]) == "beta"
    absence.box.beta.until_running("train", 1)
    assert absence.there() == {}
