"""What kube-scheduler's message of the condition PodScheduled says of preemption.

The texts are those of 1.34, 1.36 and 1.37. Those before 1.37 write `no new claims to deallocate, ` before
`preemption: `.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from api.core import Pod
from controllers.gangs.scheduler.rejections import is_ours

__all__ = ["PreemptionOutcome", "filter_was_called", "preemption_outcome", "refusal"]


class PreemptionOutcome(StrEnum):
    """How the scheduler's preemption for a pod ended. Only NO_CANDIDATES says something of every node."""

    NO_CANDIDATES = "NoCandidates"
    """The dry run found no node where evictions would help."""
    NEVER = "Never"
    """The pod has preemptionPolicy Never, so there was no dry run."""
    TERMINATING = "Terminating"
    """The pod waits for a pod that terminates on its nominated node, so there was no dry run."""
    EXPECTED_VICTIM = "ExpectedVictim"
    """The dry run failed: a node had room without evictions (seen on 1.36 and 1.37)."""
    EMPTY_ANSWER = "EmptyAnswer"
    """The dry run found candidates, and the extenders left none of them."""
    OTHER = "Other"
    """The message says nothing of preemption, or something unknown."""


PREEMPTION: Final = re.compile(r"(?:^|[ ,])preemption: ")
"""kube-scheduler (DefaultPreemption) begins its part with it; the filters' reasons come before."""

NO_CANDIDATES: Final = re.compile(r"0/\d+ nodes are available: ")
"""The dry run's own FitError: a node's reason is `No preemption victims found for incoming pod`, `Preemption is not
helpful for scheduling`, or that of the filter which refuses the pod with all pods of lower priority gone."""

OTHERS: Final = (
    (re.compile(r"not eligible due to preemptionPolicy=Never"), PreemptionOutcome.NEVER),
    (re.compile(r"not eligible due to (?:a )?terminating pod"), PreemptionOutcome.TERMINATING),
    (re.compile(r"expected at least one victim pod on node"), PreemptionOutcome.EXPECTED_VICTIM),
    (re.compile(r"no candidate node for preemption"), PreemptionOutcome.EMPTY_ANSWER),
)


def refusal(pod: Pod) -> str | None:
    """What the scheduler said when it found no node for the pod; None if it has not tried, or found one."""
    scheduled = next((each for each in pod.status.conditions or () if each.type == "PodScheduled"), None)
    if scheduled is None or (scheduled.status, scheduled.reason) != ("False", "Unschedulable"):
        return None
    return scheduled.message


def preemption_outcome(message: str) -> PreemptionOutcome:
    """How preemption ended, by the message of a condition PodScheduled with status False, reason Unschedulable."""
    said = PREEMPTION.split(message)
    if len(said) == 1:
        return PreemptionOutcome.OTHER
    # An error may stand beside a list of nodes: the list is not whole then.
    for pattern, outcome in OTHERS:
        if pattern.search(said[-1]):
            return outcome
    return PreemptionOutcome.NO_CANDIDATES if NO_CANDIDATES.match(said[-1]) else PreemptionOutcome.OTHER


def filter_was_called(message: str) -> bool:
    """Whether our filter was called in the attempt that the message ends: its reasons are in the message.

    A pod that no in-tree filter lets on any node is not sent to extenders. A pod that our filter lets on some node is
    not turned down by the filters, unless a later extender does it.
    """
    return is_ours(message)
