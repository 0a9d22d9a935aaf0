"""What the quota search is given and what it answers, as `native.quota.quotas` has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

__all__ = [
    "ANY",
    "COHORT_WITHIN_QUOTA",
    "FAIR_SHARING",
    "FINAL_SHARE",
    "INITIAL_SHARE",
    "IN_CLUSTER_QUEUE",
    "LOWER_OR_NEWER",
    "LOWER_PRIORITY",
    "NEVER",
    "NO_CANDIDATES",
    "PREEMPT",
    "PUT_BACK",
    "QUEUE_WITHIN_NOMINAL",
    "RECLAIM",
    "RECLAMATION",
    "SHARE_REFUSED",
    "TAKEN",
    "TIME_BASED",
    "UNLIMITED",
    "UNSET",
    "WHILE_BORROWING",
    "WOULD_BORROW",
    "Ask",
    "Found",
    "Quotas",
]

UNLIMITED: Final = 2**63 - 1
UNSET: Final = -1

NEVER: Final = 0
LOWER_PRIORITY: Final = 1
LOWER_OR_NEWER: Final = 2
ANY: Final = 3

IN_CLUSTER_QUEUE: Final = 0
TIME_BASED: Final = 1
RECLAMATION: Final = 2
WHILE_BORROWING: Final = 3
FAIR_SHARING: Final = 4

NO_CANDIDATES: Final = 0
PREEMPT: Final = 1
RECLAIM: Final = 2

FINAL_SHARE: Final = 0
INITIAL_SHARE: Final = 1

TAKEN: Final = 0
PUT_BACK: Final = 1
QUEUE_WITHIN_NOMINAL: Final = 2
COHORT_WITHIN_QUOTA: Final = 3
WOULD_BORROW: Final = 4
SHARE_REFUSED: Final = 5


class Array(Protocol):
    """Anything that can be had as lists."""

    def tolist(self) -> Any: ...


class Quotas(Protocol):
    """What is read of `native.quota.quotas.Quotas`; see there."""

    @property
    def parent(self) -> Array: ...
    @property
    def queues(self) -> int: ...
    @property
    def defined(self) -> Array: ...
    @property
    def nominal(self) -> Array: ...
    @property
    def borrowing_limit(self) -> Array: ...
    @property
    def lending_limit(self) -> Array: ...
    @property
    def resource(self) -> Array: ...
    @property
    def weight(self) -> Array: ...


class Ask(Protocol):
    """What is read of `native.quota.quotas.Ask`; see there."""

    @property
    def queue(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def queued(self) -> int: ...
    @property
    def now(self) -> int: ...
    @property
    def within(self) -> int: ...
    @property
    def reclaim(self) -> int: ...
    @property
    def borrow(self) -> bool: ...
    @property
    def threshold(self) -> int | None: ...
    @property
    def min_admit(self) -> int | None: ...
    @property
    def frs(self) -> tuple[int, ...]: ...
    @property
    def amounts(self) -> tuple[int, ...]: ...
    @property
    def contested(self) -> tuple[bool, ...]: ...
    @property
    def closed(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class Found:
    """Field for field `native.quota.quotas.Found`; see there."""

    targets: list[tuple[object, int]]
    trace: list[tuple[int, bool, object, int]]
