"""The life of a Workload among others who act: a maker, the controllers of its checks, users, a manager of several
clusters, and time.

Whatever they do and whenever our writes come: no state is left in which the Workload waits for nobody.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from api.workloads import AdmissionCheckState, PreemptionGateState, Workload
from controllers.quota.life.admitting import reserve
from controllers.quota.life.around import Around, Limits
from controllers.quota.life.dispatching import ClusterReport
from controllers.quota.life.draft import Draft, Step
from controllers.quota.life.evicting import Preemption
from controllers.quota.life.life import EVICTION_OVERDUE, next_step, settle
from quota.cycle.queues import backs_off
from quota.search.decision import decide
from quota.state.workloads import attempt_of
from runtime.exchange.dispatch_reports import CheckReport, Dispatched
from runtime.exchange.workload_reports import Reported
from tests.kit.examples import examples
from tests.kit.quota.objects import at, cluster_queue, cpu, local_queue, set_condition, snapshot, us, workload
from webhooks.rules.workload_status import transition_causes

LIMITS = Limits(overdue=us(300) - us(0), frees_overdue=False, message=us(10) - us(0), reason=0)
QUEUE, LOCAL = cluster_queue("q", cpu(10)), local_queue("q", "q")
CHECKS = ("a", "b")
KINDS = ("QuotaReserved", "Admitted", "Evicted", "Requeued", "Finished")
STATES = st.sampled_from(["Pending", "Ready", "Retry", "Rejected"])
DELAYS = st.sampled_from([None, 0, 20, 90])


class Lives(RuleBasedStateMachine):
    """One Workload. `item` is what the API server has."""

    checks: ClassVar[tuple[str, ...]] = CHECKS

    def __init__(self) -> None:
        super().__init__()
        self.now = 100
        self.item: Workload = workload("w", "q", 1, gates=["g"])
        self.policies = {"cluster": "None", "local": "None"}
        self.preemption: Preemption | None = None

    @initialize()
    def begin(self) -> None:
        """Most of what can go wrong begins with a Workload that runs."""
        self.look()
        self.admit()

    # ---- what we do

    @rule()
    def look(self) -> None:
        """One look, and its writes."""
        was_admitted = self._is("Admitted")
        around = self._around()
        step = next_step(self.item, around, LIMITS, us(self.now))
        self._written(step.workload)
        again = next_step(step.workload, around, LIMITS, us(self.now))
        # A check took its Ready back: what the queue says counts again for a Workload that is not admitted.
        lost = was_admitted and not self._is("Admitted")
        done = not again.status or lost or self._is_unfinished(step)
        assert done, f"a second look writes again: {again.status}"
        if step.deactivates:
            self._spec(active=False)

    @rule()
    def admit(self) -> None:
        """A cycle gives it quota."""
        self.look()
        if self._is_queued():
            draft = Draft(self.item, us(self.now))
            reserve(draft, decide(snapshot(QUEUE), self.item, us(self.now)), self.checks)
            self.item = settle(draft).workload

    @rule()
    def preempt(self) -> None:
        """A plan names it. The plan ends once it is evicted."""
        self.preemption = Preemption("ns/p", "w", "InClusterQueue", "for x", "q")
        self.look()
        self.preemption = None

    # ---- what others do

    @rule()
    def end(self) -> None:
        """Whoever made it sees that it is evicted, and gives the quota back; some leave the admission."""
        if self._is("Evicted") and self._is("QuotaReserved"):
            self.item = set_condition(self.item, "QuotaReserved", "False", "Pending", self.now)

    @rule()
    def take_away(self) -> None:
        """Somebody takes its quota away, and leaves the admission."""
        self.item = set_condition(self.item, "QuotaReserved", "False", "Pending", self.now)

    @rule()
    def all_ready(self) -> None:
        """All checks pass."""
        for name in self.checks:
            self.check(name, "Ready", None)
        self.look()

    @rule(name=st.sampled_from(CHECKS), state=STATES, delay=DELAYS)
    def check(self, name: str, state: Any, delay: int | None) -> None:
        """The controller of a check writes, also late: on a Workload that has no quota any longer."""
        checks = list(self.item.status.admission_checks or ())
        for index, each in enumerate(checks):
            if each.name == name and each.state != state:
                seconds = delay if state == "Retry" else None
                checks[index] = AdmissionCheckState(name, state, at(self.now), "", seconds, each.retry_count)
        self._status(admission_checks=checks or None)

    @rule(
        queue=st.sampled_from(["cluster", "local"]),
        policy=st.sampled_from(["None", "None", "Hold", "HoldAndDrain"]),
    )
    def stop(self, queue: str, policy: str) -> None:
        self.policies[queue] = policy

    @rule(active=st.sampled_from([True, True, False]))
    def activate(self, active: bool) -> None:
        self._spec(active=active)

    @rule()
    def open_gate(self) -> None:
        self._status(preemption_gates=[PreemptionGateState("g", "Open", at(self.now))])

    @rule(seconds=st.sampled_from([1, 10, 60, 400]))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    # ---- what must hold

    @invariant()
    def admitted_means_quota(self) -> None:
        step = next_step(self.item, self._around(), LIMITS, us(self.now))
        conditions = {each.type: each.status for each in step.workload.status.conditions or ()}
        if conditions.get("Admitted") == "True":
            assert conditions.get("QuotaReserved") == "True"
        if conditions.get("QuotaReserved") != "True":
            assert step.workload.status.admission is None
        else:
            assert step.workload.status.admission is not None

    @invariant()
    def nobody_waits_for_nobody(self) -> None:
        """With friendly others, and time, it runs."""
        friendly = type(self)()
        friendly.now, friendly.item = self.now, self.item
        friendly._take_over(self)
        for _ in range(14):
            friendly.look()
            friendly._befriend()
            friendly.look()
            friendly.admit()
            friendly.now += 30
        conditions = {each.type: each.status for each in friendly.item.status.conditions or ()}
        assert conditions.get("Admitted") == "True", f"it waits for nobody: {friendly.item.status}"
        assert conditions.get("Evicted", "False") == "False"
        assert EVICTION_OVERDUE not in conditions
        assert "DeactivationTarget" not in conditions

    def _befriend(self) -> None:
        """Whoever made it ends it, checks are ready, and it is active. Nobody looks after a Retry."""
        self.end()
        for name in self.checks:
            if self._state(name) == "Pending" and self._is("QuotaReserved"):
                self.check(name, "Ready", None)
        if not self._is("DeactivationTarget"):
            self.activate(True)

    # ---- inside

    def _written(self, after: Workload) -> None:
        """The API server takes a write."""
        self.item = after

    def _is_unfinished(self, step: Step) -> bool:
        """Whether another write must follow this one."""
        del step
        return False

    def _take_over(self, other: Any) -> None:
        """What else is known of the Workload's surroundings."""

    def _around(self) -> Around:
        def with_policy(queue: Any, policy: str) -> Any:
            return msgspec.structs.replace(
                queue, spec=msgspec.structs.replace(queue.spec, stop_policy=policy)
            )

        return Around(
            local_queue=with_policy(LOCAL, self.policies["local"]),
            cluster_queue=with_policy(QUEUE, self.policies["cluster"]),
            inactive="stopped" if self.policies["cluster"] != "None" else "",
            required=self.checks,
            preemption=self.preemption,
        )

    def _is_queued(self) -> bool:
        """Whether a cycle could admit it: as `quota.cycle.queues.heads` and `quota.cycle.cycle` say."""
        failed = any(each.state in ("Retry", "Rejected") for each in self.item.status.admission_checks or ())
        return (
            self.item.spec.active
            and not self._is("QuotaReserved")
            and self.item.status.admission is None
            and not failed
            and not backs_off(self.item, us(self.now))
            and set(self.policies.values()) == {"None"}
        )

    def _is(self, kind: str) -> bool:
        return any(each.type == kind and each.status == "True" for each in self.item.status.conditions or ())

    def _state(self, name: str) -> str:
        return next((each.state for each in self.item.status.admission_checks or () if each.name == name), "")

    def _status(self, **fields: Any) -> None:
        status = msgspec.structs.replace(self.item.status, **fields)
        self.item = msgspec.structs.replace(self.item, status=status)

    def _spec(self, **fields: Any) -> None:
        self.item = msgspec.structs.replace(self.item, spec=msgspec.structs.replace(self.item.spec, **fields))


