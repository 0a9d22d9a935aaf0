"""How many queues and Workloads there are, and when they come: the shape of Kueue's own load test.

Kueue: test/performance/scheduler/configs/baseline/generator.yaml.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

__all__ = ["KUEUE", "SLOW", "Class", "Owner", "Shape"]


@dataclass(frozen=True)
class Class:
    """Workloads that are alike. Every ClusterQueue has some."""

    name: str
    count: int
    """For each ClusterQueue."""
    cpu: int
    seconds: float
    """How long one runs once it is admitted."""
    priority: int
    interval: float
    """Seconds from one to the next one of the same ClusterQueue."""


@dataclass(frozen=True)
class Shape:
    """Cohorts of ClusterQueues, and what comes to each of them."""

    cohorts: int
    queues: int
    """In each cohort."""
    classes: tuple[Class, ...]
    cpu: int = 20
    """nominalQuota of a ClusterQueue."""
    borrowing_limit: int = 100

    @property
    def size(self) -> int:
        """All Workloads."""
        return self.cohorts * self.queues * sum(each.count for each in self.classes)

    def of_size(self, size: int, *, cohorts: int | None = None, queues: int | None = None) -> Shape:
        """About `size` Workloads in the same proportions, at least one of each class in each ClusterQueue."""
        cohorts, queues = cohorts or self.cohorts, queues or self.queues
        share = size / (cohorts * queues * sum(each.count for each in self.classes))
        classes = tuple(replace(each, count=max(1, round(each.count * share))) for each in self.classes)
        return replace(self, cohorts=cohorts, queues=queues, classes=classes)


@dataclass(frozen=True)
class Owner:
    """Who makes Workloads, finishes them and ends their evictions: a queue of work, in the order in which it comes."""

    at_once: int
    """Works at a time."""
    seconds: float
    """What each work takes before its write."""


SLOW: Final = Owner(at_once=6, seconds=0.04)
"""A busy controller: what is to be finished waits behind what is to be made, and has often changed when its turn comes.
It does at most 150 works a second."""

KUEUE: Final = Shape(
    cohorts=5,
    queues=6,
    classes=(
        Class("small", 350, cpu=1, seconds=0.2, priority=50, interval=0.1),
        Class("medium", 100, cpu=5, seconds=0.5, priority=100, interval=0.5),
        Class("large", 50, cpu=20, seconds=1.0, priority=200, interval=1.2),
    ),
)
"""15,000 Workloads."""
