from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from answers.instead import sentences
from api.compression import compress
from api.instead import Instead, InsteadVictims
from api.meta import Condition, ObjectMeta
from api.plan_names import whole_plan_name
from api.plans import (
    ClusterPreemptionPlan,
    Placement,
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    Victim,
    VictimPod,
    VictimQuota,
)
from api.withholding import readable
from cli.main import reprieve

HERO = Preemptor("PodGroup", "reprieve.dev/v1alpha1", "team-a", "hero", "uid-hero", 1000)
PODS = [VictimPod("team-b", f"sweep-{number}", f"uid-{number}", f"n{number}") for number in range(2)]
SWEEP = Victim("PodGroup", "team-b", "sweep", "uid-sweep", 10, False, PODS)
QUOTA = VictimQuota("InCohortReclamation", "guest", "/team/guest", "2026-01-01T00:00:00Z")
JOB = Victim("Workload", "team-b", "job", "uid-job", 0, False, [], QUOTA)


def stored(name: str, *victims: Victim, phase: str = "Bound", at: str = "00:00:01Z") -> list[Any]:
    """A plan as reprieve stores it: names of other namespaces stand in a second object."""
    whole = PreemptionPlanSpec(HERO, "Preempts", "it fits with 1 victim gone", victims=list(victims))
    evicting = Condition("Evicting", "True", "Evicting", "it begins", f"2026-01-02T{at}", 1)
    end = Condition(phase, "True", "WorkloadDeleted", "the preemptor is gone", f"2026-01-02T{at}", 1)
    status = PreemptionPlanStatus(phase=phase, conditions=[evicting, end])  # type: ignore[arg-type]
    meta = ObjectMeta(name=name, namespace="team-a", creation_timestamp=f"2026-01-02T{at}")
    return [
        PreemptionPlan(metadata=meta, spec=readable(whole), status=status),
        ClusterPreemptionPlan(
            metadata=ObjectMeta(name=whole_plan_name("team-a", name)), spec=compress(whole, above_pods=1)
        ),
    ]


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    first = stored("hero-1", SWEEP)
    second = stored("hero-2", SWEEP, JOB, phase="Aborted", at="00:00:09Z")
    path = tmp_path / "plans.json"
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [*second, *first]}))
    return path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(reprieve, ["who-evicted", *arguments])


