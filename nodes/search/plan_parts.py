"""The parts of a plan that do not depend on who is evicted."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from api import plan_results, plans
from nodes.search.devices import Devices
from nodes.search.preemptors.preemptor import Preemptor
from nodes.state.snapshot import Snapshot

__all__ = ["in_waves", "led_by_devices", "placements", "spec_for"]


def spec_for(preemptor: Preemptor, outcome: plan_results.Outcome, reason: str) -> plans.PreemptionPlanSpec:
    """A plan without domains, placements and victims."""
    return plans.PreemptionPlanSpec(
        preemptor=plans.Preemptor(
            kind=preemptor.kind,
            api_version=preemptor.api_version,
            namespace=preemptor.namespace,
            name=preemptor.name,
            uid=preemptor.uid,
            priority=preemptor.priority,
        ),
        outcome=outcome,
        reason=reason,
        pod_disruption_budget_policy=UNSET if preemptor.budgets == "Prefer" else preemptor.budgets,
    )


def led_by_devices(placed: list[plans.Placement]) -> list[plans.Placement]:
    """The placements of a gang that needs one domain, and does not know which. `placed`: with the nodes of one domain.

    Where devices are decides about the domain, so the scheduler chooses the nodes of all members. Those that use
    devices come first. If no member does, nothing changes.
    """
    if not any(each.any_node for each in placed):
        return placed
    in_order = sorted(placed, key=lambda each: not each.any_node)
    return [msgspec.structs.replace(each, any_node=True) for each in in_order]


def placements(
    snapshot: Snapshot, placed: list[tuple[int, int]], *, beyond_min_count: bool
) -> list[plans.Placement]:
    """The placements of pairs of (pod, node). Both are rows of the snapshot."""
    pods, devices = [pod for pod, _ in placed], Devices(snapshot)
    named = zip(placed, snapshot.pod_names.at(pods), snapshot.pod_uids.at(pods), strict=True)
    return [
        plans.Placement(name, snapshot.node_names[node], uid, beyond_min_count, devices.needed(pod, node))
        for (pod, node), name, uid in named
    ]


def in_waves(placements: list[plans.Placement], waves: list[int]) -> list[plans.Placement]:
    """The placements in the order of their waves, and with them, if there are several waves."""
    if not any(waves):
        return placements
    ordered = sorted(range(len(waves)), key=waves.__getitem__)
    for place, wave in enumerate(waves):
        placements[place].wave = wave
    return [placements[place] for place in ordered]
