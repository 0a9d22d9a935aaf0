"""What is borrowed and lent agrees with the state, and what could be taken back with the search."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from api.kueue import ClusterQueue
from api.workloads import Workload
from quota.answers.accounts import Lent, account, lent
from quota.answers.overview import overview, queue_overview
from quota.answers.reclaims import HIGHEST, reclaims, supposed
from quota.cycle.cycle import cycle
from quota.search.decision import Options, decide
from quota.state.amounts import shown
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.statuses import Tally, cluster_queue_status
from tests.kit.examples import examples
from tests.kit.quota.objects import Object, cluster_queue, cohort, completed, cpu, held, snapshot, workload
from tests.property.quota_worlds import NOW, OPTIONS, heads, holders, worlds

PAIR = ("default", "cpu")


@st.composite
def lenders(draw: st.DrawFn) -> list[Object]:
    """Queues of whole CPUs below two Cohorts, with limits. Some use more than their own."""
    amounts = st.integers(0, 3)
    limits = st.one_of(st.none(), amounts)
    objects: list[Object] = [
        cohort("all", "", cpu(draw(st.integers(0, 1)))),
        cohort("team", "all", cpu(draw(st.integers(0, 1)), None, draw(limits))),
    ]
    for name in "abcd"[: draw(st.integers(1, 4))]:
        parent = draw(st.sampled_from(("team", "all", "")))
        quota = cpu(draw(amounts), draw(limits), draw(limits)) if parent else cpu(draw(amounts))
        objects.append(cluster_queue(name, quota, parent))
        if used := draw(st.integers(0, 4)):
            objects.append(held(workload(f"h-{name}", name, used), 0))
    return objects


@settings(max_examples=examples(200), deadline=None)
@given(lenders())
def test_the_bounds_of_what_is_lent_are_those_of_all_ways_to_share(objects: list[Object]) -> None:
    world = snapshot(*objects)
    found = lent(world, PAIR)
    ways = list(_ways(world))
    assert ways
    for node, bounds in found.items():
        amounts = [way[node] for way in ways]
        assert bounds == Lent(min(amounts) * 1000, max(amounts) * 1000)


def _ways(world: QuotaSnapshot) -> list[dict[int, int]]:
    """Every way to say whose quota it is that others use: by node, what it lends, in CPUs."""
    fr, quotas, ledger = world.layout.frs[PAIR], world.layout.quotas, world.ledger
    nodes = range(len(quotas.parent))
    needs = {node: max(0, ledger.usage(node, fr) - ledger.quota(node, fr)) // 1000 for node in nodes}
    offers = {}
    for node in nodes:
        quota, used = ledger.quota(node, fr), ledger.usage(node, fr)
        limit = int(quotas.lending_limit[node, fr])
        kept = max(0, quota - limit) if limit >= 0 else 0
        offers[node] = (quota - max(kept, used)) // 1000 if quota > max(kept, used) else 0
        if quotas.parent[node] < 0:
            offers[node] = 0
    parents = quotas.parent.tolist()
    own = [int(amount) // 1000 for amount in quotas.nominal[:, fr]]
    cohorts = range(quotas.queues, len(parents))
    return [
        dict(enumerate(amounts))
        for amounts in product(*(range(offers[node] + 1) for node in nodes))
        if all(_balanced(node, amounts, needs, parents, own[node]) for node in cohorts)
    ]


def _balanced(node: int, lends: tuple[int, ...], needs: dict[int, int], parents: list[int], own: int) -> bool:
    """What the children need and the Cohort lends comes from children, from its own quota, and from above."""
    children = [child for child, parent in enumerate(parents) if parent == node]
    taken = sum(needs[child] for child in children) + lends[node]
    given = sum(lends[child] for child in children) + (needs[node] if parents[node] >= 0 else 0)
    # A root that is beyond its quota owes it to nobody.
    excess = needs[node] if parents[node] < 0 else 0
    return given <= taken <= given + own + excess


@settings(max_examples=examples(200), deadline=None)
@given(worlds(memory=True))
def test_used_and_borrowed_are_what_the_status_says(objects: list[Object]) -> None:
    state, counts = QuotaState(), Tally()
    for thing in completed(objects):
        state.apply(thing)
    for holder in holders(objects):
        counts.put(holder)
    world = state.snapshot()
    for queue in (each for each in objects if isinstance(each, ClusterQueue)):
        name = queue.metadata.name
        counted = counts.cluster_queue(name)
        accounts = {pair: account(world, world.queues[name].node, pair) for pair in world.layout.frs}
        assert {pair: each.used for pair, each in accounts.items() if each.used} == counted.reservation
        status = cluster_queue_status(queue.spec, state.quotas(name), counted, 0, None)
        for flavor in status.flavors_reservation or ():
            for resource in flavor.resources:
                borrowed = accounts[flavor.name, resource.name].borrowed
                assert resource.borrowed == shown(resource.name, borrowed)


@settings(max_examples=examples(100), deadline=None)
@given(worlds(), OPTIONS)
def test_the_overview_has_every_queue_once_and_all_who_wait(objects: list[Object], options: Options) -> None:
    world = snapshot(*objects)
    everything = overview(world, [each for each in objects if isinstance(each, Workload)], NOW, options)
    nodes = [node for tree in everything.trees for node in tree]
    assert sorted(node.name for node in nodes) == sorted(world.layout.names)
    assert sum(node.waiting for node in nodes) == len(heads(objects))
    for tree in everything.trees:
        assert [node.depth for node in tree if not node.depth] == [0]
    for name, queue in world.queues.items():
        one = queue_overview(world, queue, heads(objects), NOW, options)
        assert one.takes == tuple(each for each in everything.reclaims if each.queue == name)
        assert one.loses == tuple(
            each
            for each in everything.reclaims
            if each.queue != name and any(target.holder.queue == name for target in each.targets)
        )
        for tried in one.waiting:
            (alone,) = cycle(world, [tried.entry.workload], NOW, options)
            assert (tried.outcome, tried.entry.message) == (alone.outcome, alone.message)


@settings(max_examples=examples(200), deadline=None)
@given(worlds(), OPTIONS)
def test_who_could_take_it_back_is_what_the_search_says(objects: list[Object], options: Options) -> None:
    world = snapshot(*objects)
    for found in reclaims(world, NOW, options):
        queue, pair = world.queues[found.queue], (found.flavor, found.resource)
        asked, asker = supposed(world, queue, pair, found.amount, HIGHEST)
        assert decide(asked, asker, NOW, options).targets == found.targets
        if found.above is not None and not options.fair_sharing:
            _, asker = supposed(world, queue, pair, found.amount, found.above + 1)
            assert decide(asked, asker, NOW, options).targets == found.targets
        assert all(target.holder.queue != found.queue for target in found.targets)
        assert found.amount > found.free == world.ledger.available(queue.node, world.layout.frs[pair])
        _, too_much = supposed(world, queue, pair, found.amount + 1, HIGHEST)
        nominal = int(world.layout.quotas.nominal[queue.node, world.layout.frs[pair]])
        used = world.ledger.usage(queue.node, world.layout.frs[pair])
        if found.amount + 1 <= nominal - used or not found.within_nominal:
            assert not decide(asked, too_much, NOW, options).targets
