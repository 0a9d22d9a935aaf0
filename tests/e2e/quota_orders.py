"""Queues, cohorts, flavors, a check and Workloads that are made and deleted in a random order. The end is always the
same."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from api.kueue import RESOURCE_IN_USE
from hack.controlplane.client import ApiError, Json
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox
from tests.e2e.support import condition, wait_for
from tests.kit.clock import PATIENCE_SECONDS

__all__ = ["run_order"]

STEPS: Final = 60
LONGEST_SECONDS: Final = 0.06
"""Between two steps."""
DELETES: Final = 0.35
"""The chance that something that is there is deleted when its turn comes."""
NAMESPACED: Final = ("LocalQueue", "Workload")
GUARDED: Final = ("ClusterQueue", "ResourceFlavor", "AdmissionCheck")
"""They have the finalizer while they are not deleted."""


class Item(NamedTuple):
    """An object of the world, by its short name."""

    kind: str
    name: str


class Queue(NamedTuple):
    """What the status of a ClusterQueue says in the end."""

    pending: int
    reserving: int
    admitted: int
    totals: Mapping[str, str]
    """By flavor: the CPUs that are reserved and used."""
    borrowed: Mapping[str, str]
    """By flavor, zeros left out."""


QUEUES: Final = {
    "plain": Queue(1, 2, 2, {"red": "2"}, {}),
    "busy": Queue(2, 1, 1, {"red": "2"}, {}),
    "guest": Queue(0, 1, 1, {"blue": "3"}, {"blue": "2"}),
    "checked": Queue(0, 2, 2, {"red": "2", "blue": "2"}, {}),
}
ADMITTED: Final = {"plain-1", "plain-2", "urgent", "guest-1", "checked-1", "checked-2"}
WAITING: Final = {"huge": "ExceedsMaxQuota", "low-1": "WaitingForQuota", "low-2": "WaitingForQuota"}


class World:
    """All objects that there are to be in the end, and how each is made. Names of cluster-scoped objects have the
    sandbox's in front."""

    def __init__(self, box: QuotaSandbox) -> None:
        self.box = box
        within: Json = {"withinClusterQueue": "LowerPriority"}
        checks: Json = {"admissionChecks": [{"name": box.of("check")}]}
        self.specs: dict[Item, Json] = {
            Item("ResourceFlavor", "red"): {},
            Item("ResourceFlavor", "blue"): {},
            Item("AdmissionCheck", "check"): {"controllerName": "example.com/tests"},
            Item("Cohort", "org"): {"resourceGroups": self._groups(blue=2)},
            Item("Cohort", "team"): {"parentName": box.of("org")},
            Item("ClusterQueue", "plain"): self._queue(red=2),
            Item("ClusterQueue", "busy"): self._queue(red=2) | {"preemption": within},
            Item("ClusterQueue", "guest"): self._queue(blue=1) | {"cohortName": box.of("team")},
            Item("ClusterQueue", "checked"): self._queue(red=2, blue=2) | {"admissionChecksStrategy": checks},
            **{Item("LocalQueue", name): {"clusterQueue": box.of(name)} for name in QUEUES},
            **{
                Item("Workload", name): _workload(queue, cpus, priority)
                for name, queue, cpus, priority in (
                    ("plain-1", "plain", 1, 0),
                    ("plain-2", "plain", 1, 0),
                    ("huge", "plain", 3, 0),
                    ("low-1", "busy", 1, 0),
                    ("low-2", "busy", 1, 0),
                    ("urgent", "busy", 2, 10),
                    ("guest-1", "guest", 3, 0),
                    ("checked-1", "checked", 2, 0),
                    ("checked-2", "checked", 2, 0),
                )
            },
        }

    def _groups(self, **cpus: int) -> list[Json]:
        flavors = [
            {"name": self.box.of(name), "resources": [{"name": "cpu", "nominalQuota": each}]}
            for name, each in cpus.items()
        ]
        return [{"coveredResources": ["cpu"], "flavors": flavors}]

    def _queue(self, **cpus: int) -> Json:
        return {"resourceGroups": self._groups(**cpus), "namespaceSelector": {}}

    # ---- objects

    def find(self, item: Item) -> Json | None:
        return self.box.client.find(KUEUE, item.kind, self._full(item), self._namespace(item))

    def create(self, item: Item) -> None:
        """Whoever made it before. A Workload has the finalizer that its maker gives it."""
        meta: Json = {"name": self._full(item)}
        if item.kind in NAMESPACED:
            meta["namespace"] = self.box.name
        if item.kind == "Workload":
            meta["finalizers"] = [RESOURCE_IN_USE]
        body = {"apiVersion": KUEUE, "kind": item.kind, "metadata": meta, "spec": self.specs[item]}
        self.box.client.create(body)

    def delete(self, item: Item) -> None:
        self.box.client.delete(KUEUE, item.kind, self._full(item), self._namespace(item))

    def users(self, item: Item) -> Iterator[Item]:
        """What keeps this object from going once it is deleted."""
        for other, spec in self.specs.items():
            queue = item.kind == "ClusterQueue" and other.kind == "Workload"
            if (queue and spec["queueName"] == item.name) or (
                item.kind in ("ResourceFlavor", "AdmissionCheck")
                and other.kind == "ClusterQueue"
                and self.box.of(item.name) in _names_in(spec)
            ):
                yield other

    def _full(self, item: Item) -> str:
        return item.name if item.kind in NAMESPACED else self.box.of(item.name)

    def _namespace(self, item: Item) -> str | None:
        return self.box.name if item.kind in NAMESPACED else None


