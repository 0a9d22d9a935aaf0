"""The plans of the quota plane over an API server that is a few dictionaries. A test moves clock and cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import msgspec

from api.backoff import Backoff
from api.plans import PreemptionPlan
from api.workloads import Workload
from controllers.quota.plans.lives import PlanRules
from controllers.quota.plans.need import Need
from controllers.quota.plans.plans import QuotaPlans
from controllers.quota.plans.proposals import Proposals
from controllers.quota.plans.resuming import Fence, Resuming
from controllers.quota.plans.stored_plans import PlanStore, StoredPlans
from controllers.quota.workloads.shown import Shown
from kube.client import ApiClient
from kube.conditions import ConditionWriter
from kube.sender import Sender
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.search.decision import Options
from quota.state.workloads import key_of
from runtime.mirror.resources import PLANS, WORKLOADS
from runtime.mirror.views import Views
from runtime.mirror.watched_quota import WatchedQuota
from runtime.plans.plan_retention import Retention
from runtime.plans.plan_writer import PlanWriter
from runtime.terms.term import Term
from tests.kit import apiserver
from tests.kit.quota.objects import Object, completed, us

__all__ = ["NOW", "RETENTION", "WHOLE", "PlanStage"]

NOW: Final = 1000
"""Seconds after the epoch of `tests.kit.quota.objects`, at which a stage begins."""
DEADLINE: Final = 600
RETENTION: Final = 3600.0
WHOLE: Final = "/apis/reprieve.dev/v1alpha1/clusterpreemptionplans"


class PlanStage:
    """One process with a term; `restart` is another one at the same API server."""

    def __init__(self, *objects: Object, api: apiserver.Api | None = None, term: int = 1) -> None:
        self.api = api or apiserver.Api()
        if api is None:
            self.api.clock.advance(NOW)
        self.clock = self.api.clock
        self.api.of(PLANS.path), self.api.of(WHOLE), self.api.of(WORKLOADS.path)
        client, self.looked, self.freed = cast(ApiClient, self.api), list[str](), list[str]()
        views = Views(client, clock=self.clock)
        self.quota, self.stored = WatchedQuota(views), StoredPlans()
        self.view = views.watch(PLANS, self.stored)
        self._views = {view.resource.type: view for view in views}
        sender = Sender(client, attempts=1)
        store = PlanStore(
            PlanWriter(client, sender), self.stored, self.view.apply, Retention(RETENTION, 0), self.clock
        )
        cluster = Shown(self.quota)
        self.plans = QuotaPlans(
            store,
            cluster,
            PlanRules(Options(), DEADLINE * 1_000_000),
            self.clock,
            self.looked.append,
            self.freed.append,
            Need(self.quota.state),
        )
        self.proposals = Proposals(store, self.quota.state, self.clock, self.freed.append)
        fence = Fence(
            ConditionWriter(sender, clock=self.clock),
            self.quota.workloads.apply,
            Term(term, self.clock, holder="me"),
            self.clock,
            backoff=Backoff(0.001, 0.001),
        )
        self.resuming = Resuming(self.stored, self.plans, cluster, fence.write_all)
        self.quota.on_workload(self.plans.workload_changed)
        self.quota.on_workload(self.proposals.workload_changed)
        self.put(*completed(objects))

    def restart(self, *objects: Object) -> PlanStage:
        """A new process in a new term. It knows what is stored."""
        again = PlanStage(*objects, api=self.api, term=2)
        for stored in self.api.of(WORKLOADS.path).values():
            again.quota.workloads.upsert(msgspec.convert(stored, Workload), listed=True)
        for stored in self.api.of(PLANS.path).values():
            again.view.upsert(msgspec.convert(stored, PreemptionPlan), listed=True)
        return again

    def put(self, *objects: Any) -> None:
        """Objects come, or change. Workloads are also stored."""
        for each in objects:
            if isinstance(each, Workload):
                stored = msgspec.to_builtins(each)
                self.api.put(WORKLOADS.path, stored)
                each = msgspec.convert(stored, Workload)
            self._views[type(each)].upsert(each, listed=True)

    def remove(self, workload: Workload) -> None:
        """A Workload goes."""
        self.api.of(WORKLOADS.path).pop(workload.metadata.name, None)
        self.quota.workloads.delete(workload.metadata)

    def remove_plan(self, name: str) -> None:
        """Somebody deletes a plan."""
        stored = msgspec.convert(self.api.of(PLANS.path).pop(name), PreemptionPlan)
        last = msgspec.structs.replace(stored.metadata, resource_version=self.api.next_version())
        self.view.delete(last)

    def decide(self, *heads: Workload) -> list[Entry]:
        """A cycle at this moment."""
        known = [self.quota.state.workloads[key_of(each)] for each in heads]
        return cycle(self.quota.state.snapshot(), known, self.now, Options(), promises=self.plans.promises())

    async def preempt(self, head: Workload) -> None:
        """Decide, begin the plan that follows, and let everything be written."""
        self.begin(head)
        await self.plans.settle()

    def begin(self, head: Workload) -> None:
        """Decide, and begin the plan that follows."""
        (entry,) = self.decide(head)
        assert entry.outcome == "Preempt", entry
        self.plans.begin(entry, self.quota.state.snapshot())

    @property
    def now(self) -> int:
        """Microseconds since 1970."""
        assert round(self.clock.wall() * 1_000_000) >= us(0)
        return round(self.clock.wall() * 1_000_000)

    @property
    def phases(self) -> dict[str, tuple[str, str]]:
        """Phase and its reason, by the name of the plan without its digest."""
        return {name.rpartition("-")[0]: _said(each) for name, each in self.api.of(PLANS.path).items()}

    def written(self, wanted: Callable[[apiserver.Written], bool]) -> list[str]:
        """Methods and last parts of paths of such writes."""
        return [f"{each.method} {each.path.split('/')[-1]}" for each in self.api.written if wanted(each)]

    def going(self, *workloads: Workload) -> list[str]:
        """The names of those that a plan wants to go."""
        return [
            each.metadata.name for each in workloads if self.plans.preemption_of(key_of(each)) is not None
        ]


def _said(plan: dict[str, Any]) -> tuple[str, str]:
    status = plan.get("status", {})
    phase = status.get("phase", "")
    reasons: Iterable[str] = (
        each["reason"] for each in status.get("conditions", ()) if each["type"] == phase
    )
    return phase, next(iter(reasons), "")
