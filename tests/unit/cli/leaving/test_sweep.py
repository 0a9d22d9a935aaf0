"""Which pods lose the gate, and what is said of those that keep it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from api.groups import SCHEDULING_GATE
from cli.leaving.sweep import Result, sweep_all
from cli.leaving.sweeps import gates
from cli.leaving.webhooks import mutates
from kube.client import ApiClient
from kube.errors import ApiError
from tests.kit.apiserver import Api
from webhooks.registrations import configurations

PODS = "/api/v1/pods"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
OURS = {"name": SCHEDULING_GATE}
OTHER = {"name": "example.com/wait"}


def pod(name: str, *gates: Any, namespace: str = "team-a", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"metadata": metadata, "spec": {"schedulingGates": list(gates) or None, **spec}}


async def ungated(api: Api, namespace: str | None = None) -> tuple[Result, list[str]]:
    told = list[str]()
    result = await sweep_all(cast(ApiClient, api), [gates(SCHEDULING_GATE)], told.append, namespace)
    return result, told


def refusing(*names: str, code: int = 403) -> Callable[[str, str], ApiError | None]:
    """The API server lets nobody change these pods."""
    return lambda method, path: (
        ApiError(code, "Forbidden", "x") if method == "PATCH" and path.endswith(names) else None
    )


async def test_every_pod_with_the_gate_loses_it_and_nothing_else() -> None:
    """There are more of them than a page has."""
    api = Api()
    others = [pod("free"), pod("waits", OTHER), pod("runs", nodeName="n0")]
    api.put(PODS, *others, *(pod(f"p{number}", OTHER, OURS) for number in range(5)), pod("last", OURS))
    result, told = await ungated(api)
    names = [*(f"Pod team-a/p{number}" for number in range(5)), "Pod team-a/last"]
    assert sorted(result.freed) == sorted(names)
    assert sorted(told) == sorted(f"{name}: the gate is removed" for name in names)
    assert (result.errors, result.left) == ([], [])
    assert len(api.written) == 6
    assert api.of(PODS)["p0"]["spec"]["schedulingGates"] == [OTHER]
    assert api.of(PODS)["last"]["spec"]["schedulingGates"] == []
    again, _ = await ungated(api)
    assert again == Result()


async def test_what_the_api_server_refuses_is_left() -> None:
    api = Api()
    api.put(PODS, pod("a", OURS), pod("b", OURS))
    api.refuse = refusing("/a")
    result, _ = await ungated(api)
    assert (result.freed, result.left) == (["Pod team-a/b"], ["Pod team-a/a: the pod has the gate"])
    assert result.errors == ["Pod team-a/a: 403 Forbidden: x"]


def changing(api: Api, change: Callable[[dict[str, Any]], object], times: int) -> None:
    """Somebody changes the pod `a` just before each of the next writes, which conflict then."""
    left = iter(range(times))

    def conflicts(method: str, path: str) -> ApiError | None:
        if method != "PATCH" or next(left, None) is None:
            return None
        change(api.of(PODS)["a"])
        return ApiError(409, "Conflict", "the object has been modified")

    api.refuse = conflicts


async def test_a_pod_that_somebody_changes_meanwhile_is_read_again() -> None:
    api = Api()
    api.put(PODS, pod("a", OURS), pod("b", OURS))
    changing(api, lambda a: a["spec"].update(schedulingGates=[OTHER, OURS]), 2)
    result, _ = await ungated(api)
    assert (sorted(result.freed), result.errors, result.left) == (["Pod team-a/a", "Pod team-a/b"], [], [])
    assert api.of(PODS)["a"]["spec"]["schedulingGates"] == [OTHER]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda a: a["spec"].update(schedulingGates=[OTHER]), id="freed by another"),
        pytest.param(lambda a: a["metadata"].update(uid="another", name="elsewhere"), id="gone"),
    ],
)
async def test_a_pod_that_is_free_after_a_conflict_stays_as_it_is(
    change: Callable[[dict[str, Any]], object],
) -> None:
    api = Api()
    api.put(PODS, pod("a", OURS))
    changing(api, change, 1)
    result, told = await ungated(api)
    assert (result.freed, result.errors, told, api.written) == ([], [], [], [])


async def test_a_pod_that_somebody_changes_without_end_is_left() -> None:
    api = Api()
    api.put(PODS, pod("a", OURS))
    changing(api, lambda _: None, 100)
    result, _ = await ungated(api)
    assert result.errors == ["Pod team-a/a: 409 Conflict: the object has been modified"]
    assert result.left == ["Pod team-a/a: the pod has the gate"]


async def test_a_pod_that_goes_meanwhile_is_neither_removed_nor_left() -> None:
    api = Api()
    api.put(PODS, pod("a", OURS))

    def goes(method: str, _path: str) -> ApiError | None:
        if method == "PATCH":
            api.of(PODS).clear()
        return None

    api.refuse = goes
    assert (await ungated(api))[0] == Result()


async def test_a_list_that_took_too_long_begins_again() -> None:
    api = Api()
    api.put(PODS, *(pod(f"p{number}", OURS) for number in range(5)))
    answers = iter([None, ApiError(410, "Expired", "x")])

    def expires(method: str, _path: str) -> ApiError | None:
        return next(answers, None) if method == "GET" else None

    api.refuse = expires
    result, _ = await ungated(api)
    assert len(result.freed) == 5
    assert result.left == []


async def test_pods_that_cannot_be_listed_are_an_error() -> None:
    api = Api()
    api.refuse = lambda method, _path: ApiError(403, "Forbidden", "x") if method == "GET" else None
    with pytest.raises(ApiError):
        await ungated(api)


async def test_whether_the_webhook_is_there() -> None:
    api = Api()
    client = cast(ApiClient, api)
    assert not await mutates(client, "Pod")
    mutating, _ = configurations()
    api.put(WEBHOOKS, mutating)
    assert await mutates(client, "Pod")
    mutating["webhooks"] = [each for each in mutating["webhooks"] if not each["name"].startswith("pods.")]
    assert not await mutates(client, "Pod")
    api.refuse = lambda _method, _path: ApiError(403, "Forbidden", "x")
    assert not await mutates(client, "Pod"), "nobody may know"
