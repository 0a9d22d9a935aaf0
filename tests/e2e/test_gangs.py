"""Gangs on a real control plane: which pods are evicted, which stay, and where members are bound."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hack.controlplane import objects
from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import REPRIEVE, Sandbox, condition, wait_for

SOON_SECONDS = 2.0
"""In this time a planner that is asked to plans again."""
QUIET_SECONDS = 60
"""How long nobody may be evicted for a gang that fits nowhere."""


@dataclass(frozen=True)
class Hopeless:
    """A gang of four where three full nodes are, and since when."""

    sandbox: Sandbox
    members: list[str]
    since: float


@pytest.fixture(scope="module", autouse=True)
def hopeless(request: pytest.FixtureRequest, foreign: Client | None) -> Iterator[Hopeless]:
    """It waits while the other tests run, so that nobody has to wait for it."""
    plane: ControlPlane | None = None if foreign else request.getfixturevalue("reprieve_plane")
    client = foreign or request.getfixturevalue("reprieve_plane").client
    sandbox = Sandbox(client, f"hopeless-{uuid.uuid4().hex[:5]}", plane)
    sandbox.full_nodes(3)
    yield Hopeless(sandbox, sandbox.gang("hero", 4, priority=100), time.monotonic())
    sandbox.history.close()
    sandbox.remove()


def test_a_gang_of_three_takes_three_full_nodes(sandbox: Sandbox) -> None:
    """Done 1: exactly the needed victims go, and the gang is bound whole."""
    nodes = sandbox.full_nodes(3)
    spare = sandbox.filler("spare", sandbox.node("spare", cpu="500m"), 1, cpu="500m")
    members = sandbox.gang("hero", 3, priority=100)
    start = time.monotonic()
    bound = sandbox.wait_bound(*members)
    print(f"\nfrom last member to bound: {time.monotonic() - start:.2f} s")
    assert sorted(bound[member] for member in members) == sorted(nodes)
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1, "low-2-0": 1}
    assert spare[0] in bound
    plan = sandbox.wait_plan("hero", "Bound")
    assert plan["spec"]["outcome"] == "Preempts"
    assert plan["spec"]["priorityCutoff"] == 10
    assert sorted(victim["name"] for victim in plan["spec"]["victims"]) == ["low-0-0", "low-1-0", "low-2-0"]
    sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "True")
    time.sleep(1)
    assert len(sandbox.plans("hero")) == 1, "a gang that runs is not planned for again"


def test_victims_are_told_by_whom(sandbox: Sandbox) -> None:
    """Each victim has an event that names preemptor and plan; a nomination is written once."""
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100)
    sandbox.wait_bound(*members)
    plan = sandbox.wait_plan("hero", "Bound")["metadata"]["name"]
    for victim in ("low-0-0", "low-1-0"):
        event = wait_for(lambda victim=victim: sandbox.events("Preempted", victim), what="no event")[0]  # type: ignore[misc] # a default of a lambda has no type
        assert "PodGroup" in event["note"]
        assert "/hero" in event["note"]
        assert plan in event["note"]
        assert event["related"]["name"] == "hero"
    for member in members:
        nominations = [node for node in sandbox.history.nominations(member) if node]
        assert len(nominations) <= 1, "written once; a member may be bound before it"


def test_a_gang_is_planned_again_when_something_could_help_it(sandbox: Sandbox) -> None:
    """Every decision is an object of its own; the last three are kept. A node that is too small helps nobody."""
    sandbox.node("n0", cpu="500m")
    sandbox.gang("hero", 1, priority=100)
    seen: set[str] = set()

    def new() -> set[str]:
        return {plan["metadata"]["name"] for plan in sandbox.plans("hero")} - seen

    for number in range(4):
        seen.update(wait_for(new, what="no new plan"))
        sandbox.node(f"useless{number}", cpu="500m")
        time.sleep(SOON_SECONDS)
        assert not new()
        sandbox.delete_pod("hero-0")
        sandbox.wait_gone("hero-0")
        sandbox.pod("hero-0", group="hero", priority=100)
    wait_for(lambda: len(sandbox.plans("hero")) == 3, what="more than three plans are kept")
    sandbox.node("useful", cpu="1")
    sandbox.wait_bound("hero-0")
    wait_for(lambda: len(sandbox.plans("hero")) == 3, what="more than three plans are kept")


def planned_offline(sandbox: Sandbox, group: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`reprieve plan` on the cluster as kubectl would print it."""
    client = sandbox.client
    kinds = [
        ("v1", "Node", None),
        ("v1", "Pod", sandbox.namespace),
        ("policy/v1", "PodDisruptionBudget", None),
        ("scheduling.k8s.io/v1", "PriorityClass", None),
        (REPRIEVE, "PodGroup", sandbox.namespace),
    ]
    items = [
        {"apiVersion": version, "kind": kind, **item}
        for version, kind, namespace in kinds
        for item in client.list(version, kind, namespace)
    ]
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    command = [str(Path(sys.executable).with_name("reprieve")), "plan", "-f", str(file)]
    command += ["--for", f"{sandbox.namespace}/{group}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def group_on_two_full_nodes(sandbox: Sandbox, mode: str) -> None:
    """PodGroup victims of priority 10: v-0-0 and v-1-0, one on each node."""
    sandbox.group("victims", min_count=2, priority=10, mode=mode)
    for number, node in enumerate(sandbox.nodes(2, cpu="1")):
        sandbox.filler(f"v-{number}", node, 1, group="victims")


def test_a_group_in_all_mode_goes_whole(sandbox: Sandbox) -> None:
    """Done 4: one node's pod would do, but the group runs on two."""
    group_on_two_full_nodes(sandbox, "all")
    members = sandbox.gang("hero", 1, priority=100)
    sandbox.wait_bound(*members)
    sandbox.wait_gone("v-0-0", "v-1-0")
    assert sandbox.history.evictions() == {"v-0-0": 1, "v-1-0": 1}
    plan = sandbox.wait_plan("hero", "Bound")
    assert [(victim["kind"], victim["name"]) for victim in plan["spec"]["victims"]] == [
        ("PodGroup", "victims")
    ]


def test_a_group_in_single_mode_loses_one_pod(sandbox: Sandbox) -> None:
    """Done 4, the other half."""
    group_on_two_full_nodes(sandbox, "single")
    members = sandbox.gang("hero", 1, priority=100)
    sandbox.wait_bound(*members)
    assert len(sandbox.history.evictions()) == 1
    assert len(sandbox.bound()) == 2


def test_free_slots_are_used_first_and_priorities_respected(sandbox: Sandbox) -> None:
    """Done 5: two free slots and one freed; equal and higher priorities are never touched."""
    sandbox.nodes(2, cpu="1")
    for name, priority in (("low", 10), ("equal", 100), ("higher", 200)):
        sandbox.filler(name, sandbox.node(name, cpu="1"), 1, priority=priority)
    members = sandbox.gang("hero", 3, priority=100)
    bound = sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"low-0": 1}
    assert {"equal-0", "higher-0"} <= bound.keys()


