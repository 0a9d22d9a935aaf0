"""What a Workload may ask for that nobody here carries out. It must not wait without a word.

What it means for an answer is in `quota.answers.verdicts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from api.workloads import Workload

__all__ = ["ELASTIC", "ELASTIC_JOB", "TOPOLOGIES", "Unsupported", "unsupported", "why_unsupported"]

ELASTIC_JOB: Final = "kueue.x-k8s.io/elastic-job"
"""The annotation of a Workload whose size changes while it is admitted."""

TOPOLOGIES: Final = "topologies"
CLAIMS: Final = "quota of claimed devices"
ELASTIC: Final = "elastic Workloads"


class Unsupported(NamedTuple):
    """A field that asks for something that is not done."""

    what: str
    """In the plural or a mass noun."""
    path: str
    verb: str = "are"

    @property
    def refusal(self) -> str:
        """For the status of a Workload."""
        return f"{self.path}: {self.what} {self.verb} not supported"

    @property
    def name(self) -> str:
        """For an answer that names what it does not model."""
        return f"{self.what} ({self.path})"


def unsupported(workload: Workload, *, elsewhere: bool = False) -> Iterator[Unsupported]:
    """Every such field. `elsewhere`: a manager sends it to other clusters, which may know topologies."""
    for index, pods in enumerate(workload.spec.pod_sets):
        path = f"spec.podSets[{index}]"
        if pods.topology_request is not None and not elsewhere:
            yield Unsupported(TOPOLOGIES, f"{path}.topologyRequest")
        if pods.template.spec.resource_claims:
            yield Unsupported(CLAIMS, f"{path}.template.spec.resourceClaims", "is")
    if (workload.metadata.annotations or {}).get(ELASTIC_JOB) == "true":
        yield Unsupported(ELASTIC, f"metadata.annotations[{ELASTIC_JOB}]")


def why_unsupported(workload: Workload, *, elsewhere: bool = False) -> str:
    """The field that asks for something else, and why it is not done; "" if there is none. `elsewhere`: see
    `unsupported`."""
    return next((each.refusal for each in unsupported(workload, elsewhere=elsewhere)), "")
