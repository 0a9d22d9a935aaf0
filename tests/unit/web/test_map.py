"""The map over real sockets: rights before anything else, and as few bytes as a browser takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from tests.unit.web.page_stage import Api, cluster_page
from web.sources.files import Files

TOKEN: Final = "header.payload.signature"
NODES: Final = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"rack": "r1"}},
        "status": {"allocatable": {"cpu": "8", "pods": "10"}},
    }
    for name in ("n1", "n {2}")
]
POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "secret-pod", "namespace": "team-a", "uid": "u1"},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
    },
    "status": {"phase": "Running"},
}


def cluster() -> Files:
    """What the page shows."""
    objects = PageObjects(read_time("2026-03-01T12:00:00Z", "now"))
    objects.add_file(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*NODES, POD]}).encode(), "file"
    )
    return Files(objects)


async def asked(path: str, *rights: str, headers: Mapping[str, str] | None = None) -> tuple[int, Any, Any]:
    """What somebody with these rights gets."""
    api = Api()
    api.add(TOKEN, "anna", *rights)
    async with cluster_page(api, files=cluster()) as page:
        return await page.ask(path, await page.log_in(token=TOKEN), headers=headers)


@pytest.mark.parametrize("path", ["map", "map?namespace=team-a", "nodes/n1", "nodes/nothing"])
async def test_the_right_to_list_nodes_comes_before_everything(path: str) -> None:
    status, body, _ = await asked(path, "list pods", "list podgroups")
    assert (status, body["right"]) == (403, "list nodes")


async def test_a_reader_of_nodes_gets_amounts_and_no_names() -> None:
    status, body, _ = await asked("map", "list nodes")
    assert status == 200
    assert body["nodes"]["anonymous"] == [2000, 0]
    assert "secret-pod" not in json.dumps((await asked("nodes/n1", "list nodes"))[1])


async def test_a_reader_of_a_namespace_gets_its_pods() -> None:
    _, body, _ = await asked("nodes/n1?namespace=team-a", "list nodes", "list pods in team-a")
    assert [each["name"] for each in body["pods"]] == ["secret-pod"]
    _, body, _ = await asked("map?namespace=team-a&resource=cpu", "list nodes", "list pods in team-a")
    assert body["nodes"]["used"] == [2000, 0]


async def test_the_label_and_the_resource_can_be_chosen() -> None:
    _, body, _ = await asked("map?topologyKey=nothing&resource=memory", "list nodes", "list pods")
    assert (body["topologyKey"], body["blocks"], body["resource"]) == ("nothing", [None], "memory")
    for name in ("topologyKey", "resource"):
        assert (await asked(f"map?{name}={'x' * 318}", "list nodes"))[0] == 400


async def test_a_node_is_found_by_its_name_or_not_at_all() -> None:
    assert (await asked("nodes/n%20%7B2%7D", "list nodes"))[1]["name"] == "n {2}"
    status, body, _ = await asked("nodes/nothing", "list nodes")
    assert (status, body["reason"]) == (404, "NotFound")


async def test_the_map_is_packed_for_who_takes_it() -> None:
    """The client unpacks it by itself."""
    _, packed, headers = await asked("map", "list nodes", headers={"Accept-Encoding": "gzip"})
    assert (headers["Content-Encoding"], headers["Vary"]) == ("gzip", "Accept-Encoding")
    _, plain, headers = await asked("map", "list nodes", headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in headers
    assert plain == packed
