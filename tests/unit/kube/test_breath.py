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


async def test_it_begins_anew_after_each_turn() -> None:
    breath = Breath(3600.0)
    assert not breath.is_due
    breath._since -= 3600.0
    assert breath.is_due
    await breath.take()
    assert not breath.is_due
