"""The judge of a canary finds each breach."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.stress.canary import breaches
from tests.kit.stress.history import Asked, History


@pytest.mark.parametrize(
    ("plan", "asked", "found"),
    [
        ({}, "mine", []),
        ({}, "theirs", ["theirs/victim is observed, and reprieve deleted it"]),
        ({"victim": "theirs"}, "", ["plan mine/plan names a victim of the observed namespace theirs"]),
        ({"victim": "theirs", "mode": "Observe"}, "", []),
        ({"namespace": "theirs"}, "", ["plan theirs/plan is for an observed namespace, and is not observed"]),
        ({"namespace": "theirs", "mode": "Observe"}, "", []),
    ],
)
def test_breaches(plan: dict[str, Any], asked: str, found: list[str]) -> None:
    history = History()
    history.record("ADDED", _body("Pod", "victim", plan.get("victim", "mine")), 1.0)
    body = _body("PreemptionPlan", "plan", plan.get("namespace", "mine"))
    body["spec"] = {"victims": [{"pods": [{"uid": "victim", "namespace": "", "name": ""}]}]}
    if "mode" in plan:
        body["spec"]["mode"] = plan["mode"]
    history.record("ADDED", body, 2.0)
    if asked:
        history.deletions.append(Asked("victim", asked, "victim", 3.0, 3.1))
    assert list(breaches(history, {"mine"})) == found


def _body(kind: str, name: str, namespace: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}
    return {"kind": kind, "metadata": meta}
