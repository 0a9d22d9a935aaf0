"""The tree as it is laid out: numbers by name, cohorts that are only named, and quotas nobody can use."""

from __future__ import annotations

import numpy as np
import pytest

from api.kueue import (
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    CohortSpec,
    FlavorQuotas,
    ResourceGroup,
    ResourceQuota,
)
from api.meta import ObjectMeta
from native.codes import UNSET
from native.quota.quotas import UNLIMITED
from quota.state.amounts import QuotaError
from quota.state.tree import MAX_DEPTH, Layout, lay_out, read_cluster_queue, read_cohort
from tests.kit.quota.objects import cluster_queue, cohort, cpu


def laid_out(*things: ClusterQueue | Cohort) -> Layout:
    return lay_out(
        [read_cluster_queue(each) for each in things if isinstance(each, ClusterQueue)],
        [read_cohort(each) for each in things if isinstance(each, Cohort)],
        [],
    )


def test_numbers_follow_names_not_the_order_of_arrival() -> None:
    things: list[ClusterQueue | Cohort] = [
        cluster_queue("b", cpu(1), "x"),
        cluster_queue("a", cpu(2), "y"),
        cohort("y", "z"),
    ]
    one, other = laid_out(*things), laid_out(*reversed(things))
    assert one.names == ("a", "b", "x", "y", "z")
    assert one.names == other.names
    assert np.array_equal(one.quotas.nominal, other.quotas.nominal)
    assert np.array_equal(one.quotas.parent, other.quotas.parent)


def test_a_cohort_that_is_only_named_is_a_root_without_quota() -> None:
    layout = laid_out(cluster_queue("q", cpu(1), "team"))
    assert layout.path(layout.queues["q"]) == "/team/q"
    assert layout.quotas.parent.tolist() == [1, -1]
    assert layout.quotas.nominal.tolist() == [[1000], [0]]
    assert layout.quotas.defined.tolist() == [[1], [0]]


def test_limits_and_what_is_beyond_64_bits() -> None:
    layout = laid_out(cluster_queue("q", cpu("1E", "0", None), "team"))
    assert layout.quotas.nominal[0, 0] == UNLIMITED
    assert layout.quotas.borrowing_limit[0, 0] == 0
    assert layout.quotas.lending_limit[0, 0] == UNSET


def test_a_cycle_breaks_what_is_below_it_and_nothing_else() -> None:
    things = (
        cluster_queue("in", cpu(1), "a"),
        cluster_queue("below", cpu(1), "side"),
        cluster_queue("sound", cpu(1), "other"),
        cohort("a", "b"),
        cohort("b", "a"),
        cohort("side", "b"),
    )
    layout = laid_out(*things)
    assert layout.broken == dict.fromkeys(("in", "below"), "the cohorts form a cycle: a -> b -> a")
    assert layout.path(layout.queues["in"]) == "/in"
    assert layout.path(layout.queues["sound"]) == "/other/sound"


def test_a_cohort_above_itself() -> None:
    assert laid_out(cluster_queue("q", cpu(1), "a"), cohort("a", "a")).broken == {
        "q": "the cohorts form a cycle: a -> a"
    }


def test_cohorts_that_are_too_deep() -> None:
    chain = [cohort(f"c{i:04}", f"c{i + 1:04}") for i in range(MAX_DEPTH)]
    layout = laid_out(cluster_queue("q", cpu(1), "c0000"), cluster_queue("r", cpu(1), "c0001"), *chain)
    assert list(layout.broken) == ["q"]
    assert f"more than {MAX_DEPTH}" in layout.broken["q"]


def group(resources: list[ResourceQuota], flavor: str = "f", *covered: str) -> ResourceGroup:
    return ResourceGroup(
        list(covered or [each.name for each in resources]), [FlavorQuotas(flavor, resources)]
    )


CPU = ResourceQuota("cpu", 1)
FIRST = "spec.resourceGroups[0].flavors[0].resources"


@pytest.mark.parametrize(
    ("groups", "field", "problem"),
    [
        (
            [group([CPU, ResourceQuota("gpu", "-1")])],
            f"{FIRST}[1].nominalQuota",
            "greater than or equal to 0",
        ),
        ([group([ResourceQuota("cpu", 1, -2)])], f"{FIRST}[0].borrowingLimit", "greater than or equal to 0"),
        ([group([ResourceQuota("cpu", 1, None, "1x")])], f"{FIRST}[0].lendingLimit", "1x"),
        ([group([CPU, ResourceQuota("gpu", 1)], "f", "gpu", "cpu")], FIRST, "not cpu, gpu"),
        ([group([CPU])] * 2, "spec.resourceGroups[1].coveredResources[0]", "'cpu' occurs twice"),
        (
            [group([CPU]), group([ResourceQuota("gpu", 1)])],
            "spec.resourceGroups[1].flavors[0].name",
            "'f' occurs twice",
        ),
    ],
)
def test_quotas_nobody_can_use(groups: list[ResourceGroup], field: str, problem: str) -> None:
    metadata = ObjectMeta(name="x")
    queue = ClusterQueue(metadata=metadata, spec=ClusterQueueSpec(resource_groups=groups))
    with pytest.raises(QuotaError, match=problem) as error:
        read_cluster_queue(queue)
    assert (error.value.subject, error.value.field) == ("ClusterQueue x", field)
    with pytest.raises(QuotaError, match=problem) as error:
        read_cohort(Cohort(metadata=metadata, spec=CohortSpec(resource_groups=groups)))
    assert (error.value.subject, error.value.field) == ("Cohort x", field)


@pytest.mark.parametrize(("weight", "read"), [("0", 0.0), ("500m", 0.5), (2, 2.0)])
def test_weights(weight: str | int, read: float) -> None:
    assert read_cluster_queue(cluster_queue("q", cpu(1), weight=weight)).weight == read


@pytest.mark.parametrize("weight", ["-1", "1n", "much"])
def test_weights_that_are_none(weight: str) -> None:
    with pytest.raises(QuotaError, match=r"^Cohort c: spec\.fairSharing\.weight: "):
        read_cohort(cohort("c", weight=weight))
