from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from answers.plan import plan
from answers.reading.documents import JsonDocument
from answers.reading.node_objects import NodeObjects
from api.disruption import BUDGETS_ANNOTATION, COST_ANNOTATION
from api.plan_results import Excluded, SearchReport
from api.plans import PreemptionPlanSpec
from cli.common.output import show
from cli.plan.render import MAX_EXCLUDED, MAX_SURVIVORS, MAX_VICTIMS, render
from hack.controlplane import objects
from nodes.search.survivors import survivors
from nodes.state.snapshot import Snapshot

ROOT = Path(__file__).parents[4]


def node(name: str, cpu: int = 4) -> dict[str, Any]:
    return objects.node(name, cpu=str(cpu), pods=500)


def pod(name: str, priority: int, cpu: str, node: str = "", **metadata: Any) -> dict[str, Any]:
    made = objects.pod(name, "d", cpu=cpu, node_name=node, priority=priority)
    made["metadata"] |= metadata
    return made


def group(name: str, priority: int, minimum: int, mode: str = "single") -> dict[str, Any]:
    return objects.pod_group(name, "d", min_count=minimum, mode=mode, priority=priority)


def of(name: str) -> dict[str, Any]:
    return {"labels": {"reprieve.dev/pod-group": name}}


def planned(*things: dict[str, Any]) -> tuple[PreemptionPlanSpec, Snapshot]:
    """The plan for the gang."""
    objects = NodeObjects()
    for index, thing in enumerate(things):
        objects.add(JsonDocument(msgspec.json.encode(thing)), str(index))
    answer = plan(objects.picture(), "d", "gang")
    return answer.spec, answer.snapshot


def text(capsys: pytest.CaptureFixture[str], *things: dict[str, Any]) -> str:
    spec, snapshot = planned(*things)
    show(render(spec, snapshot))
    return capsys.readouterr().out


GANG = [group("gang", 100, 1), pod("member", 100, "2", **of("gang"))]


def test_every_reason_to_stay() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "d"},
        "spec": {"selector": {"matchLabels": {"app": "kept"}}},
    }
    spec, snapshot = planned(
        node("n", 10),
        *GANG,
        budget,
        pod("one", 1, "1", "n"),
        pod("two", 1, "1", "n"),
        pod("higher-than-cutoff", 2, "500m", "n"),
        pod("kept", 1, "500m", "n", labels={"app": "kept"}),
        pod("above", 50, "1", "n"),
        pod("static", 1, "1", "n", annotations={"kubernetes.io/config.mirror": "x"}),
        group("equal", 100, 1, "all"),
        pod("equal-0", 100, "1", "n", **of("equal")),
        pod("equal-1", 100, "1", "n", **of("equal")),
        pod("higher", 200, "2", "n"),
        pod("leaving", 1, "500m", "n", deletionTimestamp="2026-01-01T00:00:00Z"),
        pod("bound", 0, "500m", "n", **of("other")),
    )
    assert spec.priority_cutoff == 1
    victims = {victim.name for victim in spec.victims}
    assert len(victims & {"one", "two"}) == 1
    stay = survivors(snapshot, spec)
    why = {unit.name: unit.why for unit in stay.units}
    assert why["d/kept"] == "still fits; evicting it would break budget d/b (allows 0)"
    (stays,) = {"one", "two"} - victims
    assert why[f"d/{stays}"] == "still fits beside the preemptor"
    assert why["d/above"] == "above the cut-off 1"
    assert why["d/static"] == "a static pod, which may not be evicted"
    assert why["d/equal"] == "equal priority"
    assert why["d/higher"] == "higher priority"
    assert not victims & {name.partition("/")[2] for name in why}
    equal = next(unit for unit in stay.units if unit.name == "d/equal")
    assert (equal.kind, equal.priority, len(equal.pods)) == ("PodGroup", 100, 2)
    assert stay.terminating == 1
    assert [unit.reason for unit in stay.units] == sorted(unit.reason for unit in stay.units)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (SearchReport(7, ended=True, lowest_cutoff=True), "Everything was tried: no plan costs less."),
        (
            SearchReport(200_400, ended=False, lowest_cutoff=True),
            "The search stopped after 200 ms of work: there may be a better plan, "
            "but none with a lower highest priority.",
        ),
        (
            SearchReport(1_000, ended=False, lowest_cutoff=False),
            "The search stopped after 1 ms of work: there may be a better plan.",
        ),
    ],
)
def test_how_far_the_search_went(capsys: pytest.CaptureFixture[str], report: SearchReport, said: str) -> None:
    spec, snapshot = planned(node("n"), *GANG, pod("v", 1, "4", "n"))
    spec.search = report
    show(render(spec, snapshot))
    assert said in " ".join(capsys.readouterr().out.split())


