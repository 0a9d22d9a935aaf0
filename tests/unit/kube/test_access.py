"""What the API server says of our own rights."""

from __future__ import annotations

from typing import Any, cast

import orjson
import pytest

from kube.access import PATH, Access, lacking
from kube.client import ApiClient
from kube.errors import ApiError

EVICT, DELETE, REPORT = (
    Access("", "pods/eviction", "create"),
    Access("", "pods", "delete"),
    Access("reprieve.dev", "podgroups/status", "patch"),
)


class Reviewer:
    """Answers reviews: `granted` are the attributes that are allowed."""

    def __init__(self, *granted: dict[str, str]) -> None:
        self.granted = granted

    async def request(self, method: str, path: str, *, body: bytes, seconds: float) -> bytes:
        assert (method, path) == ("POST", PATH)
        review: dict[str, Any] = orjson.loads(body)
        attributes = review["spec"]["resourceAttributes"]
        return orjson.dumps({**review, "status": {"allowed": attributes in self.granted}})


async def test_what_is_not_granted_is_named() -> None:
    reviewer = Reviewer(
        {"group": "", "resource": "pods", "subresource": "eviction", "verb": "create"},
        {"group": "reprieve.dev", "resource": "podgroups", "subresource": "status", "verb": "patch"},
    )
    assert await lacking(cast(ApiClient, reviewer), (EVICT, DELETE, REPORT)) == [DELETE]
    assert [str(each) for each in (EVICT, DELETE, REPORT)] == [
        "create pods/eviction",
        "delete pods",
        "patch podgroups/status.reprieve.dev",
    ]


async def test_an_answer_that_is_none_is_an_error() -> None:
    class Broken(Reviewer):
        async def request(self, method: str, path: str, *, body: bytes, seconds: float) -> bytes:
            return b"{}"

    with pytest.raises(ApiError, match="cannot be read"):
        await lacking(cast(ApiClient, Broken()), (EVICT,))
