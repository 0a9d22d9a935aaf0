"""Requests that are sent again, and the fence of a term."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from api.backoff import Backoff
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import FencedError, Sender, WithdrawnError

BACKOFF = Backoff(0.001, 0.001)


class Api:
    """Fails as often as the test says."""

    cluster = ""

    def __init__(self, *errors: ApiError) -> None:
        self.errors = list(errors)
        self.asked = 0
        self.seconds: list[float] = []
        """The limits of the requests."""

    async def request(self, *_: object, seconds: float, **__: object) -> bytes:
        self.asked += 1
        self.seconds.append(seconds)
        if self.errors:
            raise self.errors.pop(0)
        return b"{}"


class Fence:
    """Allows what `allows` says, for five seconds."""

    def __init__(self, allows: Callable[[], bool]) -> None:
        self.allows = allows

    def seconds_left(self) -> float:
        return 5.0


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
    sender = Sender(cast(ApiClient, api), backoff=BACKOFF, fence=Fence(lambda: api.asked < 2))
    with pytest.raises(FencedError, match="the term is over") as caught:
        await sender.send("test", "PATCH", "/")
    assert api.asked == 2
    assert caught.value.is_retriable  # in another term


@pytest.mark.parametrize("wanted", [0, 1, 2])
async def test_a_request_that_is_no_longer_wanted_is_not_sent_and_not_tried_again(wanted: int) -> None:
    api = Api(*(away() for _ in range(5)))
    sender = Sender(cast(ApiClient, api), attempts=5, backoff=BACKOFF)
    with pytest.raises(WithdrawnError, match="pod deletion is not sent any longer"):
        await sender.send("pod deletion", "DELETE", "/", wanted=lambda: api.asked < wanted)
    assert api.asked == wanted


async def test_no_request_outlives_the_term() -> None:
    api = Api()
    await Sender(cast(ApiClient, api)).send("test", "GET", "/")
    await Sender(cast(ApiClient, api), fence=Fence(lambda: True)).send("test", "GET", "/")
    assert api.seconds == [15.0, 5.0]
