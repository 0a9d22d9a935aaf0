"""A Workload's way: copies, the choice, the Job, and the end."""

from __future__ import annotations

from tests.e2e.support import wait_for
from tests.multicluster.conftest import Boxes


def test_a_job_runs_in_one_cluster_and_its_end_is_shown_on_the_manager(boxes: Boxes) -> None:
    box = boxes("run", alpha=2, beta=2)
    box.job("train", 2)
    workload = box.workload_of("train")
    winner = box.until_admitted(workload)
    other = next(each for each in box.workers if each != winner)
    box.until_no_copy(workload, other)
    box.places[winner].until_running("train", 2)
    wait_for(
        lambda: (box.manager.find_job("train") or {})["status"].get("active") == 2,
        what=lambda: f"the manager does not show the pods\n{box.story()}",
    )
    assert not box.manager.is_suspended("train")
    assert box.places[other].find_job("train") is None
