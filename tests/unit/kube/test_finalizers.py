"""Finalizers are added and removed without touching anything else."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from api.meta import ObjectMeta
from kube.client import ApiClient
from kube.errors import ApiError
from kube.finalizers import add_finalizer, has_finalizer, remove_finalizer
from kube.sender import Sender
from tests.kit.apiserver import Api

THINGS = "/apis/example.com/v1/things"
OURS, OTHER = "example.com/ours", "example.com/other"


@pytest.fixture
def api() -> Api:
    return Api()


def put(api: Api, *finalizers: str, **metadata: Any) -> ObjectMeta:
    meta = {"name": "t", "uid": "u", **({"finalizers": list(finalizers)} if finalizers else {}), **metadata}
    api.put(THINGS, {"metadata": meta})
    return stored(api)


def stored(api: Api) -> ObjectMeta:
    return msgspec.convert(api.of(THINGS)["t"]["metadata"], ObjectMeta)


def sender(api: Api) -> Sender:
    return Sender(cast(ApiClient, api))


@pytest.mark.parametrize("others", [(), (OTHER,)])
async def test_what_is_added_is_removed_again(api: Api, others: tuple[str, ...]) -> None:
    meta = put(api, *others)
    assert await add_finalizer(sender(api), f"{THINGS}/t", meta, OURS)
    assert stored(api).finalizers == [*others, OURS]
    assert has_finalizer(stored(api), OURS)
    assert await remove_finalizer(sender(api), f"{THINGS}/t", stored(api), OURS)
    assert not has_finalizer(stored(api), OURS)
    assert stored(api).finalizers == list(others)


async def test_a_change_of_something_else_is_not_in_the_way(api: Api) -> None:
    meta = put(api, OTHER)
    api.put(THINGS, {**api.of(THINGS)["t"], "status": {"n": 1}})
    assert await add_finalizer(sender(api), f"{THINGS}/t", meta, OURS)
    assert api.of(THINGS)["t"]["status"] == {"n": 1}


@pytest.mark.parametrize("change", [{"uid": "other"}, {"finalizers": [OTHER, OURS]}])
async def test_what_is_not_as_it_was_is_left_alone(api: Api, change: dict[str, Any]) -> None:
    meta = put(api, OTHER)
    put(api, OTHER, **change)
    with pytest.raises(ApiError, match="422"):
        await add_finalizer(sender(api), f"{THINGS}/t", meta, OURS)
    assert not [written for written in api.written if written.method == "PATCH"]


async def test_an_object_that_is_gone_needs_none(api: Api) -> None:
    meta = put(api, OURS)
    api.of(THINGS).clear()
    assert not await add_finalizer(sender(api), f"{THINGS}/t", ObjectMeta("t"), OURS)
    assert not await remove_finalizer(sender(api), f"{THINGS}/t", meta, OURS)