def test_the_cheaper_rack_goes(sandbox: Sandbox) -> None:
    """Done 6: both racks would do; the plan shows the comparison."""
    for rack, priorities in (("a", (50, 50)), ("b", (50, 10))):
        for number, priority in enumerate(priorities):
            node = sandbox.node(f"{rack}{number}", cpu="1", labels={"rack": rack})
            sandbox.filler(f"{rack}{number}", node, 1, priority=priority)
    members = sandbox.gang("hero", 2, priority=100, topology="rack")
    sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"b0-0": 1, "b1-0": 1}
    spec = sandbox.wait_plan("hero", "Bound")["spec"]
    assert spec["domain"] == {"topologyKey": "rack", "value": "b"}
    compared = {domain["value"]: domain for domain in spec["domains"]}
    assert {name: domain["outcome"] for name, domain in compared.items()} == {
        "a": "Preempts",
        "b": "Preempts",
    }
    least, best = (2 * 2**31 + priorities for priorities in (50 + 50, 50 + 10))
    assert compared["b"]["score"]["prioritySum"] == best
    assert compared["a"]["reason"] == f"costs more: sum of victim priorities at least {least}, not {best}"


def test_equal_priority_does_not_take_the_room_and_higher_may(sandbox: Sandbox) -> None:
    """Done 8: while the victim lingers, an equal pod comes in vain, a higher one takes the node."""
    node = sandbox.node("n0", cpu="1")
    sandbox.filler("low", node, 1, finalizers=["reprieve.dev/linger"])
    members = sandbox.gang("hero", 1, priority=100)
    sandbox.wait_plan("hero", "Evicting")
    wait_for(lambda: sandbox.history.evicted(), what="the victim is not evicted")
    sandbox.pod("equal", priority=100)
    wait_for(lambda: condition(sandbox.get_pod("equal") or {}, "PodScheduled"), what="equal was not tried")
    sandbox.release("low-0")
    sandbox.wait_bound(*members)
    assert "equal" not in sandbox.bound()
    assert not any(sandbox.history.nominations("equal"))


