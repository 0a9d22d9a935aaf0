"""Lists are read page by page, also when they take longer than the API server keeps their version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from answers.reading.node_objects import NodeObjects
from answers.reading.planes import Planes
from answers.reading.quota_objects import QuotaObjects
from cli.common.cluster import ClusterError, Connection
from cli.common.live import read_cluster
from kube.client import ApiClient
from kube.errors import ApiError
from kube.reading import _Pages


class Answers:
    """Gives these answers, one for each request, and keeps the tokens that were asked with."""

    def __init__(self, *answers: tuple[list[str], str] | ApiError) -> None:
        self._answers = list(answers)
        self.tokens: list[str] = []

    async def request(self, method: str, path: str, *, query: Mapping[str, str], seconds: float) -> bytes:
        self.tokens.append(query.get("continue", ""))
        answer = self._answers.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        names, token = answer
        items = [
            {"metadata": {"name": name}, "spec": {"priority": 0, "containers": [{"name": "c"}]}}
            for name in names
        ]
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "PodList",
            "metadata": {"continue": token},
            "items": items,
        }
        return json.dumps(body).encode()


def read(answers: Answers) -> list[str]:
    """The names of the pods that were read."""
    reader = NodeObjects()
    asyncio.run(_Pages(cast(ApiClient, answers), reader).read("/api/v1/pods", "Pod", ""))
    return sorted(reader.picture().snapshot.pod_names)


def test_pages_follow_one_another() -> None:
    answers = Answers((["a", "b"], "x"), (["c"], "y"), ([], ""))
    assert read(answers) == ["a", "b", "c"]
    assert answers.tokens == ["", "x", "y"]


def test_a_list_whose_version_is_gone_goes_on_at_the_newest_one() -> None:
    gone = ApiError(410, "Expired", "too old", continue_="newest")
    answers = Answers((["a"], "x"), gone, (["b"], ""))
    assert read(answers) == ["a", "b"]
    assert answers.tokens == ["", "x", "newest"]


def test_a_list_whose_version_is_always_gone_ends() -> None:
    gone = ApiError(410, "Expired", "too old", continue_="newest")
    with pytest.raises(ApiError, match="longer than its version is kept"):
        read(Answers((["a"], "x"), gone, gone, gone))


LAGS = ApiError(504, "Timeout", "Too large resource version: 7, current: 5", 0.0)


def test_an_api_server_that_says_when_to_come_back_is_asked_again() -> None:
    answers = Answers(LAGS, (["a"], "x"), LAGS, LAGS, (["b"], ""))
    assert read(answers) == ["a", "b"]
    assert answers.tokens == ["", "", "x", "x", "x"]


def test_an_api_server_that_always_lags_is_left() -> None:
    answers = Answers(*[LAGS] * 20)
    with pytest.raises(ApiError, match="Too large resource version"):
        read(answers)
    assert len(answers.tokens) == 11


def test_an_error_without_a_time_to_come_back_is_said_at_once() -> None:
    answers = Answers(ApiError(500, "InternalError", "no"), (["a"], ""))
    with pytest.raises(ApiError, match="InternalError"):
        read(answers)


def test_what_is_wrong_with_an_object_is_said_though_the_next_page_fails() -> None:
    with pytest.raises(
        ValueError, match="cluster: Pod, items\\[1\\], Pod default/a: this object is defined twice"
    ):
        read(Answers((["a", "a"], "x"), ApiError(500, "InternalError", "no")))


OLD = "kueue.x-k8s.io/v1beta1"


class OldKueue:
    """An API server with Kueue's kinds of v1beta1 alone."""

    def __init__(self) -> None:
        self.paths: dict[str, Any] = {
            "/apis/kueue.x-k8s.io": {"versions": [{"groupVersion": OLD, "version": "v1beta1"}]},
            f"/apis/{OLD}": {"resources": [{"name": "clusterqueues", "kind": "ClusterQueue"}]},
        }

    async def __aenter__(self) -> OldKueue:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def request(self, method: str, path: str, *, query: Any = None, seconds: float = 0) -> bytes:
        if path not in self.paths:
            raise ApiError(404, "NotFound", path)
        return json.dumps(self.paths[path]).encode()


@pytest.mark.parametrize("there", [True, False])
def test_an_older_version_of_queues_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    server, config = OldKueue(), tmp_path / "config"
    config.touch()
    if not there:
        server.paths.clear()
    monkeypatch.setattr(ApiClient, "connect", lambda *_, **__: server)
    if not there:
        read_cluster(QuotaObjects(), Connection(str(config)))
        return
    with pytest.raises(ClusterError, match=f"^the API server has ClusterQueue of {OLD} only, and"):
        read_cluster(QuotaObjects(), Connection(str(config)))
    planes = Planes(0)
    server.paths["/api/v1"] = {"resources": [{"name": "pods", "kind": "Pod"}]}
    server.paths["/api/v1/pods"] = {"metadata": {}, "kind": "PodList", "apiVersion": "v1", "items": []}
    read_cluster(planes, Connection(str(config)))
    assert planes.refused_notes() == [
        f"Not read: the API server has ClusterQueue of {OLD} only, and kueue.x-k8s.io/v1beta2 is read"
    ]
    assert OLD in planes.picture().without_quota


@pytest.mark.parametrize(
    ("versions", "read"),
    [(["v1", "v1beta1"], ["v1"]), (["v1beta1"], ["v1beta1"]), (["v1"], ["v1"]), ([], [])],
)
def test_groups_of_kubernetes_are_read_once_in_the_newest_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: list[str], read: list[str]
) -> None:
    server, config = OldKueue(), tmp_path / "config"
    config.touch()
    server.paths.clear()
    for each in versions:
        version = f"scheduling.k8s.io/{each}"
        group = {
            "metadata": {"name": each, "namespace": "a"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        }
        server.paths[f"/apis/{version}"] = {"resources": [{"name": "podgroups", "kind": "PodGroup"}]}
        server.paths[f"/apis/{version}/podgroups"] = {
            "metadata": {},
            "kind": "PodGroupList",
            "apiVersion": version,
            "items": [group],
        }
    monkeypatch.setattr(ApiClient, "connect", lambda *_, **__: server)
    objects = NodeObjects()
    read_cluster(objects, Connection(str(config)))
    found = [name for _, name in objects.picture().snapshot.group_keys]
    assert found == [f"podgroups.scheduling.k8s.io:{each}" for each in read]
