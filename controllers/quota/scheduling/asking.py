"""What the nodes plane is asked about a Workload: its pods as they will be, and whose they are. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from api.core import Pod
from api.groups import API_VERSION as GROUPS
from api.kueue import API_VERSION, ResourceFlavor
from api.meta import ObjectMeta
from api.multikueue import ORIGIN_LABEL
from api.podsets import PodSet
from api.workloads import Admission, Workload
from quota.cycle.pod_set_infos import PodSetInfo, pod_set_infos, with_info
from quota.search.adjusted import adjusted
from quota.state.surroundings import Surroundings
from runtime.exchange.placements import Asking, Owner, PodsOfSet

__all__ = ["asking_of", "asks_for", "owner_of"]

OWNERS = {"Job": "batch/", "PodGroup": f"{GROUPS.partition('/')[0]}/"}
"""The kinds whose pods are made from the templates of their Workload, with the beginning of their apiVersion."""


def owner_of(workload: Workload) -> Owner | None:
    """The Job or PodGroup that controls the Workload. None: nobody knows here which pods are the Workload's."""
    meta = workload.metadata
    for each in meta.owner_references or ():
        if each.controller and each.kind in OWNERS and each.api_version.startswith(OWNERS[each.kind]):
            return Owner(each.kind, meta.namespace, each.name, each.uid)
    return None


def asks_for(workload: Workload) -> Owner | None:
    """For whose pods places are looked for. None: nobody is asked.

    A copy of a manager has no Job before its cluster is chosen. Its pods will be made from its templates, and none of
    them exists.
    """
    meta = workload.metadata
    if meta.owner_references or ORIGIN_LABEL not in (meta.labels or {}):
        return owner_of(workload)
    return Owner("Job", meta.namespace, meta.name, "")


def asking_of(
    workload: Workload,
    owner: Owner,
    surroundings: Surroundings,
    flavors: Mapping[str, ResourceFlavor],
    admission: Admission | None,
) -> Asking:
    """The Workload's pods with what this admission would add. None: with nothing added, and all that its spec asks for.

    `flavors`: all by name. Raises ValueError if the templates and the admission do not go together, or if no pod can be
    made from a template.
    """
    supposed = replace(workload, status=replace(workload.status, admission=admission))
    infos = {info.name: info for info in pod_set_infos(supposed, flavors)}
    meta = workload.metadata
    pods = [
        _pods(each, infos.get(each.name), meta.namespace)
        for each in adjusted(workload, surroundings).spec.pod_sets
    ]
    return Asking(API_VERSION, meta.namespace, meta.name, meta.uid, owner, tuple(pods))


def _pods(pods: PodSet, info: PodSetInfo | None, namespace: str) -> PodsOfSet:
    template = with_info(pods.template, info) if info is not None else pods.template
    meta = template.metadata or ObjectMeta()
    pod = Pod(
        ObjectMeta(namespace=namespace, labels=meta.labels, annotations=meta.annotations), template.spec
    )
    return PodsOfSet(pods.name, info.count if info is not None else pods.count, pod)