def test_a_higher_pod_takes_the_room_and_the_gang_is_planned_again(sandbox: Sandbox) -> None:
    """Done 8, the other half: the second plan finds another node."""
    first = sandbox.node("n0", cpu="1")
    sandbox.filler("low", first, 1, priority=5, finalizers=["reprieve.dev/linger"])
    members = sandbox.gang("hero", 1, priority=100)
    sandbox.wait_plan("hero", "Evicting")
    wait_for(lambda: sandbox.history.evicted(), what="the victim is not evicted")
    sandbox.pod("higher", priority=200)
    wait_for(lambda: condition(sandbox.get_pod("higher") or {}, "PodScheduled"), what="higher was not tried")
    sandbox.release("low-0")
    sandbox.wait_bound("higher")
    second = sandbox.node("n1", cpu="1")
    bound = sandbox.wait_bound(*members)
    assert bound["higher"] == first
    assert bound[members[0]] == second
    assert sandbox.history.evictions() == {"low-0": 1}


def test_members_that_come_one_by_one_into_free_room(sandbox: Sandbox) -> None:
    """Done 9: the last sibling is no event for the scheduler; the first ones are woken all the same."""
    sandbox.nodes(3, cpu="1")
    sandbox.group("hero", min_count=3, priority=100)
    for number in range(3):
        sandbox.pod(f"hero-{number}", priority=100, group="hero")
        if number < 2:
            time.sleep(2)
    sandbox.wait_bound("hero-0", "hero-1", "hero-2")
    assert sandbox.history.evictions() == {}


def test_whoever_waits_for_a_reservation_is_woken_when_it_is_aborted(sandbox: Sandbox) -> None:
    """Done 9: an ordinary pod kept out of reserved room binds when the gang gives up."""
    node = sandbox.node("n0", cpu="2")
    sandbox.filler("low", node, 1, finalizers=["reprieve.dev/linger"])
    sandbox.gang("hero", 1, priority=100, cpu="2")
    sandbox.wait_plan("hero", "Evicting")
    sandbox.pod("ordinary", priority=50)
    said = wait_for(lambda: condition(sandbox.get_pod("ordinary") or {}, "PodScheduled"), what="not tried")
    assert "reserved" in said["message"]
    sandbox.delete_group("hero")
    sandbox.wait_bound("ordinary")


def test_two_gangs_and_room_for_one(sandbox: Sandbox) -> None:
    """Done 10: one is bound whole and nobody evicted for the other, which follows when the first is gone."""
    sandbox.nodes(2, cpu="1")
    for name in ("first", "second"):
        sandbox.group(name, min_count=2, priority=100)
    sandbox.pod("second-0", priority=100, group="second")
    for name in ("first-0", "first-1", "second-1"):
        sandbox.pod(name, priority=100, group=name.partition("-")[0])
    wait_for(lambda: len(sandbox.bound()) == 2, what=sandbox.report)
    winner = {pod.partition("-")[0] for pod in sandbox.bound()}
    assert len(winner) == 1, "one whole gang, not half of each"
    loser = ({"first", "second"} - winner).pop()
    sandbox.wait_condition("PodGroup", loser, "PodGroupInitiallyScheduled", "False")
    assert sandbox.history.evictions() == {}
    for pod in list(sandbox.bound()):
        sandbox.delete_pod(pod)
    sandbox.wait_bound(f"{loser}-0", f"{loser}-1")


