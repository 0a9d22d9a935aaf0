from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import reprieve
from tests.kit.changes import changed
from tests.kit.quota.manifests import (
    FLAVOR,
    INCOMING,
    LOCAL,
    NOW,
    OBJECTS,
    QUEUE,
    SCENARIO,
    admitted,
    cluster_queue,
    manifest,
    with_object,
    workload,
)

ROOT = Path(__file__).parents[4]
TEAMS = str(ROOT / "examples" / "quota-teams.yaml")
TURNS = str(ROOT / "examples" / "quota-turns.yaml")
GATE = "TimeBasedSamePriorityPreemption"


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(reprieve, ["quota", *arguments], input=stdin)


def ask(objects: list[dict[str, Any]], *arguments: str) -> Result:
    stdin = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    options = [] if "--now" in arguments else ["--now", NOW]
    return invoke("-f", "-", "--for", "d/incoming", *options, *arguments, stdin=stdin)


def decided(objects: list[dict[str, Any]], *arguments: str) -> dict[str, Any]:
    decision: dict[str, Any] = json.loads(ask(objects, *arguments, "-o", "json").stdout)
    return decision


def error(objects: list[dict[str, Any]], *arguments: str) -> str:
    result = ask(objects, *arguments)
    assert result.exit_code == 2
    assert not result.stdout
    return result.stderr


def test_the_namespace_is_an_option() -> None:
    whole = invoke("-f", TEAMS, "--for", "team-a/train", "--now", NOW)
    short = invoke("-f", TEAMS, "--for", "train", "-n", "team-a", "--now", NOW)
    assert (short.exit_code, short.stdout) == (0, whole.stdout)


def test_exit_codes() -> None:
    assert ask(OBJECTS).exit_code == 0
    assert ask(with_object(workload("incoming", 5, "0"))).exit_code == 0
    assert ask(with_object(workload("incoming", 0, "3"))).exit_code == 3
    assert ask(with_object(workload("incoming", 5, "11"))).exit_code == 3
    assert ask([]).exit_code == 2


def test_the_whole_decision() -> None:
    decision = decided(OBJECTS)
    assert list(decision) == [
        "workload",
        "clusterQueue",
        "mode",
        "gated",
        "borrowing",
        "flavors",
        "targets",
        "message",
        "noFitReason",
        "podSets",
        "allPods",
        "explanation",
        "notModelled",
    ]
    assert (decision["workload"], decision["clusterQueue"], decision["mode"]) == (
        "d/incoming",
        "cq",
        "Preempt",
    )
    assert decision["targets"] == [
        {
            "workload": "d/low",
            "reason": "InClusterQueue",
            "clusterQueue": "cq",
            "priority": 1,
            "quotaReserved": "2026-03-01T09:00:00Z",
            "evicting": False,
            "usage": [{"flavor": "default", "resource": "cpu", "quantity": "6"}],
        }
    ]
    assert decision["podSets"] == [
        {
            "name": "main",
            "count": 1,
            "askedCount": 1,
            "requests": {"cpu": "3"},
            "flavors": {"cpu": {"flavor": "default", "mode": "Preempt", "borrowing": 0}},
        }
    ]
    (search,) = decision["explanation"]["flavors"]
    assert (search["chosen"], search["podSets"], search["resources"]) == ("default", ["main"], ["cpu"])
    (tried,) = search["tried"]
    (check,) = tried["resources"]
    assert {name: check[name] for name in ("asked", "available", "potential", "nominal", "rule")} == {
        "asked": "3",
        "available": "0",
        "potential": "10",
        "nominal": "10",
        "rule": "PreemptionSuffices",
    }
    assert decision["explanation"]["attempts"] == [
        {
            "borrowing": True,
            "candidates": [
                {"workload": "d/low", "clusterQueue": "cq", "step": "Taken", "reason": "InClusterQueue"}
            ],
        }
    ]
    assert decision["explanation"]["passedOver"] == [{"clusterQueue": "cq", "reason": "Priority", "count": 1}]


def test_yaml_says_the_same_as_json() -> None:
    assert yaml.safe_load(ask(OBJECTS, "-o", "yaml").stdout) == decided(OBJECTS)


def test_text() -> None:
    lines = ask(OBJECTS).stdout.splitlines()
    assert lines[0] == "Preempt  Workload d/incoming, priority 5, in /cq"
    assert lines[1] == "  Once 1 workload is preempted, it gets its quota in flavor default."
    rows = [line.split() for line in lines]
    why = ["3", "more", "needed:", "workloads", "in", "cq", "can", "be", "preempted"]
    assert ["*", "main", "cpu", "default", "3", "0", "10", "0", *why] in rows
    victim = ["d/low", "cq", "1", "3h", "6", "cpu", "InClusterQueue", "lower", "priority"]
    assert [*victim, "in", "the", "same", "ClusterQueue"] in rows
    assert lines[-1] == "  1 workload of cq: the priority is not low enough"
    assert all(line == line.rstrip() for line in lines)


