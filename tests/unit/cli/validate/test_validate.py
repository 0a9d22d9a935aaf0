from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import reprieve

Json = dict[str, Any]

KUEUE = "kueue.x-k8s.io/v1beta2"
REPRIEVE = "reprieve.dev/v1alpha1"
GATE = "example.com/gate"


EXAMPLES = Path(__file__).parents[4] / "examples"


def named(kind: str, name: str, api_version: str = KUEUE, **rest: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}} | rest


GOOD = named("Cohort", "all")
BAD = named("ClusterQueue", "bad", spec={"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}})
HIGH = named("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)
GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}


def gang(name: str = "g", **spec: Any) -> Json:
    return named("PodGroup", name, REPRIEVE, spec=GANG | spec)


def member(priority: int) -> Json:
    pod = named("Pod", "p", "v1", spec={"priority": priority, "containers": [{"name": "c"}]})
    pod["metadata"]["labels"] = {"reprieve.dev/pod-group": "g"}
    return pod


def invoke(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(reprieve, ["validate", *arguments], input=stdin)


def ask(*objects: Json, old: Path | None = None, output: str = "json", user: str = "") -> Result:
    stdin = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    more = ["--old", str(old)] if old else []
    return invoke("-f", "-", "-o", output, "--as", user, *more, stdin=stdin)


def judged(*objects: Json, old: Path | None = None, user: str = "") -> list[Json]:
    found: list[Json] = json.loads(ask(*objects, old=old, user=user).stdout)["objects"]
    return found


def store(folder: Path, *objects: Json) -> Path:
    path = folder / "old.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


def error(*objects: Json) -> str:
    result = ask(*objects)
    assert result.exit_code == 2
    assert not result.stdout
    return result.stderr


def test_exit_codes() -> None:
    assert ask(GOOD).exit_code == 0
    assert ask(GOOD, BAD).exit_code == 3
    assert ask().exit_code == 0
    assert ask(GOOD, GOOD).exit_code == 2
    assert invoke("-f", "no-such-file").exit_code == 2


def test_json_says_everything() -> None:
    (first, second) = judged(GOOD, BAD)
    assert first == {
        "kind": "Cohort",
        "namespace": "",
        "name": "all",
        "place": "-: document 1, items[0]",
        "operation": "CREATE",
        "allowed": True,
        "causes": [],
        "warnings": [],
    }
    assert not second["allowed"]
    (cause,) = second["causes"]
    assert (cause["field"], cause["type"]) == ("spec.preemption", "FieldValueInvalid")
    assert cause["message"]


def test_text_says_what_is_wrong_where() -> None:
    lines = ask(GOOD, BAD, output="text").stdout.splitlines()
    assert lines[0] == "Cohort all: allowed (create; -: document 1, items[0])"
    assert lines[1] == "ClusterQueue bad: refused (create; -: document 1, items[1])"
    assert lines[2].startswith("  spec.preemption: ")
    assert lines[3] == "2 objects, 1 refused"


def test_text_has_no_path_where_there_is_none(tmp_path: Path) -> None:
    missing = named("LocalQueue", "q", spec={"clusterQueue": 1})
    lines = ask(missing, output="text").stdout.splitlines()
    assert lines[1].startswith("  spec.clusterQueue: ")
    assert lines[2].startswith("  further rules were not checked")


def test_other_kinds_are_passed_over_and_named() -> None:
    result = ask(GOOD, named("ConfigMap", "c", "v1"), output="text")
    assert result.exit_code == 0
    assert "1 v1 ConfigMap" in result.stderr


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"cohort": "a"}, "there is no such field; is cohortName meant?"),
        (
            {"preemption": {"withinClusterQueu": "Never"}},
            "there is no such field; is withinClusterQueue meant?",
        ),
        ({"colour": "red"}, "there is no such field"),
        ({"c" * 10**6: "red"}, "there is no such field"),
        ({"fairSharing": {"weight": "40GB"}}, "'40GB' is no quantity, such as 40, 500m or 40Gi"),
        ({"cohortName": "A b"}, "'A b' does not match ^[a-z0-9]"),
        ({"cohortName": "a" * 254}, "may have 253 characters at most, not 254"),
    ],
)
def test_a_message_says_what_to_do(spec: Json, message: str) -> None:
    (verdict,) = judged(named("ClusterQueue", "a", spec=spec))
    assert verdict["causes"][0]["message"].startswith(message)


