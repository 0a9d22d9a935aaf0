"""A process dies at each write of the account, before it or after it. The next one counts nothing twice."""

from __future__ import annotations

import pytest

from controllers.account.accounting import FIRST_SECONDS, WRITE_SECONDS
from controllers.account.cases import LATE_SECONDS
from tests.unit.controllers.account.accounts import Account, accounted, counted, member, uid, victim

WRITES = 3
"""Of the history below: the first preemption, the second one, that the gang runs, and the end."""


class Died(Exception):
    """The process."""


@pytest.mark.parametrize("was_there", [True, False], ids=["standby", "newcomer"])
@pytest.mark.parametrize("place", range(2 * WRITES))
async def test_whoever_goes_on_counts_nothing_twice(
    place: int, was_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`place`: each write has two. `was_there`: whether the next leader saw what happened before."""
    passed: list[str] = []

    async def failpoint(name: str) -> None:
        passed.append(name)
        if len(passed) == place + 1:
            raise Died

    monkeypatch.setattr("controllers.account.writing.failpoint", failpoint)
    before = counted("true")
    async with accounted() as account:
        account.begin()
        await preempt(account, 0, FIRST_SECONDS, was_there=was_there)
        account.stage.add(member(0, node="n0"))
        await preempt(account, 1, WRITE_SECONDS, was_there=was_there)
        account.stage.add(member(1, node="n1"))
        for _ in range(3):
            await lead(account, LATE_SECONDS, was_there=was_there)
        said = account.said()
    assert len(passed) > place, "it died"
    assert said is not None
    assert (said.concluded, said.bound, said.victims.pods) == (True, True, 2)
    assert said.state == "Same" if was_there else said.state in ("Same", "Unknown")
    assert counted("true") - before <= 2


async def preempt(account: Account, number: int, seconds: float, *, was_there: bool) -> None:
    account.preempt(number)
    account.event(uid(victim(number)), uid(member(number)), f"n{number}")
    account.stage.delete(victim(number))
    await lead(account, 0.0, was_there=was_there)
    await lead(account, seconds, was_there=was_there)


async def lead(account: Account, seconds: float, *, was_there: bool) -> None:
    """Time passes. If the process dies, another one leads."""
    try:
        await account.pass_time(seconds)
    except Died:
        if not was_there:
            account.forget()
        account.stage.list_plans()
        account.begin()
