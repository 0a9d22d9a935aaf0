"""Why is a gang in pieces? Bound members of a gang that never ran whole, each with the reason why it was bound alone.

reprieve can hold members back only where the scheduler asks. Whoever is bound without a reason is a fault of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.kit.plans.raw import GROUP_LABEL
from tests.kit.stress.history import LAG_SECONDS, History, Json, State, has_ended, is_alive, is_bound, name_of
from tests.kit.stress.rest import DEFAULT_SCHEDULER, Rest, minimum_of
from tests.kit.stress.scheduler_log import times_of

__all__ = ["Piece", "in_pieces", "skipped"]

SKIPPED: Final = re.compile(
    r'^I(\d{4} \d\d:\d\d:\d\d\.\d+) .*"Skipping extender as it returned error .*?" pod="([^"]+)"'
)
BINDING_SECONDS: Final = 10.0
"""From the moment when the scheduler goes on without an extender to the moment when a watch tells the binding."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A gang that never ran whole and is bound in part."""

    group: str
    bound: int
    minimum: int
    reasons: Sequence[str]
    """Why members were bound."""
    unexplained: Sequence[str]
    """Members (NAMESPACE/NAME) that were bound for no reason that is known."""

    def __str__(self) -> str:
        return f"{self.group}: {self.bound} of {self.minimum}; {'; '.join(self.reasons)}"


def skipped(log: Iterable[str], year: int) -> dict[str, list[float]]:
    """When kube-scheduler went on without an extender that did not answer: pod (NAMESPACE/NAME) to times, in seconds
    since the epoch. `log`: its lines, with local times."""
    return times_of(SKIPPED, log, year)


def in_pieces(rest: Rest, history: History, skips: Mapping[str, Sequence[float]]) -> list[Piece]:
    """Gangs with bound pods, though never minCount of them at one time. `skips`: see `skipped`."""
    found = []
    for group in rest.groups:
        minimum = minimum_of(group)
        bound = [pod for pod in rest.members(group) if is_bound(pod)]
        if minimum is None or not 0 < len(bound) < minimum or _ever_ran(history, group, minimum):
            continue
        look = _Look(history, group, skips)
        found.append(Piece(name_of(group), len(bound), minimum, *look.at(bound)))
    return found


@dataclass(slots=True)
class _Look:
    """A look for the reasons of one gang."""

    history: History
    group: Json
    skips: Mapping[str, Sequence[float]]
    reasons: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)

    def at(self, pods: Iterable[Json]) -> tuple[list[str], list[str]]:
        """The reasons, and the pods without one."""
        for pod in pods:
            reason = self._reason(pod)
            if reason is None:
                self.unexplained.append(name_of(pod))
            self.reasons.append(f"{pod['metadata']['name']} {reason or 'for no reason that is known'}")
        return self.reasons, self.unexplained

    def _reason(self, pod: Json) -> str | None:
        if pod["spec"].get("schedulerName", DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
            return "by a scheduler that does not know reprieve"
        state = self._binding(pod)
        if state is None:
            return "while nobody watched"
        if any(-1.0 < state.at - at < BINDING_SECONDS for at in self.skips.get(name_of(pod), ())):
            return "by a scheduler that got no answer"
        minima = self._minima(state)
        if None in minima:
            return "when it was no gang"
        bound = sum(map(is_bound, self.history.members(self.group, state.version)))
        enough = min(filter(None, minima))
        return f"when {enough} were enough" if bound >= enough else self._of_plan(pod, state)

    def _binding(self, pod: Json) -> State | None:
        """The first state with a node; None if a gap may hide it."""
        states = self.history.of("Pod", pod["metadata"]["uid"])
        first = next((each for each in states if each.body["spec"].get("nodeName")), None)
        if first is None or any(
            gap.kind == "Pod" and gap.first < first.version <= gap.last for gap in self.history.gaps
        ):
            return None
        return first

    def _minima(self, bound: State) -> set[int | None]:
        """What the group asked for then and shortly before; None where it was no gang."""
        first = self.history.version_at(bound.at - LAG_SECONDS - BINDING_SECONDS)
        uid = self.group["metadata"]["uid"]
        states = self.history.between("PodGroup", uid, first, bound.version)
        return {minimum_of(each.body) for each in states if not each.gone} or {None}

    def _of_plan(self, pod: Json, bound: State) -> str | None:
        """The gang was being bound by a plan, and somebody else took what it needed."""
        first = self.history.version_at(bound.at - LAG_SECONDS)
        for uid, states in self.history.states["PreemptionPlan"].items():
            if states[0].body["spec"]["preemptor"].get("uid") != self.group["metadata"]["uid"]:
                continue
            then = [each.body for each in self.history.between("PreemptionPlan", uid, first, bound.version)]
            placed = {each["uid"] for plan in then if _is_ready(plan) for each in plan["spec"]["placements"]}
            if pod["metadata"]["uid"] not in placed:
                continue
            if not _is_ready(states[-1].body):
                return f"by its plan, which ended because of {_last_reason(states[-1].body)}"
            others = [self.history.of("Pod", other) for other in placed if other != pod["metadata"]["uid"]]
            if any(has_ended(each[-1].body) or not is_alive(each[-1]) for each in others if each):
                return "by its plan, and another member left"
        return None


def _is_ready(plan: Json) -> bool:
    return bool(plan.get("status", {}).get("phase") == "Ready")


def _last_reason(plan: Json) -> str:
    return str(plan["status"]["conditions"][-1]["reason"])


def _ever_ran(history: History, group: Json, minimum: int) -> bool:
    key = (group["metadata"]["namespace"], group["metadata"]["name"])
    versions = {
        state.version
        for states in history.states["Pod"].values()
        for state in states
        if (
            state.body["metadata"]["namespace"],
            (state.body["metadata"].get("labels") or {}).get(GROUP_LABEL),
        )
        == key
    }
    return any(
        sum(is_bound(pod) for pod in history.members(group, version)) >= minimum
        for version in sorted(versions)
    )
