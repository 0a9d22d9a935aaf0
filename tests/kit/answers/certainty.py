"""Whether answers are certain of what is not modelled: one world, one feature, and every command that says something.

The oracle is the answer about the same world without the feature. Each feature here can only refuse, so a no stays, and
a yes becomes Unknown or, where victims are needed, Blocked.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tests.kit.answers.questions import ask

__all__ = ["NODE_FEATURES", "QUOTA_FEATURES", "Feature", "node_faults", "quota_faults", "refusal_faults"]

Object = dict[str, Any]
VERSIONS: Final = {
    "Node": "v1",
    "Pod": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "PodGroup": "reprieve.dev/v1alpha1",
    "PodDisruptionBudget": "policy/v1",
}
YES: Final = {
    "plan": ("Fits", "Preempts"),
    "what-if": ("Runs", "RunsAfterEvictions", "RunsInPart"),
    "why": ("Fits", "Preempts"),
    "diff": ("Fits", "Preempts"),
    "quota": ("Fit", "Preempt"),
    "queue": ("Admit", "Preempt", "DeferredFit"),
}
NOW: Final = ("--now", "2026-01-01T00:16:40Z")


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that is not modelled, and how an object gets it."""

    name: str
    """As answers name it."""
    add: Callable[[Object], None]
    """To the spec of a pod, or to a Workload."""


def _claims(spec: Object) -> None:
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]


def _disk(spec: Object) -> None:
    spec["volumes"] = [{"name": "v", "azureDisk": {"diskName": "d", "diskURI": "u"}}]


def _claim(spec: Object) -> None:
    spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]


def _of_first(add: Callable[[Object], None]) -> Callable[[Object], None]:
    return lambda workload: add(workload["spec"]["podSets"][0])


def _elastic(workload: Object) -> None:
    workload["metadata"].setdefault("annotations", {})["kueue.x-k8s.io/elastic-job"] = "true"


NODE_FEATURES: Final = (
    Feature("resource claims (DRA)", _claims),
    Feature("Azure disk", _disk),
    Feature("persistent volume claim", _claim),
)
QUOTA_FEATURES: Final = (
    Feature("topologies", _of_first(lambda pods: pods.update(topologyRequest={"required": "rack"}))),
    Feature("quota of claimed devices", _of_first(lambda pods: _claims(pods["template"]["spec"]))),
    Feature("elastic Workloads", _elastic),
)


# ---- nodes


def node_faults(objects: list[Object], feature: Feature, group: str) -> Iterator[str]:
    """What is wrong with the answers about the gang NAMESPACE/NAME, once its members that wait have the feature.

    `objects`: a cluster without Namespaces. Nothing is asked if the plan does not need a node for any of them.
    """
    known, odd = _written(objects), _written(objects)
    for each in odd:
        if _is_waiting_member(each, group):
            feature.add(each["spec"])
    if not _matters(known, group):
        return
    for command, question in _questions(group).items():
        worlds = [_files(world, group, apart=command == "what-if") for world in (known, odd)]
        yield from _faults(command, question, worlds, feature, group.partition("/")[2])


def refusal_faults(objects: list[Object], group: str) -> Iterator[str]:
    """What is wrong with the answers about the gang, once all nodes have a taint, and its members a toleration of it.

    With a gate, the scheduler knows the operator of the toleration. So nobody knows whether the taint matters.
    """
    known, odd = _written(objects), _written(objects)
    for each in odd:
        if each["kind"] == "Node":
            spec = each.setdefault("spec", {})
            spec["taints"] = [*spec.get("taints", ()), {"key": "level", "value": "2", "effect": "NoSchedule"}]
        if _is_waiting_member(each, group):
            more = {"key": "level", "operator": "Gt", "value": "1"}
            each["spec"]["tolerations"] = [*each["spec"].get("tolerations", ()), more]
    if not _matters(known, group):
        return
    for command, question in _questions(group).items():
        worlds = [_files(world, group, apart=command == "what-if") for world in (known, odd)]
        before, _ = _outcome(command, question, worlds[0], group.partition("/")[2])
        after, status = _outcome(command, question, worlds[1], group.partition("/")[2])
        if before in YES[command] and (after, status) != ("Unknown", 3):
            yield f"{command} said {before}, and says {after} with status {status}"


def _written(objects: list[Object]) -> list[Object]:
    return [{"apiVersion": VERSIONS[each["kind"]], **copy.deepcopy(each)} for each in objects]


def _questions(group: str) -> dict[str, list[str]]:
    return {
        "plan": ["plan", "--for", group, "-f", "c.json"],
        "why": ["why", "podgroup", group, "-f", "c.json"],
        "diff": ["diff", "new.json", "-f", "empty.json"],
        "what-if": ["what-if", "s.json", "-f", "c.json"],
    }


def _matters(known: list[Object], group: str) -> bool:
    """Whether the gang does not fit, or needs a node for a member that waits."""
    answer = ask(
        {"command": ["plan", "--for", group, "-f", "c.json", "-o", "json"], "files": {"c.json": _list(known)}}
    )
    spec = json.loads(answer.stdout)["spec"]
    placed = [each for each in spec["placements"] if not each["beyondMinCount"]]
    return bool(placed) or spec["outcome"] not in YES["plan"]


def _is_waiting_member(each: Object, group: str) -> bool:
    meta = each["metadata"]
    labels = meta.get("labels") or {}
    mine = each["kind"] == "Pod" and labels.get("reprieve.dev/pod-group") == group.partition("/")[2]
    return mine and not each["spec"].get("nodeName")


