"""Two processes at one API server: what is promised is the same in both, and only the one that has a term acts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from api.clock import SYSTEM_CLOCK
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.controller import GangController
from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane
from runtime import failpoints
from runtime.mirror.views import Views
from runtime.terms.controller import lead_all
from runtime.terms.term import EternalTerms
from tests.e2e.support import Sandbox, wait_for
from tests.kit.connected import connected

Shown = dict[str, tuple[dict[str, str], dict[str, str]]]


@asynccontextmanager
async def process(
    plane: ControlPlane, executor: ThreadPoolExecutor, *, leads: bool
) -> AsyncIterator[GangController]:
    """A gang controller that follows the API server, and leads if the test lets it."""
    async with connected(plane.kubeconfig) as client:
        views = Views(client)
        planning = PlanningConfiguration(mode="Enforce", confirmation="Off")
        controller = GangController(planning, client, views, executor, SYSTEM_CLOCK)
        tasks = [asyncio.create_task(views.run())]
        if leads:
            tasks.append(asyncio.create_task(lead_all([controller], EternalTerms(SYSTEM_CLOCK))))
        try:
            await controller.known.mirror.wait_synced()
            await controller.known.plans.wait_synced()
            yield controller
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def shown(controller: GangController, namespace: str) -> Shown:
    """By group: the nodes of its claims and of its victims, by pod UID."""
    reservations = controller.known.promises.reservations
    return {
        group[1]: (
            {uid: claim.node for uid, claim in reservations.claims(group).items()},
            {uid: claim.node for uid, claim in reservations.victims(group).items()},
        )
        for group in reservations.groups
        if group[0] == namespace
    }


async def eventually(look: Callable[[], object], expected: object) -> None:
    """Fail unless it comes to that."""
    await asyncio.to_thread(wait_for, lambda: look() == expected, 30.0, lambda: f"{look()} is not {expected}")


@pytest.fixture
def evictions_wait() -> Iterator[None]:
    """Whoever is about to evict waits."""
    failpoints.configure({"evict.before_first": "3600s"})
    yield
    failpoints.configure({})


def present(sandbox: Sandbox, pod: str) -> None:
    """A scheduler says that it found no node for the pod."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}
    sandbox.client.patch(
        "v1", "Pod", pod, {"status": {"conditions": [condition]}}, sandbox.namespace, "status"
    )


@pytest.mark.usefixtures("evictions_wait")
async def test_a_process_without_a_term_shows_the_same_claims_and_victims(
    control_plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]
) -> None:
    sandbox = sandboxes(control_plane)
    names = await asyncio.to_thread(sandbox.full_nodes, 2)
    # No scheduler knows these members: nobody but reprieve evicts for them.
    await asyncio.to_thread(sandbox.gang, "hero", 2, priority=100, schedulerName="nobody")
    pods = {pod["metadata"]["name"]: pod for pod in await asyncio.to_thread(sandbox.list_pods)}
    uids = {name: pod["metadata"]["uid"] for name, pod in pods.items()}
    space = sandbox.namespace
    with ThreadPoolExecutor(1) as executor:
        async with (
            process(control_plane, executor, leads=False) as follower,
            process(control_plane, executor, leads=True) as leader,
        ):
            await eventually(lambda: len(shown(leader, space)), 1)
            await asyncio.to_thread(present, sandbox, "hero-0")
            await asyncio.to_thread(sandbox.wait_plan, "hero", "Evicting")
            ((claims, victims),) = shown(leader, space).values()
            assert claims.keys() == {uids["hero-0"], uids["hero-1"]}
            assert victims == {uids["low-0-0"]: names[0], uids["low-1-0"]: names[1]}
            await eventually(lambda: shown(follower, space), shown(leader, space))
            assert follower.leading is None
            before = shown(leader, space)
        async with (
            process(control_plane, executor, leads=False) as follower,
            process(control_plane, executor, leads=True) as leader,
        ):
            assert shown(follower, space) == before, "of a process that has just started, too"
            await eventually(lambda: shown(leader, space), before)
            assert not sandbox.history.evicted()
            await asyncio.to_thread(sandbox.delete_group, "hero")
            await eventually(lambda: shown(leader, space), {})
            await eventually(lambda: shown(follower, space), {})
            await asyncio.to_thread(sandbox.wait_plan, "hero", "Aborted")
    await asyncio.to_thread(sandbox.remove)
