"""How plans of the quota plane end if the cluster does not end them: somebody else decides."""

from __future__ import annotations

from typing import Final

from controllers.quota.life.plan_life import Ending

__all__ = ["ABANDONED", "OVERTAKEN", "REPLACED", "RETURNED", "UNREADABLE"]

REPLACED: Final = Ending("Aborted", "Replaced", "the next plan for the same preemptor has taken its place")
OVERTAKEN: Final = Ending(
    "Aborted",
    "NoLongerFits",
    "the preemptor does not fit by this plan any longer, and a cycle found no other way",
)
RETURNED: Final = Ending(
    "Aborted",
    "VictimReturned",
    "the eviction of a victim was called off, and the preemptor still needs its quota: it is decided about anew",
)
ABANDONED: Final = Ending("Aborted", "NotCarriedOut", "no process carries this plan out")
UNREADABLE: Final = Ending("Aborted", "Unreadable", "the plan cannot be read")
