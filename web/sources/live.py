"""A cluster that is followed: a mirror as that of the process that acts, but no kind has to be there.

What may not be read, or is not served, is done without, as the commands do. A kind that comes later appears. See
docs/page.md.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from answers.details import Details, groups_by_namespace
from answers.doctor.seen import Seen as Looked
from answers.errors import UnreadError
from answers.map.changing import Change, Changing
from answers.names import Names
from answers.picture import Picture
from answers.reading.details import CLUSTER, TURN, DetailedObjects
from answers.reading.node_objects import NodeObjects
from answers.reading.planes import QUOTA_KINDS, unread
from answers.reports.decisions import Account
from answers.scheduler_marks import Mark, marks_of
from answers.stored_plans import NO_PLANS, StoredPlans
from answers.submission import Known
from answers.worker_clusters import WorkerClusters
from api.checks import MultiKueueCluster
from api.clock import SYSTEM_CLOCK, Clock
from api.core import Pod
from api.dispatch import DispatchPlan
from api.groups import PodGroup
from api.owner_annotations import ByOwner
from api.reports import PreemptionReport
from api.times import rfc3339
from kube.client import ApiClient
from kube.reflector import HasMetadata
from nodes.answers.picture import NodesPicture
from nodes.groups.registry import GroupKey
from nodes.state.snapshot import PlanRoom
from quota.answers.picture import QuotaPicture
from quota.state.state import QuotaState
from runtime.mirror.objects import Objects
from runtime.mirror.resources import (
    DISPATCH_PLANS,
    GROUPS,
    MULTIKUEUE_CLUSTERS,
    PLANS,
    PODS,
    REPORTS,
    WHOLE_PLANS,
)
from runtime.mirror.views import View, Views
from runtime.mirror.watched_quota import WatchedQuota
from runtime.mirror.watched_tables import FOREIGN_GROUPS, WatchedTables
from web.sources.accounts import KeptDecisions
from web.sources.asked import ask_about, ask_known, ask_pods, ask_preempted
from web.sources.examined import look
from web.sources.lease import USUAL, LeaseReader
from web.sources.plans import KeptPlans, WholeSpecs
from web.sources.pods import WaitingPods
from web.sources.source import Ask, Changes, Seen

__all__ = ["Cluster"]

LOOK_SECONDS: Final = 0.5
"""Between two looks whether watches stand, and whether rights have come or gone."""
STANDS_SECONDS: Final = 3.0
"""A watch that is interrupted for longer is said to stand. Watches end in the course of things, and begin anew at
once."""
POD_NAME: Final = re.compile(r"[a-z0-9.-]{1,253}")
"""As far as it is safe in a field selector."""
KINDS: Final[Mapping[type[Any], tuple[str, str]]] = {
    kind.struct: key for key, kind in {**NodeObjects.kinds, **DetailedObjects.kinds}.items()
} | {kind.struct: key for key, kind in NodeObjects.kinds.items()}
"""apiVersion and kind of what is watched."""


class _Changed:
    """A store that keeps nothing, and takes every state for a change: a list shows statuses that decide nothing."""

    def upsert(self, item: HasMetadata) -> bool:
        """See `runtime.mirror.view.Store`."""
        del item
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        del namespace, name
        return True


class Cluster:
    """See `Source`."""

    is_live = True

    def __init__(
        self,
        client: ApiClient,
        clock: Clock = SYSTEM_CLOCK,
        views: Views | None = None,
        by_owner: ByOwner | None = None,
    ) -> None:
        """`client` asks with the rights of the page. `views`: those that are filled, by default of its own. `by_owner`:
        `groups.byOwner`, by default as the leader says on its Lease."""
        self._clock = clock
        self._views = views or Views(client, clock=clock, optional=True)
        self._tables = WatchedTables(self._views, by_owner=by_owner or USUAL, is_complete=False)
        self._quota = WatchedQuota(self._views, QuotaState(partial=True, deactivated_hold=False))
        self._pods, self._whole = WaitingPods(), WholeSpecs()
        self._plans = KeptPlans(self._whole)
        self._clusters, self._turns = Objects[MultiKueueCluster](), Objects[DispatchPlan]()
        self._decisions, self._reports = KeptDecisions(), Objects[PreemptionReport]()
        self._follow()
        self._reader = LeaseReader(client, self._lease_changed, by_owner)
        self._process = secrets.token_hex(4)
        self._version, self._changes = 0, asyncio.Event()
        self._seen: Seen | None = None
        self._marked = self._marks()
        self._nodes: NodesPicture | None = None
        self._quota_picture: QuotaPicture | None = None
        self._refused: Mapping[tuple[str, str], str] = {}
        self._trouble = ""

    def _follow(self) -> None:
        """Note what changes: of nodes, of quota, and what costs nothing to show anew."""
        changed = _Changed()
        views: list[View[Any]] = [self._views.watch(PODS, self._pods)]
        views += [self._views.watch(each, changed) for each in (GROUPS, *FOREIGN_GROUPS)]
        self._tables.on_change(self._nodes_changed)
        plans = self._views.watch(PLANS, self._plans)
        plans.on_change(self._plans_changed)
        for view in self._quota.views:
            view.on_change(self._quota_changed)
        self._views.watch(PLANS, self._decisions)
        views += [
            self._views.watch(REPORTS, self._reports),
            self._views.watch(WHOLE_PLANS, self._whole),
            self._views.watch(MULTIKUEUE_CLUSTERS, self._clusters),
            self._views.watch(DISPATCH_PLANS, self._turns),
        ]
        for view in views[-4:]:
            view.on_change(self._note)

    # ---- what changes

    def _nodes_changed(self) -> None:
        self._nodes = None
        self._marked = self._marks()
        self._note()

    def _plans_changed(self) -> None:
        """Most plans that change hold no room."""
        if self._marks() != self._marked:
            self._nodes_changed()
        else:
            self._note()

    def _quota_changed(self) -> None:
        self._quota_picture = None
        self._note()

    def _lease_changed(self) -> None:
        tables, said = self._tables.tables, self._reader
        tables.set_preempting(said.preempting)
        tables.set_by_owner(said.by_owner)
        self._nodes_changed()

    def _note(self) -> None:
        self._seen = None
        self._version += 1
        self._changes.set()
        self._changes = asyncio.Event()

    # ---- questions (see `Source`)

    @property
    def version(self) -> str:
        """See `Source`."""
        return f"{self._process}-{self._version}"

    @property
    def trouble(self) -> str:
        """See `Source`."""
        return self._trouble

    @property
    def lease(self) -> Mapping[str, str]:
        """See `Source`."""
        return self._reader.said

    def now(self) -> int:
        """See `Source`."""
        return round(self._clock.wall() * 1e6)

    def picture(self) -> Seen:
        """See `Source`."""
        if not all(view.synced for view in self._views):
            raise UnreadError("the cluster has not been listed yet")
        self._notice()
        if self._seen is None:
            picture = self._picture()
            plans = self._plans.shared()
            near = _Namespaces(picture, self._pods.shared(), plans)
            account = Account(self._decisions.shared(), tuple(self._reports))
            self._seen = Seen(picture, cache(near.details), account, plans)
        return self._seen

    def changes(self) -> Changes:
        """See `Source`."""
        following, refused = Changing(self._tables.tables, self._plans.rooms()), self._refused

        def change() -> Change | None:
            nonlocal refused
            if self._marks() != self._marked:
                self._nodes_changed()  # views tell of changes in the next turn of the loop
            found, before, refused = following.next(self._plans.rooms()), refused, self._refused
            return found if refused == before else None  # the map says what could not be read

        return change

    def _marks(self) -> tuple[int, int, int, Sequence[PlanRoom]]:
        """What grows with the tables, and with plans that hold room."""
        tables = self._tables.tables
        return (
            tables.nodes.last_change,
            tables.pods.changed.count,
            tables.groups.changed.count,
            self._plans.rooms(),
        )

    async def changed(self) -> None:
        """See `Source`."""
        await self._changes.wait()

    async def about(self, namespace: str, ask: Ask) -> tuple[Picture, Details]:
        """See `Source`."""
        asked = await ask_about(namespace, ask)
        seen = self.picture()
        picture = replace(seen.at(self.now()), refused={**seen.refused, **asked.refused})
        near = seen.details(namespace)
        units = {
            pod.metadata.name: unit for pod in asked.pods if (unit := _unit_of(picture, pod)) is not None
        }
        details = replace(
            near,
            pods={pod.metadata.name: pod for pod in asked.pods},
            units=units,
            jobs={job.metadata.name: job for job in asked.jobs},
            sets=asked.sets,
            events=asked.events,
        )
        return picture, details

    async def known(self, namespaces: Collection[str], ask: Ask) -> Known:
        """See `Source`. It is asked for: few questions need it."""
        return await ask_known(namespaces, ask)

    async def looked(self, ask: Ask) -> Looked:
        """See `Source`. All of it is asked for: the mirror drops most of what the checks look at."""
        return await look(ask)

    async def marks(self, namespace: str, name: str, names: Names, ask: Ask) -> Sequence[Mark]:
        """See `Source`. What is no name of a pod is asked about nowhere."""
        if POD_NAME.fullmatch(name) is None:
            return []
        pods = await ask_pods(namespace, name, ask) if names.lists("pods", namespace) else []
        events = await ask_preempted(namespace, name, ask) if names.lists("events", namespace) else []
        return marks_of(pods, events)

    # ---- following

    async def wait_synced(self) -> None:
        """See `Source`."""
        await asyncio.gather(self._reader.wait_read(), *(view.wait_synced() for view in self._views))

    async def run(self) -> None:
        """See `Source`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._views.run())
                tasks.create_task(self._reader.run())
                tasks.create_task(self._look())
        finally:
            self._views.close()

    async def _look(self) -> None:
        """Notice what no event tells: time that passes without a watch, and rights."""
        while True:
            self._notice()
            await asyncio.sleep(LOOK_SECONDS)

    def _notice(self) -> None:
        trouble, refused = self._troubled(), self._refusals()
        if (trouble, refused) != (self._trouble, self._refused):
            self._trouble, self._refused = trouble, refused
            self._note()

    def _troubled(self) -> str:
        since = {
            view.kind: age
            for view in self._views
            if not view.is_refused and (age := view.interrupted()) > STANDS_SECONDS
        }
        if since:
            kind = max(since, key=lambda each: since[each])
            others = f" and of {len(since) - 1} more kinds" if len(since) > 1 else ""
            return f"the watch of {kind}{others} stands since {rfc3339(self._clock.wall() - since[kind])}"
        return self._reader.trouble

    def _refusals(self) -> Mapping[tuple[str, str], str]:
        found = dict[tuple[str, str], str]()
        for view in self._views:
            refusal, key = view.refusal, KINDS.get(view.resource.type)
            if refusal is not None and refusal.status == HTTPStatus.FORBIDDEN and key is not None:
                found[key] = f"a right is missing: {refusal.message}"
        return {**found, **self._reader.refused}

    # ---- the picture

    def _picture(self) -> Picture:
        """What has not changed is shared with the last one."""
        if self._nodes is None:
            self._nodes = NodesPicture.of(self._tables.tables).with_rooms(self._plans.rooms())
        if self._quota_picture is None:
            self._quota_picture = QuotaPicture(self._quota.state)
        refused = {key: said for key, said in self._refused.items() if key not in (CLUSTER, TURN)}
        clusters = [self._refused[key] for key in (CLUSTER, TURN) if key in self._refused]
        return Picture(
            moment=self.now(),
            quota=self._quota_picture,
            namespaces=self._nodes.snapshot.namespaces,
            refused=refused,
            without_nodes=unread(refused),
            without_quota=unread(refused, QUOTA_KINDS),
            worker_clusters=WorkerClusters(
                {each.metadata.name: each for each in self._clusters}, list(self._turns), "; ".join(clusters)
            ),
            native=self._reader.native,
            looked=self._nodes,
        )


