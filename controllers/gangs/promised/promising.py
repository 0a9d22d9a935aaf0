"""A leader's own word on room, and whoever must know of it at once: the next decision, and pods that were kept out."""

from __future__ import annotations

from collections.abc import Callable

from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.promised.claims import Claims

__all__ = ["Promising"]


class Promising:
    """Room is promised and given back between two events of the loop. Made for one term."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        self._hooks: list[Callable[[ActivePlan, bool], None]] = []

    def on_change(self, hook: Callable[[ActivePlan, bool], None]) -> None:
        """Call `hook` with each plan whose room is promised (True), or is promised no longer (False)."""
        self._hooks.append(hook)

    def promise(self, plan: ActivePlan) -> None:
        """The plan is about to be stored. Its room counts from now on, so that nobody takes it meanwhile."""
        self._claims.propose((plan.namespace, plan.name), plan.spec)
        self._tell(plan, is_promised=True)

    def give_back(self, plan: ActivePlan) -> None:
        """The plan has ended, or could not be stored. Its room is free from now on."""
        self._claims.withdraw((plan.namespace, plan.name), plan.spec)
        self._tell(plan, is_promised=False)

    def _tell(self, plan: ActivePlan, *, is_promised: bool) -> None:
        for hook in self._hooks:
            hook(plan, is_promised)
