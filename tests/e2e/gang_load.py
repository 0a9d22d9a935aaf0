"""Random load on both planes: Jobs and PodGroups in queues, and gangs and pods outside of queues, on three nodes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_load import PRIORITIES, JobLoad
from tests.e2e.job_sandbox import POOL, QUEUE_NAME
from tests.e2e.quota_load import OPTIONS as QUOTA_OPTIONS
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.stress.recorder import Recorder, look_around
from tests.e2e.support import REPRIEVE, wait_for
from tests.kit.stress import admissions, evictions, rest, returns
from tests.kit.stress.history import Asked, History, is_bound
from tests.kit.stress.history import Json as Body

__all__ = ["OPTIONS", "GangLoad"]

OPTIONS: Final[Mapping[str, Any]] = {
    **QUOTA_OPTIONS,
    "reprieve_settings": {
        **QUOTA_OPTIONS["reprieve_settings"],
        "planning": {
            "planDeadlineSeconds": 20,
            "overdueSeconds": 5,
            "confirmationSeconds": 2,
            "backoffMaxSeconds": 10,
            "exclusionSeconds": 20,
        },
    },
}
"""Lives are short, so that a run has many."""
NODES: Final = 3
NODE_CPUS: Final = 4
"""All queues together have 9 CPUs, and may be given less."""
MOST_GROUPS: Final = 6
GROUP: Final = "reprieve.dev/pod-group"
GATES: Final = ({"name": "reprieve.dev/gang"}, {"name": "kueue.x-k8s.io/admission"})
"""As the webhook adds them to a member of a PodGroup in a queue."""


class GangLoad(JobLoad):
    """Teams that also use gangs."""

    def __init__(self, plane: ControlPlane, rng: random.Random) -> None:
        super().__init__(plane, rng)
        self._recorder = Recorder(plane, [(KUEUE, "Workload")])
        box = self._box
        box.client.delete("v1", "Node", box.node)
        taint = {"key": POOL, "value": "any", "effect": "NoSchedule"}
        self._pool: Mapping[str, str] = {POOL: "stress-jobs"}
        self._nodes = [f"{box.name}-{number}" for number in range(NODES)]
        for name in self._nodes:
            node = objects.node(name, cpu=str(NODE_CPUS), pods=30, labels=self._pool, taints=[taint])
            box.client.create(node)
        wait_for_nodes(box.client, *self._nodes)
        # Pods without a controller are refused until it is there.
        wait_for(
            lambda: box.client.find("v1", "ServiceAccount", "default", box.name),
            what="no default service account",
        )
        for name, value in PRIORITIES.items():
            box.client.create(objects.priority_class(box.of(name), value))
        gangs: dict[Callable[[], object], int] = {
            self._create_gang_job: 6,
            self._create_queued_group: 5,
            self._create_gang: 3,
            self._create_pod: 2,
            self._replenish: 6,
            self._end_members: 4,
            self._delete_group: 3,
            self._delete_member: 2,
        }
        self._actions |= gangs

    # ---- what teams make

    def _create_gang_job(self) -> None:
        """A Job whose pods are a gang."""
        if len(self.jobs()) >= 8 or len(self._groups()) >= MOST_GROUPS:
            self._delete()
            return
        self._made += 1
        name, pods, level = f"g{self._made}", self.rng.choice((2, 2, 3)), self._level()
        self._group(name, pods, level)
        self._box.job(
            name,
            self.rng.choice(("best", "strict", "guest")),
            pods,
            labels={"kueue.x-k8s.io/priority-class": level},
            template_labels={GROUP: name},
            pod={"priority_class": level},
            suspend=True,
        )
        self._asked[name] = pods

    def _create_queued_group(self) -> None:
        """A PodGroup in a queue, with its members."""
        if len(self._groups()) >= MOST_GROUPS:
            self._delete_group()
            return
        self._made += 1
        name, pods = f"q{self._made}", self.rng.choice((2, 3))
        self._group(name, pods, self._level(), self.rng.choice(("best", "strict", "guest")))
        self._replenish_group(name)

    def _create_gang(self) -> None:
        """A gang outside of queues."""
        if len(self._groups()) >= MOST_GROUPS:
            self._delete_group()
            return
        self._made += 1
        name, pods = f"p{self._made}", self.rng.choice((2, 3))
        self._group(name, pods, self._level())
        self._replenish_group(name)

    def _create_pod(self) -> None:
        """A pod outside of queues."""
        self._made += 1
        self._pod(f"s{self._made}", self._level())

    def _level(self) -> str:
        return self._box.of(self.rng.choice(list(PRIORITIES)))

    def _group(self, name: str, pods: int, level: str, queue: str = "") -> None:
        body = objects.pod_group(name, self._box.name, min_count=pods, mode="all", priority_class=level)
        if queue:
            body["metadata"]["labels"] = {QUEUE_NAME: queue}
        self._box.client.create(body)

    def _pod(self, name: str, level: str, group: str | None = None, *, gated: bool = False) -> None:
        spec: dict[str, Any] = {"schedulingGates": list(GATES)} if gated else {}
        if not gated:
            # The flavor adds both to pods in queues.
            tolerated = {"key": POOL, "operator": "Exists", "effect": "NoSchedule"}
            spec |= {"nodeSelector": dict(self._pool), "tolerations": [tolerated]}
        self._box.client.create(objects.pod(name, self._box.name, group=group, priority_class=level, **spec))

    # ---- what becomes of it

    def _groups(self) -> list[Json]:
        """In the order of their names."""
        found = self._box.client.list(REPRIEVE, "PodGroup", self._box.name)
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    def _members(self, group: str) -> list[Json]:
        pods = self._box.client.list("v1", "Pod", self._box.name)
        mine = [each for each in pods if each["metadata"].get("labels", {}).get(GROUP) == group]
        return sorted(mine, key=lambda each: str(each["metadata"]["name"]))

    def _some_group(self) -> Json | None:
        """One whose pods are the load's own."""
        found = [each for each in self._groups() if not each["metadata"]["name"].startswith("g")]
        return self.rng.choice(found) if found else None

    def _replenish(self) -> None:
        """Members that are gone come again."""
        if group := self._some_group():
            self._replenish_group(group["metadata"]["name"])

    def _replenish_group(self, name: str) -> None:
        group = self._box.client.get(REPRIEVE, "PodGroup", name, self._box.name)
        queued = QUEUE_NAME in group["metadata"].get("labels", {})
        wanted = int(group["spec"]["schedulingPolicy"]["gang"]["minCount"])
        left = [each for each in self._members(name) if "deletionTimestamp" not in each["metadata"]]
        for _ in range(wanted - len(left)):
            self._made += 1
            self._pod(f"{name}-{self._made}", group["spec"]["priorityClassName"], name, gated=queued)

    def _end_members(self) -> None:
        """All running members of a group succeed."""
        if group := self._some_group():
            for pod in self._members(group["metadata"]["name"]):
                if pod["status"].get("phase") == "Running":
                    body = {"status": {"phase": "Succeeded"}}
                    self._box.client.patch(
                        "v1", "Pod", pod["metadata"]["name"], body, self._box.name, "status"
                    )

    def _delete_group(self) -> None:
        if group := self._some_group():
            name = group["metadata"]["name"]
            self._box.client.delete(REPRIEVE, "PodGroup", name, self._box.name)
            for pod in self._members(name):
                self._delete_pod(pod)

    def _delete_member(self) -> None:
        """One member of a group goes. Its group may be in pieces then."""
        group = self._some_group()
        if members := self._members(group["metadata"]["name"]) if group else []:
            self._delete_pod(self.rng.choice(members))

    def _delete_pod(self, pod: Json) -> None:
        self._box.client.delete("v1", "Pod", pod["metadata"]["name"], self._box.name, grace_seconds=0)

    # ---- the end

    def wrong(self) -> list[str]:
        """What is not as it should be at rest, on both planes."""
        around = look_around(self._box.client)
        return [
            *super().wrong(),
            *(text for check in rest.CHECKS for text in check(around)),
            *self._unadmitted(around.pods),
        ]

    def _unadmitted(self, pods: list[Body]) -> list[str]:
        """Members of PodGroups in queues that run without quota."""
        workloads = self._box.client.list(KUEUE, "Workload", self._box.name)
        admitted = {
            owner["uid"]
            for each in workloads
            for owner in each["metadata"].get("ownerReferences", [])
            if any(
                condition["type"] == "Admitted" and condition["status"] == "True"
                for condition in each.get("status", {}).get("conditions", [])
            )
        }
        queued = {
            each["metadata"]["name"]
            for each in self._groups()
            if QUEUE_NAME in each["metadata"].get("labels", {}) and each["metadata"]["uid"] not in admitted
        }
        return [
            f"pod {pod['metadata']['name']} runs, and its PodGroup is not admitted"
            for pod in pods
            if is_bound(pod)
            and pod["status"].get("phase") not in ("Succeeded", "Failed")
            and (pod["metadata"].get("labels") or {}).get(GROUP) in queued
        ]

    def judge(self) -> list[str]:
        """What was wrong with evictions on nodes, with who got nodes, and with quota that was given back."""
        history = self._recorder.history()
        history.write(self._box.plane.layout.logs / f"nodes-{self._box.name}.jsonl")
        # A member without a node goes without a plan when its group loses its quota.
        history.deletions = [each for each in history.deletions if _had_node(history, each)]
        checks = (*admissions.CHECKS, *evictions.CHECKS, *returns.CHECKS)
        return [text for check in checks for text in check(history)]

    def remove(self) -> None:
        """Delete all, and wait until all is gone."""
        self._recorder.close()
        client, box = self._box.client, self._box
        for group in self._groups():
            client.delete(REPRIEVE, "PodGroup", group["metadata"]["name"], box.name)
        for pod in client.list("v1", "Pod", box.name):
            if not pod["metadata"].get("ownerReferences"):
                self._delete_pod(pod)
        client.create(objects.node(box.node, cpu="1"))
        super().remove()
        for name in self._nodes:
            client.delete("v1", "Node", name)
        for name in PRIORITIES:
            client.delete("scheduling.k8s.io/v1", "PriorityClass", box.of(name))


def _had_node(history: History, asked: Asked) -> bool:
    return any(is_bound(state.body) for state in history.of("Pod", asked.uid))
