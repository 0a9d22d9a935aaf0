"""Which decisions about quota stand, although something is not modelled."""

from __future__ import annotations

from typing import Any

import msgspec

from api.checks import AdmissionCheck, AdmissionCheckSpec, AdmissionCheckStatus
from api.core import PodResourceClaim
from api.kueue import (
    AdmissionChecksStrategy,
    AdmissionCheckStrategyRule,
    ClusterQueue,
    ConcurrentAdmissionPolicy,
)
from api.meta import Condition, ObjectMeta
from api.multikueue import CONTROLLER_NAME
from api.podsets import PodSetTopologyRequest
from api.workloads import Workload
from quota.answers.verdicts import doubts
from quota.search.decision import decide
from quota.state.state import QuotaState
from tests.kit.quota.objects import (
    Object,
    cluster_queue,
    completed,
    cpu,
    flavor,
    held,
    snapshot,
    us,
    workload,
)

NOW = us(1000)
SMALL, LARGE = workload("w", "q", 2, priority=5), workload("w", "q", 9, priority=5)
QUEUE = cluster_queue("q", cpu(4), within="LowerPriority")
HOLDER = held(workload("low", "q", 4), 10)
TOPOLOGY = "topologies (spec.podSets[0].topologyRequest)"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
BOOST = "kueue.x-k8s.io/priority-boost"


def named(asker: Workload, *world: Object) -> tuple[str, ...]:
    quota = snapshot(*world)
    return doubts(asker, decide(quota, asker, NOW), quota)


def placed(asker: Workload) -> Workload:
    pods = msgspec.structs.replace(
        asker.spec.pod_sets[0], topology_request=PodSetTopologyRequest(required="rack")
    )
    return msgspec.structs.replace(asker, spec=msgspec.structs.replace(asker.spec, pod_sets=[pods]))


def with_pod(asker: Workload, **fields: Any) -> Workload:
    pods = asker.spec.pod_sets[0]
    template = msgspec.structs.replace(
        pods.template, spec=msgspec.structs.replace(pods.template.spec, **fields)
    )
    pods = msgspec.structs.replace(pods, template=template)
    return msgspec.structs.replace(asker, spec=msgspec.structs.replace(asker.spec, pod_sets=[pods]))


def annotated(asker: Workload, name: str, value: str) -> Workload:
    meta = msgspec.structs.replace(asker.metadata, annotations={name: value})
    return msgspec.structs.replace(asker, metadata=meta)


def test_what_is_modelled_is_certain() -> None:
    assert named(SMALL, QUEUE) == named(LARGE, QUEUE) == named(SMALL, QUEUE, HOLDER) == ()


def test_what_can_only_refuse_matters_where_there_is_quota() -> None:
    assert named(placed(SMALL), QUEUE) == (TOPOLOGY,)
    assert named(placed(SMALL), QUEUE, HOLDER) == (TOPOLOGY,)
    assert named(placed(LARGE), QUEUE) == ()
    claims = with_pod(SMALL, resource_claims=[PodResourceClaim("gpu")])
    assert len(named(claims, QUEUE)) == 1
    assert named(annotated(LARGE, "kueue.x-k8s.io/elastic-job", "true"), QUEUE) == ()


def test_a_flavor_with_topologies_and_a_class_that_is_not_known_are_named() -> None:
    racks = flavor("default")
    racks.spec.topology_name = "racks"
    files = QuotaState(partial=True)
    for thing in completed([QUEUE, racks]):
        files.apply(thing)
    quota = files.snapshot()
    of_flavor = "topologies (ResourceFlavor default, spec.topologyName)"
    assert doubts(SMALL, decide(quota, SMALL, NOW), quota) == (of_flavor,)
    kata = with_pod(SMALL, runtime_class_name="kata")
    of_class = "RuntimeClass kata, which is not in the files"
    assert doubts(kata, decide(quota, kata, NOW), quota) == (of_flavor, of_class)


def test_topologies_do_not_matter_where_a_manager_sends_workloads_elsewhere() -> None:
    racks = flavor("default")
    racks.spec.topology_name = "racks"
    files, queue = (
        QuotaState(partial=True),
        msgspec.json.decode(msgspec.json.encode(QUEUE), type=ClusterQueue),
    )
    queue.spec.admission_checks_strategy = AdmissionChecksStrategy([AdmissionCheckStrategyRule("mk")])
    check = AdmissionCheck(
        metadata=ObjectMeta(name="mk"),
        spec=AdmissionCheckSpec(CONTROLLER_NAME),
        status=AdmissionCheckStatus([Condition("Active", "True")]),
    )
    files.apply(check)
    for thing in completed([queue, racks]):
        files.apply(thing)
    quota = files.snapshot()
    assert doubts(placed(SMALL), decide(quota, placed(SMALL), NOW), quota) == ()


def test_concurrent_admission_is_named() -> None:
    queue = cluster_queue("q", cpu(4))
    queue.spec.concurrent_admission_policy = msgspec.convert(
        {"migration": {"mode": "RetainFirstAdmission"}}, ConcurrentAdmissionPolicy
    )
    assert len(named(SMALL, queue)) == 1


def test_a_larger_slice_may_get_the_quota_of_the_smaller_one() -> None:
    assert named(annotated(LARGE, REPLACES, "ns/low"), QUEUE) == (
        f"elastic Workloads (metadata.annotations[{REPLACES}])",
    )
    assert named(annotated(SMALL, REPLACES, "ns/low"), QUEUE) == ()


def test_a_boost_matters_where_others_would_have_to_go() -> None:
    boosted = annotated(SMALL, BOOST, "3")
    assert named(boosted, QUEUE) == named(annotated(LARGE, BOOST, "3"), QUEUE) == ()
    assert len(named(boosted, QUEUE, HOLDER)) == 1
    assert len(named(SMALL, QUEUE, annotated(HOLDER, BOOST, "-3"))) == 1
