"""The nodes plane finds whoever runs the owners of pods."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from runtime.exchange.owner_stops import NotStoppedError, OwnerStops, PodOwner

OWNER = PodOwner("batch/v1", "Job", "ns", "job", "uid")


class Runner:
    def __init__(self) -> None:
        self.asked: list[tuple[list[PodOwner], str]] = []

    async def stop(self, owners: Collection[PodOwner], message: str) -> None:
        self.asked.append((list(owners), message))


async def test_the_runner_is_asked_while_it_serves() -> None:
    stops, runner = OwnerStops(), Runner()
    with stops.served(runner):
        await stops.stop([OWNER], "why")
    await stops.stop([OWNER], "nobody runs Jobs here")
    assert runner.asked == [([OWNER], "why")]


async def test_nobody_goes_while_the_runner_does_not_act_yet() -> None:
    stops = OwnerStops()
    stops.will_be_served()
    with pytest.raises(NotStoppedError, match="does not act yet"):
        await stops.stop([OWNER], "why")