def test_text_of_a_fit() -> None:
    assert "It gets its quota in flavor default.\n" in ask([FLAVOR, QUEUE, LOCAL, INCOMING]).stdout
    nothing = changed(INCOMING, "spec.podSets.0.template.spec.containers.0.resources", {})
    assert "It gets its quota because it asks for nothing.\n" in ask(with_object(nothing)).stdout


def test_text_says_what_no_fit_is_due_to() -> None:
    text = ask(with_object(workload("incoming", 5, "11"))).stdout
    assert text.startswith("NoFit  Workload d/incoming")
    assert "It asks for more than there would be if no quota was in use. Nothing is preempted.\n" in text
    assert "> maximum capacity (10)\n" in text
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    tainted = manifest("ResourceFlavor", "default", spec={"nodeTaints": [taint]})
    assert "There is no flavor that suits it." in ask(with_object(tainted)).stdout
    requests = "spec.podSets.0.template.spec.containers.0.resources.requests"
    uncovered = ask(with_object(changed(INCOMING, requests, {"cpu": "1", "disk": "1"}))).stdout
    assert re.search(r"^    main +disk +the ClusterQueue has no quota for it$", uncovered, re.MULTILINE)
    cohort = [
        cluster_queue("cq", "4", cohortName="all"),
        cluster_queue("lender", cohortName="all"),
        FLAVOR,
        LOCAL,
        admitted("full", 1, "14"),
    ]
    text = ask([*cohort, workload("incoming", 5, "5")]).stdout
    assert "Others may not be preempted for as much as it asks for. Nothing is preempted.\n" in text
    assert "5 more needed, and preemption cannot take more than the nominal quota\n" in text


def test_a_closed_gate_is_marked() -> None:
    gated = changed(INCOMING, "spec.preemptionGates", [{"name": "kueue.x-k8s.io/multikueue"}])
    result = ask(with_object(gated))
    assert result.exit_code == 0
    assert result.stdout.startswith("Preempt, gated  Workload d/incoming")
    assert "A preemption gate is closed" in result.stdout
    assert decided(with_object(gated))["gated"] is True
    position = {"name": "kueue.x-k8s.io/multikueue", "position": "Open", "lastTransitionTime": NOW}
    opened = changed(gated, "status.preemptionGates", [position])
    assert decided(with_object(opened)) == decided(OBJECTS)


def test_who_leaves_already_is_marked() -> None:
    leaving = admitted("low", 1, "6")
    condition = {"type": "Evicted", "status": "True", "reason": "Preempted", "lastTransitionTime": NOW}
    leaving["status"]["conditions"].append(condition)
    assert "3h, leaving already" in ask(with_object(leaving)).stdout


@pytest.mark.parametrize(
    ("now", "held"),
    [
        ("2026-03-01T08:59:56Z", "0s"),
        ("2026-03-01T09:00:59Z", "59s"),
        ("2026-03-01T13:00:01Z", "4h0m1s"),
        ("2026-03-02T09:00:00Z", "1d"),
        ("2026-03-11T09:05:59Z", "10d0h5m"),
    ],
)
def test_for_how_long_a_victim_has_held_its_quota(now: str, held: str) -> None:
    assert f" {held}  " in ask(OBJECTS, "--now", now).stdout


def test_fair_sharing() -> None:
    preemption = {"reclaimWithinCohort": "Any"}
    queues = [
        cluster_queue("cq", "0", cohortName="all", preemption=preemption),
        cluster_queue("other", "0", cohortName="all"),
        cluster_queue("shared", "10", cohortName="all"),
    ]
    objects = [
        *queues,
        FLAVOR,
        LOCAL,
        admitted("one", 5, "5", "other"),
        admitted("two", 5, "5", "other"),
        INCOMING,
    ]
    assert decided(objects)["mode"] == "NoFit"
    decision = decided(objects, "--fair-sharing")
    assert [target["reason"] for target in decision["targets"]] == ["InCohortFairSharing"]
    assert "the greater share" in ask(objects, "--fair-sharing").stdout


@pytest.mark.parametrize(("value", "code"), [("true", 0), ("True", 0), ("false", 3), ("", 0)])
def test_the_feature_gate(value: str, code: int) -> None:
    gates = f"{GATE}={value}" if value else ""
    arguments = ["-f", TURNS, "--for", "ml/carol", "--now", "2026-03-01T12:00:01Z"]
    assert invoke(*arguments, "--feature-gates", gates).exit_code == code


def test_the_clock_is_the_default() -> None:
    # By now everybody's time is over.
    assert "InClusterQueueTimeBased" in invoke("-f", TURNS, "--for", "ml/carol").stdout


@pytest.mark.parametrize("now", ["2026-03-01T13:00:01+01:00", "2026-03-01T12:00:00.000001Z"])
def test_now_is_read_as_go_reads_it(now: str) -> None:
    assert invoke("-f", TURNS, "--for", "ml/carol", "--now", now).exit_code == 0