CLUSTERS = ("east", "west")
MANAGED = "mk"


class DispatchedLives(Lives):
    """The same with the check of a manager, and what really runs in the clusters."""

    checks = (*CHECKS, MANAGED)

    def __init__(self) -> None:
        super().__init__()
        self.said: Dispatched | None = None
        self.runs_in: set[str] = set()
        """Clusters with a pod of it."""

    # ---- what the manager does

    @rule(clusters=st.sets(st.sampled_from(CLUSTERS)))
    def nominate(self, clusters: set[str]) -> None:
        if self._is_followed() and self.item.status.cluster_name is None:
            check = CheckReport(MANAGED, "Pending", f"{len(clusters)} clusters")
            self._report(check=check, nominated=tuple(sorted(clusters)))

    @rule(cluster=st.sampled_from(CLUSTERS))
    def choose(self, cluster: str) -> None:
        """The copy in this cluster was admitted."""
        if self._is_followed() and self.item.status.cluster_name in (None, cluster):
            self._report(check=CheckReport(MANAGED, "Pending", ""), cluster=cluster)

    @rule()
    def start(self) -> None:
        """Its Job is created. That needs the stored clusterName."""
        cluster = self.item.status.cluster_name
        if self._is_followed() and cluster is not None and not self._is("Finished"):
            self.runs_in.add(cluster)
            self._report(check=CheckReport(MANAGED, "Ready", f"in {cluster}"), cluster=cluster)

    @rule(state=st.sampled_from(["Retry", "Rejected"]), delay=DELAYS)
    def fail(self, state: Any, delay: int | None) -> None:
        """It ended there, or no cluster can ever take it."""
        if self._is_followed():
            seconds = delay if state == "Retry" else None
            check = CheckReport(MANAGED, state, "why", seconds)
            self._report(check=check, cluster=self.item.status.cluster_name or "")

    @rule(is_orderly=st.booleans())
    def end_there(self, is_orderly: bool) -> None:
        """Its pods end, and the manager sees that now, or later."""
        if self._is("Evicted") or not self._is("QuotaReserved"):
            self.runs_in.clear()
            if is_orderly:
                self.see()

    @rule()
    def see(self) -> None:
        """The manager looks again: it reports what runs."""
        if self.said is not None and self.said.attempt == attempt_of(self.item):
            self._report(check=self.said.check, nominated=self.said.nominated, cluster=self.said.cluster)

    @rule()
    def restart(self) -> None:
        """A new process knows nothing yet."""
        self.said = None

    @rule()
    def take_away(self) -> None:
        """Somebody takes its quota away. The manager deletes what is there before anything else."""
        super().take_away()
        self.runs_in.clear()

    def end(self) -> None:
        """Nobody but us gives quota back."""

    # ---- what must hold

    @invariant()
    def quota_covers_what_runs(self) -> None:
        if self.runs_in:
            assert self._is("QuotaReserved"), "its quota is free, and it runs"
            assert {self.item.status.cluster_name} == self.runs_in

    def _written(self, after: Workload) -> None:
        before, status = self.item.status, after.status
        old, new = msgspec.to_builtins(self.item), msgspec.to_builtins(after)
        assert not list(transition_causes(new, old, elastic=False))
        assert not (status.cluster_name and status.nominated_cluster_names)
        if before.cluster_name and status.cluster_name:
            assert status.cluster_name == before.cluster_name
        super()._written(after)

    # ---- inside

    def _is_followed(self) -> bool:
        return self._is("QuotaReserved") and not self._is("Evicted")

    def _report(self, **said: Any) -> None:
        """What holds now, from what is stored."""
        self.said = Dispatched(attempt_of(self.item), may_run=bool(self.runs_in), **said)
        self.look()

    def _is_unfinished(self, step: Step) -> bool:
        """A clusterName needs a nomination in an earlier write."""
        said = self.said
        return said is not None and step.status.get("nominatedClusterNames") == [said.cluster]

    def _take_over(self, other: Any) -> None:
        self.said, self.runs_in = other.said, set(other.runs_in)

    def _befriend(self) -> None:
        self.end_there(True)
        if self._is_followed():
            self.nominate({*CLUSTERS})
            self.choose(self.item.status.cluster_name or CLUSTERS[0])
            self.start()
        else:
            self._report()
        super()._befriend()

    def _around(self) -> Around:
        """No pod of it is here."""
        return dataclasses.replace(
            super()._around(),
            clusters=ClusterReport(self.said, is_served=True),
            reported=Reported(nothing_runs=self._is("Evicted")),
        )


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=examples(150), stateful_step_count=15, deadline=None)

TestDispatchedLives = DispatchedLives.TestCase
TestDispatchedLives.settings = settings(max_examples=examples(150), stateful_step_count=15, deadline=None)
