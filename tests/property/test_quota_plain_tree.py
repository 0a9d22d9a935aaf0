"""The plain tree that judges histories agrees with the engine."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from api.kueue import ClusterQueue, Cohort
from quota.state.state import QuotaState
from quota.state.workloads import key_of
from tests.kit.examples import examples
from tests.kit.quota.objects import cluster_queue, cohort, completed, cpu, held, workload
from tests.kit.quota.tree import Tree

LIMITS = st.none() | st.integers(0, 3)
QUOTAS = st.builds(cpu, st.integers(0, 3), LIMITS, LIMITS)
COHORTS = st.sampled_from(("", "team", "other", "nobody"))
QUEUES = st.dictionaries(st.sampled_from("abcd"), st.tuples(QUOTAS, COHORTS), min_size=1)
HOLDERS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 4)), min_size=1, max_size=6)


@settings(max_examples=examples(500), deadline=None)
@given(QUEUES, QUOTAS, QUOTAS, HOLDERS)
def test_both_say_who_is_beyond_the_tree(queues, team, top, holders) -> None:  # type: ignore[no-untyped-def]  # drawn
    cohorts = [cohort("team", "top", team), cohort("other", "top"), cohort("top", quotas=top)]
    specs = [cluster_queue(name, quotas, parent) for name, (quotas, parent) in queues.items()]
    workloads = [held(workload(f"w{number}", queue, cpus), 5) for number, (queue, cpus) in enumerate(holders)]
    state, tree = QuotaState(), Tree()
    for each in completed([*cohorts, *specs, *workloads]):
        state.apply(each)
        if isinstance(each, ClusterQueue | Cohort):
            tree.put(each)
    for holder in workloads:
        tree.put(holder)
    for holder in workloads:
        assert tree.fits(key_of(holder)) == state.fits_beside_others(key_of(holder))
