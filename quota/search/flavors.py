"""Which flavors a workload gets (pkg/scheduler/flavorassigner of Kueue).

All resources of a group get the same flavor. The search tries the flavors in the order of the ClusterQueue. It stops
when a flavor is good enough for the flavorFungibility of the ClusterQueue. If none is, it takes the best one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from api.kueue import FlavorFungibility
from api.podsets import PodSet
from api.requests import PODS
from api.workloads import Workload
from native.codes import NEVER
from quota.search.adjusted import adjusted
from quota.search.asks import Options, ask_of
from quota.search.assignment import (
    SIMULATED,
    Assigned,
    Assignment,
    Attempt,
    Check,
    FlavorSearch,
    Mode,
    NoFitReason,
    Outcome,
    PodSetFlavors,
    QuotaRule,
    Stop,
    Tried,
)
from quota.search.matching import mismatch
from quota.state.amounts import shown
from quota.state.snapshot import Group, Queue, QuotaSnapshot
from quota.state.workloads import PodSetRequest, pod_set_requests, scaled, subject_of

__all__ = ["assign"]

RANKS: Final[Mapping[Outcome, int]] = {
    "NoFit": 0,
    "NoCandidates": 1,
    "Preempt": 2,
    "Reclaim": 3,
    "Fit": 4,
}
MODES: Final[Mapping[Outcome, Mode]] = {
    "NoFit": "NoFit",
    "NoCandidates": "Preempt",
    "Preempt": "Preempt",
    "Reclaim": "Preempt",
    "Fit": "Fit",
}
SEVERITY: Final[Mapping[NoFitReason, int]] = {
    "": 0,
    "WaitingForQuota": 1,
    "ExceedsMaxQuota": 2,
    "NoMatchingFlavor": 3,
}


def assign(
    snapshot: QuotaSnapshot,
    queue: Queue,
    workload: Workload,
    options: Options,
    now: int,
    *,
    only: Mapping[str, Mapping[str, str]] | None = None,
    last_tried: Tried | None = None,
    counts: Sequence[int] | None = None,
) -> Assignment:
    """The flavors of all pod sets. `now` is in microseconds. Raises QuotaError.

    `only`: flavors by pod set and resource; no other flavors are tried. `last_tried`: the search continues after
    these. `counts`: the number of pods of each pod set, in the order of the spec; None: as many as it asks for.
    """
    search = _Assigner(snapshot, queue, workload, options, now, only, last_tried or {})
    return search.assign(counts)


@dataclass(frozen=True, slots=True)
class _Member:
    """A pod set with the amounts that it asks for."""

    spec: PodSet
    count: int
    asked: int
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a pod set gets no flavors."""

    reasons: list[str]
    reason: NoFitReason


