"""The evictions of stored plans in time: by namespace, by rule, and whether they served anybody."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from answers.evictions import rule_of
from answers.names import Listed, Names
from answers.stored.listed import missing_rights
from answers.stored.phases import conditions_of, evicted_in_vain
from answers.stored_plans import StoredPlan, StoredPlans
from answers.withholding import Reader
from api.plans import PreemptionPlan
from api.stored_plans import is_observed, is_proposal, phase_of
from nodes.groups.keys import short_name

__all__ = ["Evicted", "History", "history"]

SHOWN: Final[tuple[Listed, ...]] = ("preemptionplans",)


@dataclass(frozen=True, slots=True)
class Evicted:
    """What one plan began to evict in one namespace by one rule."""

    time: str
    """Since when the plan evicts (RFC 3339)."""
    plan: str
    """NAMESPACE/NAME."""
    preemptor_kind: str
    preemptor: str
    """NAMESPACE/NAME."""
    namespace: str
    """Of the victims; empty if the reader may not know it."""
    rule: str
    units: int
    pods: int
    """0 for Workloads: whoever made them ends their pods."""
    phase: str
    """Of the plan."""
    in_vain: bool | None
    """Whether it served nobody; None if that is not known yet."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "time": self.time,
            "plan": self.plan,
            "preemptor": {"kind": self.preemptor_kind, "name": self.preemptor},
            "namespace": self.namespace,
            "rule": self.rule,
            "units": self.units,
            "pods": self.pods,
            "phase": self.phase,
            "inVain": self.in_vain,
        }


@dataclass(frozen=True, slots=True)
class History:
    """All evictions of plans that the reader may see, the newest first."""

    evictions: Sequence[Evicted]
    oldest: str
    """When the oldest plan was made (RFC 3339): earlier evictions are not known. Empty if there is no plan."""
    missing: Sequence[str]
    """Rights that would show more."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "evictions": [each.plain() for each in self.evictions],
            "oldestPlan": self.oldest or None,
            "missing": list(self.missing),
        }


def history(
    stored: Mapping[str, StoredPlans], names: Names, namespaces: Collection[str] | None = None
) -> History:
    """The evictions of the plans of these namespaces; None: of all. `stored`: by namespace. `names`: what the reader
    may list."""
    reader, oldest, found = Reader(names), "", list[Evicted]()
    for namespace, plans in stored.items():
        if (namespaces is not None and namespace not in namespaces) or not names.lists(
            "preemptionplans", namespace
        ):
            continue
        acting = [each for each in plans if not (is_observed(each.brief) or is_proposal(each.brief))]
        made = [each.brief.metadata.creation_timestamp or "" for each in acting]
        oldest = min((each for each in (oldest, *made) if each), default="")
        found += (row for each in acting for row in _rows(each, reader))
    found.sort(key=lambda each: (each.plan, each.namespace, each.rule))
    found.sort(key=lambda each: each.time, reverse=True)
    missing = dict.fromkeys((*missing_rights(names, namespaces, SHOWN), *reader.missing))
    return History(found, oldest, [*missing])


def _rows(stored: StoredPlan, reader: Reader) -> Iterator[Evicted]:
    """None of a plan that has not begun to evict."""
    begun = conditions_of(stored.brief).get("Evicting")
    if begun is None:
        return
    plan = stored.whole()
    counts = dict[tuple[str, str], tuple[int, int]]()
    readable = reader.decision(plan.spec)
    for victim, known in zip(plan.spec.victims, readable.victims, strict=True):
        key = known.namespace, rule_of(plan.spec, victim)
        units, pods = counts.get(key, (0, 0))
        counts[key] = units + 1, pods + len(victim.pods)
    for (namespace, rule), (units, pods) in counts.items():
        yield _row(plan, begun.last_transition_time or "", namespace, rule, units, pods)


def _row(plan: PreemptionPlan, time: str, namespace: str, rule: str, units: int, pods: int) -> Evicted:
    preemptor = plan.spec.preemptor
    return Evicted(
        time=time,
        plan=f"{plan.metadata.namespace}/{plan.metadata.name}",
        preemptor_kind=preemptor.kind,
        preemptor=f"{preemptor.namespace}/{short_name(preemptor.name)}",
        namespace=namespace,
        rule=rule,
        units=units,
        pods=pods,
        phase=phase_of(plan),
        in_vain=evicted_in_vain(plan),
    )
