"""Live queues answer as `quota.cycle.queues` does, which walks over everything, whatever happens and in whatever
order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import hypothesis.strategies as st
import msgspec
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from api.kueue import ClusterQueue, LocalQueue
from api.meta import Condition
from api.workloads import AdmissionCheckState, PreemptionGateState, RequeueState, Workload
from quota.cycle.entries import Entry
from quota.cycle.pending import RELEASE_INTERVAL, PendingQueues
from quota.cycle.queues import (
    ADMISSION_GATED_BY,
    PARKS_EQUALS,
    RequeueReason,
    backs_off,
    comes_back,
    heads,
    held_back,
    is_queued,
    precedence,
    requeue,
    shape_of,
)
from quota.search.assignment import Tried
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from quota.state.workloads import key_of, requeue_at
from tests.kit.examples import examples
from tests.kit.quota.objects import (
    Object,
    at,
    cluster_queue,
    cohort,
    cpu,
    evicted,
    flavor,
    held,
    local_queue,
    preempted,
    set_condition,
    us,
    workload,
)
from tests.twins.quota.equals import equals

QUEUES = st.sampled_from("abc")
LOCALS = st.sampled_from("lmn")
NAMES = st.sampled_from([f"w{number}" for number in range(8)])
SECONDS = st.integers(0, 12)
START = us(5)

LIVES = (
    *("pending",) * 6,
    *("held", "finished", "inactive", "admission gated", "held back", "later", "later"),
    *("by time", "evicted", "gate", "gate open", "check failed", "message", "unreadable"),
)


def lived(thing: Workload, life: str, second: int) -> Workload:
    """The workload in some state of its life."""
    status, spec = thing.status, thing.spec
    match life:
        case "held":
            return held(thing, second)
        case "finished":
            return set_condition(thing, "Finished", "True", "Succeeded", second)
        case "inactive":
            return msgspec.structs.replace(thing, spec=msgspec.structs.replace(spec, active=False))
        case "admission gated":
            thing.metadata.annotations = {ADMISSION_GATED_BY: "example.com/gate"}
        case "held back":
            return set_condition(thing, "Requeued", "False", "AdmissionCheck", second)
        case "later":
            status = msgspec.structs.replace(status, requeue_state=RequeueState(1, at(second)))
        case "by time":
            return preempted(thing, second, "InClusterQueueTimeBased")
        case "evicted":
            return evicted(thing, second, "PodsReadyTimeout")
        case "gate" | "gate open":
            state = PreemptionGateState("gate", "Open" if life == "gate open" else "Closed", at(second))
            status = msgspec.structs.replace(status, preemption_gates=[state])
        case "check failed":
            check = AdmissionCheckState("check", "Retry", at(second), "")
            status = msgspec.structs.replace(status, admission_checks=[check])
        case "message":
            no = Condition("QuotaReserved", "False", "WaitingForQuota", f"at {second}", at(0))
            status = msgspec.structs.replace(status, conditions=[no])
        case "unreadable":
            thing.metadata.creation_timestamp = "yesterday"
        case _:
            pass
    return msgspec.structs.replace(thing, status=status)


@dataclass
class Asked:
    workload: Workload
    outdated: bool = False
    """Whether parked ones came back since then."""
    freed: bool = False
    """Whether quota was freed since then."""


class Model:
    """Sets and lists, and the functions of `quota.cycle.queues`."""

    def __init__(self) -> None:
        self.queues: dict[str, ClusterQueue] = {}
        self.locals: dict[str, LocalQueue] = {}
        self.pending: dict[str, Workload] = {}
        self.parked: set[str] = set()
        self.sticky: dict[str, str] = {}
        self.asked: dict[str, Asked] = {}
        self.tried: dict[str, Tried] = {}
        self.told: dict[str, str] = {}
        self.retries: dict[tuple[str, bytes], int] = {}
        self.released: dict[str, int] = {}
        self.put_off: set[str] = set()
        self.now = START
        self.world = QuotaState().snapshot()

    # ---- what there is

    def look(self) -> None:
        """After every change of the queues."""
        state = QuotaState()
        things: list[Object] = [flavor("default"), cohort("x"), *self.queues.values(), *self.locals.values()]
        for thing in things:
            state.apply(thing)
        self.world = state.snapshot()

    def queue(self, key: str) -> str:
        """The ClusterQueue whose lines it is in; "" if it is in none."""
        local = self.locals.get(f"ns/{self.pending[key].spec.queue_name}")
        return "" if local is None or local.spec.stop_policy != "None" else local.spec.cluster_queue

    def members(self, queue: str) -> set[str]:
        return {key for key in self.pending if self.queue(key) == queue}

    def alike(self, queue: str, shape: bytes) -> set[str]:
        return {key for key in self.members(queue) if shape_of(self.pending[key]) == shape}

    def tree(self, queue: str) -> str:
        return self.queues[queue].spec.cohort_name or queue

    def active(self, queue: str) -> bool:
        return queue in self.world.queues and not self.world.queues[queue].inactive

    # ---- what happens

    def forget(self, key: str) -> None:
        self.parked.discard(key)
        self.asked.pop(key, None)
        self.tried.pop(key, None)
        self.told.pop(key, None)

    def unstick(self, key: str) -> None:
        self.sticky = {queue: one for queue, one in self.sticky.items() if one != key}

    def remove(self, key: str) -> None:
        self.forget(key)
        self.unstick(key)
        self.pending.pop(key, None)
        self.prune()

    def prune(self) -> None:
        """A class without members has no timer."""
        self.retries = {(q, shape): at for (q, shape), at in self.retries.items() if self.alike(q, shape)}

    def put(self, thing: Workload) -> None:
        key = key_of(thing)
        old = self.pending.get(key)
        if old is not None and comes_back(old, thing):
            before = self.queue(key)
            self.forget(key)
            del self.pending[key]
            self.prune()
            self.pending[key] = thing
            if self.queue(key) != before or old.metadata.uid != thing.metadata.uid:
                self.unstick(key)
        self.pending[key] = thing

    def moved(self, keys: set[str]) -> None:
        for key in keys:
            self.forget(key)
            self.unstick(key)
        self.prune()

    def changed(self, queue: str) -> None:
        for key in self.members(queue):
            if key in self.asked:
                self.asked[key].outdated = self.asked[key].freed = True
            self.tried.pop(key, None)
        self.unpark(queue)

    def unpark(self, queue: str) -> bool:
        back = self.members(queue) & self.parked
        for key in back:
            self.retries.pop((queue, shape_of(self.pending[key])), None)
        self.parked -= back
        return bool(back)

    def freed(self, tree: str) -> None:
        queues = [name for name in self.queues if self.tree(name) == tree]
        for queue in queues:
            for key in self.members(queue):
                if key in self.asked:
                    self.asked[key].freed = True
                self.tried.pop(key, None)
        if queues:
            self.put_off.add(tree)
        self.release()

    def release(self) -> None:
        for tree in sorted(self.put_off):
            if tree not in self.released or self.now - self.released[tree] >= RELEASE_INTERVAL:
                self.put_off.discard(tree)
                for queue in [queue for queue in self.queues if self.tree(queue) == tree]:
                    asked = self.members(queue) & self.asked.keys()
                    for key in asked:
                        self.asked[key].outdated = True
                    if self.unpark(queue) or asked:
                        self.released[tree] = self.now

    def forget_trees(self) -> None:
        trees = {self.tree(name) for name in self.queues}
        self.released = {tree: time for tree, time in self.released.items() if tree in trees}
        self.put_off &= trees

    def heads(self) -> list[Workload]:
        for (queue, shape), time in list(self.retries.items()):
            if time <= self.now:
                del self.retries[queue, shape]
                self.parked -= self.alike(queue, shape)
        self.release()
        found = heads(self.world, self.pending.values(), self.now, parked=self.parked, sticky=self.sticky)
        found = [head for head in found if self.may_pass(head)]
        self.asked = {key_of(head): Asked(head) for head in found}
        return found

    def may_pass(self, head: Workload) -> bool:
        """Whether it comes before all that are about to return in its tree."""
        tree = self.tree(self.queue(key_of(head)))
        queues = [name for name in self.queues if self.active(name) and self.tree(name) == tree]
        parked = [self.pending[key] for name in queues for key in self.members(name) & self.parked]
        return tree not in self.put_off or all(precedence(head) < precedence(each) for each in parked)

    def answered(self, entry: Entry, apart: set[str]) -> list[str]:
        """Those that get an answer why they wait."""
        key, reason = key_of(entry.workload), entry.quota_reserved_reason
        asked = self.asked.get(key)
        if asked is None or asked.workload is not entry.workload:
            return []
        del self.asked[key]
        self.told[key] = reason
        queue, best_effort = self.queue(key), self.is_best_effort(self.queue(key))
        if entry.requeue_reason == "PendingPreemption":
            self.sticky.pop(queue, None)
            if best_effort:
                self.sticky[queue] = key
        elif entry.outcome != "Admit":
            self.unstick(key)
        self.tried.pop(key, None)
        if entry.tried is not None and not asked.freed and not asked.outdated:
            self.tried[key] = entry.tried
        if asked.outdated:
            return []
        if entry.retry_at is not None:
            if entry.retry_at <= self.now:
                return []
            place = queue, shape_of(self.pending[key])
            self.retries[place] = min(entry.retry_at, self.retries.get(place, entry.retry_at))
        if entry.requeue == "parked" and entry.requeue_reason is not None:
            same = equals(self.world, self.pending[key], entry.requeue_reason, self.pending.values())
            parked = {key, *(set(same) - apart)}
            self.parked |= {each for each in parked if not backs_off(self.pending[each], self.now)}
            if entry.requeue_reason in PARKS_EQUALS and best_effort:
                alike = self.parked & self.alike(queue, shape_of(self.pending[key]))
                news = sorted(each for each in alike if self.told.get(each) != reason)
                self.told |= dict.fromkeys(news, reason)
                return news
        return []

    def is_best_effort(self, queue: str) -> bool:
        return queue in self.queues and self.queues[queue].spec.queueing_strategy == "BestEffortFIFO"

    # ---- what is asked

    def ready(self, key: str) -> bool:
        queue = self.queue(key)
        waits = key in self.parked or backs_off(self.pending[key], self.now)
        return bool(queue) and self.active(queue) and not waits

    def next_due(self) -> int | None:
        times = [self.released[tree] + RELEASE_INTERVAL for tree in self.put_off]
        times += self.retries.values()
        for key, thing in self.pending.items():
            until = requeue_at(thing)
            if self.queue(key) and until is not None and until > self.now and not held_back(thing):
                times.append(until)
        return min(times, default=None)


class Live(RuleBasedStateMachine):
    """What happens to both."""

    def __init__(self) -> None:
        super().__init__()
        self.live, self.model = PendingQueues(), Model()
        self.returned: list[Workload] = []
        """All that were heads at some time."""
        for name, strict in (("a", False), ("b", False), ("c", True)):
            self.set_queue(name, strict, "x" if name != "b" else "", "None")
        for name, of in (("l", "a"), ("m", "b"), ("n", "c")):
            self.set_local(name, of, "None")
        for number in range(8):
            self.put_alike(f"w{number}", "lln"[number % 3], number)

    # ---- queues

    @rule(
        name=QUEUES,
        strict=st.booleans(),
        parent=st.sampled_from(["", "x", "x"]),
        stop=st.sampled_from(["None", "None", "Hold"]),
    )
    def set_queue(self, name: str, strict: bool, parent: str, stop: Any) -> None:
        old = self.model.queues.get(name)
        new = cluster_queue(name, cpu(5), parent, strict=strict, stop=stop)
        self.model.queues[name] = new
        self.model.look()
        if old is None or old.spec != new.spec:
            self.model.changed(name)
            self.model.forget_trees()
        active, strategy = self.model.active(name), new.spec.queueing_strategy
        self.live.set_cluster_queue(name, strategy=strategy, active=active, tree=parent or name)

    @rule(name=QUEUES)
    def drop_queue(self, name: str) -> None:
        if name in self.model.queues:
            self.model.changed(name)
            self.model.sticky.pop(name, None)
            del self.model.queues[name]
            self.model.forget_trees()
            self.model.look()
        self.live.drop_cluster_queue(name)

    @rule(name=LOCALS, queue=QUEUES, stop=st.sampled_from(["None", "None", "None", "Hold"]))
    def set_local(self, name: str, queue: str, stop: Any) -> None:
        new = local_queue(name, queue)
        new.spec.stop_policy = stop
        old = self.model.locals.get(f"ns/{name}")
        self.model.locals[f"ns/{name}"] = new
        if old is None or old.spec != new.spec:
            self.model.moved(self.of(name))
        self.model.look()
        self.live.set_local_queue(f"ns/{name}", cluster_queue=queue, active=stop == "None")

    @rule(name=LOCALS)
    def drop_local(self, name: str) -> None:
        self.model.locals.pop(f"ns/{name}", None)
        self.model.moved(self.of(name))
        self.model.look()
        self.live.drop_local_queue(f"ns/{name}")

    def of(self, local: str) -> set[str]:
        return {key for key, thing in self.model.pending.items() if thing.spec.queue_name == local}

    # ---- workloads

    @rule(
        name=NAMES,
        queue=LOCALS,
        cpus=st.integers(1, 2),
        priority=st.integers(0, 1),
        created=st.integers(0, 3),
        life=st.sampled_from(LIVES),
        second=SECONDS,
        uid=st.sampled_from(["", "", "other"]),
    )
    def put(
        self, name: str, queue: str, cpus: int, priority: int, created: int, life: str, second: int, uid: str
    ) -> None:
        gates = ("gate",) if life.startswith("gate") else ()
        new = workload(name, queue, cpus, priority=priority, created=created, gates=gates, uid=uid)
        self.update(lived(new, life, second))

    @rule(name=NAMES, queue=st.sampled_from("lln"), created=st.integers(0, 9))
    def put_alike(self, name: str, queue: str, created: int) -> None:
        self.update(workload(name, queue, 1, created=created))

    @rule(name=NAMES, life=st.sampled_from(LIVES), second=SECONDS)
    def change(self, name: str, life: str, second: int) -> None:
        """Only something in it."""
        old = self.model.pending.get(f"ns/{name}")
        if old is not None:
            copy = msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata))
            self.update(lived(copy, life, second))

    def update(self, new: Workload) -> None:
        key = key_of(new)
        try:
            readable = precedence(new) is not None
        except QuotaError:
            readable = False
        if not is_queued(new) or not readable:
            self.model.remove(key)
        else:
            self.model.put(new)
        self.live.put(new, self.model.now)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.model.remove(f"ns/{name}")
        self.live.remove(f"ns/{name}")

    # ---- cycles

    @rule(
        data=st.data(),
        reason=st.sampled_from((*get_args(RequeueReason), *["NoFit", "PreemptionNoCandidates"] * 2, None)),
        pending_flavors=st.sampled_from((False, False, False, True)),
        wait=st.sampled_from((None, 0, 1, 500_000, 3_000_000)),
        again=st.booleans(),
    )
    def answer(
        self,
        data: st.DataObject,
        reason: RequeueReason | None,
        pending_flavors: bool,
        wait: int | None,
        again: bool,
    ) -> None:
        """`again`: perhaps to a call of heads that is long over."""
        asked = self.returned if again else [each.workload for each in self.model.asked.values()]
        if not asked:
            return
        head = data.draw(st.sampled_from(asked))
        self.answered(head, reason, pending_flavors, wait)

    @rule(
        reason=st.sampled_from(["NoFit", "PreemptionNoCandidates", "PendingPreemption"]),
        most=st.integers(1, 4),
        freed=st.sampled_from([set(), set(), {"x"}, {"b"}]),
    )
    def answer_some(self, reason: RequeueReason, most: int, freed: set[str]) -> None:
        """Those that were asked first, after quota of some trees was freed."""
        self.freed(freed)
        for asked in list(self.model.asked.values())[:most]:
            self.answered(asked.workload, reason, False, None)

    def answered(
        self, head: Workload, reason: RequeueReason | None, pending_flavors: bool, wait: int | None
    ) -> None:
        now, key = self.model.now, key_of(head)
        tried: Tried | None = {"main": {"cpu": now % 7}} if pending_flavors else None
        if reason is None:
            entry = Entry(head, "Admit", None, "", "")
        else:
            strict = key in self.model.pending and not self.model.is_best_effort(self.model.queue(key))
            when = requeue(
                "StrictFIFO" if strict else "BestEffortFIFO",
                reason,
                pending_flavors=pending_flavors,
                backing_off=backs_off(head, now),
            )
            retry_at = None if reason != "PreemptionNoCandidates" or wait is None else now + wait
            why = "ExceedsMaxQuota" if now % 3 else "WaitingForQuota"
            entry = Entry(head, "NoFit", None, "", why, when, reason, tried, retry_at)
        apart = set(sorted(self.model.pending)[now % 3 :: 3])
        assert self.live.answered(entry, now, apart) == self.model.answered(entry, apart)

    @rule(trees=st.sets(st.sampled_from("abcxy"), min_size=1))
    def freed(self, trees: set[str]) -> None:
        for tree in sorted(trees):
            self.model.freed(tree)
        self.live.freed(trees, self.model.now)

    @rule(
        reasons=st.lists(st.sampled_from(["NoFit", "Generic", "PendingPreemption"]), min_size=2, max_size=5),
        step=st.sampled_from((0, 30_000, 60_000)),
    )
    def much_is_freed(self, reasons: list[RequeueReason], step: int) -> None:
        """While some are parked again and again."""
        for reason in reasons:
            self.answer_some(reason, 9, set())
            self.same_heads()
            self.freed({"x"})
            self.same_heads()
            self.model.now += step

    @rule(step=st.sampled_from((1, 40_000, 50_000, 60_000, 100_000, 500_000, 1_000_000, 5_000_000)))
    def later(self, step: int) -> None:
        self.model.now += step

    @rule()
    def until_due(self) -> None:
        due = self.live.next_due(self.model.now)
        if due is not None:
            self.model.now = due

    # ---- what must hold

    @invariant()
    def same_heads(self) -> None:
        expected, found = self.model.heads(), self.live.heads(self.model.now)
        assert [id(each) for each in found] == [id(each) for each in expected]
        self.returned = [*self.returned[-20:], *found]
        keys = {key_of(head) for head in found}
        assert self.live.tried == {key: tried for key, tried in self.model.tried.items() if key in keys}

        # Counts and times are those of the last call of heads.
        self.same_counts()
        assert self.live.next_due(self.model.now) == self.model.next_due()

    def same_counts(self) -> None:
        for queue in "abc":
            keys = self.model.members(queue)
            ready = sum(map(self.model.ready, keys))
            assert self.live.counts(queue) == (ready, len(keys) - ready)
        for local in "lmn":
            keys = self.of(local)
            ready = sum(map(self.model.ready, keys))
            assert self.live.local_counts(f"ns/{local}") == (ready, len(keys) - ready)


def test_live_queues() -> None:
    run_state_machine_as_test(
        Live, settings=settings(max_examples=examples(300), deadline=None, stateful_step_count=50)
    )
