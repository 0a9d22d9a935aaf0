"""What becomes of one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from answers.withholding import stripped
from api.plans import PreemptionPlanSpec
from api.waits import Wait
from nodes.answers.consequences import Consequence
from nodes.answers.verdicts import plain

__all__ = ["RUNS", "Step"]

RUNS: Final = ("Runs", "RunsAfterEvictions")
"""Outcomes of objects all of whose pods get nodes."""


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one object."""

    kind: str
    name: str
    """NAMESPACE/NAME."""
    pods: int
    outcome: str
    sentence: str
    running: int = 0
    """How many of its pods get nodes."""
    not_modelled: tuple[str, ...] = ()
    """What is not modelled and could make the outcome another one."""
    quota: Wait | None = None
    """What the quota plane says; None if it names no queue."""
    plan: PreemptionPlanSpec | None = None
    """The decision about nodes; None if it was not asked for."""
    evicted: tuple[str, ...] = ()
    """Who is evicted for it on nodes."""
    consequences: tuple[Consequence, ...] = ()
    """What becomes of each of them."""
    quota_consequences: tuple[Wait, ...] = ()
    """What becomes of the Workloads that lose their quota for it."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "outcome": self.outcome,
            "sentence": self.sentence,
            "pods": self.pods,
            "running": self.running,
            "notModelled": list(self.not_modelled),
            "quota": self.quota.plain() if self.quota is not None else None,
            "evicted": list(self.evicted),
            "consequences": [
                {
                    "unit": each.unit,
                    "fits": each.fits,
                    "sentence": each.sentence,
                    "wouldEvict": list(each.would_evict),
                }
                for each in self.consequences
            ],
            "quotaConsequences": [each.plain() for each in self.quota_consequences],
            "plan": stripped(plain(self.plan)) if self.plan is not None else None,
        }