def _unit_of(picture: Picture, pod: Pod) -> GroupKey | None:
    """The group with which the pod may be evicted."""
    nodes = picture.nodes
    row = nodes.snapshot.pod_rows.get(pod.metadata.uid)
    if row is None:
        return nodes.owners.unit_of(pod)
    group = int(nodes.snapshot.pod_group[row])
    return nodes.snapshot.group_keys[group] if group >= 0 else None


class _Namespaces:
    """What namespaces have, at one moment."""

    def __init__(
        self,
        picture: Picture,
        pods: Mapping[str, Mapping[str, Pod]],
        plans: Mapping[str, StoredPlans],
    ) -> None:
        self._picture, self._pods, self._plans = picture, pods, plans
        self._groups: dict[str, dict[GroupKey, PodGroup]] | None = None

    def details(self, namespace: str) -> Details:
        """Without what the mirror does not have."""
        pods = self._pods.get(namespace, {})
        units = {
            name: unit for name, pod in pods.items() if (unit := _unit_of(self._picture, pod)) is not None
        }
        return Details(
            namespace=namespace,
            pods=pods,
            units=units,
            groups=self._of(namespace),
            jobs={},
            sets=(),
            events=(),
            plans=self._plans.get(namespace, NO_PLANS),
        )

    def _of(self, namespace: str) -> Mapping[GroupKey, PodGroup]:
        if self._groups is None:
            snapshot = self._picture.nodes.snapshot
            self._groups = groups_by_namespace(snapshot.group_keys, snapshot.groups)
        return self._groups.get(namespace, {})
