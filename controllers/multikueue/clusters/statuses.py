"""Writes the conditions of MultiKueueClusters and of the AdmissionChecks that name them."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import structlog

from api.backoff import Backoff
from api.checks import AdmissionCheck, MultiKueueCluster
from api.clock import Clock
from api.kueue import API_VERSION
from controllers.multikueue.clusters.activity import ACTIVE, Activity
from controllers.multikueue.clusters.checks import State
from controllers.multikueue.clusters.probe import CONDITION, Probed
from kube.conditions import ConditionWriter, Target
from kube.errors import ApiError
from kube.sender import Sender
from runtime.mirror.resources import ADMISSION_CHECKS, MULTIKUEUE_CLUSTERS
from runtime.work.queue import KeyedQueue

__all__ = ["StatusKey", "Statuses"]

log = structlog.get_logger(__name__)

BACKOFF: Final = Backoff(1.0, 60.0)

Truth = Literal["True", "False", "Unknown"]


class StatusKey(NamedTuple):
    """An object with conditions."""

    kind: str
    name: str


class Statuses:
    """The writer, in one term."""

    def __init__(self, sender: Sender, clock: Clock) -> None:
        self._writer = ConditionWriter(sender, clock=clock)
        self.queue: KeyedQueue[StatusKey] = KeyedQueue(backoff=BACKOFF, clock=clock)

    def changed(self, kind: str, name: str) -> None:
        """A condition of that object may have to be written."""
        self.queue.add(StatusKey(kind, name))

    async def write_cluster(self, cluster: MultiKueueCluster, activity: Activity, probed: Probed) -> None:
        """Write the conditions of a MultiKueueCluster, if they differ. Raises ApiError."""
        status = cluster.status
        target = Target(
            f"{MULTIKUEUE_CLUSTERS.path}/{cluster.metadata.name}",
            API_VERSION,
            "MultiKueueCluster",
            cluster.metadata,
            (status.conditions or ()) if status is not None else (),
        )
        generation = cluster.metadata.generation
        await self._writer.write(
            target,
            ACTIVE,
            "True" if activity.is_active else "False",
            activity.reason,
            activity.message,
            generation=generation,
        )
        if probed.reason:
            truth: Truth = "Unknown" if probed.honours is None else "True" if probed.honours else "False"
            await self._writer.write(
                target, CONDITION, truth, probed.reason, probed.message, generation=generation
            )

    async def write_check(self, check: AdmissionCheck, state: State) -> None:
        """Write the condition Active of an AdmissionCheck, if it differs. Raises ApiError."""
        status = check.status
        target = Target(
            f"{ADMISSION_CHECKS.path}/{check.metadata.name}",
            API_VERSION,
            "AdmissionCheck",
            check.metadata,
            (status.conditions or ()) if status is not None else (),
        )
        await self._writer.write(
            target,
            ACTIVE,
            "True" if state.is_active else "False",
            state.reason,
            state.message,
            generation=check.metadata.generation,
        )

    def failed(self, key: StatusKey, error: ApiError, wait: float) -> None:
        """See `runtime.work.workers.serve`."""
        log.warning(
            "a condition could not be written",
            kind=key.kind,
            name=key.name,
            error=str(error),
            wait=round(wait, 1),
        )
