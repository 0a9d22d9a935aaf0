"""Whatever has a view is found by its name, if the reader may list it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from tests.kit.stored_plans import BOUND, read, turn
from tests.unit.web.page_stage import Api, cluster_page, files_page
from web.sources.files import Files

POD_SET = {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}
TOKEN = "header.payload.signature"
REPRIEVE = "reprieve.dev/v1alpha1"
KUEUE = "kueue.x-k8s.io/v1beta2"


def thing(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    meta = {
        "name": name,
        "uid": f"{kind}-{namespace}-{name}",
        **({"namespace": namespace} if namespace else {}),
    }
    return {"apiVersion": version, "kind": kind, "metadata": meta, **fields}


def pod(name: str, namespace: str, node: str = "") -> dict[str, Any]:
    spec = {"priority": 1, "containers": [{"name": "c"}], **({"nodeName": node} if node else {})}
    return thing("v1", "Pod", name, namespace, spec=spec, status={"phase": "Running" if node else "Pending"})


def world() -> Files:
    """Of each kind something in both namespaces. Nothing of it has to wait."""
    node = thing("v1", "Node", "n", status={"allocatable": {"cpu": "8", "pods": "110"}})
    items = [node, thing(KUEUE, "ClusterQueue", "train-all", spec={"namespaceSelector": {}})]
    for each in ("alfa", "bravo"):
        gang = {"schedulingPolicy": {"gang": {"minCount": 1}}, "priority": 1}
        items += [
            thing(REPRIEVE, "PodGroup", "train", each, spec=gang),
            pod("train-0", each, "n"),
            pod("untrained", each),
            thing(KUEUE, "LocalQueue", "train-queue", each, spec={"clusterQueue": "train-all"}),
            thing(
                KUEUE, "Workload", "train-job", each, spec={"queueName": "train-queue", "podSets": [POD_SET]}
            ),
        ]
    objects = PageObjects(read_time("2026-03-01T12:00:00Z", "now"))
    objects.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "world")
    return Files(objects)


def names(answer: Any) -> list[tuple[str, str, str]]:
    return [(each["kind"], each["namespace"], each["name"]) for each in answer["found"]]


async def test_whatever_has_a_view_is_found_whether_it_waits_or_not() -> None:
    async with files_page(files=world()) as page:
        secret = await page.log_in(code=page.code)
        status, answer, _ = await page.ask("search?q=TRAIN", secret)
    assert (status, answer["more"]) == (200, False)
    found = names(answer)
    assert found[:2] == [("podgroup", "alfa", "train"), ("podgroup", "bravo", "train")]
    assert found[2:5] == [
        ("clusterqueue", "", "train-all"),
        ("localqueue", "alfa", "train-queue"),
        ("localqueue", "bravo", "train-queue"),
    ]
    assert found[5:7] == [("workload", "alfa", "train-job"), ("workload", "bravo", "train-job")]
    assert set(found[7:9]) == {("pod", "alfa", "train-0"), ("pod", "bravo", "train-0")}
    assert {name for _, _, name in found[9:]} == {"untrained"}, "those that begin with it come first"


async def test_nodes_plans_and_jobs_are_found_with_the_rights_to_list_them() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "hero-job", "uid": "j", "controller": True}
    waits = pod("hero-job-0", "team-a")
    waits["metadata"]["ownerReferences"] = [owner]
    node = thing("v1", "Node", "hero-node", status={"allocatable": {"cpu": "8", "pods": "110"}})
    source = Files(read(BOUND, turn(), node, waits))
    lists = {
        ("node", "", "hero-node"): ["nodes"],
        ("preemptionplan", "team-a", "hero-bound"): ["preemptionplans in team-a"],
        ("job", "team-a", "hero-job"): ["jobs in team-a", "pods in team-a"],
        ("dispatchplan", "team-a", "tune-turn-1"): ["dispatchplans in team-a"],
    }
    async with files_page(files=source) as page:
        secret = await page.log_in(code=page.code)
        _, answer, _ = await page.ask("search?q=hero", secret)
        _, turns, _ = await page.ask("search?q=tune-turn", secret)
    found = {*names(answer), *names(turns)}
    assert found >= set(lists)
    for object_, rights in lists.items():
        for kept in (rights, rights[1:]):
            api = Api()
            api.add(TOKEN, "ann", *(f"list {each}" for each in kept))
            async with cluster_page(api, files=source) as page:
                _, answer, _ = await page.ask(f"search?q={object_[2]}&namespace=team-a", TOKEN)
            assert (object_ in names(answer)) == (kept == rights), (object_, kept)


@pytest.mark.parametrize("node", ["", "n"])
async def test_the_job_of_a_pod_is_found_whether_the_pod_waits_or_not(node: str) -> None:
    """A Job that Kueue does not manage has no Workload."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "hero-job", "uid": "j", "controller": True}
    its = [pod(f"of-{owner['name']}-{each}", "alfa", node) for each in range(2)]
    for each in its:
        each["metadata"]["ownerReferences"] = [owner]
    set_ = pod("other-0", "alfa", "n")
    set_["metadata"]["ownerReferences"] = [
        owner | {"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "s"}
    ]
    machine = thing("v1", "Node", "n", status={"allocatable": {"cpu": "8", "pods": "110"}})
    objects = PageObjects(read_time("2026-03-01T12:00:00Z", "now"))
    items = [machine, *its, set_]
    objects.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "pods")
    async with files_page(files=Files(objects)) as page:
        _, answer, _ = await page.ask("search?q=hero-job", await page.log_in(code=page.code))
    assert names(answer)[0] == ("job", "alfa", "hero-job")
    assert [kind for kind, *_ in names(answer)] == ["job", "pod", "pod"]


