"""A Workload's way: copies, the choice, the Job, and the end."""

from __future__ import annotations

from typing import Final

from api.groups import POD_GROUP_LABEL
from tests.e2e.support import REPRIEVE, wait_for
from tests.multicluster.box import Boxes

POLICY: Final = {"gang": {"minCount": 2}}


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


def test_the_pod_group_of_a_gang_goes_with_its_job_and_leaves_with_it(boxes: Boxes) -> None:
    box = boxes("gang", alpha=2, beta=2)
    group = {"apiVersion": REPRIEVE, "kind": "PodGroup", "metadata": {"name": "g", "namespace": box.name}}
    box.manager.client.create({**group, "spec": {"schedulingPolicy": POLICY}})
    box.job("train", 2, template_labels={POD_GROUP_LABEL: "g"})
    workload = box.workload_of("train")
    winner = box.until_admitted(workload)
    box.places[winner].until_running("train", 2)
    assert (
        box.places[winner].client.get(REPRIEVE, "PodGroup", "g", box.name)["spec"]["schedulingPolicy"]
        == POLICY
    )
    box.end(winner, "train")
    box.until(workload, "Finished")
    wait_for(
        lambda: box.places[winner].client.find(REPRIEVE, "PodGroup", "g", box.name) is None, what=box.story
    )


def test_a_pod_group_of_the_same_name_puts_its_cluster_out(boxes: Boxes) -> None:
    box = boxes("taken", alpha=2, beta=2)
    group = {"apiVersion": REPRIEVE, "kind": "PodGroup", "metadata": {"name": "g", "namespace": box.name}}
    for place in (box.manager, box.alpha):
        place.client.create({**group, "spec": {"schedulingPolicy": POLICY}})
    box.fill("beta", "low", 2)
    box.job("train", 2, template_labels={POD_GROUP_LABEL: "g"})
    workload = box.workload_of("train")

    def said() -> str:
        checks = box.manager.get(workload).get("status", {}).get("admissionChecks") or [{"message": ""}]
        return str(checks[0]["message"])

    wait_for(lambda: "of this name exists there" in said(), what=lambda: f"{said()}\n{box.story()}")
    box.end("beta", "low")
    assert box.until_admitted(workload) == "beta"
