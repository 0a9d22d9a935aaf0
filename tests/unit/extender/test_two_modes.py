"""A roll-out from one mode to another: replicas of both answer at once, as the mode of the leader wants it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson
import pytest

from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.lifecycle.modes import Mode
from extender.configuration import ExtenderConfiguration
from extender.service import EchoService, ExtenderService
from extender.wire import Verb
from runtime.terms.term import Term
from tests.kit.objects import gang, member, node, pod
from tests.kit.stage import Api, Mirrored

OFFERED = {"n0": {"Pods": [{"UID": "uid-default-v"}]}}


@dataclass
class Lease:
    """See `extender.service.Election`."""

    enforces: bool | None = None
    leader: str = "10.0.0.1:9443"
    in_touch: bool = True


class Replica(Mirrored):
    """One process of a mode. It knows the cluster, unless its mode is Off."""

    def __init__(self, executor: ThreadPoolExecutor, mode: Mode, lease: Lease | None) -> None:
        super().__init__(executor, Api(), PlanningConfiguration(mode=mode))
        self.mode, clock = mode, self.api.clock
        self.leader: bytes | None = None
        """What the leader answers; None: it does not answer."""
        configuration = ExtenderConfiguration(plain_http=True)
        self.service: EchoService | ExtenderService
        if mode == "Enforce":
            self.service = ExtenderService(configuration, self.controller, clock, lease)
        else:
            controller = self.controller if mode == "Observe" else None
            self.service = EchoService(configuration, clock, None, controller, lease)
        if self.service._peers is not None:
            self.service._peers.pass_on = self._pass_on  # type: ignore[method-assign]
        self._begun()
        self._hear()

    async def _pass_on(self, verb: Verb, body: bytes) -> bytes | None:
        return self.leader

    async def lead(self) -> None:
        begin = self.controller.begin if self.mode == "Enforce" else self.controller.observe
        await self.controller.take_over(begin(Term(1, self.api.clock, holder="test")))

    async def call(self, verb: Verb, of: Any) -> Any:
        """The answer to a call for the pod: of the leader, or of this replica."""
        body = msgspec.json.encode({"Pod": of, "NodeNames": ["n0"], "NodeNameToMetaVictims": OFFERED})
        passed = await self.service.pass_on(verb, body)
        return orjson.loads(passed if passed is not None else self.service.answer(verb, body))

    async def holds(self, of: Any) -> bool:
        """Whether filter holds the pod, and preempt answers with no node."""
        names = (await self.call("filter", of))["NodeNames"]
        offered = (await self.call("preempt", of))["NodeNameToMetaVictims"]
        assert (names, offered) in (([], {}), (["n0"], OFFERED))
        return not names


@asynccontextmanager
async def replica(mode: Mode, lease: Lease | None) -> AsyncIterator[Replica]:
    with ThreadPoolExecutor(1) as executor:
        made = Replica(executor, mode, lease)
        made.add(node("n0"), gang(minimum=2), member(), pod("v", node="n0", group="gang"))
        yield made


MODES: list[Mode] = ["Off", "Observe", "Enforce"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_standby_passes_calls_on_while_the_lease_says_enforce(mode: Mode) -> None:
    lease = Lease(enforces=True)
    async with replica(mode, lease) as standby:
        standby.leader = b'{"answer":1}'
        assert await standby.call("filter", member()) == {"answer": 1}
        assert await standby.call("preempt", member()) == {"answer": 1}
        standby.leader = None
        assert await standby.holds(member()), "it answers as a standby of Enforce"
        lease.in_touch = False
        assert await standby.holds(member())


@pytest.mark.parametrize("mode", MODES)
async def test_a_standby_gives_back_once_nothing_is_enforced_or_held(mode: Mode) -> None:
    lease = Lease(enforces=False)
    async with replica(mode, lease) as standby:
        standby.leader = b'{"answer":1}'
        assert not await standby.holds(member())
        assert not standby.service.is_blind
        lease.in_touch = False
        assert not await standby.holds(member()), "the Lease as it was seen last counts"


@pytest.mark.parametrize(("mode", "holds"), [("Off", False), ("Observe", False), ("Enforce", True)])
@pytest.mark.parametrize("lease", [None, Lease(None)], ids=["alone", "no Lease"])
async def test_without_a_lease_the_own_mode_counts(mode: Mode, holds: bool, lease: Lease | None) -> None:
    async with replica(mode, lease) as alone:
        assert await alone.holds(member()) == holds


@pytest.mark.parametrize(("mode", "holds"), [("Observe", False), ("Enforce", True)])
async def test_who_leads_answers_by_its_own_mode(mode: Mode, holds: bool) -> None:
    """The Lease that it has seen last may be that of its predecessor."""
    for before in (True, False, None):
        async with replica(mode, Lease(before)) as leader:
            await leader.lead()
            leader.leader = b'{"answer":1}'
            assert await leader.holds(member()) == holds


@pytest.mark.parametrize("mode", MODES)
async def test_ordinary_pods_pass_filter_on_every_standby(mode: Mode) -> None:
    async with replica(mode, Lease(enforces=True)) as standby:
        assert (await standby.call("filter", pod("p")))["NodeNames"] == ["n0"]
        assert (await standby.call("preempt", pod("p")))["NodeNameToMetaVictims"] == {}


async def test_an_observing_leader_brings_back_whom_a_standby_of_enforce_has_turned_down() -> None:
    async with replica("Enforce", Lease(enforces=True)) as standby, replica("Observe", Lease()) as leader:
        refused = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}]
        standby.add(pod("p", conditions=refused))
        leader.add(pod("p", conditions=refused))
        await leader.lead()
        assert await standby.call("preempt", pod("p")) == {"NodeNameToMetaVictims": {}}
        notice = standby.service.take()
        assert notice is not None
        assert leader.service.told(notice)
        acting = leader.controller._acting
        assert acting is not None
        await acting.undoing.step()
        assert leader.api.pulsed == ["p"]
        await asyncio.sleep(0)
