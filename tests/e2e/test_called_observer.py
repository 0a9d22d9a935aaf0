"""An observer that is called, with the scheduler's file that is shipped for it: nothing becomes another thing by it.

The load is the same without the observer, with it, and with it stopped or killed. Each of its pods has one node.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import pytest
import yaml

from bench.metrics import Samples, grown, scheduler_metrics
from hack.controlplane.client import Json
from hack.controlplane.components import OBSERVER_FOLDERS
from hack.controlplane.manifests import MANIFESTS
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.support import Sandbox, SandboxFactory, condition, wait_for
from tests.kit.often import SELDOM

NODES: Final = 3
LEVELS: Final = (1, 2, 5, 10, 20, 50, 100)
SLOTS: Final = 2
"""Pods for which a node has room."""
SEED: Final = 4
PLAIN: Final = "plain"
"""A kube-scheduler that does not know reprieve."""
HERE: Final = ("ignorable", "httpTimeout")
"""What the shipped file says of an entry, beside where it leads."""

ATTEMPTS: Final = "scheduler_scheduling_attempt_duration_seconds"
PARTS: Final = ("sum", "count")


class End(NamedTuple):
    """What became of a load. Nodes are numbers."""

    bound: dict[str, int]
    victims: list[str]


@pytest.fixture
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    settings = {"planning": {"mode": "Observe"}, "leaderElection": {"leaderElect": True}}
    made = start_plane(
        Options(reprieve=True, reprieve_settings=settings, manifests=OBSERVER_FOLDERS, schedulers=(PLAIN,))
    )
    file = made.directory / "kube-scheduler.yaml"
    configuration = yaml.safe_load(file.read_text())
    shipped = yaml.safe_load((MANIFESTS / "components" / "extender" / "kube-scheduler.yaml").read_text())
    for ours, theirs in zip(configuration["extenders"], shipped["extenders"], strict=True):
        ours |= {name: theirs[name] for name in HERE}
    file.write_text(yaml.safe_dump(configuration))
    made.processes["kube-scheduler"].stop()
    made.processes["kube-scheduler"].start()
    return made


def order() -> list[int]:
    """The priorities of the gangs, as they come. No two are equal, so there is one victim to choose."""
    return random.Random(SEED).sample(LEVELS, len(LEVELS))  # no secret


def expected() -> End:
    """By kube-scheduler's rules, where each pod takes half of its node."""
    on, victims = {number: dict[int, str]() for number in range(NODES)}, list[str]()
    for priority in order():
        for number, there in on.items():
            if len(there) == SLOTS and min(there) < priority:
                victims.append(there.pop(min(there)))
            if len(there) < SLOTS:
                there[priority] = f"gang-{priority}-{number}"
    bound = {name: number for number, there in on.items() for name in there.values()}
    return End(bound, sorted(victims))


def run(sandbox: Sandbox, scheduler: str) -> End:
    """Gangs with a member on each node come one after the other. Every other one is evicted whole by rule."""
    nodes = sandbox.nodes(NODES, cpu=str(SLOTS))
    for place, priority in enumerate(order()):
        name = f"gang-{priority}"
        sandbox.group(name, min_count=NODES, priority=priority, mode="all" if place % 2 else None)
        for number, node in enumerate(nodes):
            wanted = {"nodeSelector": {"kubernetes.io/hostname": node}, "schedulerName": scheduler}
            sandbox.pod(f"{name}-{number}", priority=priority, cpu="1", group=name, **wanted)
            wait_settled(sandbox, f"{name}-{number}")
    bound = {name: nodes.index(node) for name, node in sandbox.bound().items()}
    return End(bound, sandbox.history.evicted())


def wait_settled(sandbox: Sandbox, name: str) -> None:
    """Until the pod is bound, or the scheduler has given it up."""
    wait_for(lambda: is_settled(sandbox.get_pod(name) or {"spec": {}}), what=sandbox.report)


def is_settled(pod: Json) -> bool:
    scheduled = condition(pod, "PodScheduled")
    is_refused = scheduled is not None and scheduled.get("reason") == "Unschedulable"
    return bool(pod["spec"].get("nodeName")) or (is_refused and not pod["status"].get("nominatedNodeName"))


@contextmanager
def paused(plane: ControlPlane) -> Iterator[None]:
    plane.reprieve.pause()
    try:
        yield
    finally:
        plane.reprieve.resume()


def attempt(before: Samples, after: Samples) -> float:
    """Milliseconds that a scheduler needed for an attempt that bound a pod. Filter is called once in it."""
    seconds, attempts = (grown(before, after, f"{ATTEMPTS}_{part}", result="scheduled") for part in PARTS)
    return 1000 * seconds / attempts


@SELDOM
def test_bindings_and_victims_are_the_same(
    plane: ControlPlane, sandboxes: SandboxFactory, say: Callable[[str], None]
) -> None:
    ends = dict[str, End]()

    def end(state: str, scheduler: str = "default-scheduler") -> None:
        sandbox = sandboxes(plane)
        process = scheduler if scheduler == PLAIN else "kube-scheduler"
        before = scheduler_metrics(plane, process)
        ends[state] = run(sandbox, scheduler)
        say(f"{state}: {attempt(before, scheduler_metrics(plane, process)):.0f} ms for an attempt")
        sandbox.remove()

    end("without it", PLAIN)
    end("with it")
    with paused(plane):
        end("stopped")
    plane.reprieve.kill()
    end("killed")
    assert ends == dict.fromkeys(ends, expected())
    assert expected().victims
