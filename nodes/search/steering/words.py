"""Who evicts for the plan of a native gang, and why, as part of a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api.plans import Evictor, EvictorReason

__all__ = ["evictor_words"]

WORDS: Final[Mapping[EvictorReason, str]] = {
    "SameVictims": "its rule evicts these victims, or equal ones",
    "NoDearer": "its rule evicts these victims, and others would not cost less",
    "DriveMode": "planning.nativeGroups is Drive",
    "TopologyConstraint": "the group has a topology constraint",
    "BudgetsRespected": "PodDisruptionBudgets are respected",
    "UnknownUnit": "kube-scheduler would evict only a part of a group that it does not know",
    "PodStays": "kube-scheduler would evict a pod that is not to be evicted",
    "PromisedRoom": "kube-scheduler would use room that is promised to others",
    "OtherVictims": "kube-scheduler would evict pods that cost more",
    "NotFeasible": "for kube-scheduler, a member does not fit on its node yet",
    "NotProven": "it is not known whom kube-scheduler would evict",
}


def evictor_words(by: Evictor, reason: EvictorReason) -> str:
    """Such as: kube-scheduler evicts, because its rule evicts these victims, or equal ones."""
    who = "kube-scheduler" if by == "Scheduler" else "reprieve"
    return f"{who} evicts, because {WORDS[reason]}"