def test_counts_are_grammatical() -> None:
    constraints = {"topology": [{"key": "rack"}, {"key": "zone"}]}
    (verdict,) = judged(gang(schedulingConstraints=constraints))
    assert verdict["causes"][0]["message"] == "may have 1 item at most, not 2"


def test_kinds_that_only_kueue_has_are_passed_over() -> None:
    result = ask(named("Topology", "t"), named("ProvisioningRequestConfig", "c"))
    assert result.exit_code == 0


def test_an_object_that_is_stored_is_updated(tmp_path: Path) -> None:
    queue = named("LocalQueue", "q", spec={"clusterQueue": "a"})
    moved = named("LocalQueue", "q", spec={"clusterQueue": "b"})
    moved["metadata"]["namespace"] = "default"
    elsewhere = json.loads(json.dumps(moved))
    elsewhere["metadata"]["namespace"] = "other"
    first, second = judged(moved, elsewhere, old=store(tmp_path, queue))
    assert (first["operation"], first["allowed"]) == ("UPDATE", False)
    assert [cause["field"] for cause in first["causes"]] == ["spec.clusterQueue"]
    assert (second["operation"], second["allowed"]) == ("CREATE", True)


def test_a_fault_that_is_stored_may_stay(tmp_path: Path) -> None:
    more = BAD | {"spec": BAD["spec"] | {"cohortName": "all"}}
    (verdict,) = judged(more, old=store(tmp_path, BAD))
    # Kueue's own webhook does not let it.
    assert not verdict["allowed"]
    slow = {"withinClusterQueueConfig": {"minAdmitDuration": "1s"}}
    (verdict,) = judged(
        named("ClusterQueue", "q", spec={"preemption": slow, "stopPolicy": "Hold"}),
        old=store(tmp_path, named("ClusterQueue", "q", spec={"preemption": slow})),
    )
    assert verdict["allowed"], verdict


def test_priority_classes_among_the_files_fill_in_and_contradict() -> None:
    (verdict,) = judged(HIGH, gang(priorityClassName="high"))
    assert verdict["allowed"]
    assert verdict["warnings"] == []
    (verdict,) = judged(HIGH, gang(priorityClassName="high", priority=5))
    assert [cause["field"] for cause in verdict["causes"]] == ["spec.priority"]


def test_a_class_that_no_file_has_is_a_warning() -> None:
    (verdict,) = judged(gang(priorityClassName="high"))
    assert verdict["allowed"]
    assert verdict["warnings"] == [
        "spec.priority is not filled in: no file has PriorityClass 'high'",
        "spec.priorityClassName: PriorityClass 'high' is not known and was not checked",
    ]
    (bare,) = judged(gang())
    assert bare["warnings"] == [
        "spec.priority is not filled in: no file has a PriorityClass with globalDefault"
    ]


def test_what_is_stored_is_known_as_well(tmp_path: Path) -> None:
    """A class and a group that nobody changes, and the other way round."""
    old = store(tmp_path, HIGH, gang(priorityClassName="high", priority=1000))
    (verdict,) = judged(gang("other", priorityClassName="high", priority=5), old=old)
    assert [cause["field"] for cause in verdict["causes"]] == ["spec.priority"]
    (pod,) = judged(member(5), old=old)
    assert len(pod["warnings"]) == 1
    assert "1000" in pod["warnings"][0]
    assert judged(HIGH | {"value": 5}, gang("other", priorityClassName="high", priority=5), old=old)[0][
        "allowed"
    ]


def test_the_global_default_counts() -> None:
    (verdict,) = judged(HIGH | {"globalDefault": True}, gang(priority=5))
    assert [cause["field"] for cause in verdict["causes"]] == ["spec.priority"]


