"""Did a member of a PodGroup in a queue get a node before it was admitted? Judged by the whole history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.kit.stress.history import History, State, is_bound, name_of

__all__ = ["CHECKS"]

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
ADMITTED_BY: Final = "reprieve.dev/admitted-by"
"""The annotation with which a member is admitted. It names the Workload by its UID."""


def bound_without_admission(history: History) -> list[str]:
    """Members that got a node while their PodGroup was in a queue, and that no Workload had admitted."""
    return [
        f"pod {name_of(state.body)} got a node at version {state.version}, and no Workload had admitted it"
        for states in history.states["Pod"].values()
        if (state := _first_bound(states)) is not None
        and not (state.body["metadata"].get("annotations") or {}).get(ADMITTED_BY)
        and _is_queued(history, state)
    ]


def _first_bound(states: list[State]) -> State | None:
    return next((state for state in states if not state.gone and is_bound(state.body)), None)


def _is_queued(history: History, state: State) -> bool:
    """Whether the pod's PodGroup was there, in a queue, when the pod got its node. A gap of the watch is no proof."""
    group = history.group_of(state.body, state.version)
    if group is None or not (group["metadata"].get("labels") or {}).get(QUEUE_NAME):
        return False
    return history.knows("PodGroup", group["metadata"]["uid"], state.version, state.version + 1)


CHECKS: Final[tuple[Callable[[History], list[str]], ...]] = (bound_without_admission,)
