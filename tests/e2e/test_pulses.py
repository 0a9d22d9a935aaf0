"""The pulse itself, against a real scheduler that tries parked pods again for nothing else."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AbstractContextManager

from api.clock import SYSTEM_CLOCK
from api.core import Pod
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPods
from controllers.gangs.waking.asking import AskedMember, Asking, Parking
from controllers.gangs.waking.parked import ParkedPods
from controllers.gangs.waking.waker import Waker
from hack.controlplane.plane import ControlPlane
from hack.controlplane.stub_extender import answering
from nodes.state.tables import Tables
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory, condition, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected
from tests.kit.objects import make
from tests.kit.pod_writes import pod_writer

LOOPBACK = "127.0.0.1"
GANG: GroupKey = ("team", "gang")
QUIET_SECONDS = 2.0
"""How long a pod that stays parked is watched."""


def refusing(calls: list[str]) -> AbstractContextManager[str]:
    """An extender that lets preempt evict nobody, and notes for which pods it is called. Gives its URL."""

    def answer(_: str, body: bytes) -> dict[str, object]:
        calls.append(json.loads(body)["Pod"]["metadata"]["name"])
        return {"NodeNameToMetaVictims": {}}

    return answering(answer)


async def ask(plane: ControlPlane, sandbox: Sandbox, *, left: bool) -> list[GroupKey]:
    """Ask for the pod `parked` where only `carrier` is known to wait. `left`: a former process died in its pulse.

    The scheduler may write the carrier's status at the same moment. Then the pulse is tried again.
    """
    carrier, member = seen(sandbox, "carrier"), seen(sandbox, "parked")
    async with connected(plane.kubeconfig) as client:
        pods = pod_writer(client)
        meta, waiting, asked = carrier.metadata, WaitingPods(SYSTEM_CLOCK), list[GroupKey]()
        if left:
            assert await pods.nominate(
                meta.namespace, meta.name, meta.uid, resource_version=meta.resource_version, node=PULSE_NODE
            )
            carrier.status.nominated_node_name = PULSE_NODE
        waiting.pod_changed(meta.uid, carrier)
        waker = Waker(pods, Roster(Tables()), SYSTEM_CLOCK, ())
        asking = Asking(pods, waker, waiting, ParkedPods(waiting), SYSTEM_CLOCK, asked.append)
        asking.begin()
        spec, of = member.spec, member.metadata
        whom = AskedMember(
            of.uid, of.namespace, of.name, spec.scheduler_name, spec.priority or 0, Parking.PARKED
        )
        asking.ask(GANG, (0, "", GANG), [whom])
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not asked:
                await asking.step()
                await asyncio.sleep(0.1)
                waiting.pod_changed(meta.uid, seen(sandbox, "carrier"))
        return asked


def seen(sandbox: Sandbox, name: str) -> Pod:
    """The pod as it is now."""
    body = sandbox.get_pod(name)
    assert body is not None
    return make(Pod, body)


def test_a_pulse_on_one_pod_brings_back_another_that_preempt_parked(
    planes: PlaneFactory, sandboxes: SandboxFactory
) -> None:
    calls: list[str] = []
    with refusing(calls) as url:
        extender = {"urlPrefix": url, "preemptVerb": "preempt", "nodeCacheCapable": True}
        plane = planes(scheduler_settings={"extenders": [extender]})
        sandbox = sandboxes(plane)
        sandbox.filler("low", sandbox.node("n", cpu="1"), 1)
        sandbox.pod("parked", priority=100)
        sandbox.pod("higher", priority=200)
        sandbox.pod("carrier", priority=100, cpu="9")

        def are_parked() -> bool:
            bodies = [sandbox.get_pod(name) or {} for name in ("parked", "higher", "carrier")]
            return all(condition(body, "PodScheduled") for body in bodies)

        wait_for(are_parked, what=sandbox.report)
        time.sleep(QUIET_SECONDS)
        before = list(calls)
        assert set(before) == {"parked", "higher"}, "for the carrier there is no candidate"

        for left in (False, True):
            count = calls.count("parked")
            asked = asyncio.run(ask(plane, sandbox, left=left))
            wait_for(
                lambda count=count: calls.count("parked") > count,  # type: ignore[misc] # a default of a lambda has no type
                what=sandbox.report,
            )
            assert asked == [GANG]
            nominations = sandbox.history.nominations("carrier")
            assert nominations == ["", *[PULSE_NODE, ""] * (len(nominations) // 2)]
        time.sleep(QUIET_SECONDS)
        assert calls.count("higher") == before.count("higher"), "a pod of higher priority stays where it is"
        assert sandbox.history.evicted() == []