def test_a_pod_is_compared_with_its_group() -> None:
    group = gang(priorityClassName="high", priority=1000)
    *_, same = judged(HIGH, group, member(1000))
    *_, other = judged(HIGH, group, member(5))
    assert (same["allowed"], same["warnings"]) == (True, [])
    assert other["allowed"]
    assert len(other["warnings"]) == 1
    (alone,) = judged(member(5))
    assert alone["allowed"]


def test_a_group_that_cannot_be_read_is_refused_as_such() -> None:
    verdict, pod = judged(named("PodGroup", "g", REPRIEVE, spec=5), member(5))
    assert not verdict["allowed"]
    assert pod["allowed"]


def test_a_gate_is_kept_from_those_who_may_not_open_it(tmp_path: Path) -> None:
    openers = configuration(webhooks={"gateOpeners": {GATE: ["opener"]}})
    old = store(tmp_path, named("Workload", "w", spec={"preemptionGates": [{"name": GATE}]}))
    removed = named("Workload", "w", spec={})
    (verdict,) = judged(openers, removed, old=old, user="somebody")
    assert [cause["type"] for cause in verdict["causes"]] == ["FieldValueForbidden"]
    assert judged(openers, removed, old=old, user="opener")[0]["allowed"]
    assert judged(removed, old=old, user="somebody")[0]["allowed"]
    (unasked,) = judged(openers, removed, old=old)
    assert unasked["allowed"]
    assert unasked["warnings"] == [
        f"spec.preemptionGates: whether the user may remove gate '{GATE}' was not checked"
    ]


def configuration(**sections: Any) -> Json:
    return {"apiVersion": REPRIEVE, "kind": "Configuration"} | sections


def test_a_configuration_with_a_fault_is_named() -> None:
    faulty = configuration(webhooks={"gateOpeners": 5})
    assert "document 1, items[0]: webhooks.gateOpeners" in error(faulty, GOOD)


def test_a_configuration_may_have_several_files(tmp_path: Path) -> None:
    old = store(tmp_path, named("Workload", "w", spec={"preemptionGates": [{"name": GATE}]}))
    removed = named("Workload", "w", spec={})
    base = configuration(webhooks={"port": 9444})
    own = configuration(webhooks={"gateOpeners": {GATE: ["opener"]}}, planning={"gates": "Off"})
    for files in ([base, own], [own, base, own]):
        assert not judged(*files, removed, old=old, user="somebody")[0]["allowed"]
        assert judged(*files, removed, old=old, user="opener")[0]["allowed"]
    other = configuration(webhooks={"port": 1})
    said = error(base, other, GOOD)
    assert "items[1]: webhooks.port: is 9444 in -: document 1, items[0], and 1 in -" in said


def test_the_configuration_of_its_own_file_counts_first(tmp_path: Path) -> None:
    """Two files of a folder, and the stored objects, have one. What the own one does not say comes from the others."""
    gate = named("Workload", "w", spec={"preemptionGates": [{"name": GATE}, {"name": "other"}]})
    old = store(tmp_path, configuration(webhooks={"gateOpeners": {"other": ["somebody"]}}), gate)
    folder = tmp_path / "folder"
    folder.mkdir()
    removed = named("Workload", "w", spec={})
    for name, openers in (("a", ["jane"]), ("b", ["somebody"])):
        items = [configuration(webhooks={"gateOpeners": {GATE: openers}}), removed]
        (folder / f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    result = invoke("-f", str(folder), "-o", "json", "--as", "somebody", "--old", str(old))
    allowed = [each["allowed"] for each in json.loads(result.stdout)["objects"]]
    assert allowed == [False, True], result.stdout


@pytest.mark.parametrize("off", ["Off", "'Off'"])
def test_off_needs_no_quotes_in_a_configuration(tmp_path: Path, off: str) -> None:
    text = f"apiVersion: {REPRIEVE}\nkind: Configuration\nplanning: {{gates: {off}}}\n"
    result = invoke("-f", "-", stdin=f"{text}---\n{json.dumps(GOOD)}")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ([GOOD, GOOD], "defined twice"),
        ([named("Cohort", "a", "kueue.x-k8s.io/v1beta1")], "only kueue.x-k8s.io/v1beta2 is known"),
        ([{"kind": "Cohort"}], "apiVersion: is missing"),
        ([named("Cohort", "a") | {"metadata": 5}], "metadata: expected"),
        ([named("Clusterqueue", "a")], f"kind: {KUEUE} has no Clusterqueue; is ClusterQueue meant?"),
        ([named("Workloads", "a")], "is Workload meant?"),
        ([named("podgroup", "a", REPRIEVE)], "is PodGroup meant?"),
        ([named("Gang", "a", REPRIEVE)], f"kind: {REPRIEVE} has no Gang"),
    ],
)
def test_bad_input_is_named(objects: list[Json], problem: str) -> None:
    assert problem in error(*objects)