def test_two_gangs_in_order_of_creation(sandbox: Sandbox) -> None:
    """Done 10, the other order: whole gangs one after the other."""
    sandbox.nodes(2, cpu="1")
    first = sandbox.gang("first", 2, priority=100)
    second = sandbox.gang("second", 2, priority=100)
    sandbox.wait_bound(*first)
    sandbox.wait_condition("PodGroup", "second", "PodGroupInitiallyScheduled", "False")
    assert sandbox.history.evictions() == {}
    for pod in first:
        sandbox.delete_pod(pod)
    sandbox.wait_bound(*second)


def test_a_gang_that_needs_a_filter_we_lack_is_blocked(sandbox: Sandbox) -> None:
    """Done 12: resource claims are not modelled; nobody is evicted, event and plan say which filter."""
    sandbox.full_nodes(2)
    sandbox.gang("hero", 2, priority=100, **sandbox.claim())
    plan = sandbox.wait_plan("hero", "Blocked")
    assert plan["spec"]["notModelled"] == ["resource claims (DRA)"]
    assert plan["spec"]["outcome"] == "Preempts"
    event = wait_for(lambda: sandbox.events("Blocked", "hero"), what="no event")[0]
    assert "resource claims (DRA)" in event["note"]
    sandbox.watch_quietly(5, "hero-0", "hero-1")


def test_a_gang_that_needs_a_filter_we_lack_goes_on_where_it_fits(sandbox: Sandbox) -> None:
    """notModelled and Fits: the scheduler's own filters decide."""
    sandbox.nodes(2, cpu="1")
    members = sandbox.gang("hero", 2, priority=100, **sandbox.claim())
    spec = sandbox.wait_plan("hero")["spec"]
    assert (spec["outcome"], spec["notModelled"]) == ("Fits", ["resource claims (DRA)"])
    sandbox.wait_bound(*members)
    assert sandbox.events("Blocked", "hero") == []
    assert sandbox.history.evictions() == {}


def test_a_label_that_names_no_group_holds_the_pod_until_there_is_one(sandbox: Sandbox) -> None:
    """Held, with an event; bound once the PodGroup exists."""
    sandbox.nodes(1, cpu="1")
    sandbox.pod("early", priority=100, group="late")
    wait_for(lambda: sandbox.events("PodGroupNotFound", "early"), what="no event")
    assert sandbox.bound() == {}
    sandbox.client.patch("v1", "Pod", "early", {"metadata": {"labels": {"try": "again"}}}, sandbox.namespace)
    wait_for(
        lambda: any(event.get("series") for event in sandbox.events("PodGroupNotFound", "early")),
        what="the same event again is no series",
    )
    sandbox.group("late", min_count=1, priority=100)
    sandbox.wait_bound("early")


def test_members_of_a_basic_group_are_never_held(sandbox: Sandbox) -> None:
    """A group without a gang policy is scheduled pod by pod."""
    sandbox.nodes(2, cpu="1")
    sandbox.group("loose", priority=100)
    sandbox.pods("loose", 2, priority=100, group="loose")
    sandbox.wait_bound("loose-0", "loose-1")
    assert sandbox.plans("loose") == []
    said = [condition(pod, "PodScheduled") or {} for _, pod in sandbox.history.states]
    assert [each["message"] for each in said if "reprieve" in each.get("message", "")] == []


def test_a_later_member_joins_when_the_gang_runs(sandbox: Sandbox) -> None:
    """Beyond minCount nobody is evicted; while the plan is carried out a later member waits."""
    sandbox.nodes(3, cpu="1")
    members = sandbox.gang("hero", 3, min_count=2, priority=100)
    sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {}


