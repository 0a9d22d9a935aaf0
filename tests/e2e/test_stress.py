"""Two planes for a quarter of a minute: random load on one, a scheduler that is stopped on the other. Before them, a
short random history with faults. `make stress` takes longer."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import pytest

from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import Process
from tests.e2e.other_kinds import NATIVE
from tests.e2e.stress.actions import ACTIONS, Action
from tests.e2e.stress.cluster import Cluster
from tests.e2e.stress.faults import ACTIONS_WITH_FAULTS
from tests.e2e.stress.native_groups import ACTIONS_OF_NATIVES
from tests.e2e.stress.owners import ACTIONS_OF_OWNERS
from tests.e2e.stress.run import OPTIONS, REPLICATED, SHORT_REST, stress, take_step, with_natives
from tests.e2e.support import PlaneFactory, Sandbox, condition, wait_for
from tests.kit.often import SELDOM
from tests.kit.versions import needs

HISTORY_SECONDS = 12.0
LOAD_SECONDS = 15.0
SEEDS = (42, pytest.param(4, marks=SELDOM), pytest.param(16, marks=SELDOM))
"""The first 26 steps of 42 have nearly all faults: somebody leaves or is cut off, the Lease is edited, the API server
restarts, and a network is slow."""
QUIET_SECONDS = 15.0
"""How long nobody may be evicted without the scheduler's word."""
REQUIRE = {"confirmation": "Require", "confirmationSeconds": 1, "backoffMaxSeconds": 5}
"""Many plans are made, asked for and given up meanwhile."""


@dataclass
class Stopped:
    """Gangs whose scheduler is stopped. One was tried in part before, the other one never."""

    plane: ControlPlane
    sandbox: Sandbox
    members: list[str]
    since: float


@pytest.fixture(scope="module")
def stopped(start_plane: Callable[[Options], ControlPlane]) -> Iterator[Stopped]:
    """They wait while the load runs on another plane, so that nobody has to wait for them."""
    plane = start_plane(Options(reprieve=True, reprieve_settings={"planning": REQUIRE}))
    sandbox = Sandbox(plane.client, f"stopped-{uuid.uuid4().hex[:5]}", plane)
    sandbox.full_nodes(4)
    sandbox.group("tried", min_count=2, priority=100)
    first = sandbox.pod("tried-0", group="tried", priority=100)
    wait_for(lambda: condition(sandbox.get_pod(first) or {}, "PodScheduled"), what=sandbox.report)
    plane.processes["kube-scheduler"].pause()
    since = time.monotonic()
    second = sandbox.pod("tried-1", group="tried", priority=100)
    untried = sandbox.gang("untried", 2, priority=100)
    yield Stopped(plane, sandbox, [first, second, *untried], since)
    sandbox.history.close()


def requests(seed: int, actions: Mapping[Action, int]) -> list[Any]:
    """What a load of 300 steps does, on no cluster at all."""
    plane = create_autospec(ControlPlane, instance=True)
    plane.client = create_autospec(Client, instance=True)
    plane.client.create.return_value = {"metadata": {"uid": "uid"}}
    plane.service, plane.networks, plane.layout = None, {}, SimpleNamespace(replicas=["reprieve"])
    plane.processes = {"reprieve": create_autospec(Process, instance=True)}
    cluster = Cluster(plane, random.Random(seed))
    cluster.prepare()
    for _ in range(300):
        take_step(cluster, actions)
    return [*plane.client.mock_calls, *plane.processes["reprieve"].mock_calls]


@pytest.mark.parametrize("actions", [ACTIONS, {**ACTIONS, **ACTIONS_OF_NATIVES}], ids=["ours", "native"])
def test_the_seed_decides_what_is_done(actions: Mapping[Action, int]) -> None:
    assert requests(1, actions) == requests(1, actions)
    assert requests(1, actions) != requests(2, actions)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_with_faults(planes: PlaneFactory, seed: int) -> None:
    """Two processes are killed, stopped and cut off, and their Lease is edited. The API server restarts.
    A seed does not decide how many steps there are, and when: a fault that is found need not show again.
    """
    plane = planes(**REPLICATED)
    result = stress(plane, seed, HISTORY_SECONDS, actions=ACTIONS_WITH_FAULTS, rest_seconds=SHORT_REST)
    print(result)
    assert result.violations == [], str(result)


@SELDOM
@needs(NATIVE, "it has no groups that reprieve reads")
@pytest.mark.parametrize("mode", ["Steer", "Drive"])
def test_random_load_with_groups_of_the_schedulers_own_kind(planes: PlaneFactory, mode: str) -> None:
    plane = planes(**with_natives(OPTIONS, mode))
    actions = {**ACTIONS_OF_OWNERS, **ACTIONS_OF_NATIVES}
    result = stress(plane, 1, LOAD_SECONDS, actions=actions, rest_seconds=SHORT_REST)
    print(result)
    assert result.violations == [], str(result)


@SELDOM
@pytest.mark.usefixtures("stopped")
def test_a_quarter_of_a_minute_of_random_load(planes: PlaneFactory) -> None:
    """Gangs that are so by their owners among them."""
    plane = planes(**OPTIONS)
    result = stress(plane, 1, LOAD_SECONDS, actions=ACTIONS_OF_OWNERS, rest_seconds=SHORT_REST)
    print(result)
    assert result.violations == [], str(result)
    assert result.deletions > 0, "a run in which nobody is evicted proves nothing"


def test_while_the_scheduler_is_stopped_nobody_is_evicted_for_a_quarter_of_a_minute(stopped: Stopped) -> None:
    """Under `confirmation: Require`. Both gangs are bound once the scheduler goes on."""
    sandbox = stopped.sandbox
    left = stopped.since + QUIET_SECONDS - time.monotonic()
    sandbox.watch_quietly(max(1.0, left), *stopped.members)
    ended = {
        (plan["spec"]["preemptor"]["name"], entry["reason"])
        for plan in sandbox.plans()
        for entry in plan["status"]["conditions"]
        if entry["type"] == "Aborted"
    }
    assert ended == {("tried", "NotConfirmed"), ("untried", "NotAttempted")}
    stopped.plane.processes["kube-scheduler"].resume()
    sandbox.wait_bound(*stopped.members)
    assert sandbox.history.evictions() == {f"low-{number}-0": 1 for number in range(4)}
