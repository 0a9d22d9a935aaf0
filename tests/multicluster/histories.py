"""Random histories of several clusters: users and faults, from a seed. What follows is judged from the watches.

Several histories go on at the same time, each in a box of its own: the faults are the same for all of them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.controlplane.client import ApiError, Json
from hack.controlplane.fleet import CHECK, CONFIG
from tests.e2e.job_sandbox import BATCH
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import POLL_SECONDS, REPRIEVE
from tests.kit.multicluster.history import MANAGER, History
from tests.kit.multicluster.rest import Stand, unrest
from tests.kit.multicluster.rules import RULES, is_true, mark_of, runs
from tests.multicluster.box import PRIORITY_CLASS, QUEUE, Box, Place
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import CLUSTERS, SETTINGS, WORKERS, Trio

__all__ = ["AT_ONCE", "Histories", "Result", "judged"]

AT_ONCE: Final = 5
"""Histories that go on at the same time."""
LINES: Final = 400
"""The end of a story."""

ACTIVE_SECONDS: Final = 20.0
REST_SECONDS: Final = 90.0
"""How long it may take until everything is at rest after the last fault: several turns, and a lost cluster."""
PRIORITIES: Final = (0, 0, 1, 5, 10)
REFUSED: Final = (404, 409, 422)
"""What a user wants to change may have gone, or changed, or may not be changed now."""
LOST: Final = float(SETTINGS["workerLostTimeoutSeconds"])

Action = Callable[[], None]


@dataclass(frozen=True)
class Result:
    """The result of histories that went on at the same time."""

    seed: int
    count: int
    wrong: list[str]
    """What no history may have. Empty if all is well."""
    history: History

    def told(self, folder: Path) -> str:
        """All that helps to find the cause. The history is written to a file, too."""
        file = folder / f"history-{self.seed}.jsonl"
        self.history.write(file)
        again = f"REPRIEVE_SEED={self.seed} REPRIEVE_HISTORIES={self.count} pytest tests/multicluster/test_histories.py"
        story = self.history.story().splitlines()[-LINES:]
        faults = [
            f"{each.begin:.3f} to {each.end:.3f}: {each.what} {each.cluster}" for each in self.history.faults
        ]
        # Whoever sees only the end of a log has the faults and their times.
        return "\n".join([f"seed {self.seed}", str(file), f"again: {again}", *story, *faults, *self.wrong])


def judged(trio: Trio, seed: int, count: int) -> Result:
    """Run histories, and judge them. Their boxes are gone afterwards."""
    trio.rest()
    boxes = [Box(trio, f"h{seed + number}") for number in range(count)]
    recorder = Recorder(trio, lost_after=LOST)
    try:
        histories = Histories(trio, boxes, recorder, seed)
        histories.run()
        restless = histories.rest() or histories.finish()
        history = recorder.history()
    finally:
        recorder.close()
        trio.rest()
        for box in boxes:
            box.remove()
    wrong = [text for rule in RULES for text in rule(history)] + [f"at rest: {text}" for text in restless]
    return Result(seed, count, wrong, history)


class Histories:
    """Boxes on a trio, a dice, and what is under way."""

    def __init__(self, trio: Trio, boxes: list[Box], recorder: Recorder, seed: int) -> None:
        self._trio, self._boxes, self._recorder = trio, boxes, recorder
        self._dice = random.Random(seed)  # a test repeats it
        self._ends: list[tuple[float, ExitStack]] = []
        """When a fault ends, and what ends it."""
        self._taken: set[str] = set()
        """The clusters to which something happens already."""
        self._count = 0

    def run(self) -> None:
        """Users and faults, until the time is over and everything is back."""
        deadline = time.monotonic() + ACTIVE_SECONDS
        while time.monotonic() < deadline:
            self._end_faults(time.monotonic())
            if self._dice.random() < 0.8:
                with _tolerant():
                    self._user(self._dice.choice(self._boxes))
            else:
                self._fault()
            time.sleep(self._dice.uniform(0.02, 0.25))
        while self._ends:
            self._end_faults(time.monotonic())
            time.sleep(POLL_SECONDS)

    def rest(self) -> list[str]:
        """Wait until everything is at rest. Returns what is wrong all the time."""
        self._recorder.note("everything is back: rest")
        deadline = time.monotonic() + REST_SECONDS
        while wrong := unrest(self._stand()):
            if time.monotonic() > deadline:
                return wrong
            time.sleep(0.5)
        return []

    def finish(self) -> list[str]:
        """End the pods of all that runs for the manager now. Returns what has not finished in the end.

        Nothing disturbs the clusters any longer: what has ended in a cluster must not run again.
        """
        self._recorder.note("the pods of all that runs end")
        begun = {mark_of(job)[1] for box in self._boxes for _, job in _running(box)}
        deadline = time.monotonic() + REST_SECONDS
        while open_ := [name for box in self._boxes for name in _unfinished(box, begun)]:
            if time.monotonic() > deadline:
                return [f"{name} has ended in a cluster, and does not finish" for name in open_]
            for box in self._boxes:
                for place, job in _running(box):
                    if mark_of(job)[1] in begun:
                        place.end_pods(job["metadata"]["name"])
            time.sleep(0.5)
        return []

    def _stand(self) -> Stand:
        kinds = {"Workload": KUEUE, "Job": BATCH, "DispatchPlan": REPRIEVE}
        namespaces = {box.name for box in self._boxes}
        objects: dict[str, Mapping[str, list[Json]]] = {
            cluster: {
                kind: [
                    each
                    for each in self._trio.client(cluster).list(version, kind)
                    if each["metadata"]["namespace"] in namespaces
                ]
                for kind, version in kinds.items()
                if cluster == MANAGER or kind != "DispatchPlan"
            }
            for cluster in CLUSTERS
        }
        return Stand(objects, CHECK, WORKERS)

    # ---- users

    def _user(self, box: Box) -> None:
        """Something that a user, an administrator or a pod does."""
        actions: list[tuple[int, Callable[[Box], None]]] = [
            (6, self._submit),
            (3, self._fill),
            (5, self._end_pods),
            (1, self._delete_job),
            (1, self._orphan_workload),
            (2, self._reprioritize),
            (1, self._deactivate),
            (1, self._edit_copy),
            (1, self._delete_copy),
            (1, self._delete_job_copy),
            (1, self._deactivate_copy),
            (1, self._close_gate),
            (2, self._change_quota),
        ]
        weights = [weight for weight, _ in actions]
        [(_, action)] = self._dice.choices(actions, weights)
        action(box)

    def _submit(self, box: Box) -> None:
        self._count += 1
        pods, priority = self._dice.randint(1, 3), self._dice.choice(PRIORITIES)
        if len(box.manager.client.list(BATCH, "Job", box.name)) < 8:
            self._note(box, f"submits job-{self._count}: {pods} pods, priority {priority}")
            box.job(f"job-{self._count}", pods, priority=priority)

    def _fill(self, box: Box) -> None:
        """A worker's own user."""
        self._count += 1
        name, pods = self._dice.choice(WORKERS), self._dice.randint(1, 3)
        place = box.places[name]
        if len(place.client.list(BATCH, "Job", box.name)) < 6:
            self._note(box, f"submits own-{self._count} in {name}: {pods} pods")
            place.job(f"own-{self._count}", QUEUE, pods)

    def _end_pods(self, box: Box) -> None:
        place = box.places[self._dice.choice(WORKERS)]
        running = [each for each in place.client.list(BATCH, "Job", box.name) if each["status"].get("active")]
        if running:
            name = self._dice.choice(running)["metadata"]["name"]
            self._note(box, f"the pods of {name} in {place.node} end")
            place.end_pods(name, self._dice.choice((None, 1)))

    def _delete_job(self, box: Box) -> None:
        if name := self._any(box.manager, BATCH, "Job"):
            self._note(box, f"deletes {name}")
            box.manager.client.delete(BATCH, "Job", name, box.name)

    def _orphan_workload(self, box: Box) -> None:
        """Delete a Job with `--cascade=orphan`: its Workload stays (15488)."""
        if name := self._any(box.manager, BATCH, "Job"):
            self._note(box, f"deletes {name}, and orphans its Workload")
            box.delete_orphaning(name)

    def _reprioritize(self, box: Box) -> None:
        if name := self._any(box.manager, BATCH, "Job"):
            priority = self._dice.choice(PRIORITIES)
            self._note(box, f"the priority of {name} becomes {priority}")
            labels = {PRIORITY_CLASS: box.priority(priority)}
            box.manager.patch_job(name, {"metadata": {"labels": labels}})

    def _deactivate(self, box: Box) -> None:
        """Evicted here, and active again some time later."""
        if name := self._any(box.manager, KUEUE, "Workload"):
            active = bool(box.manager.get(name)["spec"].get("active", True))
            self._note(box, f"{name} becomes {'inactive' if active else 'active'}")
            box.manager.patch_spec("Workload", name, {"active": not active}, namespaced=True)

    def _edit_copy(self, box: Box) -> None:
        name, place = self._any_copy(box)
        if name:
            self._note(box, f"edits the copy of {name} in {place.node}")
            place.patch_spec("Workload", name, {"maximumExecutionTimeSeconds": 5000}, namespaced=True)

    def _delete_copy(self, box: Box) -> None:
        name, place = self._any_copy(box)
        if name:
            self._note(box, f"deletes the copy of {name} in {place.node}")
            place.client.delete(KUEUE, "Workload", name, box.name)

    def _delete_job_copy(self, box: Box) -> None:
        place = box.places[self._dice.choice(WORKERS)]
        found = [each for each in place.client.list(BATCH, "Job", box.name, labels=ORIGIN) if not _ends(each)]
        if found:
            name = self._dice.choice(found)["metadata"]["name"]
            self._note(box, f"deletes the Job copy {name} in {place.node}")
            place.client.delete(BATCH, "Job", name, box.name)

    def _deactivate_copy(self, box: Box) -> None:
        name, place = self._any_copy(box)
        if name:
            self._note(box, f"deactivates the copy of {name} in {place.node}")
            place.patch_spec("Workload", name, {"active": False}, namespaced=True)

    def _close_gate(self, box: Box) -> None:
        """What Kueue's scheduler does when it applies an older state."""
        name, place = self._any_copy(box)
        if name and box.gate(name, place.node) == "Open":
            self._note(box, f"closes the gate of {name} in {place.node}")
            gates = [{**each, "position": "Closed"} for each in place.get(name)["status"]["preemptionGates"]]
            place.patch_status("Workload", name, {"preemptionGates": gates}, namespaced=True)

    def _change_quota(self, box: Box) -> None:
        place = box.places[self._dice.choice(WORKERS)]
        cpus = self._dice.randint(1, 6)
        self._note(box, f"the quota in {place.node} becomes {cpus}")
        place.set_quota(QUEUE, cpus)

    def _any(self, place: Place, version: str, kind: str) -> str:
        found = sorted(each["metadata"]["name"] for each in place.client.list(version, kind, place.name))
        return self._dice.choice(found) if found else ""

    def _any_copy(self, box: Box) -> tuple[str, Place]:
        place = box.places[self._dice.choice(WORKERS)]
        found = sorted(each["metadata"]["name"] for each in place.copies())
        return (self._dice.choice(found) if found else ""), place

    def _note(self, box: Box, text: str) -> None:
        self._recorder.note(f"{box.name}: {text}")

    # ---- faults

    def _fault(self) -> None:
        """Take something away for some time. At most one thing in each cluster, and the manager's config."""
        actions: list[tuple[str, Callable[[str], Iterator[float]]]] = [
            *((name, action) for name in WORKERS for action in (self._cut, self._slow, self._reset)),
            *((name, action) for name in WORKERS for action in (self._worker_paused, self._worker_killed)),
            *((MANAGER, action) for action in (self._killed, self._two_leaders, self._network_held)),
            ("config", self._other_config),
        ]
        name, action = self._dice.choice(actions)
        if name in self._taken:
            return
        stack = ExitStack()
        seconds = stack.enter_context(contextmanager(action)(name))
        self._taken.add(name)
        stack.callback(self._taken.discard, name)
        self._ends.append((time.monotonic() + seconds, stack))

    def _end_faults(self, now: float) -> None:
        for each in [each for each in self._ends if each[0] <= now]:
            self._ends.remove(each)
            each[1].close()

    def _cut(self, name: str) -> Iterator[float]:
        """Not reachable. What was sent is lost, or arrives late."""
        mode = self._dice.choice(("BlackHole", "Hold"))
        seconds = self._dice.choice(
            (self._dice.uniform(0.5, LOST / 2), self._dice.uniform(LOST + 1, LOST + 5))
        )
        proxy = self._trio.proxy(name)
        with self._recorder.fault("cut", name):
            proxy.disturb("BlackHole" if mode == "BlackHole" else "Hold")
            yield seconds
            proxy.disturb("Pass")
            if mode == "BlackHole":
                proxy.cut()

    def _slow(self, name: str) -> Iterator[float]:
        delay = self._dice.uniform(0.1, 0.6)
        self._recorder.note(f"slow {name}: {delay:.2f} s")
        self._trio.proxy(name).disturb("Pass", delay=delay)
        yield self._dice.uniform(1, 4)
        self._trio.proxy(name).disturb("Pass")

    def _reset(self, name: str) -> Iterator[float]:
        self._recorder.note(f"reset {name}")
        self._trio.proxy(name).cut()
        yield 0.5

    def _worker_paused(self, name: str) -> Iterator[float]:
        with self._recorder.fault("down", name), self._trio.paused(name):
            yield self._dice.uniform(0.5, 4)

    def _worker_killed(self, name: str) -> Iterator[float]:
        with self._recorder.fault("down", name):
            self._trio.kill(name)
            yield self._dice.uniform(0.1, 2)
            self._trio.start(name)

    def _killed(self, name: str) -> Iterator[float]:
        with self._recorder.fault("down", name):
            self._trio.kill(name)
            yield self._dice.uniform(0.1, 2)
            self._trio.start(name)

    def _two_leaders(self, name: str) -> Iterator[float]:
        """The leader is paused, another one takes over, and the former one wakes."""
        self._trio.start(f"{name}-2")
        with self._recorder.fault("down", name), self._trio.paused(name):
            yield self._dice.uniform(4, 7)
        self._trio.stop(f"{name}-2")

    def _network_held(self, name: str) -> Iterator[float]:
        """The manager does not reach its own API server. What it has written arrives late."""
        network = self._trio.fleet.manager.networks["reprieve"]
        with self._recorder.fault("down", name):
            network.disturb("Hold")
            yield self._dice.uniform(0.5, 5)
            network.disturb("Pass")

    def _other_config(self, name: str) -> Iterator[float]:
        """One of the workers is taken out of the MultiKueueConfig, and comes back."""
        kept = self._dice.choice(WORKERS)
        self._recorder.note(f"{name}: only {kept}")
        self._trio.fleet.add_config(CONFIG, [kept])
        yield self._dice.uniform(0.5, 4)
        self._trio.fleet.add_config(CONFIG, WORKERS)
        self._recorder.note(f"{name}: all")


ORIGIN: Final = "kueue.x-k8s.io/multikueue-origin"


def _running(box: Box) -> list[tuple[Place, Json]]:
    """The manager's Jobs that have not ended, and run in a cluster."""
    places = [box.places[name] for name in WORKERS]
    jobs = [
        (place, each) for place in places for each in place.client.list(BATCH, "Job", box.name, labels=ORIGIN)
    ]
    return [(place, job) for place, job in jobs if runs(job)]


def _unfinished(box: Box, uids: set[str]) -> list[str]:
    """Those of the manager's Workloads that are there and have not finished."""
    found = [
        each["metadata"]
        for each in box.manager.client.list(KUEUE, "Workload", box.name)
        if not is_true(each, "Finished")
    ]
    return [f"{box.name}/{meta['name']}" for meta in found if meta["uid"] in uids]


def _ends(job: Json) -> bool:
    return any(each["type"] in ("Complete", "Failed") for each in job["status"].get("conditions") or ())


@contextmanager
def _tolerant() -> Iterator[None]:
    with suppress(KeyError):
        try:
            yield
        except ApiError as error:
            if error.status not in REFUSED:
                raise
