"""What `reprieve doctor` says of a manager of several clusters, and of a worker cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from answers.doctor.checks import examine
from answers.doctor.rights import MANAGER_RIGHTS, Right
from answers.reading.documents import JsonDocument
from answers.reading.seen import CLUSTERS, SeenObjects
from tests.kit.healthy import NOW, healthy
from tests.kit.manager import EMBED, TRAIN, TURN, Objects, manager_objects

OURS = {"clusters", "cluster-gates", "cluster-checks", "cluster-rights", "copies", "turns"}
RBAC = list(yaml.safe_load_all(Path("manifests/multikueue/rbac.yaml").read_text()))


@pytest.fixture
def objects() -> Objects:
    """A manager that reaches all clusters, with its rights."""
    found = manager_objects()
    found["MultiKueueCluster", "south"]["status"] = found["MultiKueueCluster", "east"]["status"]
    return found | {(each["kind"], each["metadata"]["name"]): each for each in RBAC}


def said(objects: Objects, unread: str = "") -> dict[str, tuple[str, str]]:
    """Fault or level, and message, by check."""
    seen = SeenObjects()
    things = [*healthy(), *objects.values()]
    seen.add(JsonDocument(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": things})), "test")
    if unread:
        assert all(seen.do_without(kind, unread) for kind in CLUSTERS)
    found = examine(seen.seen(), NOW).found
    return {each.check: (each.fault or each.level, each.message) for each in found if each.check in OURS}


def test_a_manager_that_reaches_all_clusters_is_well(objects: Objects) -> None:
    assert said(objects) == {
        "clusters": ("OK", "3 worker clusters, all active"),
        "cluster-rights": ("OK", f"{len(MANAGER_RIGHTS)} rights of a manager are granted"),
    }


def test_a_cluster_that_is_no_manager_is_well() -> None:
    assert said({}) == {"clusters": ("OK", "there are no MultiKueueClusters")}


def test_the_rights_are_those_of_the_manifest() -> None:
    """But for those on single objects, and in the namespace of the kubeconfigs."""
    (role,) = [each for each in RBAC if each["kind"] == "ClusterRole"]
    granted = {
        Right(group, resource, verb)
        for rule in role["rules"]
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert set(MANAGER_RIGHTS) == granted
    assert len(MANAGER_RIGHTS) == len(granted)


def test_missing_rights_are_named(objects: Objects) -> None:
    role: dict[str, Any] = objects["ClusterRole", "reprieve-multikueue"]
    objects["ClusterRole", "reprieve-multikueue"] = {
        **role,
        "rules": [rule for rule in role["rules"] if "dispatchplans/status" not in rule["resources"]],
    }
    fault, message = said(objects)["cluster-rights"]
    assert (fault, message.endswith("lacks patch dispatchplans/status.reprieve.dev")) == (
        "ManagerRightsMissing",
        True,
    )


def test_a_foreign_origin_is_told_from_another_reason(objects: Objects) -> None:
    objects["MultiKueueCluster", "south"]["status"] = {
        "conditions": [
            {
                "type": "Active",
                "status": "False",
                "reason": "OriginInUse",
                "message": "the manager with kube-system 7 uses the origin multikueue in this cluster",
                "lastTransitionTime": "2026-03-01T11:40:00Z",
            }
        ]
    }
    fault, message = said(objects)["clusters"]
    assert fault == "OriginTaken"
    assert message.startswith("south is not active since 2026-03-01T11:40:00Z: OriginInUse: the manager with")


def test_a_workload_whose_cluster_is_gone_is_named_until_it_has_finished(objects: Objects) -> None:
    status = objects[EMBED]["status"]
    status["clusterName"] = "north"
    fault, message = said(objects)["copies"]
    assert (fault, message.endswith("research/job-embed-91e2b (north)")) == ("ClusterGone", True)
    status["conditions"].append({"type": "Finished", "status": "True", "reason": "Succeeded"})
    assert "copies" not in said(objects)


def test_a_worker_cluster_says_whose_copies_it_has(objects: Objects) -> None:
    copy = objects[TRAIN]
    copy["metadata"]["labels"] = {"kueue.x-k8s.io/multikueue-origin": "europe"}
    level, message = said({TRAIN: copy})["copies"]
    assert (level, "1 of origin europe" in message) == ("Note", True)


def test_a_turn_is_old_only_if_nothing_holds_its_quota(objects: Objects) -> None:
    assert "turns" not in said(objects)  # the quota is there, so the gate may stay open
    del objects[TRAIN]
    fault, message = said(objects)["turns"]
    assert (fault, message.endswith(f"research/{TURN[1]} (west)")) == ("TurnsOld", True)
    objects[TURN]["status"] = {"phase": "Ended", "reason": "The Workload lost the quota."}
    assert "turns" not in said(objects)


def test_what_was_not_read_is_no_fault(objects: Objects) -> None:
    without = {key: thing for key, thing in objects.items() if key[0] == "DispatchPlan"}
    assert said(without, unread="the right to list") == {"clusters": ("Note", "not read: the right to list")}
