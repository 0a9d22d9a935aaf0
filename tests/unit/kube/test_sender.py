"""Requests that are sent again, and the fence of a term."""

from __future__ import annotations

from typing import cast

import pytest

from kube.client import ApiClient, ApiError
from kube.retry import Backoff
from kube.sender import FencedError, Sender

BACKOFF = Backoff(0.001, 0.001)


class Api:
    """Fails as often as it is told."""

    cluster = ""

    def __init__(self, *errors: ApiError) -> None:
        self.errors = list(errors)
        self.asked = 0

    async def request(self, *_: object, **__: object) -> bytes:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return b"{}"


def away() -> ApiError:
    return ApiError(503, "ServiceUnavailable", "away")


@pytest.mark.parametrize(("failures", "asked", "succeeds"), [(0, 1, True), (2, 3, True), (3, 3, False)])
async def test_an_outage_is_waited_for_and_not_for_ever(failures: int, asked: int, succeeds: bool) -> None:
    api = Api(*(away() for _ in range(failures)))
    sender = Sender(cast(ApiClient, api), attempts=3, backoff=BACKOFF)
    if succeeds:
        assert await sender.send("test", "GET", "/") == b"{}"
    else:
        with pytest.raises(ApiError, match="503"):
            await sender.send("test", "GET", "/")
    assert api.asked == asked


async def test_after_the_term_nothing_more_is_sent() -> None:
    """Not even the second attempt of a request that the term has begun."""
    api = Api(away(), away())
    sender = Sender(cast(ApiClient, api), backoff=BACKOFF, allows=lambda: api.asked < 2)
    with pytest.raises(FencedError, match="the term is over") as caught:
        await sender.send("test", "PATCH", "/")
    assert api.asked == 2
    assert caught.value.is_retriable  # in another term