async def test_a_workload_names_a_job_only_if_its_label_says_so_too() -> None:
    """Whoever may write a Workload may name any owner, also one of another namespace."""
    node = thing("v1", "Node", "n", status={"allocatable": {"cpu": "8", "pods": "110"}})
    items = [node]
    for name, label in (("made", "uid-of-made"), ("claimed", ""), ("forged", "another")):
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": f"{name}-job",
            "uid": f"uid-of-{name}",
            "controller": True,
        }
        spec = {"queueName": "train-queue", "podSets": [POD_SET]}
        made = thing(KUEUE, "Workload", f"held-{name}", "alfa", spec=spec)
        made["metadata"] |= {
            "ownerReferences": [owner],
            "labels": {"kueue.x-k8s.io/job-uid": label} if label else {},
        }
        items.append(made)
    objects = PageObjects(read_time("2026-03-01T12:00:00Z", "now"))
    objects.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "world")
    async with files_page(files=Files(objects)) as page:
        _, answer, _ = await page.ask("search?q=-job", await page.log_in(code=page.code))
    assert names(answer) == [("job", "alfa", "made-job")]


async def test_pods_without_a_node_come_before_others() -> None:
    node = thing("v1", "Node", "n", status={"allocatable": {"cpu": "8", "pods": "110"}})
    items = [node, pod("a-runs", "alfa", "n"), pod("a-waits", "bravo"), pod("a-rests", "alfa", "n")]
    objects = PageObjects(read_time("2026-03-01T12:00:00Z", "now"))
    objects.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "pods")
    async with files_page(files=Files(objects)) as page:
        _, answer, _ = await page.ask("search?q=a-", await page.log_in(code=page.code))
    assert [name for _, _, name in names(answer)] == ["a-waits", "a-runs", "a-rests"]


async def test_a_namespace_finds_all_that_is_in_it() -> None:
    async with files_page(files=world()) as page:
        _, answer, _ = await page.ask("search?q=alfa/", await page.log_in(code=page.code))
    assert {namespace for _, namespace, _ in names(answer)} == {"alfa"}
    assert len(answer["found"]) == 5


async def test_nothing_is_found_that_the_reader_may_not_list() -> None:
    api = Api()
    rights = [f"list {each} in alfa" for each in ("pods", "podgroups", "workloads")]
    api.add(TOKEN, "ann", *rights)
    async with cluster_page(api, files=world()) as page:
        _, answer, _ = await page.ask("search?q=train&namespace=alfa", TOKEN)
        _, elsewhere, _ = await page.ask("search?q=train&namespace=bravo", TOKEN)
        _, unnamed, _ = await page.ask("search?q=train", TOKEN)
    assert {(kind, namespace) for kind, namespace, _ in names(answer)} == {
        ("podgroup", "alfa"),
        ("workload", "alfa"),
        ("pod", "alfa"),
    }
    assert elsewhere == unnamed == {"found": [], "more": False}


async def test_more_than_fifty_are_not_sent() -> None:
    node = thing("v1", "Node", "n", status={"allocatable": {"cpu": "8", "pods": "110"}})
    items = [node, *(pod(f"many-{number}", "alfa") for number in range(51))]
    objects = PageObjects(read_time("2026-03-01T12:00:00Z", "now"))
    objects.add_file(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "many")
    source = Files(objects)
    async with files_page(files=source) as page:
        _, answer, _ = await page.ask("search?q=many", await page.log_in(code=page.code))
    assert (len(answer["found"]), answer["more"]) == (50, True)