def test_never_waits_for_room(sandbox: Sandbox) -> None:
    """preemptionPolicy Never evicts nobody, and is bound when room comes."""
    sandbox.full_nodes(1)
    sandbox.group("hero", min_count=1, priority=100, preemptionPolicy="Never")
    sandbox.pod("hero-0", priority=100, group="hero")
    sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    sandbox.watch_quietly(3, "hero-0")
    sandbox.delete_pod("low-0-0")
    sandbox.wait_bound("hero-0")


def test_a_gang_whose_pods_have_no_class_evicts_nobody_and_says_so(sandbox: Sandbox) -> None:
    """It takes the room that comes."""
    sandbox.full_nodes(1)
    sandbox.group("hero", min_count=1, priority=100)
    sandbox.pod("hero-0", group="hero")
    for of in ("PodGroupInitiallyScheduled", "reprieve.dev/Scheduled"):
        said = sandbox.wait_reason("PodGroup", "hero", of, "PriorityMismatch")
        assert "pod hero-0 has priority 0, and its PodGroup has 100" in said["message"]
    assert sandbox.wait_condition("Pod", "hero-0", "reprieve.dev/Held", "True")["reason"] == "Unschedulable"
    assert sandbox.wait_plan("hero", "Unschedulable")["spec"]["mismatch"] == "PriorityMismatch"
    wait_for(lambda: sandbox.events("PriorityMismatch", "hero") or None, what="there is no event")
    sandbox.watch_quietly(3, "hero-0")
    sandbox.delete_pod("low-0-0")
    sandbox.wait_bound("hero-0")


def test_a_budget_is_kept_where_it_can_be(sandbox: Sandbox) -> None:
    """The lower priority has a budget that allows no disruption: the higher one goes."""
    sandbox.client.create(
        objects.pod_disruption_budget("guard", sandbox.namespace, {"app": "guarded"}, min_available="100%")
    )
    guarded = sandbox.node("guarded", cpu="1")
    sandbox.filler("guarded", guarded, 1, priority=5, labels={"app": "guarded"})
    sandbox.filler("open", sandbox.node("open", cpu="1"), 1, priority=50)
    wait_for(
        lambda: (
            sandbox.client.get("policy/v1", "PodDisruptionBudget", "guard", sandbox.namespace)
            .get("status", {})
            .get("observedGeneration")
        ),
        what="the budget is not looked at",
    )
    members = sandbox.gang("hero", 1, priority=100)
    sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"open-0": 1}


def test_a_gang_of_four_where_three_fit_evicts_nobody(hopeless: Hopeless, tmp_path: Path) -> None:
    """A minute of nothing, and the PodGroup and the command name the constraint."""
    sandbox, members = hopeless.sandbox, hopeless.members
    said = sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    assert said["reason"] == "Unschedulable"
    assert "cpu" in said["message"]
    sandbox.watch_quietly(max(1.0, hopeless.since + QUIET_SECONDS - time.monotonic()), *members)
    held = sandbox.wait_condition("Pod", members[0], "reprieve.dev/Held", "True")
    assert held["message"] == f"pod group {sandbox.namespace}/hero cannot be placed now, see its conditions"
    plan = sandbox.wait_plan("hero", "Unschedulable")
    assert plan["spec"]["victims"] == []
    assert plan["spec"]["placements"] == []
    command = planned_offline(sandbox, "hero", tmp_path)
    assert command.returncode == 3
    assert "cpu" in command.stdout


def test_a_member_on_full_nodes_preempts_alone_once_its_group_is_no_gang(sandbox: Sandbox) -> None:
    """No node has room, so the scheduler calls only preempt, and never filter. A pulse brings the pod back."""
    sandbox.full_nodes(2)
    sandbox.group("hero", min_count=2, priority=100)
    sandbox.pod("hero-0", group="hero", priority=100)
    sandbox.wait_condition("Pod", "hero-0", "PodScheduled", "False")
    sandbox.watch_quietly(2.0)
    sandbox.delete_group("hero")
    sandbox.group("hero", priority=100)
    sandbox.wait_bound("hero-0")
    assert len(sandbox.history.evicted()) == 1
