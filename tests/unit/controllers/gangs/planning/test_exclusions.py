"""Contradictions: how long they are remembered, what they do to a snapshot, and how much is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from controllers.gangs.planning.exclusions import ELSEWHERE, SEEN_LENGTH, Exclusions
from nodes.search.decision import decide_group
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.objects import gang, node, pod, tables
from tests.kit.stage import staged

SMALL, LARGE = {"cpu": "1"}, {"cpu": "2"}


class Setting:
    """Two nodes; members `m0` and `m1`, which are alike, and `large`, which is not."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.tables = tables(
            node("n0"),
            node("n1"),
            gang(),
            *(pod(f"m{i}", group="gang", requests=SMALL) for i in range(2)),
            pod("large", group="gang", requests=LARGE),
        )
        self.exclusions = Exclusions(self.tables.node_changes, self.clock)

    def key(self, name: str) -> bytes:
        row = self.tables.pod(f"uid-default-{name}")
        assert row is not None
        return self.tables.view(row).pod_class.key

    def note(self, name: str, on: str, seen: str = "no", **how: Any) -> bool:
        return self.exclusions.note(self.key(name), on, f"default/{name}", seen, **how)

    def excluded(self) -> set[tuple[str, str, str]]:
        """(pod, node, what was seen) of every pod that is excluded from a node."""
        return excluded(self.tables, self.exclusions)


def excluded(tables: Tables, exclusions: Exclusions) -> set[tuple[str, str, str]]:
    snapshot = exclusions.apply(tables.snapshot(), "default")
    return {
        (snapshot.pod_names[pod], snapshot.node_names[node], exclusion.seen)
        for (pod_class, node), exclusion in snapshot.excluded.items()
        for pod in range(len(snapshot.pod_live))
        if snapshot.pod_live[pod] and snapshot.pod_class[pod] == pod_class
    }


def test_pods_of_the_class_are_excluded_from_the_node() -> None:
    setting = Setting()
    assert setting.excluded() == set()
    assert setting.note("m0", "n0", "untolerated")
    assert setting.excluded() == {("m0", "n0", "untolerated"), ("m1", "n0", "untolerated")}


def test_the_search_uses_other_nodes() -> None:
    setting = Setting()
    decided = [decide_group(setting.tables.snapshot(), "default", "gang")]
    setting.note("m0", "n0")
    decided += [
        decide_group(setting.exclusions.apply(setting.tables.snapshot(), "default"), "default", "gang")
    ]
    places = [{each.pod: each.node for each in plan.placements} for plan in decided]
    assert places[0]["m0"] == places[0]["m1"] == "n0"
    assert places[1]["m0"] == places[1]["m1"] == "n1"


@pytest.mark.parametrize(
    ("change", "forgotten"),
    [
        (node("n0", labels={"a": "b"}), True),
        (node("n0", unschedulable=True), True),
        (node("n0", cpu="8"), True),
        (node("n0", version=7), False),
        (node("n1", cpu="8"), False),
        (pod("other", node="n0"), False),
        (pod("other", nominated="n0"), False),
    ],
)
def test_it_is_remembered_until_the_node_changes(change: Any, forgotten: bool) -> None:
    setting = Setting()
    setting.note("m0", "n0")
    upsert = setting.tables.upsert_node if change.metadata.name[0] == "n" else setting.tables.upsert_pod
    upsert(change)
    assert (setting.excluded() == set()) is forgotten


def test_a_node_that_comes_again_is_another_one() -> None:
    setting = Setting()
    setting.note("m0", "n0")
    setting.tables.delete_node("n0")
    setting.tables.upsert_node(node("n0"))
    assert setting.excluded() == set()
    assert setting.exclusions.expire()
    assert len(setting.exclusions) == 0


def test_it_is_remembered_for_ten_minutes_from_when_it_was_last_seen() -> None:
    setting = Setting()
    assert setting.note("m0", "n0", "first")
    setting.clock.advance(400)
    assert not setting.note("m1", "n0", "second"), "no news"
    setting.clock.advance(599)
    assert not setting.exclusions.expire()
    assert {seen for *_, seen in setting.excluded()} == {"first"}
    setting.clock.advance(1)
    assert setting.exclusions.expire()
    assert setting.excluded() == set()
    assert setting.note("m1", "n0", "third")
    assert {seen for *_, seen in setting.excluded()} == {"third"}


def test_of_pods_that_look_at_other_nodes_it_is_remembered_for_a_minute() -> None:
    setting = Setting()
    setting.note("m0", "n0", looks_afar=True)
    setting.note("large", "n0")
    setting.clock.advance(59.0)
    assert len(setting.excluded()) == 3
    setting.clock.advance(1.0)
    assert {pod for pod, _, _ in setting.excluded()} == {"large"}