def _files(world: list[Object], group: str, *, apart: bool) -> dict[str, Any]:
    """`apart`: the gang is not there yet, but submitted. `empty.json` and `new.json`: nodes without room get theirs."""
    mine = [
        each
        for each in world
        if _is_waiting_member(each, group)
        or (each["kind"] == "PodGroup" and each["metadata"]["name"] == group.partition("/")[2])
    ]
    there = [each for each in world if not apart or all(each is not other for other in mine)]
    full = [{**each, "status": {"allocatable": {}}} if each["kind"] == "Node" else each for each in world]
    nodes = [each for each in world if each["kind"] == "Node"]
    return {
        "c.json": _list(there),
        "s.json": _list(mine),
        "empty.json": _list(full),
        "new.json": _list(nodes),
    }


def _list(items: list[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": items}


# ---- quota


def quota_faults(objects: list[Object], feature: Feature, name: str, queue: str) -> Iterator[str]:
    """What is wrong with the answers about the Workload NAMESPACE/NAME of the ClusterQueue, once it has the feature."""
    odd = copy.deepcopy(objects)
    for each in odd:
        if (
            each["kind"] == "Workload"
            and f"{each['metadata']['namespace']}/{each['metadata']['name']}" == name
        ):
            feature.add(each)
    questions: dict[str, list[str]] = {
        "quota": ["quota", "--for", name, "-f", "c.json", *NOW],
        "why": ["why", "workload", name, "-f", "c.json", *NOW],
        "queue": ["queue", queue, "-f", "c.json", *NOW],
        "diff": ["diff", "new.json", "-f", "empty.json", *NOW],
    }
    for command, question in questions.items():
        worlds = [_quota_files(world, queue) for world in (objects, odd)]
        yield from _faults(command, question, worlds, feature, name.partition("/")[2])


def _quota_files(world: list[Object], queue: str) -> dict[str, Any]:
    """`empty.json` and `new.json`: a ClusterQueue that covers nothing gets its quotas."""
    mine = [each for each in world if each["kind"] == "ClusterQueue" and each["metadata"]["name"] == queue]
    empty = copy.deepcopy(world)
    for each in empty:
        if each["kind"] == "ClusterQueue" and each["metadata"]["name"] == queue:
            each["spec"]["resourceGroups"] = []
    return {"c.json": _list(world), "empty.json": _list(empty), "new.json": _list(mine)}


# ---- the faults of one command


def _faults(
    command: str, question: list[str], worlds: list[dict[str, Any]], feature: Feature, name: str
) -> Iterator[str]:
    before, _ = _outcome(command, question, worlds[0], name)
    after, status = _outcome(command, question, worlds[1], name)
    if after in YES[command]:
        yield f"{command} says {after} of what uses {feature.name}"
    if before in YES[command]:
        if command != "queue" and status != 3:
            yield f"{command} ends with {status}"
        for output in ("text", "json", "yaml"):
            said = ask({"command": [*question, "-o", output], "files": worlds[1]})
            if feature.name not in re.sub(r"\s+", " ", said.stdout):
                yield f"{command} -o {output} does not name {feature.name}"
            if output == "text" and after == "Unknown" and "It is not known." not in said.stdout:
                yield f"the text of {command} does not say that it is not known"
            if output == "text" and re.search(rf"^({'|'.join(YES[command])})\b", said.stdout, re.MULTILINE):
                yield f"the text of {command} says yes"
    elif after != before and (before, after) != ("Same", "Unknown"):
        yield f"{command} said {before}, and says {after} where {feature.name} cannot matter"


def _outcome(command: str, question: list[str], files: dict[str, Any], name: str) -> tuple[str, int]:
    """What the command says of the object, and its exit status."""
    answer = ask({"command": [*question, "-o", "json"], "files": files})
    if answer.fault is not None or answer.status not in (0, 3):
        return f"error {answer.fault!r} {answer.stderr}", answer.status
    return OUTCOMES[command](json.loads(answer.stdout), name), answer.status


def _of_diff(said: Any, name: str) -> str:
    """The later fate of one that waits; Same if it is neither listed nor unknown."""
    found = ["Unknown" for each in said["unknown"] if _names(each, name)]
    found += [each["then"]["state"] for each in said["fates"] if _names(each, name)]
    return str(found[0]) if found else "Same"


def _names(each: Any, name: str) -> bool:
    return any(other.endswith(f"/{name}") for other in each["names"])


def _of_plan(said: Any, _: str) -> str:
    return "Blocked" if "status" in said else str(said["spec"]["outcome"])


def _of_queue(said: Any, name: str) -> str:
    mine = [each["outcome"] for each in said["waiting"] if each["workload"].endswith(f"/{name}")]
    return str(mine[0]) if mine else "NotThere"


OUTCOMES: Final[dict[str, Callable[[Any, str], str]]] = {
    "plan": _of_plan,
    "what-if": lambda said, name: str(said["steps"][0]["outcome"]) if said["steps"] else "Nothing",
    "why": lambda said, name: str(said["state"]),
    "diff": _of_diff,
    "quota": lambda said, name: _of_quota(said),
    "queue": _of_queue,
}


def _of_quota(said: Any) -> str:
    """Preempt without victims is a no."""
    return "NoCandidates" if said["mode"] == "Preempt" and not said["targets"] else str(said["mode"])
