"""Groups by owner, shown as PodGroups: so the other judges see them as they see ours. Nothing of the engine is used.

Owners are annotated Jobs, and PyTorchJobs. Pods get the label of a PodGroup that has the name which plans use. The
setting that counts is that of the owner, else of its namespace, else Gangs.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final

from tests.kit.plans.raw import GROUP_LABEL
from tests.kit.stress.history import History, Json, State
from tests.kit.stress.rest import Rest

__all__ = ["BY_OWNER", "GANG", "OWNERS", "show_groups", "show_groups_at_rest"]

GANG: Final = "reprieve.dev/gang"
BY_OWNER: Final = "reprieve.dev/groups-by-owner"
OWNERS: Final = {"Job": "Job.batch", "PyTorchJob": "PyTorchJob.kubeflow.org"}
"""Kinds, and what the names of their groups begin with."""


def show_groups(history: History) -> None:
    """Add a PodGroup for each owner, and label their pods, in all states."""
    for states in history.states["Pod"].values():
        for state in states:
            _label(state.body)
    for kind in OWNERS:
        for uid, states in history.states[kind].items():
            shown = list(_states(history, states))
            if shown:
                history.states["PodGroup"][uid] = shown


def show_groups_at_rest(rest: Rest, owners: list[Json], namespaces: list[Json]) -> Rest:
    """The same for a cluster at one moment. `owners`: with their kinds."""
    for pod in rest.pods:
        _label(pod)
    said = {each["metadata"]["name"]: _annotations(each).get(BY_OWNER) for each in namespaces}
    groups = [_group(each, said.get(each["metadata"]["namespace"])) for each in owners if _counts(each)]
    return Rest(rest.pods, rest.nodes, [*rest.groups, *groups], rest.plans, rest.classes)


def _label(pod: Json) -> None:
    labels = pod["metadata"].get("labels") or {}
    if GROUP_LABEL in labels:
        return
    for owner in pod["metadata"].get("ownerReferences") or ():
        is_known = owner["kind"] == "PyTorchJob" or _annotations(pod).get(GANG) == "true"
        if owner.get("controller") and owner["kind"] in OWNERS and is_known:
            name = f"{OWNERS[owner['kind']]}:{owner['name']}:{owner['uid']}"
            pod["metadata"]["labels"] = {**labels, GROUP_LABEL: name}


def _states(history: History, states: list[State]) -> list[State]:
    """The states of an owner's group: also when its namespace says something else."""
    spaces = [
        each
        for found in history.states["Namespace"].values()
        for each in found
        if each.body["metadata"]["name"] == states[0].body["metadata"]["namespace"]
    ]
    versions = sorted({each.version for each in [*states, *spaces] if each.version >= states[0].version})
    found = []
    for version in versions:
        owner, space = _at(states, version), _at(spaces, version)
        if owner is None or not _counts(owner.body):
            continue
        said = _annotations(space.body).get(BY_OWNER) if space is not None else None
        at = max(owner.at, space.at if space is not None else 0.0)
        body = _group(owner.body, said)
        body["metadata"]["resourceVersion"] = str(version)
        found.append(State(version, at, owner.gone, body))
    return found


def _at(states: list[State], version: int) -> State | None:
    place = bisect_right(states, version, key=lambda each: each.version)
    return states[place - 1] if place else None


def _counts(owner: Json) -> bool:
    template = owner["spec"].get("template", {}).get("metadata") or {}
    return owner["kind"] == "PyTorchJob" or (template.get("annotations") or {}).get(GANG) == "true"


def _group(owner: Json, in_namespace: str | None) -> Json:
    meta = owner["metadata"]
    name = f"{OWNERS[owner['kind']]}:{meta['name']}:{meta['uid']}"
    setting = _annotations(owner).get(BY_OWNER) or in_namespace or "Gangs"
    pods = _pods(owner)
    policy: Json = {"gang": {"minCount": pods}} if setting == "Gangs" and pods > 0 else {"basic": {}}
    kept = {
        key: meta[key] for key in ("namespace", "uid", "resourceVersion", "deletionTimestamp") if key in meta
    }
    return {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {**kept, "name": name, "generation": meta.get("generation", 0)},
        "spec": {
            "schedulingPolicy": policy,
            "disruptionMode": {"all": {}},
            "priorityClassName": _template(owner)["spec"].get("priorityClassName", ""),
        },
    }


def _pods(owner: Json) -> int:
    spec = owner["spec"]
    if owner["kind"] == "Job":
        left = int(spec["completions"]) - int(owner.get("status", {}).get("succeeded", 0))
        return min(int(spec["parallelism"]), left)
    pods = sum(each["replicas"] for each in spec["pytorchReplicaSpecs"].values())
    least = spec.get("runPolicy", {}).get("schedulingPolicy", {}).get("minAvailable")
    return int(pods if least is None else min(least, pods))


def _template(owner: Json) -> dict[str, Any]:
    if owner["kind"] == "Job":
        return dict(owner["spec"]["template"])
    return dict(next(iter(owner["spec"]["pytorchReplicaSpecs"].values()))["template"])


def _annotations(body: Json) -> dict[str, str]:
    return body["metadata"].get("annotations") or {}
