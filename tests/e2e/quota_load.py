"""Random load on queues: users, makers of Workloads, controllers of a check and a gate, and faults of processes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from api.times import rfc3339
from hack.controlplane.client import ApiError, Json
from hack.controlplane.plane import ControlPlane
from hack.controlplane.proxy import Mode
from tests.e2e.following import until_quiet
from tests.e2e.quota_sandbox import KUEUE, QUOTA, QuotaSandbox
from tests.e2e.support import REPRIEVE, wait_for

__all__ = ["OPTIONS", "SHARING", "Faults", "Load"]

OPTIONS: Final[Mapping[str, Any]] = {
    **QUOTA,
    "replicas": 2,
    "reprieve_settings": {"quota": {"mode": "Enforce", "overdueSeconds": 5, "planDeadlineSeconds": 15}},
}
"""Two processes of reprieve. Lives are short, so that a run has many."""
SHARING: Final[Mapping[str, Any]] = {
    **OPTIONS,
    "reprieve_settings": {"quota": {**OPTIONS["reprieve_settings"]["quota"], "fairSharing": {}}},
}
"""The same with fair sharing."""
QUIET_SECONDS: Final = 2.0
MOST: Final = 40
"""The number of Workloads that stay. Beyond it, one is removed before a new one comes."""
PRIORITIES: Final = (0, 0, 10, 10, 20, 50)
EVICTED, HOLDING = "Evicted", "QuotaReserved"
PASSED: Final = frozenset({404, 409, 422})
"""Somebody else was faster."""
CPUS: Final = {"best": 6, "strict": 4, "guest": 1, "checked": 4}
"""By ClusterQueue."""
LIMITS: Final = {"guest": 5}
"""By ClusterQueue: how much it may borrow."""
GATE: Final = "example.com/stress"
MODES: Final[tuple[Mode, ...]] = ("Reset", "BlackHole", "HalfOpen")
DELAYS: Final = (0.05, 0.5, 2.0)
ENDING_SECONDS: Final = 1.0
"""An API server that ends still answers some requests. It would take a minute."""


class Load:
    """Users, makers of Workloads, and controllers of a check and a gate. The random numbers decide what they do."""

    def __init__(self, plane: ControlPlane, rng: random.Random) -> None:
        self.rng, self.steps = rng, 0
        self._made = 0
        self._box = QuotaSandbox(plane, "stress")
        self._check = self._box.check("check")
        self._make_queues()
        self._actions: dict[Callable[[], object], int] = {
            self._create: 30,
            self._delete: 5,
            self._activate: 4,
            self._change_priority: 8,
            self._finish: 12,
            self._reclaim: 8,
            self._hold: 1,
            self._change_quota: 1,
        }

    def _make_queues(self) -> None:
        box = self._box
        within: Json = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        equal: Json = {
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 20},
            "reclaimWithinCohort": "LowerPriority",
        }
        checks: Json = {"admissionChecks": [{"name": self._check}]}
        strict: Json = {"queueingStrategy": "StrictFIFO"}
        box.queue("best", CPUS["best"], cohort="team", preemption=within)
        box.queue("strict", CPUS["strict"], cohort="team", preemption=within, **strict)
        box.queue("guest", CPUS["guest"], cohort="team", borrowing=LIMITS["guest"], preemption=equal)
        box.queue(
            "checked", CPUS["checked"], cohort="other", preemption=within, admissionChecksStrategy=checks
        )

    # ---- users

    def step(self) -> None:
        """One action of a user, and what others do about what they see."""
        self.steps += 1
        (action,) = self.rng.choices(list(self._actions), list(self._actions.values()))
        self._try(action)
        self.react(0.1)

    def _create(self) -> None:
        rng = self.rng
        if len(self._all()) >= MOST:
            self._delete()
        self._made += 1
        name, queue = f"w{self._made}", rng.choice(list(CPUS))
        gates = (GATE,) if rng.random() < 0.15 else ()
        limit: Json = {"maximumExecutionTimeSeconds": rng.choice((1, 3))} if rng.random() < 0.1 else {}
        pods, priority = rng.choice((1, 1, 2, 3, 5)), rng.choice(PRIORITIES)
        self._box.workload(name, queue, 1, pods=pods, priority=priority, gates=gates, **limit)

    def _delete(self) -> None:
        if found := self._all():
            self._box.client.delete(KUEUE, "Workload", _name(self.rng.choice(found)), self._box.name)

    def _activate(self) -> None:
        """Deactivate a Workload, or activate it again once its quota is given back."""
        if found := [each for each in self._all() if _active(each) or not _is_true(each, HOLDING)]:
            chosen = self.rng.choice(found)
            self._box.patch_spec("Workload", _name(chosen), {"active": not _active(chosen)}, namespaced=True)

    def _change_priority(self) -> None:
        if found := self._all():
            spec = {"priority": self.rng.choice(PRIORITIES)}
            self._box.patch_spec("Workload", _name(self.rng.choice(found)), spec, namespaced=True)

    def _finish(self) -> None:
        if found := [
            each for each in self._all() if _is_true(each, "Admitted") and not _is_true(each, EVICTED)
        ]:
            self._set(self.rng.choice(found), {"Finished": ("True", "Succeeded")})

    def _reclaim(self) -> None:
        """One more pod of a Workload needs its quota no longer."""
        running = [each for each in self._all() if _is_true(each, "Admitted") and not _is_true(each, EVICTED)]
        if found := [each for each in running if _reclaimable(each) + 1 < _pods(each)]:
            chosen = self.rng.choice(found)
            self._write(chosen, {"reclaimablePods": [{"name": "main", "count": _reclaimable(chosen) + 1}]})

    def _hold(self) -> None:
        """Stop a ClusterQueue or a LocalQueue, or let it go on."""
        policy, name = self.rng.choice(("None", "None", "Hold", "HoldAndDrain")), self.rng.choice(list(CPUS))
        if self.rng.random() < 0.5:
            self._change_queue(name, {"stopPolicy": policy})
        else:
            self._box.patch_spec("LocalQueue", name, {"stopPolicy": policy}, namespaced=True)

    def _change_quota(self) -> None:
        """Lower the quota of a ClusterQueue, or raise it again."""
        name = self.rng.choice(list(CPUS))
        self._change_queue(name, self._quota(name, self.rng.choice((0, 1, CPUS[name], CPUS[name]))))

    def _quota(self, name: str, cpus: int) -> Json:
        quota: Json = {"name": "cpu", "nominalQuota": cpus}
        if name in LIMITS:
            quota["borrowingLimit"] = LIMITS[name]
        flavor = {"name": self._box.flavor, "resources": [quota]}
        return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}

    def _change_queue(self, name: str, spec: Json) -> None:
        self._box.patch_spec("ClusterQueue", self._box.of(name), spec)

    # ---- makers, the controller of the check, and whoever opens gates

    def react(self, chance: float) -> None:
        """End evicted Workloads, answer checks and open gates, each with this chance."""
        for each in self._all():
            if self.rng.random() >= chance:
                continue
            if _is_true(each, "BlockedOnPreemptionGates") and _is_closed(each):
                self._try(partial(self._open, each))
            elif not _is_true(each, HOLDING):
                continue
            elif _is_true(each, EVICTED):
                self._try(partial(self._end, each))
            elif any(check["state"] == "Pending" for check in each["status"].get("admissionChecks", [])):
                self._try(partial(self._answer, each))

    def _end(self, workload: Json) -> None:
        self._set(workload, {HOLDING: ("False", "Pending")}, admission=None)

    def _open(self, workload: Json) -> None:
        state = {"name": GATE, "position": "Open", "lastTransitionTime": rfc3339(time.time())}
        self._write(workload, {"preemptionGates": [state]})

    def _answer(self, workload: Json) -> None:
        (state,) = self.rng.choices(["Ready", "Retry", "Rejected"], [10, 4, 1])
        now = rfc3339(time.time())
        answer: Json = {"name": self._check, "state": state, "message": "", "lastTransitionTime": now}
        if state == "Retry":
            answer["requeueAfterSeconds"] = self.rng.choice((0, 1, 2))
        self._write(workload, {"admissionChecks": [answer]})

    # ---- the end

    def settle(self) -> None:
        """Nothing new happens, and all queues are open."""
        for name, cpus in CPUS.items():
            self._change_queue(name, {"stopPolicy": "None", **self._quota(name, cpus)})
            self._box.patch_spec("LocalQueue", name, {"stopPolicy": "None"}, namespaced=True)
        until_quiet(self._react_and_look, QUIET_SECONDS)

    def _react_and_look(self) -> list[Json]:
        self.react(1.0)
        client, space = self._box.client, self._box.name
        return [
            *self._all(),
            *client.list(REPRIEVE, "PreemptionPlan", space),
            *client.list("events.k8s.io/v1", "Event", space),
        ]

    def wrong(self) -> list[str]:
        """Nobody runs the Workloads."""
        return []

    def judge(self) -> list[str]:
        """It records nothing itself."""
        return []

    def remove(self) -> None:
        """Delete all, and wait until all is gone."""
        client, box = self._box.client, self._box
        for kind, space in (
            ("Workload", box.name),
            ("LocalQueue", box.name),
            *((each, None) for each in WIDE),
        ):
            for each in client.list(KUEUE, kind, space):
                client.delete(KUEUE, kind, _name(each), space)
        wait_for(lambda: not [each for kind in WIDE for each in client.list(KUEUE, kind)], what="queues stay")

    # ---- inside

    def _all(self) -> list[Json]:
        """All Workloads that have not finished, in the order of their names."""
        found = self._box.client.list(KUEUE, "Workload", self._box.name)
        return sorted((each for each in found if not _is_true(each, "Finished")), key=_name)

    def _set(self, workload: Json, values: dict[str, tuple[str, str]], **status: Any) -> None:
        now = rfc3339(time.time())
        others = [each for each in workload["status"]["conditions"] if each["type"] not in values]
        mine = [
            {"type": kind, "status": value, "reason": reason, "message": "", "lastTransitionTime": now}
            for kind, (value, reason) in values.items()
        ]
        self._write(workload, {"conditions": [*others, *mine], **status})

    def _write(self, workload: Json, status: Json) -> None:
        body = {"metadata": {"resourceVersion": workload["metadata"]["resourceVersion"]}, "status": status}
        self._box.client.patch(KUEUE, "Workload", _name(workload), body, self._box.name, "status")

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except ApiError as error:
            if error.status not in PASSED:
                raise


WIDE: Final = ("ClusterQueue", "AdmissionCheck", "ResourceFlavor")


class Faults:
    """Processes of reprieve are killed, stopped, cut off and slowed down, and the API server starts anew."""

    def __init__(
        self, plane: ControlPlane, rng: random.Random, noted: Callable[[float], object], *, restarts: bool
    ) -> None:
        """`noted` gets the time at which a fault began, once it is over. `restarts`: the API server restarts, too."""
        self._plane, self._rng, self._noted = plane, rng, noted
        self._over: dict[str, tuple[int, float, Callable[[], object]]] = {}
        """By the process that has a fault: at which step it ends, when it began, and how it ends."""
        self._step, self.count = 0, 0
        self._actions: dict[Callable[[str], Callable[[], object]], int] = {
            self._kill: 3,
            self._pause: 3,
            self._cut_off: 3,
            self._slow_down: 2,
        }
        self._restarts = restarts

    def step(self, chance: float) -> None:
        """What is over ends. A new fault begins with this chance."""
        self._step += 1
        for name, (until, _, _) in list(self._over.items()):
            if until <= self._step:
                self._end(name)
        if self._rng.random() >= chance:
            return
        self.count += 1
        if self._restarts and self._rng.random() < 0.1:
            self._restart_api_server()
            return
        name = self._rng.choice(self._plane.layout.replicas)
        if name not in self._over:
            (action,) = self._rng.choices(list(self._actions), list(self._actions.values()))
            until = self._step + self._rng.choice((1, 10, 30, 100))
            self._over[name] = until, time.time(), action(name)

    def end(self) -> None:
        """Every fault is over, and reprieve is ready."""
        for name in list(self._over):
            self._end(name)
        for name in self._plane.layout.replicas:
            self._plane.wait_reprieve(name)

    def _end(self, name: str) -> None:
        _, began, mend = self._over.pop(name)
        mend()
        self._noted(began)

    # ---- each returns what ends it

    def _kill(self, name: str) -> Callable[[], object]:
        self._plane.processes[name].kill()
        return partial(self._plane.start_reprieve, name, wait=False)

    def _pause(self, name: str) -> Callable[[], object]:
        process = self._plane.processes[name]
        process.pause()
        return process.resume

    def _cut_off(self, name: str) -> Callable[[], object]:
        network = self._plane.networks[name]
        network.disturb(self._rng.choice(MODES))
        return partial(self._mend, name)

    def _slow_down(self, name: str) -> Callable[[], object]:
        self._plane.networks[name].disturb("Pass", delay=self._rng.choice(DELAYS))
        return partial(self._mend, name)

    def _mend(self, name: str) -> None:
        self._plane.networks[name].disturb("Reset")
        self._plane.networks[name].disturb("Pass")

    def _restart_api_server(self) -> None:
        began, process = time.time(), self._plane.processes["kube-apiserver"]
        if self._rng.random() < 0.5:
            process.kill()
        else:
            process.stop(ENDING_SECONDS)
        process.start()
        self._plane.wait_api_server()
        wait_for(self._lists_all, what="the API server lists nothing")
        self._noted(began)

    def _lists_all(self) -> bool:
        """An API server that is ready may still refuse to list."""
        try:
            for kind in ("Workload", "LocalQueue", *WIDE):
                self._plane.client.list(KUEUE, kind)
            self._plane.client.list(REPRIEVE, "PreemptionPlan")
        except ApiError:
            return False
        return True


def _name(workload: Json) -> str:
    name: str = workload["metadata"]["name"]
    return name


def _pods(workload: Json) -> int:
    count: int = workload["spec"]["podSets"][0]["count"]
    return count


def _reclaimable(workload: Json) -> int:
    count: int = (workload["status"].get("reclaimablePods") or [{"count": 0}])[0]["count"]
    return count


def _active(workload: Json) -> bool:
    return bool(workload["spec"].get("active", True))


def _is_closed(workload: Json) -> bool:
    gates = workload["status"].get("preemptionGates", [])
    return any(each["position"] == "Closed" for each in gates)


def _is_true(workload: Json, kind: str) -> bool:
    conditions = workload.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)
