"""Our filters say what kube-scheduler's own filters say, or the plan names what it does not model.

`make fidelity` asks about millions of random pairs of pod and node, and shrinks what differs.
"""

from __future__ import annotations

from functools import cache

import pytest

from hack.controlplane.binaries import BinariesError
from hack.fidelity.comparison import Case, Tally, compare, make_cases
from hack.fidelity.orders import Orders, judge_orders
from hack.fidelity.ours import judge
from hack.fidelity.planned import Plans, judge_plans
from hack.fidelity.probe import Probe
from hack.fidelity.recorded import Recorded, recorded
from hack.fidelity.worlds import FAMILIES
from nodes.filters import volume_binding, volume_restrictions, volume_zone
from nodes.filters.node_ports import HostPort
from nodes.filters.pod_topology_spread import PodTopologySpread
from nodes.search import decision
from nodes.search.neighbours import volume_claims
from nodes.search.neighbours.attachments import Attachments
from nodes.search.spreading import obeying
from nodes.search.spreading.refusals import Refusal

SEED = 1_000_000
CASES = 18
"""Cases of each family."""


@cache
def kept() -> list[Recorded]:
    """The cases of the file, which takes a while to read."""
    return recorded()


def _agrees(tally: Tally) -> None:
    first = [(case.world.family, case.seed, each) for case, each in tally.differences[:5]]
    assert not first, "python -m hack.fidelity --seed SEED --family FAMILY shrinks a difference"


def test_recorded_answers() -> None:
    tally = Tally()
    for each in kept():
        tally.add(Case(0, each.world, judge(each.world)), each.answer)
    assert tally.verdicts.total() > 20_000
    assert set(tally.verdicts) == {*FAMILIES, "all"}
    assert 0.2 < tally.refused.total() / tally.verdicts.total() < 0.8
    _agrees(tally)


def test_a_wrong_filter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostPort, "conflicts", lambda _self, _other: False)
    tally = Tally()
    for each in kept():
        if each.world.family == "host ports":
            tally.add(Case(0, each.world, judge(each.world)), each.answer)
    assert {each.kind for _, each in tally.differences} == {"we admit, NodePorts refuses"}


@pytest.mark.parametrize(
    ("module", "rule", "answer", "plugin"),
    [
        (volume_binding, "_is_allowed", True, "VolumeBinding"),
        (volume_binding, "_has_space", True, "VolumeBinding"),
        (volume_binding, "_is_reachable", True, "VolumeBinding"),
        (volume_zone.VolumeZone, "refusal", None, "VolumeZone"),
        (volume_restrictions.ClaimToken, "brought_by", False, "VolumeRestrictions"),
        (volume_restrictions.Disk, "conflicts", False, "VolumeRestrictions"),
        (volume_claims, "_is_shared", False, "VolumeBinding"),
        (volume_claims, "_is_contended", False, "VolumeBinding"),
        (Attachments, "__len__", 0, "NodeVolumeLimits"),
    ],
)
def test_a_missing_rule_of_volumes_is_found(
    monkeypatch: pytest.MonkeyPatch, module: object, rule: str, answer: bool | int | None, plugin: str
) -> None:
    monkeypatch.setattr(module, rule, lambda *_: answer)
    tally = Tally()
    for each in kept():
        if each.world.family == "volumes":
            tally.add(Case(0, each.world, judge(each.world)), each.answer)
    assert {each.kind for _, each in tally.differences} == {f"we admit, {plugin} refuses"}


def test_default_constraints_that_nobody_names_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PodTopologySpread, "unmodelled_in", lambda *_: ())
    tally = Tally()
    for each in kept():
        if each.world.family == "profile":
            tally.add(Case(0, each.world, judge(each.world)), each.answer)
    assert {each.kind for _, each in tally.differences} == {"we admit, PodTopologySpread refuses"}


@pytest.mark.parametrize("family", [*FAMILIES, "all"])
def test_the_probe(family: str) -> None:
    tally = Tally()
    try:
        with Probe() as probe:
            compare([*make_cases(range(SEED, SEED + CASES), family)], probe.ask, tally)
    except BinariesError as error:
        pytest.skip(str(error))
    _agrees(tally)


def test_plans_are_taken() -> None:
    plans = Plans()
    try:
        with Probe() as probe:
            judge_plans(range(SEED, SEED + 300), probe.ask, plans)
    except BinariesError as error:
        pytest.skip(str(error))
    assert plans.wrong == []
    assert plans.outcomes["Preempts"] > 10


def _judged(gangs: int) -> Orders:
    orders = Orders()
    try:
        with Probe() as probe:
            judge_orders(range(SEED, SEED + gangs), probe.ask, orders)
    except BinariesError as error:
        pytest.skip(str(error))
    return orders


def test_members_that_look_at_other_nodes_are_taken_in_waves_and_no_order_is_missed() -> None:
    orders = _judged(150)
    assert orders.plans.wrong == []
    assert orders.missed == []
    assert orders.plans.outcomes["Preempts"] > 10
    assert orders.refused > 5
    names = set(orders.plans.named)
    assert not any("spread" in name for name in names)
    assert names <= {"anti-affinity by namespaceSelector of a victim: the scheduler does not notice its end"}


def test_a_plan_without_waves_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "waves", lambda _cells, _counts, placed: [0] * len(placed))
    assert _judged(150).plans.wrong


def test_a_no_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obeying, "in_order", lambda *_: None)
    monkeypatch.setattr(obeying, "seek", lambda *_: Refusal(known=True))
    assert _judged(60).missed
