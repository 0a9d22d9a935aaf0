from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import reprieve
from tests.kit.manifests import kueue

Json = dict[str, Any]

COHORT: Json = kueue("Cohort", "all")
LINE: Json = {
    "id": "a",
    "kind": "Cohort",
    "operation": "CREATE",
    "subresource": "",
    "object": COHORT,
    "oldObject": None,
}
POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}


def answers(*lines: Json | str, arguments: tuple[str, ...] = ()) -> tuple[int, list[Json]]:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    result = CliRunner().invoke(reprieve, ["validate", "--jsonl", "-", *arguments], input=text)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def test_a_line_gets_a_verdict() -> None:
    refused = LINE | {"id": 7, "object": COHORT | {"spec": {"parentName": "B_"}}}
    assert answers(LINE, refused) == (
        0,
        [
            {"id": "a", "allowed": True, "causes": [], "warnings": []},
            {
                "id": 7,
                "allowed": False,
                "causes": [{"field": "spec.parentName", "type": "FieldValueInvalid"}],
                "warnings": [],
            },
        ],
    )


def test_optional_parts_may_be_left_out() -> None:
    line = {key: value for key, value in LINE.items() if key not in ("subresource", "oldObject")}
    assert answers(line)[0] == 0


def test_the_status_has_its_own_endpoint() -> None:
    broken = COHORT | {"status": {"fairSharing": {"weightedShare": "x"}}}
    update = LINE | {"operation": "UPDATE", "object": broken, "oldObject": COHORT}
    code, (main, status) = answers(update, update | {"subresource": "status"})
    assert (code, main["allowed"], status["allowed"]) == (0, True, False)
    assert status["causes"][0]["field"] == "status.fairSharing.weightedShare"


def test_a_pod_can_only_be_warned_about() -> None:
    code, (answer,) = answers(LINE | {"kind": "Pod", "object": POD})
    assert (code, answer["allowed"]) == (0, True)


@pytest.mark.parametrize(
    ("line", "identifier", "problem"),
    [
        ("{", None, "is not JSON"),
        ("[]", None, "expected an object"),
        ({"kind": "Cohort"}, None, "id: is missing"),
        (LINE | {"kind": "Job"}, "a", "kind: not one of"),
        (LINE | {"operation": "DELETE"}, "a", "operation: "),
        (LINE | {"subresource": "scale"}, "a", "subresource: "),
        (LINE | {"subresource": "status"}, "a", "subresource: cannot be created"),
        (LINE | {"object": []}, "a", "object: expected an object"),
        (LINE | {"operation": "UPDATE"}, "a", "oldObject: is missing"),
        (LINE | {"oldObject": COHORT}, "a", "oldObject: must not be set"),
        (
            LINE
            | {"kind": "ResourceFlavor", "operation": "UPDATE", "oldObject": {}, "subresource": "status"},
            "a",
            "subresource: ResourceFlavor has no subresource",
        ),
        ({"id": "a", "kind": "Cohort", "operation": "CREATE"}, "a", "object: is missing"),
    ],
)
def test_a_bad_line_is_answered_and_costs_no_other(line: Json | str, identifier: Any, problem: str) -> None:
    code, (bad, good) = answers(line, LINE)
    assert code == 2
    assert bad["id"] == identifier
    assert problem in bad["error"]
    assert good["allowed"]


@pytest.mark.parametrize("value", [None, 5, "x", [], [[]], {"a": {}}, True, 10**400])
def test_any_value_anywhere_is_judged(value: Any) -> None:
    """Nothing that JSON can hold is an internal error."""
    lines = []
    for kind in ("ClusterQueue", "Workload", "PodGroup", "PreemptionPlan", "Pod"):
        version = {
            "PodGroup": "reprieve.dev/v1alpha1",
            "PreemptionPlan": "reprieve.dev/v1alpha1",
            "Pod": "v1",
        }
        whole = COHORT | {"kind": kind, "apiVersion": version.get(kind, COHORT["apiVersion"])}
        for field in ("apiVersion", "kind", "metadata", "spec", "status"):
            new = whole | {field: value}
            lines.append(LINE | {"kind": kind, "object": new})
            lines.append(LINE | {"kind": kind, "object": whole, "operation": "UPDATE", "oldObject": new})
            lines.append(LINE | {"kind": kind, "object": new, "operation": "UPDATE", "oldObject": whole})
    code, found = answers(*lines)
    assert code == 0, [each for each in found if "error" in each]


def test_files_beside_the_lines_are_what_rules_ask_for(tmp_path: Path) -> None:
    path = tmp_path / "classes.json"
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    path.write_text(json.dumps(high))
    group = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"basic": {}}, "priorityClassName": "high", "priority": 5},
    }
    line = LINE | {"kind": "PodGroup", "object": group}
    assert answers(line)[1][0]["allowed"]
    code, (answer,) = answers(line, arguments=("-f", str(path)))
    assert (code, answer["causes"]) == (0, [{"field": "spec.priority", "type": "FieldValueInvalid"}])
