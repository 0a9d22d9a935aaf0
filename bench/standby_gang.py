"""The leader ends in the middle of a gang preemption: when the next one resumes it, and what becomes of the victims."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

from bench.place import Place
from bench.standby_faults import Fault, Leaders, Replicas, lease_settings
from bench.watching import Watching
from hack.controlplane.client import Json
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["VICTIMS", "Takeover", "deletions", "measure"]

VICTIMS: Final = 20
SOME: Final = 5
"""How many are evicted before the fault."""
LOW, HIGH = 10, 100
GANG: Final = "gang"
SLOWLY: Final = {"REPRIEVE_FAILPOINTS": "evict.between=2s"}
"""The leader that goes evicts slowly. Seventeen go soon. The last three wait for the first ones."""
QUIET_SECONDS: Final = 5.0
"""Whoever comes back could still delete something in this time."""
LIMIT_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Takeover:
    """What happened after one fault."""

    before: int
    """Victims that the former leader evicted."""
    leads: float
    """Seconds from the fault until another replica has the Lease."""
    evicts: float
    """Seconds from the fault until that one evicts."""
    once: int
    """Victims that went once, and that no two requests deleted."""
    early: int
    """Members that were bound before another replica led: the scheduler binds a pod if filter fails."""
    bound: int
    """Members that are bound."""

    @property
    def is_right(self) -> bool:
        """Whether every victim was deleted once, and the gang is bound."""
        return self.once == self.bound == VICTIMS


def measure(fault: Fault, lease_seconds: float) -> Takeover:
    """One gang preemption on a control plane of its own. Raises TimeoutError."""
    options = Options(
        reprieve=True,
        replicas=2,
        reprieve_settings=lease_settings(lease_seconds),
        reprieve_environment=SLOWLY,
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        plane = stack.enter_context(ControlPlane(folder, options))
        replicas = stack.enter_context(Replicas(plane))
        replicas.start_again(replicas.other(replicas.leader()), environment={})
        return _take_over(replicas, fault)


def _take_over(replicas: Replicas, fault: Fault) -> Takeover:
    place = Place(replicas.plane.client, "takeover")
    _fill(place)
    former = replicas.leader()
    members = [f"{GANG}-{number}" for number in range(VICTIMS)]
    with _Pods(place, members) as pods, Leaders(place.client) as leaders:
        place.client.create(place.pod_group(GANG, priority=HIGH, min_count=VICTIMS))
        place.client.create_all(place.pod(name, priority=HIGH, group=GANG) for name in members)
        pods.wait_evicted(SOME)
        began = time.monotonic()
        fault.begin(replicas, former)
        led = leaders.wait_since(began)
        evicted = pods.wait_evicted_by(leaders.holder)
        pods.wait_bound()
        fault.end(replicas, former)
        time.sleep(QUIET_SECONDS)
        asked = list(deletions(replicas.plane.audit_log.read_text()))
        return Takeover(
            before=VICTIMS - len(pods.evicted_by(leaders.holder)),
            leads=led - began,
            evicts=evicted - began,
            once=sum(pods.gone[name] == 1 and _is_deleted_once(name, asked) for name in pods.evicted),
            early=sum(at < led for at in pods.bound.values()),
            bound=len(pods.bound),
        )


def _fill(place: Place) -> None:
    """As many nodes as members, each full of one victim."""
    nodes = place.node_names(VICTIMS)
    place.add_nodes(nodes, cpu="1")
    place.client.create_all(
        place.pod(f"low-{number}", priority=LOW, node_name=node) for number, node in enumerate(nodes)
    )
    place.wait_running()


def _is_deleted_once(name: str, asked: list[tuple[str, int]]) -> bool:
    """Whether reprieve has deleted the pod, and no two of its requests did."""
    codes = [code for each, code in asked if each == name]
    return bool(codes) and sum(code < HTTPStatus.MULTIPLE_CHOICES for code in codes) <= 1


def deletions(audit_log: str) -> Iterator[tuple[str, int]]:
    """The deletions of pods that reprieve asked for: the name, and the code of the answer. Dry runs do not count.

    A request whose sender ends has the code 504, and the pod may be gone or not.
    """
    for event in _events(audit_log):
        is_deletion = event["verb"] == "delete" and event["objectRef"]["resource"] == "pods"
        is_dry = (event.get("requestObject") or {}).get("dryRun")
        if is_deletion and event["user"]["username"] == REPRIEVE_USER and not is_dry:
            yield event["objectRef"]["name"], event["responseStatus"]["code"]


def _events(audit_log: str) -> Iterator[Json]:
    """Those whose line is complete."""
    for line in audit_log.splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


class _Eviction(NamedTuple):
    """The deletion of a pod."""

    at: float
    """When it was seen first, in monotonic seconds."""
    mark: str
    """The message of the condition DisruptionTarget. It ends with the term and the holder of the Lease."""


def _mark(pod: Json) -> str:
    conditions = pod.get("status", {}).get("conditions") or []
    return next((str(each["message"]) for each in conditions if each["type"] == "DisruptionTarget"), "")


class _Pods(Watching):
    """When members were bound, and when other pods were evicted."""

    def __init__(self, place: Place, members: Collection[str]) -> None:
        self._members = set(members)
        self.bound: dict[str, float] = {}
        """When each member was seen bound first, in monotonic seconds, by name."""
        self.evicted: dict[str, _Eviction] = {}
        """Of other pods, by name."""
        self.gone: Counter[str] = Counter()
        """How often a pod of this name has gone."""
        super().__init__(place.client, "v1", "Pod", place.namespace)

    def note(self, event: str, item: Json, now: float) -> None:
        """See `Watching`."""
        name = item["metadata"]["name"]
        if name in self._members:
            if item["spec"].get("nodeName"):
                self.bound.setdefault(name, now)
        elif item["metadata"].get("deletionTimestamp") or event == "DELETED":
            self.evicted.setdefault(name, _Eviction(now, _mark(item)))
            self.gone[name] += event == "DELETED"

    def wait_evicted(self, count: int) -> None:
        """Until `count` are evicted. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.evicted) >= count, LIMIT_SECONDS):
                raise TimeoutError("nobody is evicted")

    def evicted_by(self, holder: str) -> list[float]:
        """When this holder of the Lease evicted pods. A delete needs the mark of whoever sends it."""
        return [each.at for each in self.evicted.values() if each.mark.endswith(f" of {holder}]")]

    def wait_evicted_by(self, holder: str) -> float:
        """When this holder of the Lease evicted its first pod. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.evicted_by(holder), LIMIT_SECONDS):
                raise TimeoutError(f"the next leader evicts nobody; {len(self.evicted)} were evicted before")
            return min(self.evicted_by(holder))

    def wait_bound(self) -> None:
        """Until all members are bound. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: self._members <= self.bound.keys(), LIMIT_SECONDS):
                raise TimeoutError(f"not bound: {sorted(self._members - self.bound.keys())[:5]}")
