"""Partial admission, against a twin that tries other Workloads, and by what must be true of every answer."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from api.core import Container, PodSpec, Quantities, ResourceRequirements
from api.podsets import PodSet, PodTemplate
from api.workloads import ReclaimablePod, Workload
from quota.answers.trial import admitted
from quota.search.decision import Decision, Options, decide
from quota.search.reducer import counts_at, largest, may_give_up
from quota.state.workloads import usage
from tests.kit.examples import examples
from tests.kit.quota.objects import Object, snapshot
from tests.property.quota_worlds import NOW, OPTIONS, heads, worlds
from tests.twins.quota import partial

CPUS: st.SearchStrategy[int | str] = st.sampled_from(("500m", 1, 2, 0))
wide_worlds = worlds(flavors=("default", "spot"), memory=True)


@st.composite
def pod_sets(draw: st.DrawFn, name: str) -> PodSet:
    """One that may shrink, mostly."""
    count = draw(st.integers(0, 9))
    least = draw(st.one_of(st.none(), st.integers(1, count))) if count else None
    requests: Quantities = {
        "cpu": draw(CPUS),
        "memory": draw(st.integers(0, 1)),
    }
    spec = PodSpec(containers=[Container("main", ResourceRequirements(requests=requests))])
    return PodSet(PodTemplate(spec=spec), name=name, count=count, min_count=least)


@st.composite
def elastic(draw: st.DrawFn, workload: Workload) -> Workload:
    """The same Workload with other pods: some may be left out, and some are done with."""
    wanted = [draw(pod_sets(f"s{number}")) for number in range(draw(st.sampled_from((1, 1, 2, 3))))]
    gone = [
        ReclaimablePod(each.name, draw(st.integers(1, each.count)))
        for each in wanted
        if each.count and draw(st.sampled_from((False, False, False, True)))
    ]
    return msgspec.structs.replace(
        workload,
        spec=msgspec.structs.replace(workload.spec, pod_sets=wanted),
        status=msgspec.structs.replace(workload.status, reclaimable_pods=gone or None),
    )


@settings(max_examples=examples(600), deadline=None)
@given(objects=wide_worlds, options=OPTIONS, data=st.data())
def test_the_twin_agrees(objects: list[Object], options: Options, data: st.DataObject) -> None:
    world = snapshot(*objects)
    for head in heads(objects):
        workload = data.draw(elastic(head))
        ours = decide(world, workload, NOW, options)
        assert said(ours) == said(partial.decided(workload, lambda each: decide(world, each, NOW, options)))


def said(decision: Decision) -> object:
    """All that is decided."""
    assignment = decision.assignment
    return (
        decision.mode,
        [(each.name, each.count, each.requests, each.flavors) for each in assignment.pod_sets],
        (decision.flavors, assignment.usage, decision.borrowing, assignment.contested),
        [(each.holder.key, each.reason) for each in decision.targets],
        (decision.message, decision.no_fit_reason, decision.tried),
    )


@settings(max_examples=examples(300), deadline=None)
@given(objects=wide_worlds, options=OPTIONS, data=st.data())
def test_what_is_admitted_is_what_will_be_used(
    objects: list[Object], options: Options, data: st.DataObject
) -> None:
    """The admission of a decision, read back, uses what the decision counted, and no pod set has too few pods."""
    world = snapshot(*objects)
    for head in heads(objects):
        workload = data.draw(elastic(head))
        decision = decide(world, workload, NOW, options)
        if decision.mode != "Fit":
            continue
        gone = {each.name: each.count for each in workload.status.reclaimable_pods or ()}
        for spec, pods in zip(workload.spec.pod_sets, decision.assignment.pod_sets, strict=True):
            left = spec.count - gone.get(spec.name, 0)
            assert pods.asked == left
            assert min(spec.min_count or spec.count, left) <= pods.count <= max(left, spec.count)
        if any(pods.count > pods.asked for pods in decision.assignment.pod_sets):
            continue  # what is reclaimable is given back at once
        held = admitted(workload, decision, "2026-01-01T00:16:40Z")
        used = {pair: amount for pair, amount in usage(held).items() if amount}
        assert used == decision.assignment.usage


@given(
    given=st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), min_size=1, max_size=4),
    limit=st.integers(0, 2**33),
)
def test_where_fewer_fit_whenever_more_do_the_most_are_found(
    given: list[tuple[int, int]], limit: int
) -> None:
    wanted = [
        PodSet(PodTemplate(), name=str(number), count=max(pair), min_count=min(pair) or None)
        for number, pair in enumerate(given)
    ]
    last = sum(map(may_give_up, wanted))
    if not last:
        return
    found = largest(wanted, lambda counts: counts if sum(counts) <= limit else None)
    if found is None:
        assert sum(counts_at(wanted, last)) > limit
        return
    # It is one of the steps, and the step before it has too many pods.
    first = _first(wanted, last, found)
    assert sum(found) <= limit
    assert first == 0 or sum(counts_at(wanted, first - 1)) > limit
    for pods, count in zip(wanted, found, strict=True):
        assert pods.count - may_give_up(pods) <= count <= pods.count


def _first(wanted: list[PodSet], last: int, found: tuple[int, ...]) -> int:
    """The first step with these numbers of pods. A binary search of its own: the numbers never grow."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if sum(counts_at(wanted, middle)) > sum(found):
            low = middle + 1
        else:
            high = middle
    assert counts_at(wanted, low) == found
    return low