def test_what_was_seen_before_the_node_changed_is_not_noted() -> None:
    setting = Setting()
    before = setting.tables.node_changes("n0")
    setting.tables.upsert_node(node("n0", cpu="8"))
    assert not setting.note("m0", "n0", changes=before)
    assert setting.excluded() == set()
    assert setting.note("m0", "n0", changes=setting.tables.node_changes("n0"))


def test_a_class_and_a_node_that_are_not_there_harm_nobody() -> None:
    setting = Setting()
    setting.note("large", "n0")
    setting.note("m0", "n9")
    setting.tables.delete_pod("default", "large")
    assert setting.excluded() == set()


def test_the_one_that_was_seen_longest_ago_goes_first() -> None:
    setting = Setting()
    setting.exclusions = Exclusions(setting.tables.node_changes, setting.clock, most=2)
    setting.note("m0", "n0")
    setting.note("m0", "n1")
    setting.note("m0", "n0")
    setting.note("large", "n0")
    assert {(name, on) for name, on, _ in setting.excluded()} == {("m0", "n0"), ("m1", "n0"), ("large", "n0")}


def test_long_messages_are_cut() -> None:
    setting = Setting()
    setting.note("m0", "n0", "x" * 10_000)
    assert {len(seen) for *_, seen in setting.excluded()} == {SEEN_LENGTH}


NAMES = st.sampled_from(["m0", "large"])
NODES = st.sampled_from(["n0", "n1"])
MOST = 3


class ExclusionsMachine(RuleBasedStateMachine):
    """The memory beside a list of everything that was ever noted."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.tables = Tables()
        self.exclusions = Exclusions(self.tables.node_changes, self.clock, seconds=10, most=MOST)
        for name, requests in (("m0", SMALL), ("large", LARGE)):
            self.tables.upsert_pod(pod(name, requests=requests))
        self.noted: dict[tuple[str, str], float] = {}
        """When a pod and a node were last noted, in that order. -1 is for a node that has changed since."""

    def holding(self) -> set[tuple[str, str]]:
        return {each for each, at in self.noted.items() if at >= 0 and at + 10 > self.clock.monotonic()}

    def node_changed(self, name: str) -> None:
        self.noted |= {(each, on): -1 for each, on in self.noted if on == name}

    @rule(name=NODES, cpu=st.sampled_from(["4", "8"]))
    def put_node(self, name: str, cpu: str) -> None:
        if self.tables.upsert_node(node(name, cpu=cpu)):
            self.node_changed(name)

    @rule(name=NODES)
    def delete_node(self, name: str) -> None:
        self.tables.delete_node(name)
        self.node_changed(name)

    @rule(name=NAMES, on=NODES)
    def note(self, name: str, on: str) -> None:
        if self.tables.nodes.find(on) is None:
            return
        row = self.tables.pod(f"uid-default-{name}")
        assert row is not None
        news = self.exclusions.note(self.tables.view(row).pod_class.key, on, f"default/{name}", "no")
        assert news is ((name, on) not in self.holding())
        self.noted.pop((name, on), None)
        self.noted[name, on] = self.clock.monotonic()
        if len(self.noted) > MOST:
            del self.noted[next(iter(self.noted))]

    @rule(seconds=st.integers(1, 11))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def expire(self) -> None:
        holding = self.holding()
        assert self.exclusions.expire() is (len(holding) < len(self.noted))
        self.noted = {each: at for each, at in self.noted.items() if each in holding}

    @invariant()
    def what_is_excluded_was_noted(self) -> None:
        assert excluded(self.tables, self.exclusions) == {(name, on, "no") for name, on in self.holding()}
        assert len(self.exclusions) == len(self.noted)


TestExclusions = ExclusionsMachine.TestCase
TestExclusions.settings = settings(max_examples=examples(150), stateful_step_count=30, deadline=None)


async def test_the_next_plan_does_without_what_was_contradicted() -> None:
    big = {"cpu": "4"}
    running = [pod(f"v{number}", node=f"n{number}", requests=big, priority=1) for number in range(2)]
    async with staged(node("n0"), node("n1"), *running, gang(minimum=1)) as stage:
        await stage.settle()
        leading, tables = stage.controller.leading, stage.controller.known.mirror.tables
        assert leading is not None
        # Same class, another namespace: what the scheduler showed of one pod holds for all that look alike.
        stage.add(pod("twin", namespace="other", requests=big))
        key = stage.controller.known.mirror.roster.class_key("uid-other-twin")
        assert key is not None
        leading.lessons.exclusions.note(key, "n0", "other/twin", "no", changes=tables.node_changes("n0"))
        stage.add(pod("m", group="gang", requests=big))
        await stage.settle()
        assert stage.api.deleted == ["v1"]
        (plan,) = stage.api.plans.values()
        assert plan["spec"]["excluded"] == [{"pod": "", "node": "n0", "seen": ELSEWHERE.seen}]
        assert "twin" not in str(plan["spec"]), "it is of another namespace"
