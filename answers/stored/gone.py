"""Who evicted a pod, a PodGroup or a Workload, as far as a reader may know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from answers.evictions import Evictions, evictions
from answers.names import EVERYWHERE, Names, right
from answers.scheduler_marks import Mark
from answers.stored_plans import StoredPlans
from answers.withholding import Reader
from api.plans import PreemptionPlan
from api.stored_plans import is_observed

__all__ = ["Gone", "who_evicted"]


@dataclass(frozen=True, slots=True)
class Gone:
    """The answer."""

    evictions: Evictions
    missing: Sequence[str]
    """Rights that would show more."""

    def plain(self) -> dict[str, Any]:
        """For programs: what `reprieve who-evicted -o json` prints, and the rights, if some are missing."""
        return {**self.evictions.plain(), **({"missing": list(self.missing)} if self.missing else {})}


def who_evicted(
    stored: Mapping[str, StoredPlans], namespace: str, name: str, marks: Sequence[Mark], names: Names
) -> Gone:
    """The plans with a victim of this name. `stored`: by namespace. `marks`: what kube-scheduler says of pods of this
    name, as far as the reader may read it."""
    reader = Reader(names)
    missing = dict[str, None]()
    if not names.lists("preemptionplans"):
        missing[right("preemptionplans", EVERYWHERE)] = None
    if not names.lists("events", namespace):
        missing[right("events", namespace)] = None
    if not names.lists("pods", namespace):
        missing[right("pods", namespace)] = None
    found = evictions(list(_plans(stored, reader)), namespace, name, marks)
    return Gone(found, [*missing])


def _plans(stored: Mapping[str, StoredPlans], reader: Reader) -> Iterator[PreemptionPlan]:
    """All that the reader may see. Those without victims need no long lists, unless they are observed."""
    for namespace, plans in stored.items():
        if not reader.lists("preemptionplans", namespace):
            continue
        for each in plans:
            plan = each.whole() if each.brief.spec.victim_units or is_observed(each.brief) else each.brief
            yield msgspec.structs.replace(plan, spec=reader.decision(plan.spec))
