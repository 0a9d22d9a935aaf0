"""Did a Workload give its quota back while pods of its owner ran? Judged by the whole history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from tests.kit.plans.raw import GROUP_LABEL
from tests.kit.stress.history import LAG_SECONDS, History, Json, State, has_ended, name_of

__all__ = ["CHECKS"]


def returned_while_pods_run(history: History) -> list[str]:
    """Quota that a Workload gave back while pods of its Job or PodGroup were on nodes.

    Terminating pods of a Job do not count: as in Kueue, a Job holds quota for its active pods only.
    """
    return [
        f"workload {name_of(after.body)} gave its quota back at version {after.version}, and pod {name_of(pod)} ran"
        for states in history.states["Workload"].values()
        for before, after in pairwise(states)
        if _holds(before) and not _holds(after) and not history.has_gap(before.version, after.version)
        for pod in _running(history, after)
    ]


def _holds(state: State) -> bool:
    conditions = state.body.get("status", {}).get("conditions", [])
    found = {each["type"] for each in conditions if each["status"] == "True"}
    return not state.gone and "QuotaReserved" in found and "Finished" not in found


def _running(history: History, after: State) -> Iterator[Json]:
    """The pods of the Workload's owner that held a node when the quota went back, and a moment before."""
    known = history.version_at(after.at - LAG_SECONDS)
    for state in history.existing("Pod", after.version):
        before = history.state("Pod", state.body["metadata"]["uid"], known)
        if before is not None and all(_is_of(after.body, each.body) for each in (before, state)):
            yield state.body


def _is_of(workload: Json, pod: Json) -> bool:
    """Whether the pod is one of the Workload's owner, and holds a node."""
    if not pod["spec"].get("nodeName") or has_ended(pod):
        return False
    meta = pod["metadata"]
    for owner in workload["metadata"].get("ownerReferences", []):
        if owner["kind"] == "Job":
            theirs = {each["uid"] for each in meta.get("ownerReferences", [])}
            return owner["uid"] in theirs and "deletionTimestamp" not in meta
        if owner["kind"] == "PodGroup":
            space = workload["metadata"]["namespace"]
            return (space, owner["name"]) == (meta["namespace"], (meta.get("labels") or {}).get(GROUP_LABEL))
    return False


CHECKS: Final[tuple[Callable[[History], list[str]], ...]] = (returned_while_pods_run,)
