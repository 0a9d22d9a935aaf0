"""The rights of the nodes plane in the whole cluster, by `planning.mode`, and those of a manager of several clusters.

manifests/base grants those of the observer, manifests/rights adds those of Enforce, and manifests/multikueue those of a
manager.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["ACTING_RIGHTS", "MANAGER_RIGHTS", "OBSERVING_RIGHTS", "RIGHTS", "Right"]


class Right(NamedTuple):
    """A verb on a resource, in all namespaces."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' if self.group else ''}{self.group}"


READS: Final = ("list", "watch")
TABLE: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "events namespaces nodes persistentvolumeclaims persistentvolumes pods"): READS,
    ("resource.k8s.io", "deviceclasses"): READS,
    ("storage.k8s.io", "csidrivers csinodes csistoragecapacities storageclasses"): READS,
    ("policy", "poddisruptionbudgets"): READS,
    ("scheduling.k8s.io", "podgroups priorityclasses"): READS,
    ("scheduling.x-k8s.io", "podgroups"): READS,
    ("scheduling.volcano.sh", "podgroups"): READS,
    ("jobset.x-k8s.io", "jobsets"): READS,
    ("leaderworkerset.x-k8s.io", "leaderworkersets"): READS,
    ("kubeflow.org", "jaxjobs mpijobs mxjobs paddlejobs pytorchjobs tfjobs xgboostjobs"): READS,
    ("ray.io", "rayclusters"): READS,
    ("batch", "jobs"): READS,
    ("apps", "statefulsets"): READS,
    ("reprieve.dev", "podgroups"): READS,
    ("reprieve.dev", "preemptionplans"): (*READS, "create", "patch", "delete"),
    ("reprieve.dev", "clusterpreemptionplans"): ("list", "create", "delete"),
    ("reprieve.dev", "preemptionreports"): ("list", "create", "update", "delete"),
    ("reprieve.dev", "podgroups/status preemptionplans/status"): ("patch",),
}
ACTING_TABLE: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "pods"): ("delete", "patch"),
    ("", "pods/eviction"): ("create",),
    ("", "pods/status"): ("patch",),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies mutatingadmissionpolicybindings"): READS,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): READS,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies validatingadmissionpolicybindings"): READS,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): READS,
    ("batch", "jobs"): ("get",),
    ("events.k8s.io", "events"): ("create", "patch"),
}
MANAGER_TABLE: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("kueue.x-k8s.io", "multikueueclusters multikueueconfigs"): READS,
    ("kueue.x-k8s.io", "admissionchecks/status multikueueclusters/status"): ("patch",),
    ("reprieve.dev", "dispatchplans"): (*READS, "create", "delete"),
    ("reprieve.dev", "dispatchplans/status"): ("patch",),
    ("reprieve.dev", "podgroups"): ("get",),
}


def _rights(table: dict[tuple[str, str], tuple[str, ...]]) -> tuple[Right, ...]:
    return tuple(
        Right(group, resource, verb)
        for (group, resources), verbs in table.items()
        for resource in resources.split()
        for verb in verbs
    )


OBSERVING_RIGHTS: Final = _rights(TABLE)
ACTING_RIGHTS: Final = _rights(ACTING_TABLE)
"""What Enforce needs besides."""
RIGHTS: Final[dict[str, tuple[Right, ...]]] = {
    "Off": (),
    "Observe": OBSERVING_RIGHTS,
    "Enforce": (*OBSERVING_RIGHTS, *ACTING_RIGHTS),
}
"""By `planning.mode`."""
MANAGER_RIGHTS: Final = _rights(MANAGER_TABLE)
"""But for those on single objects and in single namespaces."""
