from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from api.yaml import Json, documents
from cli.main import reprieve

ROOT = Path(__file__).parents[4]
TRAINING = str(ROOT / "examples" / "training-cluster.yaml")
TOO_LARGE = str(ROOT / "examples" / "too-large.yaml")
ANOTHER_NODE = str(ROOT / "examples" / "another-node.yaml")
PROGRAM = [sys.executable, "-c", "from cli.main import main; main()"]


def invoke(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(reprieve, ["plan", *arguments], input=stdin)


def planned(*arguments: str) -> dict[str, Any]:
    result = invoke(*arguments, "-o", "json")
    plan: dict[str, Any] = json.loads(result.stdout)
    return plan


def objects_of(path: str) -> list[Json]:
    return [document for document in documents(Path(path).read_text()) if document is not None]


def test_the_cheaper_rack_wins() -> None:
    spec = planned("-f", TRAINING, "--for", "research/llama-train")["spec"]
    assert spec["outcome"] == "Preempts"
    assert spec["domain"] == {"topologyKey": "topology.kubernetes.io/rack", "value": "rack-b"}
    assert spec["priorityCutoff"] == 100
    victims = {victim["name"]: [pod["name"] for pod in victim["pods"]] for victim in spec["victims"]}
    assert {name: len(pods) for name, pods in victims.items()} == {"sweep": 3, "notebook": 1}
    assert [place["pod"] for place in spec["placements"]] == [f"llama-train-{number}" for number in range(4)]
    won, lost = spec["domains"]
    assert (won["value"], won["score"]["highestVictimPriority"]) == ("rack-b", 100)
    assert (lost["value"], lost["score"]) == ("rack-a", None)
    assert lost["reason"] == "costs more: highest victim priority at least 500, not 100"


def test_the_namespace_is_an_option() -> None:
    whole = planned("-f", TRAINING, "--for", "research/llama-train")
    assert planned("-f", TRAINING, "--for", "llama-train", "-n", "research") == whole


def test_the_object_is_the_plain_one() -> None:
    plan = planned("-f", TRAINING, "--for", "research/llama-train")
    assert list(plan) == ["apiVersion", "kind", "metadata", "spec"]
    assert (plan["apiVersion"], plan["kind"]) == ("reprieve.dev/v1alpha1", "PreemptionPlan")
    assert plan["metadata"]["namespace"] == "research"
    assert plan["metadata"]["name"].startswith("llama-train-")
    assert list(plan["spec"]) == [
        "preemptor",
        "outcome",
        "reason",
        "domain",
        "priorityCutoff",
        "search",
        "placements",
        "victims",
        "podDisruptionBudgetViolations",
        "domains",
        "otherDomains",
        "notModelled",
    ]
    assert plan == planned("-f", TRAINING, "--for", "research/llama-train")
    text = invoke("-f", TRAINING, "--for", "research/llama-train", "-o", "yaml").stdout
    assert yaml.safe_load(text) == plan


def test_the_score_and_the_budgets_are_options() -> None:
    ignoring = planned("-f", TRAINING, "--for", "research/llama-train", "--disruption-budgets", "Ignore")[
        "spec"
    ]
    assert ignoring["podDisruptionBudgetPolicy"] == "Ignore"
    options = ("--score-term", "Cascade", "--score-term", "Fragmentation")
    spec = planned("-f", TRAINING, "--for", "research/llama-train", *options)["spec"]
    terms = [term["name"] for term in spec["domains"][0]["score"]["terms"]]
    assert terms == ["Cascade", "Fragmentation"]
    assert "podDisruptionBudgetPolicy" not in spec
    twice = invoke("-f", TRAINING, "--for", "research/llama-train", *options, "--score-term", "Cascade")
    assert (twice.exit_code, twice.stderr) == (2, "Error: --score-term[2]: Cascade is there already\n")


def test_exit_codes() -> None:
    assert invoke("-f", TRAINING, "--for", "research/llama-train").exit_code == 0
    assert invoke("-f", TRAINING, "--for", "research/llama-train-0", "--pod").exit_code == 0
    assert invoke("-f", TOO_LARGE, "--for", "research/giant").exit_code == 3
    assert invoke("-f", TOO_LARGE, "--for", "research/giant", "-o", "json").exit_code == 3
    assert invoke("-f", TOO_LARGE, "--for", "research/other").exit_code == 2


@pytest.mark.parametrize("files", [["-f", TOO_LARGE, ANOTHER_NODE], ["-f", TOO_LARGE, "-f", ANOTHER_NODE]])
def test_several_files(files: list[str]) -> None:
    spec = planned(*files, "--for", "research/giant")["spec"]
    assert (spec["outcome"], spec["domain"]["value"]) == ("Preempts", "rack-b")


def test_standard_input() -> None:
    stdin = Path(ANOTHER_NODE).read_text()
    result = invoke("-f", TOO_LARGE, "-f", "-", "--for", "research/giant", "-o", "json", stdin=stdin)
    assert json.loads(result.stdout)["spec"]["outcome"] == "Preempts"


def test_json_as_kubectl_prints_it(tmp_path: Path) -> None:
    cluster = {"apiVersion": "v1", "kind": "List", "items": objects_of(TRAINING)}
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(cluster, indent=4))
    arguments = ["--for", "research/llama-train"]
    assert planned("-f", str(path), *arguments) == planned("-f", TRAINING, *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-f", TRAINING], "--for [NAMESPACE/]NAME is needed"),
        (["--for", "a/b", "--kubeconfig", "/nowhere"], "--kubeconfig: /nowhere: no such file"),
        (["--for", "a/b", "--kubeconfig", "/dev/null/x", "--as-group", "g"], "--as-group: needs --as"),
        (["-f", TRAINING, "--for", "a/b/c"], "--for: expected NAMESPACE/NAME, not 'a/b/c'"),
        (["-f", TRAINING, "--for", "llama-train"], "PodGroup default/llama-train: there is no such object"),
        (["-f", "no-such-file", "--for", "a/b"], "no-such-file: No such file or directory"),
        (["-f", TRAINING, "--for", "research/nope"], "PodGroup research/nope: there is no such object"),
        (["-f", TRAINING, "--for", "research/llama-train-0"], "there is a Pod of that name: --pod"),
        (["-f", TRAINING, "--for", "research/nope", "--pod"], "Pod research/nope: there is no such object"),
        (
            ["-f", TRAINING, "-f", TRAINING, "--for", "a/b"],
            "document 1, PriorityClass production: this object is",
        ),
        (["--jsonl", "no-such-file"], "no-such-file: No such file or directory"),
        (["--jsonl", "-", "--for", "a/b"], "--jsonl takes no other option"),
        (["-f", TRAINING, "--for", "a/b", "-o", "xml"], "'xml' is not one of"),
    ],
)
def test_bad_input_is_named(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


def test_a_pod_that_has_ended_is_named() -> None:
    stdin = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: done}\n"
        "spec: {containers: [{name: c}]}\nstatus: {phase: Succeeded}\n"
    )
    result = invoke("-f", "-", "--for", "default/done", "--pod", stdin=stdin)
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "Error: -: document 1, Pod default/done: there is no such object, or it has"
    )


