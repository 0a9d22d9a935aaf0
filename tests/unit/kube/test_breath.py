"""Long work gives way to others, and only then."""

from __future__ import annotations

import asyncio

from kube.breath import Breath


async def test_others_have_their_turn() -> None:
    done: list[str] = []
    asyncio.get_running_loop().call_soon(done.append, "other")
    breath = Breath(0.0)
    assert breath.is_due
    await breath.take()
    assert done == ["other"]


def test_nobody_waits_before_it_is_due() -> None:
    assert not Breath(3600.0).is_due
