"""Nothing happens to copies for which nothing changes."""

from __future__ import annotations

import time
from typing import Final

from tests.e2e.quota_sandbox import KUEUE
from tests.kit.often import SELDOM
from tests.multicluster.box import Boxes
from tests.multicluster.copies import copies_made, copies_that_changed
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import WORKERS, Trio

REST_SECONDS: Final = 60.0


@SELDOM
def test_no_copy_is_made_twice_whatever_the_classes_of_the_workers_say(trio: Trio, boxes: Boxes) -> None:
    """13929, 12543. One Job runs, one waits for quota, and one waits for victims that do not end: its gate opens in one
    cluster after the other. The workers have classes of the same names with other values."""
    recorder = Recorder(trio)
    try:
        box = boxes("rest", alpha=4, beta=2)
        priorities = {"runs": 9, "waits": 0, "gated": 5}
        for place in box.workers.values():
            for value in priorities.values():
                body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": 7}
                place.client.create(body | {"metadata": {"name": box.priority(value)}})
        for name in WORKERS:
            box.fill(name, "low", 2, priority=-1, stays=True)
        for job, priority in priorities.items():
            box.job(job, 2, priority=priority)
            if job == "runs":
                assert box.until_admitted(box.workload_of(job)) == "alpha"
        for name in WORKERS:
            box.until(box.places[name].workload_of("low"), "Preempted", cluster=name)
        time.sleep(REST_SECONDS)
        history = recorder.history()
        copies = {f"{name}/{box.workload_of(job)}": job for name in WORKERS for job in priorities}
        assert copies_made(history, box.name) == dict.fromkeys(copies, 1)
        assert copies_that_changed(history, box.name) == []
        found = {
            f"{name}/{each['metadata']['name']}": each["spec"]["priority"]
            for name, place in box.workers.items()
            for each in place.copies()
        }
        assert found == {name: priorities[copies[name]] for name in found}
        assert len(found) == 5  # the loser of the one that runs has gone
    finally:
        recorder.close()
        for place in box.workers.values():
            for value in priorities.values():
                place.client.delete(KUEUE, "WorkloadPriorityClass", box.priority(value))