def test_objects_without_a_name_are_judged_each() -> None:
    nameless = named("Cohort", "") | {"metadata": {"generateName": "a-"}}
    assert [each["allowed"] for each in judged(nameless, nameless)] == [True, True]


def test_yaml_of_several_documents(tmp_path: Path) -> None:
    path = tmp_path / "both.yaml"
    path.write_text(
        f"apiVersion: {KUEUE}\nkind: Cohort\nmetadata: {{name: a}}\n---\n---\n"
        f"apiVersion: {KUEUE}\nkind: LocalQueue\nmetadata: {{name: b}}\nspec: {{clusterQueue: B_}}\n"
    )
    result = invoke("-f", str(path))
    assert result.exit_code == 3
    assert f"LocalQueue default/b: refused (create; {path}: document 3)" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-o", "toml", "-f", "-"],
        ["--jsonl", "-", "-o", "json"],
        ["--jsonl", "-", "--old", "x"],
        ["-f", "-", "--old", "-"],
        ["-f", "-", "-f", "-"],
        ["--jsonl", "-", "-f", "-"],
    ],
)
def test_usage(arguments: list[str]) -> None:
    assert invoke(*arguments).exit_code == 2


def test_a_folder_stands_for_its_files(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(json.dumps(GOOD))
    (tmp_path / "a.yaml").write_text(json.dumps(BAD))
    (tmp_path / "README.md").write_text("# no object")
    (tmp_path / "deeper").mkdir()
    result = invoke("-f", str(tmp_path), "-o", "json")
    assert result.exit_code == 3
    assert [each["name"] for each in json.loads(result.stdout)["objects"]] == ["bad", "all"]
    empty = invoke("-f", str(tmp_path / "deeper"))
    assert empty.exit_code == 2
    assert "deeper: has no .yaml, .yml or .json file" in empty.stderr


def test_files_of_a_folder_may_have_the_same_object(tmp_path: Path) -> None:
    for name, priority in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.yaml").write_text(
            "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\n"
            f"value: {priority}\n---\n"
            "apiVersion: reprieve.dev/v1alpha1\nkind: PodGroup\nmetadata: {name: gang, namespace: d}\n"
            "spec: {schedulingPolicy: {gang: {minCount: 1}}, priorityClassName: high, priority: 1}\n"
        )
    result = CliRunner().invoke(reprieve, ["validate", "-f", str(tmp_path), "-o", "json"])
    assert result.exit_code == 3, result.output
    judged = json.loads(result.stdout)["objects"]
    assert [(each["name"], each["allowed"]) for each in judged] == [("gang", True), ("gang", False)]


def test_the_examples_get_verdicts() -> None:
    result = CliRunner().invoke(reprieve, ["validate", "-f", str(EXAMPLES), "-o", "yaml"])
    assert result.exit_code == 3
    refused = [each["place"] for each in yaml.safe_load(result.stdout)["objects"] if not each["allowed"]]
    assert len(refused) == 3
    # This one is about what is refused.
    assert all("examples/settings.yaml: " in place for place in refused)
