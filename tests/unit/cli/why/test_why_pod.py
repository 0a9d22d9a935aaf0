from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from api.meta import ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor
from cli.main import reprieve

SAID = "0/2 nodes are available: 2 Insufficient cpu."
NO_NODE = {
    "type": "PodScheduled",
    "status": "False",
    "message": SAID,
    "lastTransitionTime": "2026-01-02T00:00:00Z",
}


def ask(
    path: Path, spec: dict[str, Any], status: dict[str, Any], *more: str, deleted: bool = False
) -> Result:
    meta = {"name": "web-0", "namespace": "team-a", "uid": "u"}
    if deleted:
        meta["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    spec = {"containers": [{"name": "c"}], **spec}
    file = path / "pods.json"
    file.write_text(
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status})
    )
    return CliRunner().invoke(reprieve, ["why", "pod", "team-a/web-0", "-f", str(file), *more])


@pytest.mark.parametrize(
    ("spec", "status", "deleted", "code", "said"),
    [
        ({}, {"conditions": [NO_NODE]}, False, 3, f"default-scheduler says: {SAID}"),
        ({"schedulerName": "mine"}, {}, False, 3, "mine has not said why"),
        ({"schedulingGates": [{"name": "a.example/b"}]}, {}, False, 3, "scheduling gates: a.example/b. No"),
        (
            {"schedulingGates": [{"name": "reprieve.dev/gang"}]},
            {},
            False,
            3,
            "from all members of a gang at once.",
        ),
        ({"nodeName": "n1"}, {"phase": "Running"}, False, 0, "it is bound to node n1"),
        ({"nodeName": "n1"}, {"phase": "Failed"}, True, 0, "it ended on node n1 (Failed)"),
        ({"nodeName": "n1"}, {"phase": "Running"}, True, 0, "it terminates on node n1"),
    ],
)
def test_why_names_what_a_pod_waits_for(
    tmp_path: Path, spec: dict[str, Any], status: dict[str, Any], deleted: bool, code: int, said: str
) -> None:
    result = ask(tmp_path, spec, status, deleted=deleted)
    assert (result.exit_code, said in result.stdout) == (code, True), result.output


def test_json_has_the_same_answer(tmp_path: Path) -> None:
    answer = json.loads(ask(tmp_path, {}, {"conditions": [NO_NODE]}, "-o", "json").stdout)
    assert answer["waits"] is True
    assert (answer["state"], answer["since"]) == ("Rejected", "2026-01-02T00:00:00Z")


def test_a_stored_plan_that_is_damaged_is_named(tmp_path: Path) -> None:
    spec = PreemptionPlanSpec(Preemptor("Pod", "v1", "team-a", "web-0", "u", 5), "Preempts", "it fits")
    plan = PreemptionPlan(metadata=ObjectMeta("web-0-1", "team-a"), spec=spec)
    plan.spec.compressed_victims = "no"
    path = tmp_path / "plan.json"
    path.write_bytes(msgspec.json.encode(plan))
    result = ask(tmp_path, {}, {}, "-f", str(path))
    assert result.exit_code == 2
    assert "PreemptionPlan team-a/web-0-1: spec.compressedVictims" in result.stderr


def test_a_pod_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    ask(tmp_path, {}, {})
    result = CliRunner().invoke(reprieve, ["why", "pod", "no", "-f", str(tmp_path / "pods.json")])
    assert (result.exit_code, result.stderr) == (2, "Error: there is no Pod default/no\n")
