"""The account's part of the Configuration file."""

from __future__ import annotations

from serving.sections import Count, Seconds, Section

__all__ = ["ObservingConfiguration"]


class ObservingConfiguration(Section):
    """What is written down of what schedulers do.

    episodeSeconds: how long after its preemption a pod may still have served somebody: a pod of the preemptor is bound
    on its node, and the preemptor runs whole.
    reportDays: how many PreemptionReports stay, one for each day.
    """

    episode_seconds: Seconds = 1800
    report_days: Count = 30
