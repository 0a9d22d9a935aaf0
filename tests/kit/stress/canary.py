"""What must not happen while only some namespaces are enforced. It is judged by the watch alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tests.kit.stress.history import History, name_of, victim_pods

__all__ = ["breaches"]


def breaches(history: History, enforced: Collection[str]) -> Iterator[str]:
    """Deletions of observed pods, plans that would evict one, and plans of observed namespaces that are carried out."""
    for asked in history.deletions:
        if asked.namespace not in enforced:
            yield f"{asked.namespace}/{asked.name} is observed, and reprieve deleted it"
    for states in history.states["PreemptionPlan"].values():
        plan = states[-1].body
        if plan["spec"].get("mode") == "Observe":
            continue
        if plan["metadata"]["namespace"] not in enforced:
            yield f"plan {name_of(plan)} is for an observed namespace, and is not observed"
        for pod in victim_pods(plan):
            namespace = _namespace(history, pod)
            if namespace and namespace not in enforced:
                yield f"plan {name_of(plan)} names a victim of the observed namespace {namespace}"


def _namespace(history: History, pod: dict[str, Any]) -> str:
    """Of a victim. A plan of another namespace withholds it; empty if nobody has seen the pod."""
    states = history.of("Pod", pod["uid"])
    return str(states[-1].body["metadata"]["namespace"]) if states else str(pod.get("namespace", ""))
