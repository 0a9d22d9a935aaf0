"""Carries out acts in the manager's own cluster. The status of Workloads is not among them: it is reported."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
import orjson

from api.clock import Clock
from api.dispatch import DispatchPlan
from api.jobs import TemplatedJob
from api.workloads import Workload
from controllers.multikueue.acting.gates import OpenGates
from controllers.multikueue.acting.mirrors import Mirrors
from controllers.multikueue.acting.originals import JOB_PATH, Originals
from controllers.multikueue.acting.telling import Telling
from controllers.multikueue.acting.turn_bodies import plan_of, status_of
from controllers.multikueue.clusters.clusters import Clusters
from controllers.multikueue.kinds.registry import kind_of
from controllers.multikueue.life.decision import EndTurn, GiveTurn, Here, MirrorJob
from controllers.multikueue.life.seen import Seen
from kube.client import MERGE_PATCH, ApiClient
from kube.errors import ApiError
from kube.sender import Sender
from runtime.failpoints import failpoint

__all__ = ["ActsHere"]

PLANS: Final = "/apis/reprieve.dev/v1alpha1/namespaces/{}/dispatchplans"


class ActsHere:
    """In one term."""

    def __init__(
        self,
        client: ApiClient,
        sender: Sender,
        mirrors: Mirrors,
        originals: Originals,
        gates: OpenGates,
        telling: Telling,
        clock: Clock,
    ) -> None:
        self._client, self._sender, self._mirrors, self._originals = client, sender, mirrors, originals
        self._gates, self._telling, self._clock = gates, telling, clock

    async def carry_out(self, act: Here, seen: Seen, clusters: Clusters, *, by_cost: bool) -> None:
        """Raises ApiError if the act must be tried again."""
        match act:
            case GiveTurn():
                await self._give(act, seen, by_cost=by_cost)
            case EndTurn():
                await self._end(act, seen, clusters)
            case MirrorJob(cluster=name):
                await self._mirror(name, seen, clusters)
            case _:
                if seen.workload is not None:
                    await self._read(seen.workload, seen)

    async def _read(self, workload: Workload, seen: Seen) -> None:
        """The Workload, and its Job, which is soon needed: each of the reads later would delay the admission."""
        reads = [self._originals.workload(workload.metadata, seen.attempt)]
        if seen.job is not None:
            reads.append(self._originals.template(seen.job.metadata, seen.attempt))
        await asyncio.gather(*reads)

    # ---- turns

    async def _give(self, give: GiveTurn, seen: Seen, *, by_cost: bool) -> None:
        """The turn counts at once: the next Workload that asks must know of it."""
        workload = seen.workload
        if workload is None:
            return
        cost = next((each.cost for each in seen.clusters if each.name == give.cluster), None)
        self._gates.gave(seen.key, give.cluster, cost.cluster_queue if cost is not None else "", give.began)
        plan = plan_of(seen, workload, give, by_cost=by_cost)
        path = PLANS.format(plan.metadata.namespace)
        await failpoint("multikueue.before_turn")
        try:
            answer = await self._sender.send("DispatchPlan", "POST", path, body=msgspec.json.encode(plan))
        except ApiError:
            # A conflict: an earlier leader gave this turn. The watch is about to show it.
            self._gates.over(seen.key)
            raise
        self._mirrors.turn_view.apply(msgspec.json.decode(answer, type=DispatchPlan))
        await failpoint("multikueue.after_turn")

    async def _end(self, end: EndTurn, seen: Seen, clusters: Clusters) -> None:
        namespace, _, _ = seen.key.partition("/")
        plan = self._mirrors.turns.plan(namespace, end.name)
        if plan is None:
            return
        if not any(each.name != end.name and not each.is_over for each in seen.turns):
            self._gates.over(seen.key)
        body = {
            "metadata": {"uid": plan.metadata.uid},
            "status": msgspec.to_builtins(status_of(end, self._clock.wall())),
        }
        path = f"{PLANS.format(namespace)}/{end.name}/status"
        answer = await self._sender.send(
            "DispatchPlan status", "PATCH", path, body=orjson.dumps(body), content_type=MERGE_PATCH
        )
        self._mirrors.turn_view.apply(msgspec.json.decode(answer, type=DispatchPlan))
        if clusters.get(plan.spec.cluster) is not None:  # otherwise its series would come again, and stay
            self._telling.ended(end, plan.spec.cluster)

    # ---- the Job here

    async def _mirror(self, name: str, seen: Seen, clusters: Clusters) -> None:
        """Read the Job here, and give it the status of the Job there."""
        job, workload = seen.job, seen.workload
        kind = kind_of(workload) if workload is not None else None
        if job is None or kind is None:
            return
        connection = clusters.get(name) if name else None
        remote = connection.job(seen.key, job.metadata.name) if connection is not None else None
        found = await self._originals.job(job.metadata)
        if found is None:
            return
        patch = kind.mirrored(found, orjson.loads(remote.raw_status) if remote is not None else None)
        if patch is not None:
            meta = found["metadata"]
            await failpoint("multikueue.before_mirror")
            answer = await self._sender.send(
                "Job status",
                "PATCH",
                JOB_PATH.format(meta["namespace"], meta["name"]) + "/status",
                body=orjson.dumps(
                    {
                        "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
                        "status": patch,
                    }
                ),
                content_type=MERGE_PATCH,
            )
            self._mirrors.job_view.apply(msgspec.json.decode(answer, type=TemplatedJob))
            await failpoint("multikueue.after_mirror")
        self._originals.shown.shows(seen.key, job, remote)
