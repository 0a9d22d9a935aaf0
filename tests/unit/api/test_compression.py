"""Storing plans: what goes in comes out, and the largest plan stays below etcd's limit."""

from __future__ import annotations

import random
import uuid
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.compression import compress, expand
from api.meta import ObjectMeta
from api.plan_results import Excluded
from api.plans import Placement, PreemptionPlan, PreemptionPlanSpec, Preemptor, Victim, VictimPod

PREEMPTOR = Preemptor("PodGroup", "reprieve.dev/v1alpha1", "ml", "train", "7b0e", 100)


ETCD_BYTES = 3 * 2**19
"""etcd refuses a larger request (--max-request-bytes); the object's metadata and status count too."""


def large_plan(kind: Literal["PodGroup", "Pod"], units: int, pods_each: int, members: int) -> PreemptionPlan:
    """Names as long as the API allows, with the random parts that controllers give them."""
    draw = random.Random(5)

    def uid() -> str:
        return str(uuid.UUID(int=draw.getrandbits(128), version=4))

    def suffix(length: int) -> str:
        return "".join(draw.choices("bcdfghjklmnpqrstvwxz2456789", k=length))

    nodes = [f"node-{suffix(5)}.{'very-long-zone-name.' * 11}example.com" for _ in range(5000)]
    victims = []
    for _ in range(units):
        name = f"{'preprocessing-of-the-training-data-' * 6}{suffix(10)}"
        pods = [
            VictimPod("data", f"{name}-{index:05}-{suffix(5)}", uid(), draw.choice(nodes))
            for index in range(pods_each)
        ]
        own = (name, uid()) if kind == "PodGroup" else (pods[0].name, pods[0].uid)
        victims.append(Victim(kind, "data", *own, 10, False, pods))
    placements = [
        Placement(f"train-{index}-{suffix(5)}", draw.choice(nodes), uid()) for index in range(members)
    ]
    spec = PreemptionPlanSpec(PREEMPTOR, "Preempts", "room", placements=placements, victims=victims)
    return PreemptionPlan(metadata=ObjectMeta(name="plan", namespace="ml"), spec=spec)


@pytest.mark.parametrize(
    ("kind", "units", "pods_each", "members", "most"),
    [
        ("PodGroup", 1500, 10, 1500, 2**20),
        ("Pod", 15_000, 1, 5000, 2**20),
        ("Pod", 15_000, 1, 15_000, ETCD_BYTES - 2**16),
    ],
)
def test_fifteen_thousand_victim_pods_can_be_stored(
    kind: Literal["PodGroup", "Pod"], units: int, pods_each: int, members: int, most: int
) -> None:
    plan = large_plan(kind, units, pods_each, members)
    stored = msgspec.structs.replace(plan, spec=compress(plan.spec, above_pods=500))
    assert len(msgspec.json.encode(plan)) > 2**23
    assert len(msgspec.json.encode(stored)) < most
    assert (stored.spec.victim_units, stored.spec.victim_pods) == (units, 15_000)
    assert stored.spec.victims == []
    assert expand(stored.spec) == plan.spec


def test_a_workload_counts_as_one_pod_and_has_none() -> None:
    preemptor = Preemptor("Workload", "kueue.x-k8s.io/v1beta2", "ml", "train", "7b0e", 100)
    victims = [Victim("Workload", "ml", f"w{number}", f"u{number}", 1, False, []) for number in range(3)]
    spec = PreemptionPlanSpec(preemptor, "Preempts", "quota", victims=victims)
    assert compress(spec, above_pods=3).victims == victims
    stored = compress(spec, above_pods=2)
    assert stored.victims == []
    assert (stored.victim_units, stored.victim_pods) == (3, msgspec.UNSET)
    assert expand(stored) == spec


NAMES = st.text(alphabet="abcxyz-.09é", min_size=1, max_size=20)
PODS = st.builds(VictimPod, NAMES, NAMES, NAMES, NAMES)
VICTIMS = st.builds(
    Victim,
    st.sampled_from(["PodGroup", "Pod"]),
    NAMES,
    NAMES,
    NAMES,
    st.integers(-(2**31), 2**31 - 1),
    st.booleans(),
    st.lists(PODS, min_size=1, max_size=3),
)
SPECS = st.builds(
    PreemptionPlanSpec,
    preemptor=st.just(PREEMPTOR),
    outcome=st.just("Preempts"),
    reason=NAMES,
    placements=st.lists(st.builds(Placement, NAMES, NAMES, NAMES, st.booleans()), max_size=5),
    victims=st.lists(VICTIMS, max_size=5),
    domain=st.none(),
    priority_cutoff=st.none() | st.integers(-10, 10),
    domains=st.just([]),
    other_domains=st.just([]),
    not_modelled=st.lists(NAMES, max_size=2),
    excluded=st.just(msgspec.UNSET)
    | st.lists(st.builds(Excluded, NAMES, NAMES, NAMES), min_size=1, max_size=2),
    victim_units=st.just(msgspec.UNSET),
    victim_pods=st.just(msgspec.UNSET),
    compressed_victims=st.just(msgspec.UNSET),
    compressed_placements=st.just(msgspec.UNSET),
)


@given(SPECS, st.integers(0, 6))
def test_what_is_stored_comes_back(spec: PreemptionPlanSpec, above_pods: int) -> None:
    before = msgspec.json.encode(spec)
    stored = msgspec.json.encode(compress(spec, above_pods=above_pods))
    assert expand(msgspec.json.decode(stored, type=PreemptionPlanSpec)) == spec
    assert msgspec.json.encode(spec) == before


@pytest.mark.parametrize("damage", ["not base64!", "AAAA", "/Td6WFo="])
def test_damage_is_named(damage: str) -> None:
    spec = msgspec.structs.replace(large_plan("Pod", 1, 1, 1).spec, compressed_victims=damage)
    with pytest.raises(ValueError, match=r"spec\.compressedVictims"):
        expand(spec)


def test_placements_of_older_plans_are_read() -> None:
    placement = msgspec.json.decode(b'{"pod": "p", "node": "n"}', type=Placement)
    assert placement == Placement("p", "n", "", False)
