"""How many pods a PodDisruptionBudget lets go: the rule of Kubernetes' disruption controller.

The API server keeps the last count of the controller in the status. A budget that was changed has an old one, and a new
budget has none. Source: pkg/controller/disruption/disruption.go of Kubernetes 1.37.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from api.core import PodDisruptionBudget
from api.foreign_owners import Scalable
from api.meta import OwnerReference, controller_reference

__all__ = ["SCALED", "Allowance", "BudgetedPod", "Scales", "allowance", "is_counted"]

REPLICA_SET: Final = "ReplicaSet"
DEPLOYMENT: Final = "Deployment"
APPS: Final = ("apps", "extensions")
SCALED: Final[Mapping[tuple[str, str], str]] = {
    ("apps/v1", REPLICA_SET): REPLICA_SET,
    ("apps/v1", DEPLOYMENT): DEPLOYMENT,
    ("apps/v1", "StatefulSet"): "StatefulSet",
    ("v1", "ReplicationController"): "ReplicationController",
}
"""Kinds with a scale that are read, by apiVersion and kind."""
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    REPLICA_SET: APPS,
    DEPLOYMENT: APPS,
    "StatefulSet": ("apps",),
    "ReplicationController": ("",),
}
"""API groups in which a reference may name each of them."""
WITHOUT_SCALE: Final = frozenset({("batch", "Job"), ("apps", "DaemonSet"), ("", "Node"), ("", "Pod")})
"""Controllers of pods that have no scale: the controller fails for such a pod, and allows no disruption."""


class BudgetedPod(NamedTuple):
    """What a budget sees of a pod that it selects. Pods that have ended are among them."""

    name: str
    controller: OwnerReference | None
    healthy: bool
    """Whether it is Ready and does not terminate."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the controller would write into the status."""

    allowed: int
    expected: int = 0
    desired: int = 0
    healthy: int = 0
    unknown: str = ""
    """The owner whose scale is not known, so that the rest is not known either; empty if all is known."""
    counted: bool = True
    """False if the controller cannot count the pods, or if it is not known what it would count."""


class Uncounted(Exception):
    """The controller cannot count the pods, and allows no disruption."""


class UnknownScale(Exception):
    """Nobody has shown the owner that the message names."""


class Scales:
    """How many pods each owner is to have. Owners that were not read are unknown."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[Scalable, bool]] = {}
        """By kind, namespace and name; and whether the UID is the object's own."""

    def add(self, kind: str, item: Scalable, *, has_uid: bool = True) -> None:
        """Note an owner. `has_uid`: whether it was stored, so that its UID tells it from others of its name."""
        self._known[kind, item.metadata.namespace, item.metadata.name] = item, has_uid

    def of(self, namespace: str, owner: OwnerReference) -> tuple[str, int]:
        """The UID of the owner that counts, and its scale. Raises Uncounted and UnknownScale."""
        group = owner.api_version.rpartition("/")[0]
        if group not in GROUPS.get(owner.kind, ()):
            if (group, owner.kind) in WITHOUT_SCALE:
                raise Uncounted
            raise UnknownScale(f"{owner.kind} {namespace}/{owner.name}")
        found = self._find(namespace, owner)
        above = controller_reference(found.metadata) if owner.kind == REPLICA_SET else None
        if above is not None and above.kind == DEPLOYMENT and above.api_version.rpartition("/")[0] in APPS:
            with suppress(Uncounted):  # another Deployment of the name: the ReplicaSet has a scale, too
                found = self._find(namespace, above)
        replicas = found.spec.replicas
        return found.metadata.uid, 1 if replicas is None else replicas

    def _find(self, namespace: str, owner: OwnerReference) -> Scalable:
        known = self._known.get((owner.kind, namespace, owner.name))
        if known is None:
            raise UnknownScale(f"{owner.kind} {namespace}/{owner.name}")
        item, has_uid = known
        if has_uid and item.metadata.uid != owner.uid:
            raise Uncounted
        return item


def is_counted(budget: PodDisruptionBudget) -> bool:
    """Whether the status says what the controller has counted for this spec.

    Without an observedGeneration, a status of no pods is what clients print of an object that no API server has stored.
    Any other one somebody has written, and it counts as it is.
    """
    status = budget.status
    if status is None or status.observed_generation < budget.metadata.generation:
        return False
    if status.observed_generation != 0:
        return True
    return status.disruptions_allowed is not None and (
        status.disruptions_allowed > 0 or status.expected_pods != 0
    )


def allowance(budget: PodDisruptionBudget, pods: Iterable[BudgetedPod], scales: Scales) -> Allowance:
    """What the budget allows. `pods`: all that it selects, in its namespace.

    An entry of `status.disruptedPods` counts for as long as it is there. The controller removes it after two minutes.
    """
    selected = list(pods)
    disrupted = (budget.status.disrupted_pods if budget.status is not None else None) or {}
    healthy = sum(each.healthy and each.name not in disrupted for each in selected)
    try:
        expected, desired = _expected(budget, selected, scales)
    except UnknownScale as missing:
        return Allowance(0, healthy=healthy, unknown=str(missing), counted=False)
    except Uncounted:
        return Allowance(0, healthy=healthy, counted=False)
    allowed = healthy - desired
    return Allowance(allowed if expected > 0 and allowed > 0 else 0, expected, desired, healthy)


def _expected(budget: PodDisruptionBudget, pods: list[BudgetedPod], scales: Scales) -> tuple[int, int]:
    """How many pods there should be, and how many healthy ones have to stay."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        expected = _scale(budget.metadata.namespace, pods, scales)
        return expected, max(0, expected - _scaled(spec.max_unavailable, expected))
    if isinstance(spec.min_available, int):
        return len(pods), spec.min_available
    if spec.min_available is not None:
        expected = _scale(budget.metadata.namespace, pods, scales)
        return expected, _scaled(spec.min_available, expected)
    return 0, 0


def _scale(namespace: str, pods: list[BudgetedPod], scales: Scales) -> int:
    """The scales of all controllers of the pods together. Pods without a controller do not count."""
    found, seen = dict[str, int](), set[tuple[str, str, str]]()
    unknown: UnknownScale | None = None
    for pod in pods:
        owner = pod.controller
        if owner is None or (named := (owner.kind, owner.name, owner.uid)) in seen:
            continue
        seen.add(named)
        try:
            uid, scale = scales.of(namespace, owner)
        except UnknownScale as missing:  # one that has no scale decides, whoever the others are
            unknown = unknown or missing
        else:
            found[uid] = scale
    if unknown is not None:
        raise unknown
    return sum(found.values())


def _scaled(value: int | str, whole: int) -> int:
    """An amount, or a share of the whole, rounded up. Raises Uncounted for a text that is no percentage."""
    if isinstance(value, int):
        return value
    number = value.removesuffix("%")
    if number == value or not (number.isascii() and number.isdecimal()):
        raise Uncounted
    return -(-int(number) * whole // 100)