def test_a_workload_without_creation_time_is_created_now() -> None:
    preemption = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
    objects = [FLAVOR, cluster_queue("cq", preemption=preemption), LOCAL, admitted("a", 5, "10")]
    assert ask([*objects, changed(INCOMING, "metadata.creationTimestamp", ...)]).exit_code == 3
    older = changed(INCOMING, "metadata.creationTimestamp", "2026-03-01T07:00:00Z")
    assert ask([*objects, older]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-f", TEAMS], "--for [NAMESPACE/]NAME is needed"),
        (["--for", "a/b", "--kubeconfig", "/nowhere"], "--kubeconfig: /nowhere: no such file"),
        (["--for", "a/b", "--kubeconfig", "/dev/null/x", "--as-group", "g"], "--as-group: needs --as"),
        (["-f", TEAMS, "--for", "train"], "Workload default/train: there is no such object"),
        (["-f", TEAMS, "--for", "team-a/nope"], "Workload team-a/nope: there is no such object"),
        (["-f", "no-such-file", "--for", "a/b"], "no-such-file: No such file or directory"),
        (["-f", TEAMS, "-f", TEAMS, "--for", "a/b"], "ResourceFlavor default: this object is defined twice"),
        (["-f", TEAMS, "--for", "a/b", "--now", "noon"], "--now: 'noon' is not a time"),
        (["-f", TEAMS, "--for", "a/b", "-o", "xml"], "'xml' is not one of"),
        (["-f", TEAMS, "--for", "a/b", "--feature-gates", "Other=true"], "there is no gate 'Other'"),
        (["-f", TEAMS, "--for", "a/b", "--feature-gates", GATE], "must be true or false, not ''"),
        (["--jsonl", "-", "--for", "a/b"], "--jsonl takes no option but --feature-gates"),
        (["--jsonl", "-", "--now", NOW], "--jsonl takes no option but --feature-gates"),
        (["--jsonl", "no-such-file"], "no-such-file: No such file or directory"),
    ],
)
def test_bad_options_are_named(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


def test_who_does_not_wait_is_named() -> None:
    held = admitted("incoming", 5, "3")
    finished = {"type": "Finished", "status": "True", "reason": "Succeeded", "lastTransitionTime": NOW}
    assert "d/incoming: status.conditions[QuotaReserved]: is True: it has quota already" in error(
        with_object(held)
    )
    assert "d/incoming: status.conditions[Finished]: is True: it does not wait for quota" in error(
        with_object(changed(INCOMING, "status.conditions", [finished]))
    )
    assert "d/incoming: spec.active: is false: it does not wait for quota" in error(
        with_object(changed(INCOMING, "spec.active", False))
    )


def test_errors_name_file_object_and_field() -> None:
    negative = changed(QUEUE, "spec.resourceGroups.0.flavors.0.resources.0.borrowingLimit", "-1")
    assert error(with_object(negative)) == (
        "Error: -: document 1, items[1], ClusterQueue cq: spec.resourceGroups[0].flavors[0].resources[0]"
        ".borrowingLimit: must be greater than or equal to 0\n"
    )


def test_what_a_version_before_is_called() -> None:
    message = error(with_object({**QUEUE, "apiVersion": "kueue.x-k8s.io/v1beta1"}))
    command = re.search(r"kubectl get (\S+)", message)
    assert command is not None
    assert command[1] == "clusterqueues.v1beta2.kueue.x-k8s.io"


def test_what_does_not_count_is_noted_beside_the_text() -> None:
    extra = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Topology", "metadata": {"name": "a"}},
        admitted("stray", 1, "99", queue="gone"),
    ]
    result = ask([*OBJECTS, *extra])
    assert result.stderr == (
        "Ignored, because they do not matter for quota: 1 kueue.x-k8s.io/v1beta1 Topology, 1 v1 ConfigMap\n"
        "Not counted, because the ClusterQueue does not exist: d/stray (ClusterQueue gone)\n"
    )
    assert result.stdout == ask(OBJECTS).stdout
    assert not ask([*OBJECTS, *extra], "-o", "json").stderr


def test_stream_exit_codes(tmp_path: Path) -> None:
    good = json.dumps(SCENARIO)
    path = tmp_path / "scenarios.jsonl"
    path.write_text(f"{good}\n{good}")
    result = invoke("--jsonl", str(path))
    assert result.exit_code == 0
    assert [json.loads(line)["mode"] for line in result.stdout.splitlines()] == ["Preempt"] * 2
    result = invoke("--jsonl", "-", stdin=f"{good}\nx\n{good}\n")
    assert result.exit_code == 2
    assert ["error" in json.loads(line) for line in result.stdout.splitlines()] == [False, True, False]
    assert invoke("--jsonl", "-", stdin="").exit_code == 0
    turns = json.dumps({**SCENARIO, "objects": with_object(workload("incoming", 0, "3"))})
    assert invoke("--jsonl", "-", "--feature-gates", f"{GATE}=false", stdin=turns).exit_code == 0


def test_deciding_imports_no_http_client() -> None:
    program = (
        "import sys\n"
        "from cli.main import reprieve\n"
        f"reprieve(['quota', '-f', {TEAMS!r}, '--for', 'team-a/train'], standalone_mode=False)\n"
        "heavy = {'aiohttp', 'kubernetes_asyncio', 'uvloop', 'extender', 'cluster'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
