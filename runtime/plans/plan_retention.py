"""Which ended plans stay, and how long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    def made_for(self) -> tuple[str, ...]:
        """What tells its preemptor from all others, also from one that had the same name before."""

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
    observed: int | None = None
    """How many plans in phase Observed stay, of all preemptors together: the newest ones. None: there are none."""


def surplus(
    plans: Iterable[AgingT],
    now: float,
    retention: Retention,
    lasts: Callable[[AgingT], bool] = lambda _: False,
) -> list[AgingT]:
    """The plans that are to be deleted at `now` (seconds since the epoch), oldest first.

    `lasts`: whether the plan's preemptor still exists, and is of a kind that stays. Such a preemptor keeps its newest
    plan, its current decision, and the newest ones that evicted nothing, however old they are. All others come and go
    under new names: their plans stay as long as a plan that evicted, at most. Only stored times count, so it does not
    matter which process asks, and since when it runs.
    """
    ordered = sorted(plans, key=_age)
    by_preemptor: dict[tuple[str, ...], list[AgingT]] = {}
    for plan in ordered:
        by_preemptor.setdefault(plan.made_for, []).append(plan)
    found = [plan for each in by_preemptor.values() for plan in _surplus(each, now, retention, lasts)]
    return sorted(found, key=_age)


def _age(plan: Aging) -> tuple[float, str]:
    return plan.touched, plan.key[1]


def _surplus(
    plans: Sequence[AgingT], now: float, retention: Retention, lasts: Callable[[AgingT], bool]
) -> list[AgingT]:
    """Of one preemptor's plans, oldest first."""
    current, ended = plans[-1], [plan for plan in plans if plan.has_ended]
    others = [plan for plan in ended if not plan.evicted]
    newest = {plan.key for plan in others[max(0, len(others) - retention.kept) :]}

    has_current = lasts(current)

    def is_surplus(plan: AgingT) -> bool:
        is_old = now - plan.touched >= max(retention.seconds, plan.remembered_seconds)
        if plan is current:
            return is_old and not has_current
        if plan.evicted:
            return is_old
        return plan.key not in newest or (is_old and not has_current)

    return [plan for plan in ended if is_surplus(plan)]