class Order:
    """One order, which the random numbers decide."""

    def __init__(self, box: QuotaSandbox, rng: random.Random) -> None:
        self.world, self.box, self.rng = World(box), box, rng

    def shake(self) -> None:
        """Make what is not there, and delete some of what is. What is being deleted is left alone."""
        for _ in range(STEPS):
            item = self.rng.choice(list(self.world.specs))
            deletes, pause = self.rng.random() < DELETES, self.rng.uniform(0, LONGEST_SECONDS)
            found = self.world.find(item)
            if found is None:
                self.world.create(item)
            elif deletes:
                self.world.delete(item)
            self.react()
            time.sleep(pause)

    def complete(self) -> None:
        """Make all that is missing. What is being deleted is made anew, after whoever uses it has gone."""
        self._until(self._is_complete, "is not complete")

    def _is_complete(self) -> bool:
        found = {item: self.world.find(item) for item in self.world.specs}
        missing = [item for item, body in found.items() if body is None]
        ending = [item for item, body in found.items() if body and _is_deleted(body)]
        for item in ending:
            self._remove(item)
        self.rng.shuffle(missing)
        for item in missing if not ending else ():
            self.world.create(item)
        return not missing and not ending

    def _remove(self, item: Item) -> None:
        """Delete it, and whoever uses it."""
        found = self.world.find(item)
        if found is None:
            return
        if not _is_deleted(found):
            self.world.delete(item)
        for user in self.world.users(item):
            self._remove(user)

    def remove_all(self) -> None:
        """Delete everything. Nothing stays."""
        items = list(self.world.specs)
        self.rng.shuffle(items)
        for item in items:
            self.world.delete(item)
            self.react()
        self._until(lambda: not self.left(), "stays")

    def left(self) -> list[str]:
        """What is there, with its finalizers."""
        found = [self.world.find(item) for item in self.world.specs]
        return [f"{each['kind']} {each['metadata']}" for each in found if each is not None]

    def react(self) -> None:
        """Makers end what is evicted. The controller of the check is active, and says Ready."""
        check = self.world.find(Item("AdmissionCheck", "check"))
        if check is not None and condition(check, "Active") is None:
            active = _condition("Active", "True")
            self._try(
                lambda: self.box.patch_status(
                    "AdmissionCheck", self.box.of("check"), {"conditions": [active]}
                )
            )
        for each in self.box.client.list(KUEUE, "Workload", self.box.name):
            if _is(each, "QuotaReserved") and _is(each, "Evicted"):
                others = [old for old in each["status"]["conditions"] if old["type"] != "QuotaReserved"]
                ended = [*others, _condition("QuotaReserved", "False")]
                self._write(each, {"conditions": ended, "admission": None})
            elif _is(each, "QuotaReserved"):
                checks = each["status"].get("admissionChecks", [])
                ready = [old | {"state": "Ready"} for old in checks]
                if ready != checks:
                    self._write(each, {"admissionChecks": ready})

    def until(self, look: Callable[[], object], expected: object) -> None:
        """What is seen is as expected."""
        self._until(lambda: look() == expected, lambda: f"is {look()}, expected {expected}")

    def _until(self, holds: Callable[[], bool], what: str | Callable[[], str]) -> None:
        def look() -> bool:
            self.react()
            return holds()

        said = what if callable(what) else lambda: f"{what}: {self.left()}"
        wait_for(look, PATIENCE_SECONDS, lambda: f"{self.box.name} {said()}")

    def _write(self, workload: Json, status: Json) -> None:
        meta = workload["metadata"]
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
        self._try(
            lambda: self.box.client.patch(KUEUE, "Workload", meta["name"], body, self.box.name, "status")
        )

    def _try(self, action: Callable[[], object]) -> None:
        """Somebody else may have been faster. Whoever reacts looks again."""
        try:
            action()
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    # ---- what is seen

    def workloads(self) -> tuple[set[str], dict[str, str]]:
        """Those that are admitted, and why the others wait."""
        admitted, waiting = set(), {}
        for each in self.box.client.list(KUEUE, "Workload", self.box.name):
            name = each["metadata"]["name"]
            if _is(each, "Admitted"):
                admitted.add(name)
            else:
                waiting[name] = (condition(each, "QuotaReserved") or {}).get("reason", "")
        return admitted, waiting

    def queues(self) -> dict[str, Any]:
        """What the statuses say."""
        found: dict[str, Any] = {}
        for item in self.world.specs:
            body = self.world.find(item)
            if item.kind not in ("ClusterQueue", "LocalQueue") or body is None:
                continue
            status = body.get("status", {})
            counts = tuple(status.get(f"{each}Workloads", 0) for each in ("pending", "reserving", "admitted"))
            active = (condition(body, "Active") or {}).get("reason")
            found[f"{item.kind} {item.name}"] = active, counts, *map(self._flavors, _usages(status))
        return found

    def _flavors(self, usages: list[Json]) -> tuple[dict[str, str], dict[str, str]]:
        """By flavor: the total, and what of it is borrowed."""
        by_name = {each["name"].removeprefix(self.box.of("")): each["resources"][0] for each in usages}
        totals = {name: each.get("total", "0") for name, each in by_name.items()}
        borrowed = {name: each.get("borrowed", "0") for name, each in by_name.items()}
        return _without_zeros(totals), _without_zeros(borrowed)

    def unguarded(self) -> list[str]:
        """Those that have no finalizer although they are used."""
        found = [self.world.find(item) for item in self.world.specs if item.kind in GUARDED]
        return [
            each["metadata"]["name"]
            for each in found
            if each is not None and RESOURCE_IN_USE not in each["metadata"].get("finalizers", [])
        ]


