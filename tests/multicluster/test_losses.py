"""A worker that is away or lost, evictions on both sides, and what is left behind."""

from __future__ import annotations

import time

import pytest

from hack.controlplane.client import Json
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for
from tests.kit.often import SELDOM
from tests.multicluster.box import Box, Boxes
from tests.multicluster.trio import SETTINGS, Trio

LOST: float = SETTINGS["workerLostTimeoutSeconds"]


def _running(box: Box, job: str = "train") -> tuple[str, str]:
    """A Workload that runs, and its cluster."""
    box.job(job, 2)
    workload = box.workload_of(job)
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running(job, 2)
    return workload, cluster


def _other(box: Box, cluster: str) -> str:
    return next(each for each in box.workers if each != cluster)


def _admitted_since(box: Box, workload: str) -> str:
    return str(box.until(workload, "Admitted")["lastTransitionTime"])


def test_a_worker_that_is_away_for_less_than_the_time_out_changes_nothing(boxes: Boxes, trio: Trio) -> None:
    """12999: a watch that reconnects evicts nobody."""
    box = boxes("away")
    workload, cluster = _running(box)
    since = _admitted_since(box, workload)
    trio.proxy(cluster).disturb("BlackHole")
    time.sleep(LOST / 2)
    trio.proxy(cluster).disturb("Pass")
    box.job("next", 1)
    box.until_admitted(box.workload_of("next"))
    assert _admitted_since(box, workload) == since
    assert box.manager.get(workload)["status"]["clusterName"] == cluster


def test_a_lost_worker_gives_its_workload_to_another_and_is_cleaned_on_its_return(
    boxes: Boxes, trio: Trio
) -> None:
    """11346: what is of a former attempt goes before anything else happens there. It never wins."""
    box = boxes("lost")
    workload, cluster = _running(box)
    other = _other(box, cluster)
    trio.proxy(cluster).disturb("BlackHole")
    wait_for(
        lambda: box.manager.get(workload)["status"].get("clusterName") == other,
        what=lambda: f"{workload} is not retried\n{box.story()}",
    )
    box.places[other].until_running("train", 2)
    trio.proxy(cluster).disturb("Pass")
    box.until_no_copy(workload, cluster)
    wait_for(lambda: box.places[cluster].find_job("train") is None, what=box.story)
    assert box.until_admitted(workload) == other


@SELDOM
def test_an_eviction_there_retries(boxes: Boxes) -> None:
    """8302, 11062: the Workload here is evicted too, and offered again."""
    box = boxes("there")
    workload, cluster = _running(box)
    since = _admitted_since(box, workload)
    box.places[cluster].patch_spec("ClusterQueue", box.manager.of("q"), {"stopPolicy": "HoldAndDrain"})
    wait_for(
        lambda: box.manager.get(workload)["status"].get("clusterName") == _other(box, cluster),
        what=lambda: f"{workload} did not come back\n{box.story()}",
    )
    assert _admitted_since(box, workload) != since
    box.places[_other(box, cluster)].until_running("train", 2)


def test_an_eviction_here_holds_the_quota_until_the_pods_there_are_gone(boxes: Boxes) -> None:
    """7350, 9338: the copy is deactivated, and says why."""
    box = boxes("here")
    workload, cluster = _running(box)
    place = box.places[cluster]
    wait_for(
        lambda: place.get_job("train")["status"].get("active") == 2, what=box.story
    )  # it comes after the pods
    box.manager.patch_spec("Workload", workload, {"active": False}, namespaced=True)
    gone = box.until(workload, "QuotaReserved", "False")
    left = _pods(box, cluster)
    assert "deactivated" in gone["message"]
    assert all("deletionTimestamp" in each["metadata"] for each in left), left
    wait_for(lambda: _pods(box, cluster) == [], what=box.story)
    box.until_no_copy(workload)
    assert "clusterName" not in box.manager.get(workload)["status"]


@SELDOM
def test_what_a_lost_watch_did_not_say_is_not_taken_for_nothing(boxes: Boxes, trio: Trio) -> None:
    """A watch whose connection is lost without a sign. The Job is read before the quota goes back."""
    box = boxes("unheard")
    box.fill("beta", "low", 4)
    box.job("train", 2)
    workload = box.workload_of("train")
    box.until_admitted(workload)
    trio.proxy("alpha").disturb("BlackHole")
    box.alpha.until_running("train", 2)  # the manager does not hear of it: the watch has lost this
    trio.proxy("alpha").disturb("Pass")
    box.manager.patch_spec("Workload", workload, {"active": False}, namespaced=True)
    box.until(workload, "QuotaReserved", "False")
    left = _pods(box, "alpha")
    assert all("deletionTimestamp" in each["metadata"] for each in left), left


