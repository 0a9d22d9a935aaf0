"""Kueue's rules for topologies: what pod sets ask for, and what they are assigned."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.rules.table import Edits, Rule
from tests.e2e.rules.workload_status import WAITING
from tests.kit.manifests import workload

__all__ = ["TOPOLOGY"]

JOB: Final = workload()
REQUEST: Final = "spec.podSets[0].topologyRequest"
SLICE: Final = f"{REQUEST}.podSetSliceSize"
ASSIGNED: Final = "status.admission.podSetAssignments[0].topologyAssignment"
INDIVIDUAL: Final = {"individual": {"roots": ["a", "b"]}}


def requested(**request: Any) -> Edits:
    """A pod set with this topology request."""
    return {"spec/podSets/0/topologyRequest": request}


def within(size: int) -> Edits:
    """Slices of that size within others."""
    constraints = [{"topology": "block", "size": 4}, {"topology": "rack", "size": size}]
    return requested(podsetSliceRequiredTopologyConstraints=constraints)


def assigned(values: list[Any], counts: Any, domains: int = 2) -> Edits:
    """A pod set in two racks, written in this way; of quota that is not reserved, so that nobody counts pod sets."""
    part = {"domainCount": domains, "valuesPerLevel": values, "podCounts": counts}
    topology = {"levels": ["rack"], "slices": [part]}
    assignment = {"name": "driver", "topologyAssignment": topology}
    return {"status/admission": {"clusterQueue": "team-a", "podSetAssignments": [assignment]}}


def about(name: str, bad: Edits, *causes: str) -> Rule:
    """A rule about assignments."""
    good = assigned([INDIVIDUAL], {"individual": [1, 2]})
    return Rule.of(f"CRD: {name}", WAITING, bad, *causes, good=good, subresource="status")


TOPOLOGY: Final = (
    Rule.of(
        "slices go with a topology",
        JOB,
        requested(podSetSliceSize=1),
        f"{SLICE} Forbidden",
        good=requested(podSetSliceSize=1, podSetSliceRequiredTopology="rack"),
    ),
    Rule.of(
        "slices have a size",
        JOB,
        requested(podSetSliceRequiredTopology="rack"),
        f"{SLICE} Required",
        good=requested(podSetSliceSize=1, podSetSliceRequiredTopology="rack"),
    ),
    Rule.of(
        "slices are not empty",
        JOB,
        requested(podSetSliceSize=0, podSetSliceRequiredTopology="rack"),
        f"{SLICE} Invalid",
        good=requested(podSetSliceSize=1, podSetSliceRequiredTopology="rack"),
    ),
    Rule.of(
        "slices within slices are not empty",
        JOB,
        within(0),
        f"{REQUEST}.podsetSliceRequiredTopologyConstraints[1].size Invalid",
        good=within(1),
    ),
    about(
        "values for each level",
        assigned([INDIVIDUAL, INDIVIDUAL], {"universal": 1}),
        f"{ASSIGNED} Invalid",
    ),
    about(
        "values for each domain",
        assigned([INDIVIDUAL], {"universal": 1}, domains=3),
        f"{ASSIGNED}.slices[0] Invalid",
    ),
    about(
        "counts for each domain",
        assigned([{"universal": "a"}], {"individual": [1]}),
        f"{ASSIGNED}.slices[0] Invalid",
    ),
    about(
        "one sort of values",
        assigned([{**INDIVIDUAL, "universal": "a"}], {"universal": 1}),
        f"{ASSIGNED}.slices[0].valuesPerLevel[0] Invalid",
    ),
    about(
        "one sort of counts",
        assigned([INDIVIDUAL], {}),
        f"{ASSIGNED}.slices[0].podCounts Invalid",
    ),
)