class _Assigner:
    def __init__(
        self,
        snapshot: QuotaSnapshot,
        queue: Queue,
        workload: Workload,
        options: Options,
        now: int,
        only: Mapping[str, Mapping[str, str]] | None,
        last_tried: Tried,
    ) -> None:
        self._snapshot = snapshot
        self._ledger = snapshot.ledger
        self._queue = queue
        self._workload = workload
        self._strategies = options.search
        self._ask = ask_of(snapshot, queue, workload, now, options)
        self._only = only
        self._last_tried = last_tried
        # If this is false, no workload is preempted for more than the nominal quota.
        self._borrows = self._ask.borrow or (options.fair_sharing and self._ask.reclaim != NEVER)
        self._usage: dict[tuple[str, str], int] = {}
        self._pod_sets: dict[str, PodSetFlavors] = {}
        self._searches: list[FlavorSearch] = []
        self._problems: list[tuple[str, list[str]]] = []

    def assign(self, counts: Sequence[int] | None) -> Assignment:
        for members in self._groups(counts):
            refusal = self._assign(members)
            if refusal is not None:
                return self._assignment("NoFit", refusal.reason)
        modes = {each.mode for assigned in self._pod_sets.values() for each in assigned.flavors.values()}
        return self._assignment("Preempt" if "Preempt" in modes else "Fit", "")

    def _groups(self, counts: Sequence[int] | None) -> list[list[_Member]]:
        """The pod sets, in groups that get their flavors together."""
        groups: dict[tuple[str, str], list[_Member]] = {}
        requests = pod_set_requests(adjusted(self._workload, self._snapshot.surroundings))
        wanted = requests if counts is None else scaled(requests, counts, subject_of(self._workload))
        for spec, request, asked in zip(self._workload.spec.pod_sets, wanted, requests, strict=True):
            topology = spec.topology_request
            shared = topology.pod_set_group_name if topology is not None else None
            key = ("group", shared) if shared is not None else ("alone", spec.name)
            groups.setdefault(key, []).append(self._member(spec, request, asked.count))
        return list(groups.values())

    def _member(self, spec: PodSet, request: PodSetRequest, asked: int) -> _Member:
        requests = dict(request.requests)
        if PODS in self._queue.group_of:
            requests[PODS] = request.count
        return _Member(spec, request.count, asked, requests)

    # ---- pod sets

    def _assign(self, members: list[_Member]) -> _Refusal | None:
        """Take flavors for these pod sets. The result says why they get none; it is None if they get flavors."""
        requests = _sum(members)
        flavors: dict[str, Assigned] = {}
        reasons: list[str] = []
        refusal = None
        for resource in sorted(requests):
            group = self._queue.group_of.get(resource)
            if resource in flavors or (group is None and requests[resource] == 0):
                continue
            if group is None:
                problem = f"resource {resource} unavailable in ClusterQueue"
                self._searches.append(FlavorSearch(_names(members), (resource,), (), None, "NotCovered"))
                refusal = _Refusal([problem], "NoMatchingFlavor")
                break
            search, found = self._search(members, group, requests, resource)
            self._searches.append(search)
            problems = list(_problems(search))
            if not found:
                refusal = _Refusal(problems, _severest(search))
                break
            flavors.update(found)
            if any(each.mode != "Fit" for each in found.values()):
                reasons += problems
        self._take(members, {} if refusal else flavors, refusal.reasons if refusal else reasons)
        return refusal

    def _take(self, members: list[_Member], flavors: Mapping[str, Assigned], reasons: list[str]) -> None:
        for member in members:
            own = {resource: flavors[resource] for resource in member.requests if resource in flavors}
            for resource, assigned in own.items():
                pair = assigned.flavor, resource
                self._usage[pair] = self._usage.get(pair, 0) + member.requests[resource]
            name = member.spec.name
            self._pod_sets[name] = PodSetFlavors(name, member.count, member.asked, member.requests, own)
            self._problems.append((name, reasons))

    def _assignment(self, mode: Mode, reason: NoFitReason) -> Assignment:
        # The pod sets of a group were taken together. Bring them back into the order of the spec.
        names = [pods.name for pods in self._workload.spec.pod_sets if pods.name in self._pod_sets]
        pod_sets = tuple(self._pod_sets[name] for name in names)
        taken = [(resource, each) for pods in pod_sets for resource, each in pods.flavors.items()]
        tried = {
            pods.name: {resource: each.tried for resource, each in pods.flavors.items()} for pods in pod_sets
        }
        return Assignment(
            mode=mode,
            borrowing=max((each.borrowing for _, each in taken), default=0),
            pod_sets=pod_sets,
            usage={pair: amount for pair, amount in self._usage.items() if amount},
            contested=frozenset(
                (each.flavor, resource) for resource, each in taken if each.mode == "Preempt"
            ),
            searches=tuple(self._searches),
            tried=tried if any(each.tried != -1 for _, each in taken) else None,
            message=_message(self._problems),
            no_fit_reason=reason,
        )

    # ---- flavors

    def _search(
        self, members: list[_Member], group: Group, requests: Mapping[str, int], resource: str
    ) -> tuple[FlavorSearch, dict[str, Assigned]]:
        """Search a flavor for the resources of a group. `resource` is one of them."""
        wanted = {each: requests[each] for each in sorted(requests) if each in group.resources}
        fungibility = self._queue.spec.flavor_fungibility
        attempts: list[Attempt] = []
        best, best_key = None, _key("NoFit", 0, fungibility)
        stop: Stop = "LastFlavor"
        start = self._last_tried.get(members[0].spec.name, {}).get(resource, -1) + 1
        index = -1
        for index in range(start, len(group.flavors)):
            flavor = group.flavors[index]
            if self._only is not None and not self._is_nominated(members, resource, flavor):
                continue
            attempt = self._try(members, flavor, wanted)
            attempts.append(attempt)
            halt = _stop(attempt, fungibility)
            key = _key(attempt.outcome, attempt.borrowing, fungibility)
            if halt is not None or key > best_key:
                best, best_key = attempt, key
            if halt is not None:
                stop = halt
                break
        chosen = best.flavor if best is not None else None
        search = FlavorSearch(_names(members), tuple(wanted), tuple(attempts), chosen, stop)
        tried = -1 if index == len(group.flavors) - 1 else index
        return search, _assigned(best, tried) if best is not None else {}

    def _is_nominated(self, members: list[_Member], resource: str, flavor: str) -> bool:
        nominated = self._only or {}
        return any(nominated.get(member.spec.name, {}).get(resource) == flavor for member in members)

    def _try(self, members: list[_Member], name: str, wanted: Mapping[str, int]) -> Attempt:
        flavor = self._snapshot.flavors.get(name)
        if flavor is None:
            return Attempt(name, "NoFit", 0, (), f"flavor {name} not found")
        for member in members:
            problem = mismatch(flavor, member.spec.template.spec)
            if problem:
                return Attempt(name, "NoFit", 0, (), problem)
        checks = [self._check(name, resource, asked) for resource, asked in wanted.items()]
        if all(check.outcome != "NoFit" for check in checks):
            checks = [self._simulated(name, check) for check in checks]
        outcome, borrowing = self._worst(checks)
        return Attempt(name, outcome, borrowing, tuple(checks), "")

    def _worst(self, checks: Sequence[Check]) -> tuple[Outcome, int]:
        fungibility = self._queue.spec.flavor_fungibility
        worst: tuple[Outcome, int] = "Fit", 0
        for check in checks:
            if check.outcome is not None and (
                _key(check.outcome, check.borrowing, fungibility) < _key(*worst, fungibility)
            ):
                worst = check.outcome, check.borrowing
        return worst

    def _check(self, flavor: str, resource: str, asked: int) -> Check:
        """Whether the amount is free. If it is not: whether a workload may be preempted for it."""
        fr, node, ledger = self._snapshot.layout.frs[flavor, resource], self._queue.node, self._ledger
        earlier = self._usage.get((flavor, resource), 0)
        wanted = earlier + asked
        available, potential = ledger.available(node, fr), ledger.potential(node, fr)
        nominal = int(self._snapshot.layout.quotas.nominal[node, fr])
        height, reclaims = ledger.height(node, fr, wanted)
        outcome: Outcome | None = None
        rule: QuotaRule = "NotSimulated"
        reason = ""
        if wanted > potential:
            outcome, rule, height = "NoFit", "ExceedsMaxQuota", 0
            reason = (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({shown(resource, earlier)}) + current podset request ({shown(resource, asked)}) > "
                f"maximum capacity ({shown(resource, potential)})"
            )
        elif wanted <= available:
            outcome, rule = "Fit", "WithinAvailable"
        else:
            more = shown(resource, wanted - available)
            reason = f"insufficient unused quota for {resource} in flavor {flavor}, {more} more needed"
            if wanted > nominal and not reclaims and not self._borrows:
                outcome, rule = "NoFit", "ExceedsNominalQuota"
        return Check(resource, asked, earlier, available, potential, nominal, height, outcome, rule, reason)

    def _simulated(self, flavor: str, check: Check) -> Check:
        """The check with the result of a simulated preemption for this resource alone."""
        if check.outcome is not None:
            return check
        fr = self._snapshot.layout.frs[flavor, check.resource]
        ask = replace(self._ask, frs=(fr,), amounts=(check.earlier + check.asked,), contested=(True,))
        possibility, height = self._ledger.simulate(ask, self._strategies)
        outcome, rule = SIMULATED[possibility]
        return replace(check, outcome=outcome, rule=rule, borrowing=height)