def test_long_lists_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    low = [pod(f"low-{number}", 1, "100m", "n") for number in range(60)]
    high = [pod(f"high-{number}", 500, "100m", "n") for number in range(20)]
    shown = text(
        capsys, node("n", 8), group("gang", 100, 1), pod("member", 100, "5", **of("gang")), *low, *high
    )
    assert sum(line.startswith(" d/low-") and "needed" in line for line in shown.splitlines()) == MAX_VICTIMS
    assert f"and {50 - MAX_VICTIMS} more (all of them: -o yaml)" in shown
    assert (
        sum("higher priority" in line for line in shown.splitlines() if " d/high-" in line) == MAX_SURVIVORS
    )
    assert f"and {20 - MAX_SURVIVORS} more: equal or higher priority" in shown


def test_nobody_goes(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, node("n"), *GANG)
    assert shown.startswith("Fits  PodGroup d/gang, priority 100\n")
    assert "Victims" not in shown
    assert "Who stays" not in shown


def test_the_order_of_members_is_said_if_it_matters(capsys: pytest.CaptureFixture[str]) -> None:
    beside = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"role": "leader"}}}
    worker = pod("worker", 100, "1", **of("gang"))
    worker["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}}
    leader = pod("zleader", 100, "1", labels={**of("gang")["labels"], "role": "leader"})
    labelled = objects.node("n", cpu="4", pods=500, labels={"kubernetes.io/hostname": "n"})
    shown = text(capsys, labelled, group("gang", 100, 2), worker, leader)
    assert "they come in 2 waves, each one when the earlier ones are bound; first zleader" in shown


def guard(allowed: int) -> dict[str, Any]:
    budget = objects.pod_disruption_budget("guard", "d", {"app": "web"}, min_available=1)
    return budget | {"status": {"disruptionsAllowed": allowed}}


def test_budgets_that_stop_a_gang_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    hero = group("gang", 100, 1)
    hero["metadata"]["annotations"] = {BUDGETS_ANNOTATION: "Respect"}
    guarded = pod("low", 1, "4", "n", labels={"app": "web"})
    shown = text(capsys, node("n"), hero, GANG[1], guarded, guard(0))
    assert "PodDisruptionBudgets are respected, and stop it: guard (allows 0);" in " ".join(shown.split())
    assert "Budgets that stop it" in shown
    assert ["d/guard", "0"] in [row.split() for row in shown.splitlines()]
    assert "Budgets that stop it" not in text(capsys, node("n"), *GANG, guarded, guard(0))


def test_optional_terms_are_columns_where_they_cost_something(capsys: pytest.CaptureFixture[str]) -> None:
    cheap, dear = pod("low", 1, "4", "n"), pod("low", 1, "4", "n", annotations={COST_ANNOTATION: "12"})
    assert "disruption cost" not in text(capsys, node("n"), *GANG, cheap)
    shown = text(capsys, node("n"), *GANG, dear)
    assert "then disruption cost (cost)" in " ".join(shown.split())
    assert any("12" in row.split() for row in shown.splitlines() if "the cluster" in row)


def test_members_that_differ_from_their_group(capsys: pytest.CaptureFixture[str]) -> None:
    differs = [group("gang", 100, 1), pod("member", 0, "2", **of("gang"))]
    shown = text(capsys, node("n"), *differs, pod("low", 1, "4", "n"))
    first, second, *_ = shown.splitlines()
    assert first == "Unschedulable  PodGroup d/gang, priority 100: PriorityMismatch"
    assert second.strip().startswith(
        "Nothing may be evicted for it: pod member has priority 0, and its PodGroup has 100: create"
    )


def test_a_whole_group_stays_at_its_cheapest_pods_priority() -> None:
    whole = [group("whole", 500, 1, "all"), *(pod(f"w{p}", p, "1", "n", **of("whole")) for p in (50, 900))]
    rest = [node("n", 4), *GANG, pod("low", 1, "2", "n")]
    spec, snapshot = planned(*rest, *whole)
    assert [victim.name for victim in spec.victims] == ["low"]
    (unit,) = survivors(snapshot, spec).units
    assert (unit.name, unit.priority, unit.why) == ("d/whole", 50, "above the cut-off 1")


def test_what_is_not_modelled_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    member = pod("member", 100, "2", **of("gang"))
    member["spec"]["resourceClaims"] = [{"name": "gpu"}]
    shown = text(capsys, node("n"), group("gang", 100, 1), member)
    assert "Not modelled" in shown
    assert "resource claims (DRA)" in shown


def test_a_plan_that_evicts_nobody_because_of_what_is_not_modelled_is_blocked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    member = pod("member", 100, "2", **of("gang"))
    member["spec"]["resourceClaims"] = [{"name": "gpu"}]
    low = pod("low", 1, "4", "n")
    shown = text(capsys, node("n"), group("gang", 100, 1), member, low)
    first, second, *_ = shown.splitlines()
    assert first == "Blocked  PodGroup d/gang, priority 100: not modelled: resource claims (DRA)"
    assert (
        second == "  Nothing is evicted. Otherwise 1 unit with 1 pod of priority 1 or lower would be evicted."
    )
    assert "Would be evicted" in shown
    assert "d/low" in shown
    assert "Preempts" not in "\n".join(shown.splitlines()[:2])


def test_names_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text(capsys, node("n"), *GANG, pod("[red]x[/red]", 1, "4", "n"))
    assert "d/[red]x[/red]" in shown


def on_terminal(**environment: str) -> str:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    variables |= {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80", **environment}
    arguments = ["plan", "-f", str(ROOT / "examples" / "too-large.yaml"), "--for", "research/giant"]
    program = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    with subprocess.Popen(program, stdout=theirs, env=variables) as process:
        os.close(theirs)
        chunks = []
        try:
            while chunk := os.read(ours, 65536):
                chunks.append(chunk)
        except OSError:
            # Linux ends a terminal's output with EIO.
            pass
        finally:
            os.close(ours)
        assert process.wait() == 3
    return b"".join(chunks).decode()


def test_a_terminal_has_colours_and_an_edge() -> None:
    shown = on_terminal()
    assert "\x1b[1;31mUnschedulable" in shown
    plain = on_terminal(NO_COLOR="1")
    assert "\x1b[31m" not in plain
    assert "\x1b[1;31m" not in plain
    assert all(
        len(line) <= 80
        for line in plain.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "").splitlines()
    )


def test_excluded_nodes_are_shown_if_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    spec, snapshot = planned(node("n"), *GANG)
    show(render(spec, snapshot))
    assert "Excluded" not in capsys.readouterr().out
    spec.excluded = [Excluded("d/member", f"n{number:02}", "no room") for number in range(MAX_EXCLUDED + 1)]
    spec.other_excluded = 5
    show(render(spec, snapshot))
    out = capsys.readouterr().out
    section = out[out.index("Excluded") :]
    assert "n00" in section
    assert "d/member" in section
    assert "no room" in section
    assert f"n{MAX_EXCLUDED}" not in section
    assert "6 more" in section