def answer(*arguments: str) -> dict[str, Any]:
    result = invoke(*arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_pod_of_a_group_finds_its_plans_in_their_order(plans: Path) -> None:
    found = answer("team-b/sweep-1", "-f", str(plans))
    assert [each["plan"] for each in found["evictions"]] == ["team-a/hero-1", "team-a/hero-2"]
    first, second = found["evictions"]
    assert (first["preemptor"]["name"], first["preemptorRan"], first["rule"]) == ("hero", True, "Priority")
    assert (first["victim"]["kind"], first["victim"]["name"]) == ("PodGroup", "sweep")
    assert (second["preemptorRan"], second["phase"]) == (False, "Aborted")
    assert second["planEnd"] == "WorkloadDeleted: the preemptor is gone"
    assert found["oldestPlan"] == "2026-01-02T00:00:01Z"


def test_a_plan_that_was_only_observed_evicted_nobody(plans: Path) -> None:
    objects = stored("hero-3", SWEEP)
    for each in objects:
        each.spec.mode = "Observe"
    (path := plans.parent / "observed.json").write_bytes(
        msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    found = answer("team-b/sweep-1", "-f", str(plans), "-f", str(path))
    assert [each["plan"] for each in found["evictions"]] == ["team-a/hero-1", "team-a/hero-2"]


def test_a_workload_went_by_a_rule_of_quota(plans: Path) -> None:
    (eviction,) = answer("job", "-n", "team-b", "-f", str(plans))["evictions"]
    assert eviction["rule"] == "InCohortReclamation"


def test_names_that_were_withheld_are_not_known_without_the_whole_plans(tmp_path: Path) -> None:
    path = tmp_path / "plans.json"
    path.write_bytes(msgspec.json.encode(stored("hero-1", SWEEP)[0]))
    result = invoke("team-b/sweep-1", "-f", str(path))
    assert (result.exit_code, result.output.splitlines()[0]) == (3, "No plan evicts team-b/sweep-1")
    assert "The oldest plan that was read is of 2026-01-02T00:00:01Z." in result.output


def test_the_text_says_for_whom_and_what_came_of_it(plans: Path) -> None:
    text = invoke("team-b/sweep-1", "-f", str(plans)).output
    assert text.splitlines()[0] == "team-b/sweep-1 was evicted by 2 plans"
    assert "for        PodGroup team-a/hero, priority 1000" in text
    assert "victim     PodGroup team-b/sweep, priority 10" in text
    assert "the preemptor got the room (Bound)" in text
    assert "the plan is over (Aborted). WorkloadDeleted: the preemptor is gone" in text


@pytest.mark.parametrize(
    ("plans", "begun", "says"),
    [
        (1, 1, "was evicted by one plan"),
        (1, 0, "is named by one plan, which has evicted nobody"),
        (2, 0, "is named by 2 plans, which have evicted nobody"),
        (2, 1, "was evicted by 1 of 2 plans that name it"),
    ],
)
def test_the_first_line_counts_the_plans(tmp_path: Path, plans: int, begun: int, says: str) -> None:
    named = [stored(f"hero-{each}", SWEEP) for each in range(plans)]
    for plan, _ in named[begun:]:
        plan.status = None
    path = tmp_path / "plans.json"
    path.write_bytes(
        msgspec.json.encode(
            {"apiVersion": "v1", "kind": "List", "items": [part for each in named for part in each]}
        )
    )
    assert invoke("team-b/sweep-1", "-f", str(path)).output.splitlines()[0] == f"team-b/sweep-1 {says}"


def test_damaged_victims_are_named_with_their_plan(tmp_path: Path) -> None:
    whole = stored("hero-1", SWEEP)[1]
    whole.spec.compressed_victims = "no"
    path = tmp_path / "plans.json"
    path.write_bytes(msgspec.json.encode(whole))
    result = invoke("team-b/sweep-1", "-f", str(path))
    assert result.exit_code == 2
    assert "ClusterPreemptionPlan team-a.hero-1" in result.output
    assert "compressedVictims" in result.output


UID = "uid-native"


def preempted(message: str = f"Preempted by podgroup {UID} on node n0", name: str = "sweep-1") -> Any:
    """kube-scheduler's event on a victim."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"of-{name}", "namespace": "team-b"},
        "involvedObject": {"kind": "Pod", "namespace": "team-b", "name": name, "uid": "uid-1"},
        "related": {"kind": "PodGroup", "namespace": "team-a", "name": "train", "uid": UID},
        "reason": "Preempted",
        "message": message,
        "eventTime": "2026-01-02T00:00:03.000000Z",
    }


def terminating(status: str = "True") -> Any:
    mark = {
        "type": "DisruptionTarget", "status": status, "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority podgroup",
        "lastTransitionTime": "2026-01-02T00:00:02Z",
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "sweep-1", "namespace": "team-b", "uid": "uid-1"},
        "spec": {"containers": []}, "status": {"conditions": [mark]},
    }  # fmt: skip


def written(path: Path, *items: Any) -> str:
    file = path / "marks.json"
    file.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


def test_without_a_plan_the_event_of_the_scheduler_names_the_group(tmp_path: Path) -> None:
    path = written(tmp_path, preempted(), terminating(), preempted(name="other"))
    found = answer("team-b/sweep-1", "-f", path)
    assert found["evictions"] == []
    (mark,) = found["byScheduler"]
    assert mark["preemptor"] == {"kind": "PodGroup", "name": "team-a/train", "uid": UID}
    assert (mark["time"], mark["plan"]) == ("2026-01-02T00:00:03.000000Z", None)
    text = invoke("team-b/sweep-1", "-f", path).output
    assert "No plan evicts team-b/sweep-1" in text
    assert "for        PodGroup team-a/train" in text
    assert "plan       none of reprieve" in text


@pytest.mark.parametrize("status", ["True", ""], ids=["whole", "without-what-our-mark-had"])
def test_without_the_event_the_condition_tells_that_it_was_a_group(tmp_path: Path, status: str) -> None:
    (mark,) = answer("team-b/sweep-1", "-f", written(tmp_path, terminating(status)))["byScheduler"]
    assert mark["preemptor"] == {"kind": "PodGroup", "name": None, "uid": None}


def test_our_own_event_is_none_of_the_scheduler(tmp_path: Path) -> None:
    path = written(tmp_path, preempted("Preempted by PodGroup team-a/hero on node n0"))
    assert invoke("team-b/sweep-1", "-f", path).exit_code == 3


def steered(victim: Victim, **status: Any) -> Any:
    """A plan by which the scheduler evicts."""
    plan = stored("train-1", victim)[0]
    plan.spec = msgspec.structs.replace(plan.spec, evicted_by="Scheduler", evictor_reason="SameVictims")
    plan.status = msgspec.structs.replace(plan.status, **status)
    return plan


def test_what_a_steered_plan_names_is_told_once(tmp_path: Path) -> None:
    victim = Victim("Pod", "team-a", "low", "uid-1", 0, False, [VictimPod("team-a", "low", "uid-1", "n0")])
    event = preempted(name="low")
    event["involvedObject"]["namespace"] = "team-a"
    path = written(tmp_path, steered(victim), event)
    found = answer("team-a/low", "-f", path)
    assert [each["evictedBy"] for each in found["evictions"]] == ["Scheduler"]
    assert found["byScheduler"] == []
    assert (
        "evicted by kube-scheduler, on the nodes that the plan names"
        in invoke("team-a/low", "-f", path).output
    )


def test_what_a_steered_plan_does_not_name_has_that_plan(tmp_path: Path) -> None:
    path = written(tmp_path, steered(SWEEP_OF_OTHERS, unplanned=["uid-1"]), preempted())
    (mark,) = answer("team-b/sweep-1", "-f", path)["byScheduler"]
    assert mark["plan"] == "team-a/train-1"


SWEEP_OF_OTHERS = Victim("Pod", "team-a", "low", "uid-low", 0, False, [])


def observed_plan(victim: Victim, *, uid: str = UID, name: str = "train-1", **said: Any) -> Any:
    """An observed plan of the native group, and what it says of the scheduler."""
    plan = stored(name, victim, phase="Observed")[0]
    plan.spec = msgspec.structs.replace(
        plan.spec,
        mode="Observe",
        preemptor=msgspec.structs.replace(HERO, name="train", uid=uid),
        placements=[Placement("train-0", "n0", "uid-member")],
    )
    if said:
        plan.status.instead = Instead(InsteadVictims(pods=said.pop("pods", 1)), **{"state": "Same", **said})
    return plan


OTHERS = Victim(
    "Pod", "team-b", "sweep-9", "uid-9", 0, False, [VictimPod("team-b", "sweep-9", "uid-9", "n9")]
)
SAME = Victim("Pod", "team-b", "sweep-1", "uid-1", 0, False, [VictimPod("team-b", "sweep-1", "uid-1", "n0")])


@pytest.mark.parametrize(
    ("victim", "names_it", "words"),
    [(OTHERS, False, "would spare this pod"), (SAME, True, "would evict this pod, too")],
)
def test_what_the_scheduler_evicted_stands_beside_the_observed_plan(
    tmp_path: Path, victim: Victim, names_it: bool, words: str
) -> None:
    plan = observed_plan(victim, pods=3, served_nobody=2, groups_broken=1, concluded=True)
    path = written(tmp_path, preempted(), observed_plan(victim, name="train-0"), plan)
    found = answer("team-b/sweep-1", "-f", path)
    assert found["evictions"] == [], "an observed plan evicts nobody"
    (mark,) = found["byScheduler"]
    assert mark["observed"]["plan"] == "team-a/train-1"
    assert mark["observed"]["namesIt"] is names_it
    assert mark["observed"]["instead"]["servedNobody"] == 2
    text = invoke("team-b/sweep-1", "-f", path).output
    assert f"observed   PreemptionPlan team-a/train-1 {words}" in text
    assert "The scheduler preempted 3 pods instead: 2 of them served nobody." in text
    assert "The scheduler broke 1 group." in text
    assert "may still change" not in text


def test_a_member_that_preempts_has_the_plan_of_its_gang(tmp_path: Path) -> None:
    event = preempted("Preempted by pod uid-member on node n0")
    del event["related"]
    path = written(tmp_path, event, observed_plan(OTHERS))
    (mark,) = answer("team-b/sweep-1", "-f", path)["byScheduler"]
    assert mark["observed"]["preemptor"] == "PodGroup team-a/train"
    assert mark["observed"]["instead"] is None
    assert (
        "for        Pod UID uid-member, of PodGroup team-a/train"
        in invoke("team-b/sweep-1", "-f", path).output
    )


@pytest.mark.parametrize("event", [preempted(), terminating()])
def test_the_plan_of_another_preemptor_does_not_stand_beside_it(tmp_path: Path, event: Any) -> None:
    """Nor is there one if the preemptor is not known, whatever plans lack a UID."""
    path = written(
        tmp_path, event, observed_plan(SAME, uid="uid-another"), observed_plan(SAME, uid="", name="x")
    )
    (mark,) = answer("team-b/sweep-1", "-f", path)["byScheduler"]
    assert mark["observed"] is None


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"pods": 0}, "would evict 1 pod. The scheduler preempted 0 pods instead."),
        ({"in_pieces": True, "in_pieces_seconds": 61}, "It was in pieces for 61 seconds."),
        ({"bound": True, "seconds_until_bound": 9}, "It was bound after 9 seconds."),
        ({"unattributed": 2}, "On its nodes, 2 pods more were preempted for somebody who is not known."),
        ({"state": "Changed"}, "the plan was not made on the state before the scheduler began"),
        ({"state": "Unknown"}, "not all of what the scheduler did was seen"),
        ({"concluded": False}, "This may still change."),
    ],
)
def test_the_sentences_on_what_the_scheduler_did(said: dict[str, Any], sentence: str) -> None:
    assert sentence in " ".join(sentences(observed_plan(OTHERS, **{"pods": 1, "concluded": True, **said})))


def test_a_plan_that_says_nothing_of_the_scheduler_has_no_sentences() -> None:
    assert sentences(observed_plan(OTHERS)) == []
