"""Conditions on a real API server: nobody removes another one's, and one of our types is ours whoever wrote it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, Literal

import msgspec
import pytest

from api.meta import Condition, ObjectMeta
from hack.controlplane.objects import pod_group
from hack.controlplane.plane import ControlPlane
from kube.client import APPLY_PATCH, MERGE_PATCH, ApiClient
from kube.conditions import ConditionWriter, Target
from kube.sender import Sender
from tests.kit.clock import ManualClock
from tests.kit.connected import connected

NAME = "conditions"
API = "reprieve.dev/v1alpha1"
PATH = f"/apis/{API}/namespaces/default/podgroups/{NAME}"
SCHEDULED, VALID = "PodGroupInitiallyScheduled", "reprieve.dev/Valid"
LONG_AGO = "2020-01-01T00:00:00Z"


def target_of(body: Any, path: str = PATH) -> Target:
    """The object as it is known here."""
    conditions = msgspec.convert(body.get("status", {}).get("conditions", []), list[Condition])
    meta = msgspec.convert(body["metadata"], ObjectMeta)
    return Target(path, body["apiVersion"], body["kind"], meta, conditions)


@pytest.fixture
def group(api_plane: ControlPlane) -> Iterator[Target]:
    """A PodGroup."""
    body = api_plane.client.create(pod_group(NAME, min_count=2))
    yield target_of(body)
    api_plane.client.delete(API, "PodGroup", NAME, "default")


@pytest.fixture
async def client(api_plane: ControlPlane) -> AsyncIterator[ApiClient]:
    async with connected(api_plane.kubeconfig) as client:
        yield client


async def read(client: ApiClient) -> Target:
    """What is there."""
    return target_of(msgspec.json.decode(await client.request("GET", PATH)))


async def conditions(client: ApiClient) -> dict[str, Condition]:
    """By type."""
    return {each.type: each for each in (await read(client)).conditions}


async def patch(client: ApiClient, content_type: str, value: dict[str, Any], manager: str) -> None:
    query = {"fieldManager": manager} | ({"force": "true"} if content_type == APPLY_PATCH else {})
    body = msgspec.json.encode(value)
    await client.request("PATCH", f"{PATH}/status", query=query, body=body, content_type=content_type)


async def test_writers_of_two_types_leave_each_other_alone(client: ApiClient, group: Target) -> None:
    """Neither knows of the other's, nor of what it wrote itself, and they write at once."""
    one, two = (ConditionWriter(Sender(client)) for _ in range(2))
    for turn in range(4):
        status: Literal["True", "False"] = "True" if turn % 2 else "False"
        await asyncio.gather(
            one.write(group, SCHEDULED, status, "Turn", f"turn {turn}"),
            two.write(group, VALID, status, "Turn", f"turn {turn}"),
        )
        found = await conditions(client)
        assert set(found) == {SCHEDULED, VALID}
        assert {each.message for each in found.values()} == {f"turn {turn}"}


@pytest.mark.parametrize("how", ["merge patch", "apply"])
async def test_what_somebody_else_wrote_is_taken_over(client: ApiClient, group: Target, how: str) -> None:
    """By a merge patch of the whole list, as an editor does, or by an apply of another field manager."""
    type_, other = (SCHEDULED, VALID) if how == "merge patch" else (VALID, SCHEDULED)
    old = {"status": "False", "reason": "Old", "message": "old", "lastTransitionTime": LONG_AGO}
    if how == "merge patch":
        both = [{"type": type_, **old}, {"type": other, **old}]
        await patch(client, MERGE_PATCH, {"status": {"conditions": both}}, "an-editor")
    else:
        head = {"apiVersion": API, "kind": "PodGroup", "metadata": {"name": NAME}}
        for manager, each in (("one", type_), ("another", other)):
            value = {**head, "status": {"conditions": [{"type": each, **old}]}}
            await patch(client, APPLY_PATCH, value, manager)
    writer = ConditionWriter(Sender(client), clock=ManualClock())
    known = await conditions(client)
    answer = await writer.write(await read(client), type_, "False", "New", "new")
    assert answer is not None
    found = await conditions(client)
    assert found[type_] == Condition(type_, "False", "New", "new", LONG_AGO)
    assert found[other] == known[other]
    assert await writer.write(await read(client), type_, "False", "New", "new") is None
    await writer.write(await read(client), type_, "True", "New", "new")
    found = await conditions(client)
    assert found[type_] == Condition(type_, "True", "New", "new", "2026-01-01T00:00:00Z")
    assert found[other] == known[other]


async def test_another_object_of_the_name_is_left_alone(
    client: ApiClient, group: Target, api_plane: ControlPlane
) -> None:
    writer = ConditionWriter(Sender(client))
    await asyncio.to_thread(api_plane.client.delete, API, "PodGroup", NAME, "default")
    await asyncio.to_thread(api_plane.client.create, pod_group(NAME, min_count=2))
    assert await writer.write(group, VALID, "True", "Reason", "message") is None
    assert await writer.write(replace(group, path=f"{PATH}-no"), VALID, "True", "Reason", "message") is None
    assert await conditions(client) == {}


async def test_pods_take_them_too(client: ApiClient, api_plane: ControlPlane) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": "default"},
    }
    await asyncio.to_thread(api_plane.client.create, account)  # nobody makes the default one on this plane
    spec = {
        "containers": [{"name": "c", "image": "none"}],
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": spec,
    }
    pods = "/api/v1/namespaces/default/pods"
    made = msgspec.json.decode(await client.request("POST", pods, body=msgspec.json.encode(body)))
    target = target_of(made, f"{pods}/{NAME}")
    writer = ConditionWriter(Sender(client))
    await writer.write(target, "reprieve.dev/Held", "True", "Reason", "text")
    answer = await writer.write(target, "reprieve.dev/Other", "True", "Reason", "text")
    types = [each["type"] for each in msgspec.json.decode(answer or b"")["status"]["conditions"]]
    assert types == ["reprieve.dev/Held", "reprieve.dev/Other"]
    for kind in ("Pod", "ServiceAccount"):
        await asyncio.to_thread(api_plane.client.delete, "v1", kind, NAME, "default")