# ---- comparing flavors


def _key(outcome: Outcome, borrowing: int, fungibility: FlavorFungibility) -> tuple[int, int, int]:
    """Sort key; greater is better.

    A flavor that fits, or fits after a preemption, comes first, whatever flavorFungibility prefers.
    """
    rank = RANKS[outcome]
    if rank == 0:
        return 0, 0, 0
    viable = 1 if outcome == "NoCandidates" else 2
    if fungibility.preference == "PreemptionOverBorrowing":
        return viable, -borrowing, rank
    return viable, rank, -borrowing


def _stop(attempt: Attempt, fungibility: FlavorFungibility) -> Stop | None:
    """Why the search takes this flavor and tries no other; None if it goes on."""
    if attempt.outcome in ("NoFit", "NoCandidates"):
        return None
    preempts, borrows = attempt.outcome != "Fit", attempt.borrowing > 0
    if preempts and fungibility.when_can_preempt == "TryNextFlavor":
        return None
    if borrows and fungibility.when_can_borrow == "TryNextFlavor":
        return None
    if preempts:
        return "WhenCanPreempt"
    return "WhenCanBorrow" if borrows else "Fits"


def _assigned(attempt: Attempt, tried: int) -> dict[str, Assigned]:
    """By resource. Every check of a flavor that was taken has an outcome."""
    return {
        check.resource: Assigned(attempt.flavor, MODES[check.outcome or "NoFit"], check.borrowing, tried)
        for check in attempt.checks
    }


# ---- messages


def _names(members: Sequence[_Member]) -> tuple[str, ...]:
    return tuple(member.spec.name for member in members)


def _sum(members: Sequence[_Member]) -> dict[str, int]:
    total: dict[str, int] = {}
    for member in members:
        for resource, amount in member.requests.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _problems(search: FlavorSearch) -> Iterator[str]:
    for attempt in search.attempts:
        if attempt.mismatch:
            yield attempt.mismatch
        yield from (check.reason for check in attempt.checks if check.reason)


def _severest(search: FlavorSearch) -> NoFitReason:
    """The reason of the best attempt: flavors are alternatives, so the least severe reason counts."""
    reasons = [attempt.no_fit_reason for attempt in search.attempts]
    return min(reasons, key=SEVERITY.__getitem__, default="NoMatchingFlavor")


def _message(problems: Sequence[tuple[str, Sequence[str]]]) -> str:
    return "; ".join(
        f"couldn't assign flavors to pod set {name}: {', '.join(sorted(reasons))}"
        for name, reasons in problems
        if reasons
    )
