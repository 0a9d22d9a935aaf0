"""Observed plans that say what a scheduler did, and reports of them."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET

from answers.reports.decisions import decisions_of
from answers.reports.report import Report, report
from api.instead import Instead, InsteadVictims
from api.meta import ObjectMeta
from api.plans import (
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    Victim,
    VictimPod,
)
from api.reports import PreemptionReport
from api.times import parse_rfc3339, rfc3339
from controllers.account.counted import CountedPlans
from controllers.account.tally import Addition, applied, day_of

__all__ = ["DAY", "NOW", "days_of", "objects_of", "plan", "reported"]

NOW: Final = parse_rfc3339("2026-11-26T12:00:00Z")
DAY: Final = 86400.0


def plan(
    number: int = 0,
    *,
    age: float = 2 * DAY,
    namespace: str = "team-a",
    priority: int = 100,
    ours: int = 1,
    gang: str = "",
    **said: Any,
) -> PreemptionPlan:
    """An observed plan, and what it says of the scheduler: `pods`, and the fields of `Instead`.

    `age`: in seconds.
    """
    victims = [
        Victim(
            "Pod",
            namespace,
            f"v{each}",
            f"v{each}",
            1,
            False,
            [VictimPod(namespace, f"v{each}", f"v{each}", "n")],
        )
        for each in range(ours)
    ]
    preemptor = Preemptor(
        "PodGroup", "reprieve.dev/v1alpha1", namespace, gang or f"gang-{number}", f"uid-{number}", priority
    )
    spec = PreemptionPlanSpec(preemptor, "Preempts", "it fits", mode="Observe", victims=victims)
    pods = said.pop("pods", 0)
    instead = Instead(InsteadVictims(pods=pods), **{"state": "Same", "concluded": True, **said})
    meta = ObjectMeta(name=f"plan-{number}", namespace=namespace, creation_timestamp=rfc3339(NOW - age))
    return PreemptionPlan(
        metadata=meta, spec=spec, status=PreemptionPlanStatus(phase="Observed", instead=instead)
    )


def reported(*plans: PreemptionPlan, **options: Any) -> Report:
    """A report of the last seven days, by day, but for the options."""
    return report(decisions_of(plans), **{"now": NOW, "since": NOW - 7 * DAY, "by": "day", **options})


def objects_of(*things: Any) -> list[dict[str, Any]]:
    """Plans and reports as an API server has them."""
    found = list[dict[str, Any]]()
    for each in things:
        fields = {
            name: value for name, value in msgspec.to_builtins(each).items() if value not in (None, UNSET)
        }
        kind = {"apiVersion": "reprieve.dev/v1alpha1", "kind": type(each).__name__}
        found.append({**fields, **kind})
    return found


def days_of(plans: list[PreemptionPlan], **fields: Any) -> list[PreemptionReport]:
    """As a leader writes them."""
    counted = CountedPlans(lambda _: None)
    for each in plans:
        each.metadata.uid = each.metadata.name
        counted.upsert(each)
    found = dict[str, Addition]()
    for counting in counted:
        found.setdefault(day_of(counting.created), Addition()).plans[counting.uid] = counting
    reports = [applied(None, addition, day, "t/1") for day, addition in found.items()]
    return [msgspec.structs.replace(each, **fields) for each in reports]
