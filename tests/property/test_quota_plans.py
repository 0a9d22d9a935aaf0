"""What is true of every plan of the quota plane: what is stored is enough, and its victims may be preempted."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from api.compression import compress
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec
from api.withholding import readable
from controllers.quota.life.planned import covers, promise_of, read, spec_of, with_names
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.particulars import particulars
from quota.search.decision import Options
from quota.search.policies import may_still_preempt
from quota.state.snapshot import QuotaSnapshot
from tests.kit.quota.objects import Object, snapshot
from tests.property.quota_worlds import NOW, OPTIONS, heads, worlds

FLAVORS = ("first", "second")


def preempting(objects: list[Object], options: Options) -> tuple[QuotaSnapshot, list[Entry]]:
    world = snapshot(*objects)
    return world, [each for each in cycle(world, heads(objects), NOW, options) if each.outcome == "Preempt"]


@given(worlds(FLAVORS, memory=True), OPTIONS, st.integers(0, 5))
def test_what_is_stored_is_enough_to_go_on_from(
    objects: list[Object], options: Options, above_pods: int
) -> None:
    world, entries = preempting(objects, options)
    for entry in entries:
        spec, decision = spec_of(entry, particulars(world, entry, NOW)), entry.decision
        assert decision is not None
        key = ("ns", plan_name(spec))
        plan = read(spec, key, NOW)
        stored = msgspec.json.encode(compress(readable(spec), above_pods=above_pods))
        again = read(msgspec.json.decode(stored, type=PreemptionPlanSpec), key, NOW)
        keys = {target.holder.workload.metadata.uid: target.holder.key for target in decision.targets}
        assert with_names(again, keys) == plan
        assert covers(again, plan)
        promise = promise_of(plan)
        assert (promise.queue, promise.victims) == (decision.queue, frozenset(keys.values()))
        assert promise.usage == dict(decision.assignment.usage)
        seconds = {target.holder.reserved // 1_000_000 for target in decision.targets}
        assert {victim.since // 1_000_000 for victim in plan.victims.values()} == seconds


@given(worlds(FLAVORS, memory=True), OPTIONS)
def test_the_rule_by_which_a_victim_goes_lets_it_go(objects: list[Object], options: Options) -> None:
    world, entries = preempting(objects, options)
    for entry in entries:
        assert entry.decision is not None
        queue = world.queues[entry.decision.queue]
        for target in entry.decision.targets:
            victim = target.holder.workload
            assert may_still_preempt(entry.workload, queue, victim, target.reason, NOW, options)