def run_order(box: QuotaSandbox, seed: int) -> None:
    """Go through an order, and see that its end is right. Then delete everything."""
    order = Order(box, random.Random(seed))
    order.shake()
    order.complete()
    order.until(order.workloads, (ADMITTED, WAITING))
    order.until(order.queues, _statuses())
    order.until(order.unguarded, [])
    order.remove_all()


def _statuses() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, queue in QUEUES.items():
        counts = queue.pending, queue.reserving, queue.admitted
        both = queue.totals, queue.borrowed
        found[f"ClusterQueue {name}"] = ("Ready", counts, both, both)
        # A LocalQueue does not say what is borrowed.
        found[f"LocalQueue {name}"] = ("Ready", counts, (queue.totals, {}), (queue.totals, {}))
    return found


def _usages(status: Json) -> tuple[list[Json], list[Json]]:
    return status.get("flavorsReservation", []), status.get("flavorsUsage", [])


def _without_zeros(amounts: dict[str, str]) -> dict[str, str]:
    return {name: each for name, each in amounts.items() if each != "0"}


def _names_in(spec: Json) -> set[str]:
    """The ResourceFlavors and AdmissionChecks that a ClusterQueue names."""
    checks = spec.get("admissionChecksStrategy", {}).get("admissionChecks", [])
    flavors = [each for group in spec["resourceGroups"] for each in group["flavors"]]
    return {each["name"] for each in (*checks, *flavors)}


def _workload(queue: str, cpus: int, priority: int) -> Json:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpus}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return {"queueName": queue, "priority": priority, "podSets": [pods]}


def _condition(kind: str, status: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": "Tests",
        "message": "",
        "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _is_deleted(body: Json) -> bool:
    return bool(body["metadata"].get("deletionTimestamp"))


def _is(workload: Json, kind: str) -> bool:
    return (condition(workload, kind) or {}).get("status") == "True"
