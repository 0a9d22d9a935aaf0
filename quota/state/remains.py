"""What is known of a Workload that cannot be read: perhaps the quota that it holds, or at least its queue.

It matters after a restart. Before that, the last state that could be read counts.

See docs/decisions/0045.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from api.workloads import FINISHED, QUOTA_RESERVED, Admission
from quota.state.amounts import QuotaError, request_amount

__all__ = ["Remains", "remains_of"]

MOST: Final = 2**52
"""More does not count. So the sum with what others hold fits 64 bits."""
NULL: Final = msgspec.Raw(b"null")

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a Workload."""

    key: str
    """`namespace/name`."""
    cluster_queue: str = ""
    """The ClusterQueue whose quota it holds; empty if it holds none, or that is not known."""
    local_queue: str = ""
    """`namespace/name`; empty if that is not known."""
    usage: Mapping[tuple[str, str], int] | None = field(default_factory=dict)
    """The quota that counts, by flavor and resource, in canonical units. None: that is not known."""


class _Spec(msgspec.Struct, rename="camel"):
    queue_name: str = ""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: msgspec.Raw = NULL
    admission: msgspec.Raw = NULL


class _Parts(msgspec.Struct):
    spec: msgspec.Raw = NULL
    status: msgspec.Raw = NULL


class _Place(msgspec.Struct, rename="camel"):
    cluster_queue: str = ""


def remains_of(namespace: str, name: str, raw: bytes) -> Remains:
    """What is known of the object, which is JSON.

    It holds quota if it has an admission, unless its conditions say that it holds none. Its reclaimable pods are not
    looked at: all that it got counts.
    """
    parts = _read(raw, _Parts, _Parts())
    queue = _read(parts.spec, _Spec, _Spec()).queue_name
    status = _read(parts.status, _Status, _Status())
    key, local = f"{namespace}/{name}", f"{namespace}/{queue}" if queue else ""
    if _gave_back(status.conditions) or bytes(status.admission) == b"null":
        return Remains(key, local_queue=local)
    place = _read(status.admission, _Place, _Place()).cluster_queue
    return Remains(key, place, local, _usage(status.admission, f"Workload {key}"))


def _gave_back(conditions: msgspec.Raw) -> bool:
    """Whether the conditions say that it holds no quota."""
    found = _read(conditions, list[_Condition], None)
    if found is None:
        return False
    true = {each.type for each in found if each.status == "True"}
    return QUOTA_RESERVED not in true or FINISHED in true


def _usage(raw: msgspec.Raw, subject: str) -> dict[tuple[str, str], int] | None:
    admission = _read(raw, Admission, None)
    if admission is None:
        return None
    used: dict[tuple[str, str], int] = {}
    for assignment in admission.pod_set_assignments or ():
        amounts = assignment.resource_usage or {}
        for resource, flavor in (assignment.flavors or {}).items():
            try:
                amount = request_amount(resource, amounts.get(resource), subject, "status.admission")
            except QuotaError:
                return None
            used[flavor, resource] = min(used.get((flavor, resource), 0) + amount, MOST)
    return used


def _read(raw: bytes | msgspec.Raw, kind: type[T], otherwise: D) -> T | D:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError:
        return otherwise