RAN = """
{apiVersion: reprieve.dev/v1alpha1, kind: PodGroup, metadata: {name: g}, spec: {priority: 100, schedulingPolicy: {gang:
  {minCount: 3}}, schedulingConstraints: {topology: [{key: rack}]}},
  status: {conditions: [{type: PodGroupInitiallyScheduled, status: "True", reason: Scheduled}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n0, labels: {rack: r0}}, status: {allocatable: {cpu: "2", pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {rack: r1}}, status: {allocatable: {cpu: "2", pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: low}, spec: {priority: 1, nodeName: n0,
  containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
"""


def of_ran(name: str, phase: str, node: str = "") -> str:
    return f"""
---
{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{reprieve.dev/pod-group: g}}}}, spec: {{priority: 100,
  nodeName: "{node}", containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}, status: {{phase: {phase}}}}}
"""


def test_members_that_succeeded_count_in_files_too() -> None:
    stdin = RAN + of_ran("a", "Succeeded", "n0") + of_ran("b", "Running", "n0") + of_ran("c", "Pending")
    result = invoke("-f", "-", "--for", "default/g", stdin=stdin)
    assert result.exit_code == 0, result.stderr
    assert (
        "1 unit with 1 pod of priority 1 or lower must be evicted so that 1 pod can run in rack=r0."
        in result.stdout
    )


def test_a_gang_in_two_domains_is_named() -> None:
    stdin = RAN + of_ran("a", "Running", "n0") + of_ran("b", "Running", "n1") + of_ran("c", "Pending")
    result = invoke("-f", "-", "--for", "default/g", stdin=stdin)
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "must be evicted" in said
    assert "rack=r0: members are bound in 2 domains of rack (a in r0, b in r1): r0 counts." in said


def test_ignored_kinds_are_noted_beside_the_text() -> None:
    stdin = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    arguments = ["-f", TRAINING, "-f", "-", "--for", "research/llama-train"]
    assert "1 v1 ConfigMap" in invoke(*arguments, stdin=stdin).stderr
    assert not invoke(*arguments, "-o", "yaml", stdin=stdin).stderr


def test_text_says_who_goes_who_stays_and_why() -> None:
    text = invoke("-f", TRAINING, "--for", "research/llama-train").stdout
    lines = {line.split()[0]: line for line in text.splitlines() if line.split()}
    assert "2 units with 4 pods of priority 100 or lower must be evicted" in text
    assert "its room is needed" in lines["research/sweep"]
    assert "evicting it would break budget serving/embed (allows 0)" in lines["serving/embed-0"]
    assert "above the cut-off 100" in lines["research/rl-actor"]
    assert "higher priority" in lines["serving/chat-1"]
    assert "6 units outside topology.kubernetes.io/rack=rack-b: left alone" in text
    assert "llama-train-1, llama-train-2" in lines["gpu-b2"]
    assert "1 member beyond minCount" in lines["1"]
    assert "costs least" in lines["*"]
    assert "costs more" in lines["rack-a"]


