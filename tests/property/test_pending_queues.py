"""The live queues give the heads that the plain rules give, whatever comes in whatever order."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from api.workloads import RequeueState, Workload
from quota.cycle import Entry
from quota.pending import PendingQueues
from quota.queues import RequeueReason, equals, heads, is_queued, requeue
from quota.state import QuotaState
from quota.workloads import key_of
from tests.kit.examples import examples
from tests.kit.quota import at, cluster_queue, cpu, flavor, held, local_queue, set_condition, us, workload

QUEUES = ("a", "b", "c")
TREES = {"a": "team", "b": "team", "c": "c"}
NAMES = [f"w{number}" for number in range(8)]
REASONS: dict[str, tuple[RequeueReason, str]] = {
    "Preempt": ("PendingPreemption", "WaitingForPreemptedWorkloads"),
    "DeferredFit": ("PendingPreemption", "WaitingForPreemptedWorkloads"),
    "Skip": ("FailedAfterNomination", "WaitingForQuota"),
    "Gated": ("PreemptionGated", "AdmissionGated"),
    "NoCandidates": ("PreemptionNoCandidates", "WaitingForQuota"),
    "NoFit": ("NoFit", "NoFit"),
    "Inadmissible": ("NamespaceMismatch", "Misconfigured"),
}
Policy = Literal["None", "Hold"]


class Queues(RuleBasedStateMachine):
    """The live queues beside a plain model: all Workloads, and the set of those that are parked."""

    def __init__(self) -> None:
        super().__init__()
        self.live, self.now = PendingQueues(), us(1000)
        self.workloads: dict[str, Workload] = {}
        self.parked: set[str] = set()
        self.sticky: dict[str, str] = {}
        self.returns: dict[str, int] = {}
        """When minAdmitDuration lets a parked Workload return."""
        self.strict = dict.fromkeys(QUEUES, False)
        self.stopped: dict[str, Policy] = {}
        self.local: dict[str, tuple[str, Policy]] = {}
        self.quiet = False
        for name in QUEUES:
            self.set_queue(name, False, "None")
            self.set_local(name, name, "None")

    # ---- queues

    @rule(
        name=st.sampled_from(QUEUES), strict=st.booleans(), policy=st.sampled_from(["None", "None", "Hold"])
    )
    def set_queue(self, name: str, strict: bool, policy: Policy) -> None:
        self.strict[name], self.stopped[name] = strict, policy
        strategy = "StrictFIFO" if strict else "BestEffortFIFO"
        self.live.set_cluster_queue(name, strategy=strategy, active=policy == "None", tree=TREES[name])

    @rule(name=st.sampled_from(QUEUES))
    def drop_queue(self, name: str) -> None:
        if name in self.stopped:
            del self.stopped[name]
            self.sticky.pop(name, None)
            self.live.drop_cluster_queue(name)
            self._forget_parked(lambda item: self.local.get(item.spec.queue_name, ("", ""))[0] == name)

    @rule(
        name=st.sampled_from(QUEUES),
        queue=st.sampled_from(QUEUES),
        policy=st.sampled_from(["None", "None", "Hold"]),
    )
    def set_local(self, name: str, queue: str, policy: Policy) -> None:
        if self.local.get(name) != (queue, policy):
            self._forget_parked(lambda item: item.spec.queue_name == name)
        self.local[name] = queue, policy
        self.live.set_local_queue(f"ns/{name}", cluster_queue=queue, active=policy == "None")

    @rule(name=st.sampled_from(QUEUES))
    def drop_local(self, name: str) -> None:
        self._forget_parked(lambda item: item.spec.queue_name == name)
        self.local.pop(name, None)
        self.live.drop_local_queue(f"ns/{name}")

    # ---- Workloads

    @rule(
        name=st.sampled_from(NAMES),
        queue=st.sampled_from(QUEUES),
        cpus=st.integers(1, 2),
        priority=st.integers(0, 1),
        created=st.integers(0, 3),
    )
    def put(self, name: str, queue: str, cpus: int, priority: int, created: int) -> None:
        item = workload(name, queue, cpus, priority=priority, created=created)
        before = self.workloads.get(f"ns/{name}")
        if before is None or before.spec != item.spec or not is_queued(before):
            self.parked.discard(f"ns/{name}")
        self._put(item)

    @rule(name=st.sampled_from(NAMES), message=st.sampled_from(["x", "y"]))
    def write_why(self, name: str, message: str) -> None:
        """Our own word about it changes nothing."""
        self._change(name, lambda item: set_condition(item, "Admitted", "False", message, 5), returns=False)

    @rule(name=st.sampled_from(NAMES), seconds=st.integers(900, 1100))
    def back_off(self, name: str, seconds: int) -> None:
        def change(item: Workload) -> Workload:
            item = set_condition(item, "Requeued", "True", str(seconds), seconds)
            state = RequeueState(1, at(seconds))
            return msgspec.structs.replace(
                item, status=msgspec.structs.replace(item.status, requeue_state=state)
            )

        self._change(name, change)

    @rule(name=st.sampled_from(NAMES), status=st.sampled_from(["True", "False"]))
    def set_requeued(self, name: str, status: str) -> None:
        self._change(name, lambda item: set_condition(item, "Requeued", status, status, self._seconds))

    @rule(name=st.sampled_from(NAMES))
    def admit(self, name: str) -> None:
        self._change(name, lambda item: held(item, 5, queue="a") if is_queued(item) else item)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        self._gone(f"ns/{name}")
        self.workloads.pop(f"ns/{name}", None)
        self.live.remove(f"ns/{name}")

    # ---- cycles

    @rule(data=st.data())
    def cycle(self, data: st.DataObject) -> None:
        taken = self.live.heads(self.now)
        for item in taken:
            outcome = data.draw(st.sampled_from(["Preempt", "Preempt", "Preempt", *sorted(REASONS)]))
            reason, why = REASONS[outcome]
            queue = self.local[item.spec.queue_name][0]
            strategy = "StrictFIFO" if self.strict[queue] else "BestEffortFIFO"
            when = requeue(strategy, reason, pending_flavors=False, backing_off=False)
            retry = data.draw(st.sampled_from([None, self.now + 2_000_000]))
            entry = Entry(item, outcome, None, "", why, when, reason, None, retry)  # type: ignore[arg-type]
            alike = equals(self._snapshot(), item, reason, self.workloads.values())
            self.live.answered(entry, self.now)
            self._model(key_of(item), queue, entry, alike)

    @rule(tree=st.sampled_from(["team", "c"]))
    def free(self, tree: str) -> None:
        self.now += 200_000
        self.live.freed({tree}, self.now)
        self._ring()
        self._forget_parked(lambda item: TREES.get(self.local.get(item.spec.queue_name, ("", ""))[0]) == tree)

    @rule(seconds=st.sampled_from([1, 5, 60]))
    def wait(self, seconds: int) -> None:
        self.now += seconds * 1_000_000
        self._ring()

    # ---- what must hold

    @invariant()
    def heads_are_those_of_the_rules(self) -> None:
        self._ring()
        expected = heads(
            self._snapshot(), self.workloads.values(), self.now, parked=self.parked, sticky=self.sticky
        )
        assert [key_of(item) for item in self.live.heads(self.now)] == [key_of(item) for item in expected]

    @invariant()
    def everybody_is_counted(self) -> None:
        counted = sum(sum(self.live.local_counts(f"ns/{name}")) for name in QUEUES)
        assert counted == sum(is_queued(item) for item in self.workloads.values())
        for name in QUEUES:
            locals_ = [key for key, (queue, _) in self.local.items() if queue == name]
            found = [self.live.local_counts(f"ns/{key}") for key in locals_]
            assert self.live.counts(name) == (sum(one for one, _ in found), sum(two for _, two in found))

    @invariant()
    def a_time_that_matters_is_known(self) -> None:
        due = self.live.next_due(self.now)
        times = [time for key, time in self.returns.items() if key in self.parked]
        assert due is None or due > self.now
        assert not times or (due is not None and due <= min(times))

    # ---- the model

    def _model(self, key: str, queue: str, entry: Entry, alike: list[str]) -> None:
        if entry.outcome == "Preempt":
            self.sticky[queue] = key
        elif self.sticky.get(queue) == key and entry.outcome in (
            "NoFit",
            "NoCandidates",
            "Gated",
            "Inadmissible",
        ):
            del self.sticky[queue]
        if entry.requeue != "parked":
            return
        for each in [key, *alike]:
            if each == key or not self._backs_off(each):
                self.parked.add(each)
        self.returns.pop(key, None)
        if entry.retry_at is not None:
            self.returns[key] = entry.retry_at

    def _backs_off(self, key: str) -> bool:
        only = {key: self.workloads[key]}
        return not heads(self._snapshot(), only.values(), self.now)

    def _change(self, name: str, change: Any, *, returns: bool = True) -> None:
        before = self.workloads.get(f"ns/{name}")
        if before is None:
            return
        after = change(before)
        if returns and after.status.conditions != before.status.conditions:
            self.parked.discard(key_of(before))
        self._put(after)

    def _put(self, item: Workload) -> None:
        self.workloads[key_of(item)] = item
        if not is_queued(item):
            self._gone(key_of(item))
        self.live.put(item, self.now)

    def _gone(self, key: str) -> None:
        self.parked.discard(key)
        self.returns.pop(key, None)
        for queue in [queue for queue, each in self.sticky.items() if each == key]:
            del self.sticky[queue]

    def _forget_parked(self, chosen: Any) -> None:
        self.parked -= {key for key in self.parked if chosen(self.workloads[key])}

    def _ring(self) -> None:
        for key, time in list(self.returns.items()):
            if time <= self.now:
                self.parked.discard(key)
                del self.returns[key]

    @property
    def _seconds(self) -> int:
        return (self.now - us(0)) // 1_000_000

    def _snapshot(self) -> Any:
        state = QuotaState()
        state.apply(flavor("default"))
        for name, policy in self.stopped.items():
            cohort = TREES[name] if TREES[name] != name else ""
            state.apply(cluster_queue(name, cpu(4), cohort, strict=self.strict[name], stop=policy))
        for name, (queue, policy) in self.local.items():
            made = local_queue(name, queue)
            state.apply(
                msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, stop_policy=policy))
            )
        return state.snapshot()


TestQueues = Queues.TestCase
TestQueues.settings = settings(max_examples=examples(150), stateful_step_count=30, deadline=None)
