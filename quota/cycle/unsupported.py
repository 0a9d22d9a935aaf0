"""What a Workload may ask for that nobody here carries out. It must not wait without a word."""

from __future__ import annotations

from typing import Final

from api.workloads import Workload

__all__ = ["why_unsupported"]

ELASTIC: Final = "kueue.x-k8s.io/elastic-job"
"""The annotation of a Workload whose size changes while it is admitted."""


def why_unsupported(workload: Workload) -> str:
    """The field that asks for something else, and why it is not done; "" if there is none."""
    for index, pods in enumerate(workload.spec.pod_sets):
        path = f"spec.podSets[{index}]"
        if pods.topology_request is not None:
            return f"{path}.topologyRequest: topologies are not supported"
        if pods.template.spec.resource_claims:
            return f"{path}.template.spec.resourceClaims: quota of claimed devices is not supported"
    if (workload.metadata.annotations or {}).get(ELASTIC) == "true":
        return f"metadata.annotations[{ELASTIC}]: elastic Workloads are not supported"
    return ""