def test_text_in_a_pipe_is_plain() -> None:
    text = invoke("-f", TRAINING, "--for", "research/llama-train").stdout
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_text_names_what_is_short() -> None:
    text = invoke("-f", TOO_LARGE, "--for", "research/giant").stdout
    assert text.startswith("Unschedulable  PodGroup research/giant, priority 1000\n")
    assert "Insufficient nvidia.com/gpu" in text
    assert "Nothing is evicted." in text


def test_stream_exit_codes(tmp_path: Path) -> None:
    good = json.dumps({"id": 1, "objects": objects_of(TOO_LARGE), "for": "research/giant"})
    path = tmp_path / "requests.jsonl"
    path.write_text(f"{good}\n{good}")
    result = invoke("--jsonl", str(path))
    assert result.exit_code == 0
    assert [json.loads(line)["spec"]["outcome"] for line in result.stdout.splitlines()] == [
        "Unschedulable"
    ] * 2
    result = invoke("--jsonl", "-", stdin=f"{good}\nx\n{good}\n")
    assert result.exit_code == 2
    assert ["error" in json.loads(line) for line in result.stdout.splitlines()] == [False, True, False]
    assert invoke("--jsonl", "-", stdin="").exit_code == 0


def blocked_objects() -> list[Any]:
    """The training cluster, with a resource claim in every pod of the gang."""
    found: list[Any] = objects_of(TRAINING)
    for each in found:
        if each["kind"] == "Pod" and each["metadata"]["name"].startswith("llama-train-"):
            each["spec"]["resourceClaims"] = [{"name": "gpu"}]
    return found


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_blocked_plan_is_the_object_that_the_cluster_stores(tmp_path: Path, output: str) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": blocked_objects()}))
    result = invoke("-f", str(path), "--for", "research/llama-train", "-o", output)
    assert result.exit_code == 3
    plan = yaml.safe_load(result.stdout)
    condition = {
        "type": "Blocked",
        "status": "True",
        "reason": "Blocked",
        "message": "not modelled: resource claims (DRA)",
    }
    assert plan["status"] == {"phase": "Blocked", "conditions": [condition]}
    assert (plan["spec"]["outcome"], plan["spec"]["notModelled"]) == ("Preempts", ["resource claims (DRA)"])


def test_a_blocked_plan_as_text(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": blocked_objects()}))
    result = invoke("-f", str(path), "--for", "research/llama-train")
    assert result.exit_code == 3
    first = "Blocked  PodGroup research/llama-train, priority 1000: not modelled: resource claims (DRA)"
    assert result.stdout.splitlines()[0] == first


def test_a_stream_with_a_blocked_plan() -> None:
    blocked = json.dumps({"id": 1, "objects": blocked_objects(), "for": "research/llama-train"})
    fine = json.dumps({"id": 2, "objects": objects_of(TRAINING), "for": "research/llama-train"})
    result = invoke("--jsonl", "-", stdin=f"{blocked}\n{fine}\n")
    assert result.exit_code == 3
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first["status"]["phase"] == "Blocked"
    assert "status" not in second
    assert invoke("--jsonl", "-", stdin=f"{blocked}\nx\n").exit_code == 2
    assert invoke("--jsonl", "-", stdin=f"{fine}\n").exit_code == 0


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [*PROGRAM, *arguments], env=variables, capture_output=True, text=True, check=False, timeout=120
    )


def test_as_a_process() -> None:
    done = run("plan", "-f", TRAINING, "--for", "research/llama-train", "-o", "json")
    assert done.returncode == 0
    assert not done.stderr
    assert json.loads(done.stdout)["spec"]["outcome"] == "Preempts"
    done = run("plan", "-f", TOO_LARGE, "--for", "research/giant", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (3, "")
    assert run("nonsense").returncode == 2


def test_planning_imports_no_http_client() -> None:
    program = (
        "import sys\n"
        "from cli.main import reprieve\n"
        f"reprieve(['plan', '-f', {TOO_LARGE!r}, '--for', 'research/giant'], standalone_mode=False)\n"
        "heavy = {'aiohttp', 'kubernetes_asyncio', 'uvloop'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_help_lists_commands_without_importing_them() -> None:
    program = (
        "import sys\n"
        "from cli.main import reprieve\n"
        "reprieve(['--help'], standalone_mode=False)\n"
        "sys.exit('imported' if {'numpy', 'cli.plan.command', 'cli.serve.command'} & set(sys.modules) else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    for word in ("plan", "serve", "--version", "_REPRIEVE_COMPLETE"):
        assert word in done.stdout