@SELDOM
def test_a_job_that_has_lost_its_copy_is_stopped_before_its_quota_goes_back(boxes: Boxes, trio: Trio) -> None:
    """7350: nobody else stops it, because its worker's reprieve is away. Its pods take their time."""
    box = boxes("stray")
    box.job("train", 2, finalizers=True)
    workload = box.workload_of("train")
    cluster = box.until_admitted(workload)
    place, other = box.places[cluster], _other(box, cluster)
    place.until_running("train", 2)
    trio.stop(cluster)
    place.client.delete(KUEUE, "Workload", workload, box.name)
    place.client.patch(KUEUE, "Workload", workload, {"metadata": {"finalizers": None}}, box.name)
    wait_for(lambda: place.is_suspended("train"), what=box.story)
    assert box.manager.is_true(workload, "QuotaReserved")
    assert box.manager.get(workload)["status"]["clusterName"] == cluster
    box.let_go(cluster, "train")
    wait_for(lambda: box.manager.get(workload)["status"].get("clusterName") == other, what=box.story)
    box.places[other].until_running("train", 2)
    wait_for(lambda: place.find_job("train") is None, what=box.story)


@SELDOM
@pytest.mark.parametrize("how", ["Background", "Orphan"])
def test_no_copy_stays_when_the_job_is_deleted(boxes: Boxes, trio: Trio, how: str) -> None:
    """15488, 5452: also while the worker is away, and with --cascade=orphan."""
    box = boxes("deleted")
    workload, cluster = _running(box)
    trio.proxy(cluster).disturb("BlackHole")
    if how == "Orphan":
        box.delete_orphaning("train")
    else:
        box.manager.client.delete("batch/v1", "Job", "train", box.name)
    wait_for(lambda: box.manager.find(workload) is None, what=box.story)
    trio.proxy(cluster).disturb("Pass")
    box.until_no_copy(workload)
    wait_for(lambda: _pods(box, cluster) == [], what=box.story)


def test_a_job_that_ends_there_ends_here_and_nothing_stays(boxes: Boxes) -> None:
    box = boxes("ends")
    workload, cluster = _running(box)
    box.end(cluster, "train")
    said = box.until(workload, "Finished")
    assert said["reason"] == "Succeeded"
    job = box.manager.get_job("train")
    assert job["status"]["succeeded"] == 2
    assert any(each["type"] == "Complete" for each in job["status"]["conditions"])
    box.until_no_copy(workload)
    wait_for(lambda: box.places[cluster].find_job("train") is None, what=box.story)


@SELDOM
def test_a_job_of_the_same_name_puts_its_cluster_out(boxes: Boxes) -> None:
    """12404, 11849: it is not touched, and the message says where and why."""
    box = boxes("taken")
    box.fill("alpha", "train", 1)
    before = box.alpha.get_job("train")["metadata"]["uid"]
    box.fill("beta", "low", 4)
    box.job("train", 2)
    workload = box.workload_of("train")
    wait_for(
        lambda: "of this name exists there" in _message(box, workload),
        what=lambda: _message(box, workload),
    )
    assert box.alpha.get_job("train")["metadata"]["uid"] == before
    box.end("beta", "low")
    assert box.until_admitted(workload) == "beta"


def _message(box: Box, workload: str) -> str:
    checks = box.manager.get(workload).get("status", {}).get("admissionChecks") or [{"message": ""}]
    return str(checks[0]["message"])


def _pods(box: Box, cluster: str) -> list[Json]:
    return box.places[cluster].client.list("v1", "Pod", box.name)


@SELDOM
def test_a_cluster_that_leaves_the_config_loses_its_copies(boxes: Boxes, trio: Trio) -> None:
    """10122: what depends on the config follows at once."""
    box = boxes("config")
    name = box.config(["alpha", "beta"])
    workload, cluster = _running(box)
    trio.fleet.add_config(name, [_other(box, cluster)])
    wait_for(
        lambda: box.manager.get(workload)["status"].get("clusterName") == _other(box, cluster), what=box.story
    )
    box.until_no_copy(workload, cluster)
    assert trio.client("manager").get(KUEUE, "MultiKueueConfig", name)["spec"]["clusters"] == [
        _other(box, cluster)
    ]
