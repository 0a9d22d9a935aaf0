"""What is left when everything has stopped? Each check takes lists of a whole cluster and returns what is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

from tests.kit.plans.checker import Case
from tests.kit.plans.raw import GROUP_LABEL, Cluster, admits, requests_of
from tests.kit.stress.history import Json, has_ended, is_bound, name_of

__all__ = ["CHECKS", "Rest", "minimum_of", "unbound"]

ACTIVE: Final = frozenset({"Planned", "Confirmed", "Evicting", "Ready"})
FINALIZER: Final = "reprieve.dev/active-plan"
GATE: Final = "reprieve.dev/gang"
SCHEDULED: Final = "reprieve.dev/Scheduled"
PULSE_NODE: Final = "pulse.reprieve.invalid"
DEFAULT_SCHEDULER: Final = "default-scheduler"

Key = tuple[str, str]


@dataclass
class Rest:
    """A cluster at one moment: lists of the API server, each object with its kind."""

    pods: list[Json]
    nodes: list[Json]
    groups: list[Json]
    plans: list[Json]
    classes: list[Json]

    def __post_init__(self) -> None:
        self.group = {_key(group): group for group in self.groups}

    def members(self, group: Json) -> list[Json]:
        """Pods of a PodGroup that do not terminate."""
        return [pod for pod in self.pods if self.group_key(pod) == _key(group) and not _is_leaving(pod)]

    def group_key(self, pod: Json) -> Key | None:
        """(namespace, name) of the PodGroup that a pod's label names; None without the label."""
        name = (pod["metadata"].get("labels") or {}).get(GROUP_LABEL)
        return (pod["metadata"]["namespace"], name) if name else None

    def waiting(self) -> list[Json]:
        """Pods that kube-scheduler with reprieve should bind if they fit."""
        return [
            pod
            for pod in self.pods
            if not pod["spec"].get("nodeName")
            and not _is_leaving(pod)
            and not pod["spec"].get("schedulingGates")
            and pod["spec"].get("schedulerName", DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER
        ]

    def active(self) -> list[Json]:
        """Plans that hold room."""
        return [plan for plan in self.plans if plan.get("status", {}).get("phase", "Planned") in ACTIVE]


def waiting_though_it_fits(rest: Rest) -> list[str]:
    """Pods and gangs that fit into free room and are not bound. Whatever is promised to others counts as taken."""
    return [*_waiting_gangs(rest), *_waiting_pods(rest)]


def room_for_nobody(rest: Rest) -> list[str]:
    """Active plans without a waiting pod, or whose group is gone; ended plans that keep the finalizer."""
    wrong = []
    for plan in rest.active():
        preemptor = plan["spec"]["preemptor"]
        if preemptor["kind"] == "Workload":
            continue  # `tests.kit.quota.rest` judges these
        if preemptor["kind"] == "Pod":
            if all(pod["metadata"]["uid"] != preemptor["uid"] for pod in rest.waiting()):
                wrong.append(f"plan {'/'.join(_key(plan))} is active, and its pod does not wait")
            continue
        group = rest.group.get((preemptor["namespace"], preemptor["name"]))
        if group is None or group["metadata"]["uid"] != preemptor["uid"]:
            wrong.append(f"plan {'/'.join(_key(plan))} is active, its PodGroup is gone")
        elif all(is_bound(pod) for pod in rest.members(group)):
            wrong.append(f"plan {'/'.join(_key(plan))} is active, and no pod of its PodGroup waits")
    active = [_key(plan) for plan in rest.active()]
    ended = (plan for plan in rest.plans if _key(plan) not in active)
    held = (plan for plan in ended if FINALIZER in (plan["metadata"].get("finalizers") or ()))
    return [*wrong, *(f"plan {'/'.join(_key(plan))} has ended and keeps its finalizer" for plan in held)]


def nominated_for_nothing(rest: Rest) -> list[str]:
    """Members that wait without a plan and keep room by a nomination. The scheduler gives it to nobody else."""
    placed = {placed["uid"] for plan in rest.active() for placed in plan["spec"].get("placements") or ()}
    return [
        f"pod {'/'.join(_key(pod))} is nominated to {_nominated(pod)}, and no plan places it"
        for pod in rest.waiting()
        if _nominated(pod) not in ("", PULSE_NODE)
        and _waits_for_its_gang(rest, pod)
        and pod["metadata"]["uid"] not in placed
    ]


def _waits_for_its_gang(rest: Rest, pod: Json) -> bool:
    key = rest.group_key(pod)
    if key is None or key not in rest.group:
        return key is not None
    minimum = minimum_of(rest.group[key])
    return minimum is not None and sum(map(is_bound, rest.members(rest.group[key]))) < minimum


def marked_but_alive(rest: Rest) -> list[str]:
    """Pods that say that they are preempted, and stay."""
    return [
        f"pod {'/'.join(_key(pod))} says: {each.get('message')}"
        for pod in rest.pods
        if not _is_leaving(pod)
        for each in pod.get("status", {}).get("conditions") or ()
        if (each["type"], each["status"]) == ("DisruptionTarget", "True")
        and each.get("reason") == "PreemptionByScheduler"
    ]


def pulses_left(rest: Rest) -> list[str]:
    """Nominations to the node name that wakes the scheduler and that no node has."""
    return [
        f"pod {'/'.join(_key(pod))} is nominated to {PULSE_NODE}"
        for pod in rest.pods
        if _nominated(pod) == PULSE_NODE
    ]


def gates_left(rest: Rest) -> list[str]:
    """Pods with our scheduling gate alone, though their gang has minCount pods, or there is no such gang."""
    wrong = []
    for pod in rest.pods:
        gates = [gate["name"] for gate in pod["spec"].get("schedulingGates") or ()]
        if gates != [GATE] or _is_leaving(pod):
            continue
        group = rest.group.get(rest.group_key(pod) or ("", ""))
        minimum = minimum_of(group) if group is not None else None
        if group is None or minimum is None or len(rest.members(group)) >= minimum:
            wrong.append(f"pod {'/'.join(_key(pod))} keeps our scheduling gate")
    return wrong


def untrue_status(rest: Rest) -> list[str]:
    """Gangs whose status counts other members than there are, or says of them that they run and they do not."""
    wrong = []
    for key, group in rest.group.items():
        if minimum_of(group) is None or _is_leaving(group) or ":" in key[1]:
            continue  # nobody writes to the objects of other groups
        status = group.get("status", {})
        members = [pod for pod in rest.members(group) if _counts(pod)]
        bound = sum(map(is_bound, members))
        said = (status.get("members", 0), status.get("boundMembers", 0))
        if said != (len(members), bound):
            wrong.append(f"gang {'/'.join(key)} has {len(members)} members, {bound} bound, and says {said}")
        runs = bound >= status.get("requiredMembers", 0)
        wrong += [
            f"gang {'/'.join(key)} has {bound} bound members and says: {each['message']}"
            for each in status.get("conditions") or ()
            if each["type"] == SCHEDULED and (each["status"] == "True") != runs
        ]
    return wrong


def _counts(pod: Json) -> bool:
    """Whether the pod is a member: it has not ended, and has no scheduling gate but ours."""
    gates = {gate["name"] for gate in pod["spec"].get("schedulingGates") or ()}
    return not has_ended(pod) and gates <= {GATE}


CHECKS: Final[tuple[Callable[[Rest], list[str]], ...]] = (
    waiting_though_it_fits,
    room_for_nobody,
    nominated_for_nothing,
    marked_but_alive,
    pulses_left,
    gates_left,
    untrue_status,
)


def unbound(rest: Rest, names: Collection[str]) -> list[str]:
    """Pods (NAMESPACE/NAME) that have no node, or are not there."""
    bound = {name_of(pod) for pod in rest.pods if is_bound(pod)}
    return [f"pod {name} is not bound" for name in names if name not in bound]


# ---- what waits though it fits


def _waiting_gangs(rest: Rest) -> Iterator[str]:
    waiting = {_key(pod) for pod in rest.waiting()}
    for key, group in rest.group.items():
        if minimum_of(group) is None or _is_leaving(group):
            continue
        case = Case(_cluster(rest, key), *key, excluded=_excluded(rest, group))
        if len(case.members) < case.minimum or not case.required or not set(case.required) <= waiting:
            continue
        if any(case.packs(nodes, []) for nodes in case.domains.values()):
            yield f"gang {'/'.join(key)} waits though it fits: {sorted(name for _, name in case.required)}"


def _waiting_pods(rest: Rest) -> Iterator[str]:
    """Pods that wait alone: those without a gang, and later members of a gang that runs."""
    for pod in rest.waiting():
        cluster = _cluster(rest, None, pod)
        room = cluster.room()
        for name in _nodes_for(rest, pod):
            fits = all(room[name].get(each, 0) >= value for each, value in requests_of(pod).items() if value)
            if fits and admits(pod, cluster.nodes[name]):
                yield f"pod {'/'.join(_key(pod))} waits though it fits on {name}"
                break


def _nodes_for(rest: Rest, pod: Json) -> list[str]:
    """Where a pod may run alone: nowhere as long as it waits for its PodGroup or for its gang."""
    key = rest.group_key(pod)
    if key is None or (key in rest.group and minimum_of(rest.group[key]) is None):
        return [node["metadata"]["name"] for node in rest.nodes]
    if key not in rest.group:
        return []
    group = rest.group[key]
    if sum(map(is_bound, rest.members(group))) < (minimum_of(group) or 0):
        return []
    case, excluded = Case(_cluster(rest, key), *key), _excluded(rest, group)
    domains = case.domains.values()
    return [node for nodes in domains for node in nodes if (_key(pod), node) not in excluded]


def _cluster(rest: Rest, gang: Key | None, single: Json | None = None) -> Cluster:
    """The cluster as it looks to one who waits: pods that leave are still there, promised room is taken."""
    promised = {
        (plan["spec"]["preemptor"]["namespace"], each["pod"]): each["node"]
        for plan in rest.active()
        for each in plan["spec"].get("placements") or ()
    }
    pods = []
    for pod in rest.pods:
        shown = copy.deepcopy(pod)
        is_own = pod is single or (gang is not None and rest.group_key(pod) == gang)
        if _is_leaving(pod):
            del shown["metadata"]["deletionTimestamp"]
            shown["metadata"]["labels"] = {}
        elif not pod["spec"].get("nodeName") and not is_own:
            shown["spec"]["nodeName"] = promised.get(_key(pod)) or _nominated(pod)
        pods.append(shown)
    return Cluster.of([*rest.nodes, *rest.groups, *rest.classes, *pods])


def _excluded(rest: Rest, group: Json) -> list[tuple[Key, str]]:
    """The gang's pods on nodes where the scheduler did not take one of them, by any plan that is kept."""
    nodes = {
        each["node"]
        for plan in rest.plans
        if plan["spec"]["preemptor"]["uid"] == group["metadata"]["uid"]
        for each in plan["spec"].get("excluded") or ()
    }
    return [(_key(pod), node) for pod in rest.members(group) for node in nodes]


def minimum_of(group: Json) -> int | None:
    gang = group["spec"].get("schedulingPolicy", {}).get("gang")
    return int(gang["minCount"]) if gang else None


def _nominated(pod: Json) -> str:
    return str(pod.get("status", {}).get("nominatedNodeName") or "")


def _is_leaving(body: Json) -> bool:
    return bool(body["metadata"].get("deletionTimestamp"))


def _key(body: Json) -> Key:
    return body["metadata"]["namespace"], body["metadata"]["name"]
