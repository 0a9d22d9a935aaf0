"""Which two pods cannot share a node: host ports and required anti-affinity by host name, from plain JSON objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.kit.plans.raw import Object, selects

__all__ = ["are_apart", "relations"]

HOSTNAME: Final = "kubernetes.io/hostname"
EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104


def are_apart(one: Object, other: Object, node: Object) -> bool:
    """Whether the scheduler would not put one of the pods on this node because of the other one."""
    if any(_collide(mine, theirs) for mine in _ports(one) for theirs in _ports(other)):
        return True
    if HOSTNAME not in (node["metadata"].get("labels") or {}):
        return False
    return _repels(one, other) or _repels(other, one)


def relations(pod: Object) -> str:
    """Pods with equal text are apart from the same pods."""
    meta = pod["metadata"]
    terms = [sorted(term.items(), key=str) for term in _terms(pod)]
    return str(
        (meta.get("namespace"), sorted((meta.get("labels") or {}).items()), sorted(_ports(pod)), terms)
    )


def _ports(pod: Object) -> Iterator[tuple[str, int, str]]:
    """(protocol, port, address) of containers, and of init containers that keep running."""
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    for container in [*spec["containers"], *sidecars]:
        for port in container.get("ports") or []:
            number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
            if number:
                yield port.get("protocol", "TCP"), number, port.get("hostIP") or EVERY_ADDRESS


def _collide(one: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    return one[:2] == other[:2] and (one[2] == other[2] or EVERY_ADDRESS in (one[2], other[2]))


def _terms(pod: Object) -> list[Object]:
    anti = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    terms = anti.get("requiredDuringSchedulingIgnoredDuringExecution") or []
    return [term for term in terms if term["topologyKey"] == HOSTNAME]


def _repels(owner: Object, other: Object) -> bool:
    """Whether a term of the one selects the other."""
    mine, theirs = owner["metadata"], other["metadata"]
    for term in _terms(owner):
        selector = term.get("labelSelector")
        namespaces = term.get("namespaces") or []
        if "namespaceSelector" in term:
            if term["namespaceSelector"] != {}:
                raise ValueError("namespaces' labels are unknown here")
            named = True
        else:
            named = theirs["namespace"] in (namespaces or [mine["namespace"]])
        keys = [(key, True) for key in term.get("matchLabelKeys") or []]
        keys += [(key, False) for key in term.get("mismatchLabelKeys") or []]
        own, labels = mine.get("labels") or {}, theirs.get("labels") or {}
        alike = all((labels.get(key) == own[key]) is wanted for key, wanted in keys if key in own)
        if named and alike and selects(selector, labels):
            return True
    return False
