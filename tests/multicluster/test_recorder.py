"""The recorder sees what happens in all clusters, in an order that is true."""

from __future__ import annotations

from tests.kit.multicluster.history import MANAGER, Event
from tests.multicluster.box import Boxes
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import Trio


def test_a_job_in_each_cluster_one_after_the_other(trio: Trio, boxes: Boxes) -> None:
    """Bounds of events in different clusters are ordered as the writes were."""
    recorder = Recorder(trio)
    try:
        box = boxes("recorded")
        box.fill("alpha", "first", 1)
        recorder.history()
        box.fill("beta", "second", 1)
        recorder.history()
        box.job("third")
        history = recorder.history()
        jobs: list[Event] = []
        for name, cluster in (("first", "alpha"), ("second", "beta"), ("third", MANAGER)):
            jobs.append(next(e for e in history.of("Job", cluster) if e.key == f"{box.name}/{name}"))
        first, second, third = (history.bounds(each) for each in jobs)
        assert first.low <= first.high < second.low <= second.high < third.low <= third.high
        assert any(each.meta["namespace"] == box.name for each in history.of("Pod", "alpha"))
        assert f"Job {box.name}/third" in history.story()
    finally:
        recorder.close()
