"""Which ended plans stay, and how long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from api.plan_names import PlanKey

__all__ = ["Aging", "Retention", "surplus"]


class Aging(Protocol):
    """A stored plan."""

    @property
    def key(self) -> PlanKey:
        """(namespace, name)."""

    @property
    def owner(self) -> tuple[str, str, str]:
        """The preemptor: its kind, its namespace, and what else tells it from others."""

    @property
    def touched(self) -> float:
        """When it changed last, in seconds since the epoch."""

    @property
    def has_ended(self) -> bool:
        """Whether no process carries it out any longer."""

    @property
    def evicted(self) -> bool:
        """Evictions may have been asked for."""

    @property
    def remembered_seconds(self) -> float:
        """How long it is needed after `touched`, whatever is configured."""


AgingT = TypeVar("AgingT", bound=Aging)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long ended plans stay."""

    seconds: float
    """How long a plan that evicted stays after its end."""
    kept: int
    """How many of the other plans of a preemptor stay: the newest ones."""


def surplus(plans: Iterable[AgingT], now: float, retention: Retention) -> list[AgingT]:
    """The plans that are to be deleted at `now` (seconds since the epoch), oldest first.

    A preemptor's newest plan, its current decision, stays, also when the preemptor is gone. Pods and Workloads come and
    go under new names, so their current decision stays as long as a plan that evicted.
    """
    ordered = sorted(plans, key=_age)
    by_owner: dict[tuple[str, str, str], list[AgingT]] = {}
    for plan in ordered:
        by_owner.setdefault(plan.owner, []).append(plan)
    found = [plan for each in by_owner.values() for plan in _surplus(each, now, retention)]
    return sorted(found, key=_age)


def _age(plan: Aging) -> tuple[float, str]:
    return plan.touched, plan.key[1]


def _surplus(plans: Sequence[AgingT], now: float, retention: Retention) -> list[AgingT]:
    """Of one preemptor's plans, oldest first."""
    current, ended = plans[-1], [plan for plan in plans if plan.has_ended]
    others = [plan for plan in ended if not plan.evicted]
    newest = {plan.key for plan in others[-retention.kept :]}

    def is_surplus(plan: AgingT) -> bool:
        is_old = now - plan.touched >= max(retention.seconds, plan.remembered_seconds)
        if plan is current:
            return is_old and plan.owner[0] != "PodGroup"
        return is_old if plan.evicted else plan.key not in newest

    return [plan for plan in ended if is_surplus(plan)]
